//! Jobs that have ended and are not kept: the short way, for a batch of which nothing else is to be said.

use foldhash::HashSet;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::PostgresStore;
use super::connect::Tx;
use crate::job::JobId;
use crate::lifecycle::Location;
use crate::store::Settle;

impl PostgresStore {
    /// Forgets all of these jobs, which an executor holds: one statement, which is a transaction of its own. Nothing: that
    /// cannot be, or some are not as they should be. Then nothing has happened, and it has to be told job by job.
    pub(super) async fn forget_all(
        &self,
        tx: &Tx,
        executor: Uuid,
        jobs: &[Settle],
    ) -> Result<Option<HashSet<JobId>>, tokio_postgres::Error> {
        let is_plain = |job: &Settle| job.change.place == Location::History && !job.reported;
        if !self.keeps_nothing() || self.has_caps() || !jobs.iter().all(is_plain) {
            return Ok(None);
        }
        // Rows are locked in the order of ids by everyone, so that two writes of the same jobs never wait for each other.
        let mut sorted: Vec<&Settle> = jobs.iter().collect();
        sorted.sort_unstable_by_key(|job| job.id);
        let ids: Vec<Uuid> = sorted.iter().map(|job| job.id.0).collect();
        let numbers: Vec<i64> = sorted.iter().map(|job| job.number).collect();
        let cancelling: Vec<bool> = sorted.iter().map(|job| job.cancelling).collect();
        let forget = tx.prepare(&self.sql.forget_all).await?;
        let params: [&(dyn ToSql + Sync); 4] = [&executor, &ids, &numbers, &cancelling];
        let all: bool = tx.client().query_one(&forget, &params).await?.get(0);
        Ok(all.then(|| jobs.iter().map(|job| job.id).collect()))
    }
}
