//! Sums, executors, hints.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use uuid::Uuid;

use super::{Model, Tables};
use crate::clock::{after, before};
use crate::error::Result;
use crate::job::{Brief, Job, JobId, State};
use crate::store::Filter;
use crate::store::overview::{GroupSum, Member, SigningKey, Sum, Tally, Whose};
use crate::store::{Counts, HINTS_KEPT, Hint, Hints, Overview, Standpoint, Watched};

/// Who watches, and what was noted for them.
#[derive(Debug, Default)]
pub(super) struct Feed {
    watched: Watched,
    until: Option<Timestamp>,
    hints: Vec<(Timestamp, Hint)>,
    /// The signing keys, newest first, and how many there ever were.
    keys: Vec<SigningKey>,
    keys_made: i64,
}

impl Feed {
    /// Notes a change, if someone watches.
    pub(super) fn tell(&mut self, now: Timestamp, job: &Job, last: bool) {
        if self.until.is_none_or(|until| until < now) {
            return;
        }
        self.watched.newest += 1;
        let hint = Hint {
            number: self.watched.newest,
            job: job.id,
            group: job.group.clone(),
            owner: job.owner.clone(),
            last: last.then(|| Brief::from(job)),
        };
        self.hints.push((now, hint));
    }

    fn watch(&mut self, now: Timestamp, hold: Duration) -> Watched {
        if self.until.is_none_or(|until| until < now) {
            self.watched.epoch += 1;
        }
        self.until = self.until.max(Some(after(now, hold)));
        let old = before(now, HINTS_KEPT);
        let keep = self.hints.partition_point(|(told, _)| *told < old);
        if let Some((_, hint)) = self.hints.drain(..keep).next_back() {
            self.watched.forgotten = hint.number;
        }
        self.watched
    }
}

impl Tables {
    fn all(&self, whose: &Whose) -> impl Iterator<Item = &Job> {
        let jobs = self.live.values().chain(self.ended.values());
        jobs.filter(|job| whose.holds(&job.group, job.owner.as_deref()))
    }
}

fn earlier(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    a.into_iter().chain(b).min()
}

#[async_trait]
impl Overview for Model {
    async fn executors(&self) -> Result<Vec<Member>> {
        let tables = self.tables();
        let mut members: Vec<Member> = tables
            .executors
            .values()
            .map(|info| Member {
                info: info.clone(),
                seen: tables.seen.get(&info.incarnation).copied().unwrap_or_default(),
                held: tables
                    .held()
                    .filter(|job| job.claim.is_some_and(|claim| claim.executor == info.incarnation))
                    .count() as u64,
                draining: tables.draining.contains(&info.incarnation),
            })
            .collect();
        members.sort_by(|a, b| (&a.info.name, a.info.incarnation).cmp(&(&b.info.name, b.info.incarnation)));
        Ok(members)
    }

    async fn drain(&self, executor: Uuid, drain: bool) -> Result<bool> {
        let tables = &mut *self.tables();
        if drain {
            tables.draining.insert(executor);
        } else {
            tables.draining.remove(&executor);
            tables.dismissed.remove(&executor);
        }
        Ok(tables.executors.contains_key(&executor))
    }

    async fn dismiss(&self, executor: Uuid) -> Result<bool> {
        let tables = &mut *self.tables();
        tables.draining.insert(executor);
        tables.dismissed.insert(executor);
        Ok(tables.executors.contains_key(&executor))
    }

    async fn sums(&self, whose: &Whose, since: Timestamp) -> Result<Vec<Sum>> {
        let tables = self.tables();
        let since = tables
            .all(whose)
            .filter(|job| job.finished.is_none_or(|end| end >= since));
        Ok(sum(since))
    }

    async fn failed_sums(&self, whose: &Whose) -> Result<Vec<Sum>> {
        let tables = self.tables();
        Ok(sum(tables.all(whose).filter(|job| job.state == State::Failed)))
    }

    async fn groups(&self, whose: &Whose, after: &str, limit: u32) -> Result<Vec<GroupSum>> {
        let tables = self.tables();
        let mut groups: BTreeMap<&str, GroupSum> = BTreeMap::new();
        let live = tables.live.values().filter(|job| job.group.as_str() > after);
        for job in live.filter(|job| whose.holds(&job.group, job.owner.as_deref())) {
            let sum = groups.entry(&job.group).or_default();
            sum.group.clone_from(&job.group);
            match (job.lane, job.due) {
                (Some(_), _) => sum.ready += 1,
                (_, Some(_)) => sum.parked += 1,
                _ => sum.held += 1,
            }
            sum.items += u64::from(job.items);
            sum.oldest = earlier(sum.oldest, Some(job.submitted));
        }
        Ok(groups.into_values().take(limit as usize).collect())
    }

    async fn count(&self, filter: &Filter) -> Result<u64> {
        Ok(self.tables().matching(filter).len() as u64)
    }

    async fn tally(&self, whose: &Whose, since: Timestamp) -> Result<Tally> {
        let tables = self.tables();
        let ended = |state| {
            let jobs = tables.all(whose).filter(|job| job.state == state);
            jobs.filter(|job| job.finished.is_some_and(|end| end >= since)).count() as u64
        };
        let new = |job: &&Job| job.submitted >= since && job.id >= JobId::floor(since);
        Ok(Tally {
            submitted: tables.all(whose).filter(new).count() as u64,
            success: ended(State::Success),
            failed: ended(State::Failed),
            cancelled: ended(State::Cancelled),
        })
    }

    async fn list(&self, filter: &Filter) -> Result<Vec<Job>> {
        let tables = self.tables();
        Ok(tables
            .matching(filter)
            .into_iter()
            .map(|job| tables.named(job))
            .collect())
    }

    async fn depth(&self, filter: &Filter, looks: u32) -> Result<Option<JobId>> {
        Ok(self.tables().depth(filter, looks))
    }

    async fn counts(&self) -> Result<Counts> {
        Ok(self.tables().counts())
    }

    async fn standpoint(&self, id: JobId) -> Result<Option<Standpoint>> {
        Ok(self.tables().standpoint(id, crate::clock::nanoseconds(self.now())))
    }

    async fn keys(&self) -> Result<Vec<SigningKey>> {
        Ok(self.tables().feed.keys.clone())
    }

    async fn renew_keys(&self, secret: &[u8], renew: Duration, forget: Duration) -> Result<Vec<SigningKey>> {
        let now = self.now();
        let feed = &mut self.tables().feed;
        feed.keys.retain(|key| key.made > before(now, forget));
        if !feed.keys.iter().any(|key| key.made > before(now, renew)) {
            feed.keys_made += 1;
            let key = SigningKey {
                number: feed.keys_made,
                secret: secret.to_vec(),
                made: now,
            };
            feed.keys.insert(0, key);
        }
        Ok(feed.keys.clone())
    }
}

#[async_trait]
impl Hints for Model {
    async fn watch(&self, hold: Duration) -> Result<Watched> {
        Ok(self.tables().feed.watch(self.now(), hold))
    }

    async fn hints(&self, after: i64, limit: u32) -> Result<Vec<Hint>> {
        let tables = self.tables();
        let later = tables
            .feed
            .hints
            .iter()
            .map(|(_, hint)| hint)
            .filter(|hint| hint.number > after);
        Ok(later.take(limit as usize).cloned().collect())
    }
}

/// Jobs by task, priority and state.
fn sum<'a>(jobs: impl Iterator<Item = &'a Job>) -> Vec<Sum> {
    let mut sums: BTreeMap<(String, i16, i16), Sum> = BTreeMap::new();
    for job in jobs {
        let key = (job.task.clone(), job.priority.code(), job.state.code());
        let sum = sums.entry(key).or_insert_with(|| Sum {
            task: job.task.clone(),
            priority: job.priority,
            state: job.state,
            jobs: 0,
            items: 0,
            attempts: 0,
            oldest: None,
            first_started: None,
        });
        sum.jobs += 1;
        sum.items += u64::from(job.items);
        // The attempt in which it was cancelled has not failed.
        let cancelled = job.state == State::Cancelled && job.started.is_some();
        sum.attempts += u64::from(job.attempts) - u64::from(cancelled);
        sum.oldest = earlier(sum.oldest, Some(job.submitted));
        sum.first_started = earlier(sum.first_started, job.started);
    }
    sums.into_values().collect()
}
