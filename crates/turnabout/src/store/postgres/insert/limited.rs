//! Jobs that come under limits, among others that do not. The quick ways of storing leave them out (or are not gone at
//! all); they are stored after the others, behind their gates.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use uuid::Uuid;

use super::super::PostgresStore;
use super::super::connect::failed;
use crate::error::{Error, Result};
use crate::store::{Leg, MaxUnfinished, NewJob, Submitted};

/// Whether its owner may have only so many.
pub(super) fn is_limited(job: &NewJob) -> bool {
    matches!(job.max_unfinished, MaxUnfinished::AtMost(_))
}

impl PostgresStore {
    /// Stores plain jobs by `COPY`, those of limited groups behind their gates.
    pub(super) async fn insert_many(
        &self,
        jobs: &[NewJob],
        unknown: &HashSet<String>,
        leg: &mut Leg,
    ) -> Result<Vec<Result<Submitted>>> {
        // Where nothing is known of limits, the first round trip of the copy asks, at no cost.
        if !self.limits.load(Relaxed) && self.copy(jobs, unknown, false, leg).await? {
            return Ok(super::all_new(jobs));
        }
        leg.until_over().await;
        let failed = failed("looking for limited groups");
        let groups: HashSet<&str> = jobs.iter().map(|job| job.group.as_str()).collect();
        let groups: Vec<&str> = groups.into_iter().collect();
        let client = self.client().await?;
        let statement = client.prepare_cached(&self.sql.group_limits).await.map_err(&failed)?;
        let limited = client.query(&statement, &[&groups]).await.map_err(&failed)?;
        let limited: HashSet<&str> = limited.iter().map(|row| row.get(0)).collect();
        drop(client);
        let free: Vec<NewJob> = jobs
            .iter()
            .filter(|job| !limited.contains(job.group.as_str()))
            .cloned()
            .collect();
        if !free.is_empty() {
            self.copy(&free, unknown, true, leg).await?;
        }
        if limited.is_empty() {
            return Ok(super::all_new(jobs));
        }
        let stored = free.iter().map(|job| job.id.0).collect();
        Ok(self.insert_rest(jobs, &stored).await)
    }

    /// The jobs that were left out.
    pub(super) async fn insert_rest(&self, jobs: &[NewJob], stored: &HashSet<Uuid>) -> Vec<Result<Submitted>> {
        let mut rest: Vec<NewJob> = jobs.iter().filter(|job| !stored.contains(&job.id.0)).cloned().collect();
        let outcomes = match self.fill_in(&mut rest).await {
            Ok(unknown) => self.insert_keyed(&rest, &unknown).await,
            Err(error) => Err(error),
        };
        // The others are stored by now, so an error here is not one of the whole call.
        let mut outcomes = match outcomes {
            Ok(outcomes) => outcomes,
            Err(error) => {
                let error = Arc::new(error);
                rest.iter()
                    .map(|_| Err(Error::shared("submitting under a limit", &error)))
                    .collect()
            }
        }
        .into_iter();
        let outcome = |job: &NewJob| {
            if stored.contains(&job.id.0) {
                Some(Ok(Submitted { id: job.id, new: true }))
            } else {
                outcomes.next()
            }
        };
        jobs.iter().filter_map(outcome).collect()
    }
}
