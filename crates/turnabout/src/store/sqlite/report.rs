//! How far held jobs are, as their handlers report it.

use rusqlite::params;
use uuid::Uuid;

use super::fault::Fault;
use super::rows::bytes;
use super::tx::Tx;
use crate::store::{Report, Settle};

/// Writes how far held jobs are.
pub(super) fn report(tx: &mut Tx<'_>, executor: Uuid, reports: &[Report]) -> Result<(), Fault> {
    let mut statement = tx.connection.prepare_cached(sql!("report"))?;
    for report in reports {
        let written = statement.execute(params![
            bytes(&report.id.0),
            bytes(&executor),
            report.number,
            report.percent,
            report.step,
        ])?;
        if written > 0 {
            tx.changed(report.id);
        }
    }
    Ok(())
}

/// Forgets what was reported of a job that ends or goes back.
pub(super) fn forget(tx: &Tx<'_>, job: &Settle) -> Result<(), Fault> {
    if job.reported {
        tx.connection
            .prepare_cached(sql!("forget_report"))?
            .execute([bytes(&job.id.0)])?;
    }
    Ok(())
}
