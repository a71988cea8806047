//! Storing jobs inside a transaction that does something else as well: firing schedules, for one.

use super::super::PostgresStore;
use super::super::connect::Tx;
use crate::error::Result;
use crate::store::{NewJob, Submitted};

impl PostgresStore {
    /// Stores jobs inside a transaction that does something else as well. Once that has committed, [`Self::tell_new`] tells of
    /// them.
    pub(in crate::store::postgres) async fn insert_within(
        &self,
        tx: &Tx,
        jobs: &mut [NewJob],
    ) -> Result<Vec<Result<Submitted>>> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let unknown = self.fill_in(jobs).await?;
        // Whoever looks at the limits is never told that there are some after all.
        let outcomes = self.insert_keyed_in(tx, jobs, true, &unknown).await?;
        Ok(outcomes.unwrap_or_default())
    }

    /// Tells of jobs that were stored by [`Self::insert_within`].
    pub(in crate::store::postgres) fn tell_new(&self, jobs: &[NewJob], outcomes: &[Result<Submitted>]) {
        self.announce_new(jobs, outcomes);
        self.hint_new(outcomes);
    }
}
