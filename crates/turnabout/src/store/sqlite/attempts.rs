//! Attempts that were not their job's last.

use rusqlite::params;

use super::fault::Fault;
use super::rows::{bytes, micros, moment, optional_code, uuid};
use super::tx::Tx;
use crate::job::{Attempt, Claim, JobId, Reason};
use crate::store::ATTEMPTS_KEPT;

/// Keeps an attempt, and no more of a job than there is room for.
pub(super) fn keep(tx: &Tx<'_>, job: JobId, attempt: &Attempt) -> Result<(), Fault> {
    tx.connection.prepare_cached(sql!("attempt"))?.execute(params![
        bytes(&job.0),
        attempt.number,
        bytes(&attempt.claim.executor),
        attempt.claim.number,
        micros(attempt.started),
        micros(attempt.ended.unwrap_or(tx.now)),
        attempt.reason.map(Reason::code),
        attempt.error,
        attempt.error_message,
        attempt.error_code,
    ])?;
    tx.connection
        .prepare_cached(sql!("surplus_attempts"))?
        .execute(params![bytes(&job.0), ATTEMPTS_KEPT])?;
    Ok(())
}

pub(super) fn attempts(tx: &mut Tx<'_>, job: JobId) -> Result<Vec<Attempt>, Fault> {
    let attempts = tx
        .connection
        .prepare_cached(sql!("attempts"))?
        .query_map([bytes(&job.0)], |row| {
            Ok(Attempt {
                number: row.get(0)?,
                claim: Claim {
                    executor: uuid(row, 1)?,
                    number: row.get(2)?,
                },
                executor: row.get(9)?,
                started: moment(row.get(3)?),
                ended: Some(moment(row.get(4)?)),
                reason: optional_code(row, 5, Reason::from_code)?,
                error: row.get(6)?,
                error_message: row.get(7)?,
                error_code: row.get(8)?,
            })
        })?
        .collect::<Result<_, _>>()?;
    Ok(attempts)
}
