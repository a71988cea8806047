//! Webhooks: what becomes of jobs is told to other programs, by jobs of their own.
//!
//! A follower for each webhook makes a job of each event; the task `webhook:NAME` sends it, signed, and is retried like any
//! other. The ids of these jobs follow from what they tell, so that several servers (or one that was started again, and
//! looks at the last minutes once more) make each of them once.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio_util::sync::{CancellationToken, DropGuard};
use turnabout::job::Brief;
use turnabout::jobs::Whose;
use turnabout::jobs::{Interest, Note, Position, Told};
use turnabout::{JobId, Jobs, State, Submission};

use super::state::App;
use super::types::BriefView;

/// The group of the jobs that tell of others.
pub(crate) const GROUP: &str = "webhooks";
/// How their tasks are called: this, and the webhook's name.
pub(crate) const TASK: &str = "webhook:";
/// So many events are remembered, so that they need not be submitted in vain.
const REMEMBERED: usize = 50_000;
/// A submit is told of if it was no longer ago.
const RECENT: SignedDuration = SignedDuration::from_mins(5);
/// An id may not be further ahead of its time.
const AHEAD: SignedDuration = SignedDuration::from_hours(12);
/// What happens within so many milliseconds is stored together, also for several webhooks: a commit for each message would cost
/// the tenants more than the messages do.
const TOGETHER: u64 = 250;
/// After trouble with the store.
const PAUSE: Duration = Duration::from_secs(1);

/// What is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum On {
    /// A job was submitted.
    Submitted,
    /// An attempt has failed and will be tried again.
    Stuck,
    /// A job has ended.
    Final,
}

impl On {
    pub(crate) const ALL: [Self; 3] = [Self::Submitted, Self::Stuck, Self::Final];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Stuck => "stuck",
            Self::Final => "final",
        }
    }
}

/// Whom to tell what. Where to, the task knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Webhook {
    /// Its name.
    pub(crate) name: String,
    /// Only of this group's jobs.
    pub(crate) group: Option<String>,
    /// Only these events.
    pub(crate) on: Vec<On>,
    /// Makes the ids of messages unpredictable: from the secret that all servers share, if there is one.
    pub(crate) salt: [u8; 32],
}

/// Has someone follow jobs for each webhook there is, until the server ends.
pub(super) async fn run(app: App) {
    let mut news = app.control.changes();
    let mut followers: Vec<(Webhook, DropGuard)> = Vec::new();
    loop {
        let wanted = news.borrow_and_update().webhooks.clone();
        // Whoever is not wanted any longer, or not so, ends.
        followers.retain(|(hook, _)| wanted.contains(hook));
        for hook in wanted {
            if followers.iter().any(|(known, _)| *known == hook) {
                continue;
            }
            let end = app.ending.child_token();
            tokio::spawn(follow(Arc::clone(&app), hook.clone(), end.clone()));
            followers.push((hook, end.drop_guard()));
        }
        tokio::select! {
            () = app.ending.cancelled() => return,
            alive = news.changed() => if alive.is_err() { return },
        }
    }
}

/// Follows jobs for one webhook.
async fn follow(app: App, hook: Webhook, end: CancellationToken) {
    let begun = Timestamp::now();
    let mut teller = Teller {
        since: begun.checked_sub(RECENT).unwrap_or(begun),
        hook,
        seen: HashSet::new(),
    };
    let mut from = Position::OLDEST;
    loop {
        let interest = Interest {
            whose: Whose {
                group: teller.hook.group.clone(),
                owner: None,
            },
            ..Interest::default()
        };
        let followed = async {
            match app.jobs.follow(interest, Some(from)).await {
                Ok(mut following) => {
                    while let Some(note) = following.next().await {
                        let mut notes = vec![note];
                        let until = tokio::time::Instant::now() + together();
                        while let Ok(Some(note)) = tokio::time::timeout_at(until, following.next()).await {
                            notes.push(note);
                        }
                        teller.tell(&app.jobs, &notes).await;
                        for note in notes {
                            // We were too slow: what was missed is caught up with.
                            if note.told.contains(&Told::Resync) && from != note.place && from != Position::OLDEST {
                                return;
                            }
                            from = note.place;
                        }
                    }
                }
                Err(error) => tracing::warn!(error = %error.chain(), "cannot follow jobs for a webhook"),
            }
            tokio::time::sleep(PAUSE).await;
        };
        tokio::select! {
            () = end.cancelled() => return,
            () = followed => {}
        }
    }
}

/// Until what has happened is stored: the same moment for all webhooks, so that they share a commit.
fn together() -> Duration {
    let now = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0);
    Duration::from_millis(TOGETHER - now % TOGETHER)
}

/// Something to tell.
struct Event {
    id: JobId,
    /// The job that it tells of.
    about: JobId,
    task: String,
    subject: String,
    payload: Value,
}

impl Event {
    fn submission(&self) -> Submission {
        Submission::named(&self.task, &self.payload)
            .group(GROUP)
            .queue(&self.task)
            .subject(&self.subject)
            .parent(self.about)
            .id(self.id)
    }
}

struct Teller {
    hook: Webhook,
    /// Submits before then are not told.
    since: Timestamp,
    seen: HashSet<JobId>,
}

impl Teller {
    /// Makes jobs of what is to be told, and does not give up.
    async fn tell(&mut self, jobs: &Jobs, notes: &[Note]) {
        if self.seen.len() > REMEMBERED {
            self.seen.clear();
        }
        let mut news = Vec::new();
        for told in notes.iter().flat_map(|note| note.told.iter()) {
            if let Told::Job(job) = told
                && !job.task.starts_with(TASK)
            {
                self.events(job, &mut news);
            }
        }
        while !news.is_empty() {
            let messages: Vec<Submission> = news.iter().map(Event::submission).collect();
            let outcomes = jobs.submit_all(messages).await;
            let mut again = Vec::new();
            for (event, outcome) in news.into_iter().zip(outcomes) {
                match outcome {
                    Ok(submitted) => self.count("kept", submitted.new),
                    Err(error) if error.is_transient() => again.push(event),
                    // Whoever could guess the id has a job of it already, so that nobody would be told.
                    Err(turnabout::Error::Conflict(_)) => again.push(Event {
                        id: JobId::new(),
                        ..event
                    }),
                    Err(error) => {
                        tracing::error!(error = %error.chain(), "an event for a webhook is lost");
                        self.count("lost", true);
                    }
                }
            }
            news = again;
            if !news.is_empty() {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    fn count(&self, outcome: &'static str, one: bool) {
        metrics::counter!("turnabout_webhook_messages_total", "webhook" => self.hook.name.clone(), "outcome" => outcome)
            .increment(one.into());
    }

    fn events(&mut self, job: &Brief, news: &mut Vec<Event>) {
        let happened = [
            (On::Submitted, Some(job.submitted).filter(|at| *at >= self.since)),
            (On::Stuck, job.due.filter(|_| job.state == State::Stuck)),
            (On::Final, job.finished.filter(|_| job.state.is_final())),
        ];
        for (on, at) in happened {
            let Some(at) = at.filter(|_| self.hook.on.contains(&on)) else {
                continue;
            };
            let id = self.id(job, on, at);
            if !self.seen.insert(id) {
                continue;
            }
            let payload = json!({
                "event": on.as_str(),
                "webhook": self.hook.name,
                "job": BriefView::from(job),
            });
            news.push(Event {
                id,
                about: job.id,
                task: format!("{TASK}{}", self.hook.name),
                subject: format!("{} {}", on.as_str(), job.id),
                payload,
            });
        }
    }

    /// The same for the same event, whoever tells it.
    fn id(&self, job: &Brief, on: On, at: Timestamp) -> JobId {
        let mut hash = Sha256::new();
        hash.update(self.hook.salt);
        let parts = [self.hook.name.as_str(), on.as_str(), job.state.as_str()];
        for part in parts.iter().take(if on == On::Submitted { 2 } else { 3 }) {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        hash.update(job.id.0.as_bytes());
        hash.update(at.as_microsecond().to_be_bytes());
        let hash = hash.finalize();
        let mut bytes = [0; 10];
        bytes.copy_from_slice(&hash[..10]);
        // A retry may be due far ahead; an id may not.
        let latest = job.submitted.max(self.since).checked_add(AHEAD).unwrap_or(at);
        let millis = u64::try_from(at.min(latest).as_millisecond()).unwrap_or(0);
        JobId(uuid::Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn teller(salt: u8) -> Teller {
        Teller {
            hook: Webhook {
                name: "bills".to_owned(),
                group: None,
                on: vec![On::Submitted],
                salt: [salt; 32],
            },
            since: Timestamp::now() - RECENT,
            seen: HashSet::new(),
        }
    }

    /// A job of a tenant, and the note that tells of it.
    async fn submitted(jobs: &Jobs) -> (Arc<Brief>, Note) {
        jobs.submit_named("pay", json!({})).group("acme").await.expect("stored");
        let interest = Interest {
            initial: 1,
            ..Interest::default()
        };
        let mut following = jobs.follow(interest, None).await.expect("followed");
        loop {
            let note = following.next().await.expect("told");
            let brief = note.told.iter().find_map(|told| match told {
                Told::Job(job) => Some(Arc::clone(job)),
                _ => None,
            });
            if let Some(brief) = brief {
                return (brief, note);
            }
        }
    }

    #[tokio::test]
    async fn ids_of_messages_follow_from_the_secret_and_from_nothing_else_that_is_unknown() {
        let jobs = Jobs::open("sqlite::memory:").await.expect("a store");
        let (brief, _) = submitted(&jobs).await;
        let id = |salt| teller(salt).id(&brief, On::Submitted, brief.submitted);
        // All servers make each message once; and whoever does not know the secret cannot tell its id.
        assert_eq!(id(1), id(1));
        assert_ne!(id(1), id(2));
    }

    #[tokio::test]
    async fn a_message_whose_id_somebody_has_taken_is_sent_nevertheless() {
        let jobs = Jobs::open("sqlite::memory:").await.expect("a store");
        let (brief, note) = submitted(&jobs).await;
        let mut teller = teller(0);
        let guessed = teller.id(&brief, On::Submitted, brief.submitted);
        let squatter = jobs.submit_named("pay", json!({})).group("acme").id(guessed);
        assert!(squatter.await.expect("stored").new);
        let notes = [note];
        teller.tell(&jobs, &notes).await;
        let told = async || jobs.list().group(GROUP).await.expect("a list").jobs;
        let subject = format!("submitted {}", brief.id);
        let subjects: Vec<_> = told().await.into_iter().filter_map(|job| job.subject).collect();
        assert_eq!(subjects, [subject]);
        // Once is enough.
        teller.tell(&jobs, &notes).await;
        assert_eq!(told().await.len(), 1);
    }
}
