//! Forgetting what is past its time.

use std::time::Duration;

use jiff::SignedDuration;
use rusqlite::params;

use super::fault::Fault;
use super::hooks;
use super::rows::{self, micros};
use super::tx::Tx;
use crate::hook::{Hook, OWED_KEPT};
use crate::job::Job;
use crate::store::NAMES_KEPT;

/// So many jobs are forgotten in one transaction.
pub(super) const PRUNED_AT_ONCE: u32 = 5_000;
/// Accounts that nobody has shared for so long belong to groups with nothing to do, or to executors long gone.
const ACCOUNT_KEPT: Duration = Duration::from_hours(1);
/// So many free pages are given back to the disk in one transaction.
const PAGES_AT_ONCE: u32 = 1_000;

/// Forgets a part of what is past its time; says how many jobs that were.
pub(super) fn prune(tx: &mut Tx<'_>) -> Result<u64, Fault> {
    let forgotten = match before(tx, tx.retention) {
        Some(end) => {
            note_past(tx, end)?;
            for sql in [sql!("prune_log"), sql!("prune_attempts")] {
                tx.connection
                    .prepare_cached(sql)?
                    .execute(params![end, PRUNED_AT_ONCE])?;
            }
            tx.connection
                .prepare_cached(sql!("prune"))?
                .execute(params![end, PRUNED_AT_ONCE])?
        }
        None => 0,
    };
    if let Some(end) = before(tx, OWED_KEPT) {
        tx.connection.prepare_cached(sql!("forget_owed"))?.execute([end])?;
    }
    if tx.retention.is_zero() {
        for sql in [sql!("prune_orphan_logs"), sql!("prune_orphan_attempts")] {
            tx.connection.prepare_cached(sql)?.execute([])?;
        }
    }
    if let Some(end) = before(tx, ACCOUNT_KEPT) {
        tx.connection.prepare_cached(sql!("prune_accounts"))?.execute([end])?;
    }
    if let Some(end) = before(tx, NAMES_KEPT) {
        tx.connection.prepare_cached(sql!("prune_names"))?.execute([end])?;
    }
    tx.connection.prepare_cached(sql!("prune_reports"))?.execute([])?;
    // Each row of this pragma is a page given back; unread, it would stop at the first.
    let mut vacuum = tx
        .connection
        .prepare_cached(&format!("PRAGMA incremental_vacuum({PAGES_AT_ONCE})"))?;
    let mut pages = vacuum.query([])?;
    while pages.next()?.is_some() {}
    Ok(forgotten as u64)
}

/// Tasks that want to know which of their jobs are forgotten are told of those that now will be.
fn note_past(tx: &mut Tx<'_>, end: i64) -> Result<(), Fault> {
    let past: Vec<(Hook, Job)> = tx
        .connection
        .prepare_cached(sql!("past"))?
        .query_map(params![end, PRUNED_AT_ONCE, Hook::Delete.code()], |row| {
            Ok((Hook::Delete, rows::job(row)?))
        })?
        .collect::<Result<_, _>>()?;
    hooks::note(tx, &past)
}

/// So long ago; none if that was before time began.
fn before(tx: &Tx<'_>, duration: Duration) -> Option<i64> {
    let duration = SignedDuration::try_from(duration).ok()?;
    tx.now.checked_sub(duration).ok().map(micros)
}
