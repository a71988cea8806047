//! The hub: one loop that reads and tells. Reads are never made side by side, so that what is told never goes back.

mod doubts;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::{Interest, Join, Note, Position, Told};
use crate::error::Result;
use crate::job::{Brief, JobId, State};
use crate::store::overview::Whose;
use crate::store::{Filter, Hint, Signal, Store};

/// Hints are looked for this often ..
const LOOK: Duration = Duration::from_millis(200);
/// .. and no sooner than this after a signal.
const SOONEST: Duration = Duration::from_millis(20);
/// Watching is asked for this often ..
const RENEW: Duration = Duration::from_secs(5);
/// .. for so long, so that a server that is started again finds what happened meanwhile.
const HOLD: Duration = Duration::from_mins(3);
/// So many hints are read at once.
const HINTS: u32 = 5000;
/// So many hints are caught up with; whoever missed more begins anew.
const CATCH_UP: usize = 20_000;
/// So many jobs are read at once.
const PORTION: usize = 500;

struct Follower {
    interest: Interest,
    notes: mpsc::Sender<Note>,
    /// How many things wait for it.
    waiting: Arc<AtomicUsize>,
    /// It did not keep up, and begins anew once it has room.
    behind: bool,
}

impl Follower {
    /// Tells it something. If there is no room, it is behind.
    fn tell(&mut self, note: Note) {
        let (many, buffer) = (note.told.len(), self.interest.buffer);
        let waiting = self.waiting.fetch_add(many, Ordering::Relaxed);
        // Whatever is told at once finds room where nothing waits.
        let room = buffer == 0 || waiting == 0 || waiting + many <= buffer;
        self.behind = !room || self.notes.try_send(note).is_err();
        if self.behind {
            self.waiting.fetch_sub(many, Ordering::Relaxed);
        }
    }

    /// Whether it was behind and has room again: for more than one note, otherwise it would soon be behind again.
    fn has_caught_up(&self) -> bool {
        let buffer = self.interest.buffer;
        let room = buffer == 0 || self.waiting.load(Ordering::Relaxed) <= buffer / 2;
        self.behind && room && self.notes.capacity() > super::WAITING / 2
    }
}

struct Hub {
    store: Arc<dyn Store>,
    followers: Vec<Follower>,
    place: Position,
    /// Jobs that were told and have not ended: when they were last heard of, and what was told.
    open: HashMap<JobId, (Instant, Arc<Brief>)>,
    /// In the order in which they are to be looked at.
    doubts: VecDeque<(Instant, JobId)>,
    /// Jobs that are not there any longer, and since when that is known: a hint may still tell what they were at their end.
    missing: HashMap<JobId, (Instant, Hint)>,
}

/// Tells followers until nobody can join any longer.
pub(super) async fn run(store: &Arc<dyn Store>, joins: &mut mpsc::Receiver<Join>) {
    let mut hub = Hub {
        store: Arc::clone(store),
        followers: Vec::new(),
        place: Position::default(),
        open: HashMap::new(),
        doubts: VecDeque::new(),
        missing: HashMap::new(),
    };
    while let Some(join) = joins.recv().await {
        // Subscribed to only while someone follows: signals that nobody wants are not sent.
        let mut signals = hub.store.signals();
        hub.begin(join).await;
        let mut renewed = Instant::now();
        while !hub.followers.is_empty() {
            tokio::select! {
                join = joins.recv() => match join {
                    Some(join) => hub.join(join).await,
                    None => return,
                },
                () = news(&mut signals) => {}
                () = tokio::time::sleep(LOOK) => {}
            }
            if renewed.elapsed() >= RENEW {
                renewed = Instant::now();
                hub.renew().await;
            }
            if let Err(error) = hub.look().await {
                tracing::warn!(error = %error.chain(), "cannot follow jobs at present; trying again");
                tokio::time::sleep(LOOK).await;
            }
            hub.followers.retain(|follower| !follower.notes.is_closed());
        }
        hub.open.clear();
        hub.doubts.clear();
        hub.missing.clear();
    }
}

/// Until a job has changed here. Other processes are looked after by looking.
async fn news(signals: &mut Receiver<Signal>) {
    loop {
        match signals.recv().await {
            Ok(Signal::Changed(_) | Signal::Ready) | Err(RecvError::Lagged(_)) => break,
            Ok(_) => {}
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
    tokio::time::sleep(SOONEST).await;
    // What came meanwhile is looked at together.
    while !matches!(
        signals.try_recv(),
        Err(tokio::sync::broadcast::error::TryRecvError::Empty | tokio::sync::broadcast::error::TryRecvError::Closed)
    ) {}
}

impl Hub {
    /// The first follower comes.
    async fn begin(&mut self, join: Join) {
        loop {
            match self.store.watch(HOLD).await {
                Ok(watched) => {
                    self.place = Position {
                        epoch: watched.epoch,
                        number: watched.newest,
                    };
                    break;
                }
                Err(error) => {
                    tracing::warn!(error = %error.chain(), "cannot follow jobs at present; trying again");
                    tokio::time::sleep(LOOK).await;
                    if join.notes.is_closed() {
                        return;
                    }
                }
            }
        }
        self.join(join).await;
    }

    /// Asks for more hints. If some may be missing, everyone begins anew.
    async fn renew(&mut self) {
        match self.store.watch(HOLD).await {
            Ok(watched) if watched.epoch != self.place.epoch => {
                self.place = Position {
                    epoch: watched.epoch,
                    number: watched.newest,
                };
                for follower in &mut self.followers {
                    follower.behind = true;
                }
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(error = %error.chain(), "cannot ask for hints; trying again"),
        }
    }

    async fn join(&mut self, join: Join) {
        let Join {
            interest,
            from,
            notes,
            waiting,
        } = join;
        // Those that are known by id are all told now, so nothing is missing whatever came before.
        let resumed = match from {
            Some(from) if interest.ids.is_empty() => self.catch_up(&interest, from).await,
            _ => None,
        };
        let follower = Follower {
            behind: false,
            interest,
            notes,
            waiting,
        };
        let mut told = match (resumed, from) {
            (Some(told), _) => told,
            (None, from) => {
                let resync = from.is_some() && follower.interest.ids.is_empty();
                self.initial(&follower.interest, resync).await
            }
        };
        told.push(Told::Ready);
        self.follow(follower, told);
    }

    fn follow(&mut self, mut follower: Follower, told: Vec<Told>) {
        self.heard(&told);
        follower.tell(Note::new(self.place, told.into()));
        self.followers.push(follower);
    }

    /// What has changed since someone left. None: that is not known any longer.
    async fn catch_up(&mut self, interest: &Interest, from: Position) -> Option<Vec<Told>> {
        let overview = &self.store;
        let watched = overview.watch(HOLD).await.ok()?;
        let from = if from == Position::OLDEST {
            Position {
                epoch: watched.epoch,
                number: watched.forgotten,
            }
        } else {
            from
        };
        if from.epoch != watched.epoch || from.number < watched.forgotten || from.number > watched.newest {
            return None;
        }
        let mut hints: Vec<Hint> = Vec::new();
        let mut after = from.number;
        while after < self.place.number {
            let part = overview.hints(after, HINTS).await.ok()?;
            let Some(last) = part.last() else { break };
            after = last.number;
            hints.extend(part.into_iter().filter(|hint| hint.number <= self.place.number));
            if hints.len() > CATCH_UP {
                return None;
            }
        }
        hints.retain(|hint| interest.holds(hint.job, &hint.group, hint.owner.as_deref()));
        self.look_up(&hints).await.ok()
    }

    /// What there is to tell at the beginning. A store that is out of reach makes it a new beginning later.
    async fn initial(&mut self, interest: &Interest, resync: bool) -> Vec<Told> {
        let mut told = Vec::new();
        if resync {
            told.push(Told::Resync);
        }
        match self.present(interest).await {
            Ok(present) => told.extend(present),
            Err(error) => {
                tracing::warn!(error = %error.chain(), "cannot tell what there is");
                told = vec![Told::Resync];
            }
        }
        told
    }

    async fn present(&self, interest: &Interest) -> Result<Vec<Told>> {
        if !interest.ids.is_empty() {
            let mut ids: Vec<JobId> = interest.ids.iter().copied().collect();
            ids.sort_unstable();
            let mut told = Vec::new();
            for portion in ids.chunks(PORTION) {
                let found = self.store.get_brief(portion).await?;
                let mut missing: HashSet<JobId> = portion.iter().copied().collect();
                for job in &found {
                    if interest.whose.holds(&job.group, job.owner.as_deref()) {
                        missing.remove(&job.id);
                        told.push(Told::Job(Arc::new(job.into())));
                    }
                }
                told.extend(
                    portion
                        .iter()
                        .filter(|id| missing.contains(id))
                        .map(|id| Told::Gone(*id)),
                );
            }
            return Ok(told);
        }
        if interest.initial == 0 {
            return Ok(Vec::new());
        }
        let Whose { group, owner } = interest.whose.clone();
        let filter = Filter {
            states: State::ALL.iter().copied().filter(|state| !state.is_final()).collect(),
            group,
            owner,
            limit: interest.initial,
            brief: true,
            ..Filter::default()
        };
        let jobs = self.store.list(&filter).await?;
        Ok(jobs.iter().map(|job| Told::Job(Arc::new(job.into()))).collect())
    }

    /// Reads hints and tells what became of the jobs; then looks at those that were not heard of for long.
    async fn look(&mut self) -> Result<()> {
        loop {
            let mut hints = self.store.hints(self.place.number, HINTS).await?;
            let Some(last) = hints.last().map(|hint| hint.number) else {
                break;
            };
            let full = hints.len() == HINTS as usize;
            hints.retain(|hint| self.is_wanted(hint));
            let mut told = self.look_up(&hints).await?;
            // What was told already is not told again, and that a job is gone not before its end had time to come.
            told.retain(|told| match told {
                Told::Job(job) => self.open.get(&job.id).is_none_or(|(_, known)| known != job),
                Told::Gone(id) => {
                    if let Some(hint) = hints.iter().find(|hint| hint.job == *id) {
                        self.missing
                            .entry(*id)
                            .or_insert_with(|| (Instant::now(), hint.clone()));
                    }
                    false
                }
                _ => true,
            });
            self.place.number = last;
            self.tell(&told, &hints);
            if !full {
                break;
            }
        }
        self.doubt().await?;
        self.miss();
        self.begin_anew().await;
        Ok(())
    }

    fn is_wanted(&self, hint: &Hint) -> bool {
        let wants = |follower: &Follower| {
            !follower.behind && follower.interest.holds(hint.job, &hint.group, hint.owner.as_deref())
        };
        self.followers.iter().any(wants)
    }

    /// What the jobs are now, each once.
    async fn look_up(&self, hints: &[Hint]) -> Result<Vec<Told>> {
        let mut last: HashMap<JobId, Option<&Brief>> = HashMap::new();
        let mut ids = Vec::new();
        for hint in hints {
            let known = last.entry(hint.job).or_insert_with(|| {
                ids.push(hint.job);
                None
            });
            *known = hint.last.as_ref().or(*known);
        }
        let mut told = Vec::with_capacity(ids.len());
        for portion in ids.chunks(PORTION) {
            let mut found: HashMap<JobId, Brief> = {
                let jobs = self.store.get_brief(portion).await?;
                jobs.iter().map(|job| (job.id, Brief::from(job))).collect()
            };
            for id in portion {
                told.push(match (found.remove(id), last.get(id).copied().flatten()) {
                    (Some(job), _) => Told::Job(Arc::new(job)),
                    (None, Some(last)) => Told::Job(Arc::new(last.clone())),
                    (None, None) => Told::Gone(*id),
                });
            }
        }
        Ok(told)
    }

    /// Passes on to each follower what it wants to know.
    fn tell(&mut self, told: &[Told], hints: &[Hint]) {
        self.heard(told);
        let whose: HashMap<JobId, &Hint> = hints.iter().map(|hint| (hint.job, hint)).collect();
        let place = self.place;
        // Many follow the same jobs: what they are told is put together once.
        let mut shared: HashMap<Whose, Note> = HashMap::new();
        for follower in self.followers.iter_mut().filter(|follower| !follower.behind) {
            let interest = &follower.interest;
            let wanted = |told: &&Told| match told {
                Told::Job(job) => interest.holds(job.id, &job.group, job.owner.as_deref()),
                Told::Gone(id) => whose
                    .get(id)
                    .is_some_and(|hint| interest.holds(*id, &hint.group, hint.owner.as_deref())),
                Told::Resync | Told::Ready => true,
            };
            let choose = || Note::new(place, told.iter().filter(wanted).cloned().collect());
            let note = if interest.ids.is_empty() {
                shared.entry(interest.whose.clone()).or_insert_with(choose).clone()
            } else {
                choose()
            };
            if !note.told.is_empty() {
                follower.tell(note);
            }
        }
    }

    /// Whoever was behind and has room again is told so, and what there is.
    async fn begin_anew(&mut self) {
        for at in 0..self.followers.len() {
            if !self.followers[at].has_caught_up() {
                continue;
            }
            let interest = self.followers[at].interest.clone();
            let mut told = self.initial(&interest, true).await;
            told.push(Told::Ready);
            self.heard(&told);
            self.followers[at].tell(Note::new(self.place, told.into()));
        }
    }
}
