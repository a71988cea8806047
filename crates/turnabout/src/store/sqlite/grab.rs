//! A parked job into an executor's hands, before it is due.

use uuid::Uuid;

use super::apply::{self, Left, Live};
use super::fault::Fault;
use super::tx::Tx;
use super::{executors, rows, settings};
use crate::clock::nanoseconds;
use crate::error::Error;
use crate::job::{Claim, Claimed, JobId, Lane};
use crate::store::grabbed;

pub(super) fn grab(tx: &mut Tx<'_>, executor: Uuid, number: i64, id: JobId) -> Result<Option<Claimed>, Fault> {
    if !executors::is_registered(tx, executor)? {
        return Err(Error::LeaseLost.into());
    }
    let Some(found) = rows::find(tx.connection, id)?.filter(|found| !found.ended) else {
        return Ok(None);
    };
    let job = &found.job;
    let Some(change) = grabbed(&job.standing()) else {
        return Ok(None);
    };
    let current = tx.settings()?;
    if current.is_paused(&job.queue, &job.group, &job.task) {
        return Ok(None);
    }
    let caps: Vec<_> = current.caps(&job.group, &job.task).collect();
    for cap in &caps {
        let limit = current.limit(cap).unwrap_or(u32::MAX);
        if settings::running(tx.connection, cap)? >= limit {
            return Ok(None);
        }
    }
    let now = nanoseconds(tx.now);
    let mut rates = Vec::new();
    for (of, rate) in current.rates(&job.group, &job.task) {
        let full = settings::full_at(tx.connection, &of)?;
        if rate.tokens(full, now) == 0 {
            return Ok(None);
        }
        rates.push((of, rate.after(full, now, 1)));
    }
    for (of, full) in &rates {
        settings::move_rate(tx.connection, of, *full)?;
    }
    for cap in &caps {
        apply::add_to_cap(tx, cap, 1)?;
    }
    let live = Live {
        claim: Some(Claim { executor, number }),
        // Should it be given back before it is done, it needs a place in its lane.
        seq: apply::next_seq(tx, 1)?,
        ..Live::from(&found)
    };
    apply::write(tx, &live, &change, &Left::default())?;
    Ok(Some(Claimed::of(job, Lane::from(job.priority), number)))
}
