//! The same change to many jobs: all that match.

use super::list::List;
use crate::error::{Error, Result};
use crate::job::{JobId, State};
use crate::lifecycle::{Event, Refusal};
use crate::store::{Changed, Which};

/// So many jobs are changed at once.
const PORTION: u32 = 500;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bulk {
    /// Those that have not ended are cancelled.
    Cancel,
    /// Those that have ended wait again.
    Restart,
    /// Those that have ended are forgotten.
    Delete,
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
}

impl Bulk {
    /// Which states allow it.
    fn allows(self, state: State) -> bool {
        match self {
            Self::Cancel => !state.is_final(),
            Self::Restart | Self::Delete => state.is_final(),
        }
    }

    fn event(self) -> Event {
        match self {
            Self::Cancel => Event::Cancel,
            Self::Restart => Event::Restart,
            Self::Delete => Event::Delete,
        }
    }
}

impl List {
    /// Of these, those whose state allows it. None: there are none.
    fn allowing(mut self, bulk: Bulk) -> Option<Self> {
        let states = &mut self.filter.states;
        if states.is_empty() {
            states.extend(State::ALL);
        }
        states.retain(|state| bulk.allows(*state));
        (!states.is_empty()).then_some(self)
    }

    /// How many jobs a [`List::bulk`] would change, counted up to `limit`.
    pub async fn bulk_count(self, bulk: Bulk, limit: u32) -> Result<u64> {
        match self.allowing(bulk) {
            Some(list) => list.count(limit).await,
            None => Ok(0),
        }
    }

    /// Does the same to all jobs that match, on all pages, newest first, up to about `limit` of them.
    pub async fn bulk(self, bulk: Bulk, limit: u32) -> Result<BulkDone> {
        let mut done = BulkDone::default();
        let Some(list) = self.allowing(bulk) else {
            return Ok(done);
        };
        let mut list = list.limit(PORTION.clamp(1, limit.max(1)));
        loop {
            let page = list.clone().await?;
            let ids: Vec<JobId> = page.jobs.iter().map(|job| job.id).collect();
            if !ids.is_empty() {
                list.bulk_change(ids, bulk.event(), &mut done).await?;
            }
            let Some(next) = page.next else { return Ok(done) };
            if done.changed + done.skipped >= u64::from(limit) {
                done.more = true;
                return Ok(done);
            }
            list = list.before(next);
        }
    }

    async fn bulk_change(&self, ids: Vec<JobId>, event: Event, done: &mut BulkDone) -> Result<()> {
        let store = self.jobs.store();
        let count = ids.len() as u64;
        let changed = match store.change(Which::Ids(ids.clone()), event).await {
            // Another job has the key of one of them, so that none was changed. The others can be.
            Err(Error::Conflict(_)) => {
                let mut changed = Vec::new();
                for id in ids {
                    match store.change(Which::Ids(vec![id]), event).await {
                        Ok(one) => changed.extend(one),
                        Err(Error::Conflict(_)) => {}
                        Err(error) => return Err(error),
                    }
                }
                changed
            }
            changed => changed?,
        };
        let so = |change: &&Changed| matches!(change.outcome, Ok(_) | Err(Refusal::AlreadySo));
        let changed = changed.iter().filter(so).count() as u64;
        done.changed += changed;
        done.skipped += count - changed;
        Ok(())
    }
}
