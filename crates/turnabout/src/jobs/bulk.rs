//! The same change to many jobs: all that match.

use std::time::Duration;

use super::list::List;
use crate::error::{Error, Result};
use jiff::Timestamp;

use crate::job::{Job, JobId, Priority, State};
use crate::lifecycle::{Event, Refusal};
use crate::store::{Changed, Rewrite, Store, Which};

/// So many jobs are changed at once.
const PORTION: u32 = 500;

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bulk {
    /// Those that have not ended are cancelled.
    Cancel,
    /// Those that have ended wait again.
    Restart,
    /// Those that have ended are forgotten. Where the list names states, also those that wait or are stuck.
    Delete,
    /// Those that are parked (stuck, or delayed) are ready at once. Their attempts count as before.
    Retry,
    /// Those that wait or are stuck become more or less urgent.
    Priority(Priority),
    /// Those that wait or are stuck start so long from now at the earliest.
    Postpone(Duration),
    /// Those that wait or are stuck are given another queue or other arguments.
    Rewrite(Rewrite),
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BulkDone {
    /// How many were changed.
    pub changed: u64,
    /// How many were not: their state had changed meanwhile, or another job has their unique key.
    pub skipped: u64,
    /// Whether there may be more: `limit` was reached.
    pub more: bool,
    /// Go on before this one, if there may be more: no job is changed twice then.
    pub next: Option<JobId>,
}

impl Bulk {
    /// Which states allow it.
    pub fn allows(&self, state: State) -> bool {
        match self {
            Self::Cancel => !state.is_final(),
            Self::Restart => state.is_final(),
            Self::Delete => !matches!(state, State::Scheduled | State::Running),
            Self::Retry | Self::Priority(_) | Self::Postpone(_) | Self::Rewrite(_) => {
                matches!(state, State::Waiting | State::Stuck)
            }
        }
    }

    async fn apply(&self, store: &dyn Store, ids: Vec<JobId>) -> Result<Vec<Changed>> {
        let event = match self {
            Self::Cancel => Event::Cancel,
            Self::Restart => Event::Restart,
            Self::Delete => Event::Delete,
            Self::Retry => Event::Promote,
            Self::Priority(priority) => Event::Reprioritise(*priority),
            Self::Postpone(delay) => Event::Postpone(*delay),
            Self::Rewrite(to) => return store.rewrite(ids, to.clone()).await,
        };
        store.change(Which::Ids(ids), event).await
    }

    /// Whether a job that matches was there at that moment: neither submitted since, nor ended since.
    fn covers(&self, job: &Job, begun: Timestamp) -> bool {
        let since = match self {
            Self::Cancel | Self::Retry | Self::Priority(_) | Self::Postpone(_) | Self::Rewrite(_) => {
                Some(job.submitted)
            }
            Self::Restart | Self::Delete => job.finished.or(Some(job.submitted)),
        };
        let parked = *self != Self::Retry || job.lane.is_none();
        parked && since.is_none_or(|since| since <= begun)
    }
}

impl List {
    /// Of these, those whose state allows it. None: there are none.
    fn allowing(mut self, bulk: &Bulk) -> Option<Self> {
        let states = &mut self.filter.states;
        if states.is_empty() {
            // Whoever tidies up does not mean what is still to be done, unless they say so.
            let all = State::ALL
                .iter()
                .filter(|state| *bulk != Bulk::Delete || state.is_final());
            states.extend(all);
        }
        states.retain(|state| bulk.allows(*state));
        (!states.is_empty()).then_some(self)
    }

    /// How many jobs a [`List::bulk`] would change, counted up to `limit`.
    pub async fn bulk_count(self, bulk: Bulk, limit: u32) -> Result<u64> {
        match self.allowing(&bulk) {
            Some(list) => list.count(limit).await,
            None => Ok(0),
        }
    }

    /// Does the same to all jobs that match now, on all pages, newest first, up to about `limit` of them. Each is changed
    /// once, whatever becomes of it meanwhile.
    pub async fn bulk(self, bulk: Bulk, limit: u32) -> Result<BulkDone> {
        let now = self.jobs.insight().moment();
        self.bulk_since(&bulk, limit, now).await
    }

    /// As [`List::bulk`], for a part of something that was begun earlier: what came or ended since is left alone.
    pub async fn bulk_since(self, bulk: &Bulk, limit: u32, begun: Timestamp) -> Result<BulkDone> {
        if let Bulk::Rewrite(to) = bulk {
            self.jobs.check_rewrite(to)?;
        }
        let mut done = BulkDone::default();
        let Some(list) = self.allowing(bulk) else {
            return Ok(done);
        };
        let mut seen = 0;
        let mut list = list.limit(PORTION.clamp(1, limit.max(1)));
        loop {
            let page = list.clone().await?;
            let covered = page.jobs.iter().filter(|job| bulk.covers(job, begun));
            let ids: Vec<JobId> = covered.map(|job| job.id).collect();
            seen += page.jobs.len() as u64;
            if !ids.is_empty() {
                list.bulk_change(ids, bulk, &mut done).await?;
            }
            let Some(next) = page.next else { return Ok(done) };
            if seen >= u64::from(limit) {
                done.more = true;
                done.next = Some(next);
                return Ok(done);
            }
            list = list.before(next);
        }
    }

    async fn bulk_change(&self, ids: Vec<JobId>, bulk: &Bulk, done: &mut BulkDone) -> Result<()> {
        let store = &**self.jobs.store();
        let count = ids.len() as u64;
        let changed = match bulk.apply(store, ids.clone()).await {
            // Another job has the key of one of them, or there is no room for all, so that none was changed. The others can be.
            Err(Error::Conflict(_) | Error::TooMany { .. } | Error::TooManyUnknownTasks { .. }) => {
                let mut changed = Vec::new();
                for id in ids {
                    match bulk.apply(store, vec![id]).await {
                        Ok(one) => changed.extend(one),
                        Err(Error::Conflict(_) | Error::TooMany { .. } | Error::TooManyUnknownTasks { .. }) => {}
                        Err(error) => return Err(error),
                    }
                }
                changed
            }
            changed => changed?,
        };
        crate::meter::changed(&changed);
        let so = |change: &&Changed| matches!(change.outcome, Ok(_) | Err(Refusal::AlreadySo));
        let changed = changed.iter().filter(so).count() as u64;
        done.changed += changed;
        done.skipped += count - changed;
        Ok(())
    }
}
