//! Forgetting: ended jobs that are past their time, and what nobody needs any longer.
//!
//! Ended jobs are looked for by the reader and forgotten by the writer, a page at a time, so that nobody waits long behind a
//! year's jobs.

use std::sync::PoisonError;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rusqlite::params;

use super::SqliteStore;
use super::fault::Fault;
use super::hooks;
use super::rows::{self, bytes, micros, uuid};
use super::tx::Tx;
use crate::clock::nanoseconds;
use crate::error::Result;
use crate::hook::{Hook, OWED_KEPT};
use crate::job::{Job, JobId};
use crate::retention::{self, Rule, SOON};
use crate::store::{Configuration, NAMES_KEPT, OVERLAP};

/// So many jobs are forgotten in one transaction: a few milliseconds.
const PAGE: u32 = 250;
/// Accounts that nobody has shared for so long belong to groups with nothing to do, or to executors long gone.
const ACCOUNT_KEPT: Duration = Duration::from_hours(1);
/// So many free pages are given back to the disk in one transaction.
const PAGES_AT_ONCE: u32 = 100;
/// So often at the most, when the store is tidied.
const VACUUMS: u32 = 10;

/// An ended job, and when it ended.
type Ended = (JobId, i64);

impl SqliteStore {
    /// Forgets what is past its time; says how many jobs that were.
    pub(super) async fn forget_old(&self) -> Result<u64> {
        let forgotten = self.forget_past(Duration::MAX, OVERLAP).await?;
        self.write("tidying up", tidy).await?;
        for _ in 0..VACUUMS {
            if !self.write("giving back pages", vacuum).await? {
                break;
            }
        }
        self.prune_audit().await?;
        Ok(forgotten)
    }

    /// Forgets ended jobs that are hardly kept.
    pub(super) async fn forget_soon(&self) -> Result<u64> {
        let settings = self.settings().await?;
        if !retention::any_soon(&settings, self.retention) {
            return Ok(0);
        }
        self.forget_past(SOON, Duration::ZERO).await
    }

    /// Forgets ended jobs that are past their time and are kept no longer than `most`: those that ended since the last look, and
    /// `overlap` before.
    async fn forget_past(&self, most: Duration, overlap: Duration) -> Result<u64> {
        let settings = self.settings().await?;
        let mut forgotten = 0;
        for (number, rule) in retention::rules(&settings, self.retention).into_iter().enumerate() {
            let Some(end) = ago(self.clock.now(), rule.kept).filter(|_| rule.kept <= most) else {
                continue;
            };
            let from = {
                let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
                swept.from(settings.version, number, overlap)
            };
            let mut last: Ended = (JobId(uuid::Uuid::nil()), from.map_or(i64::MIN, micros));
            loop {
                let rule = rule.clone();
                let look = move |tx: &mut Tx<'_>| past(tx, &rule, last, micros(end));
                let page = self.read("looking for old jobs", look).await?;
                let (full, next) = (page.len() == PAGE as usize, page.last().copied());
                if !page.is_empty() {
                    forgotten += self.write("forgetting old jobs", move |tx| forget(tx, &page)).await?;
                }
                match next.filter(|_| full) {
                    Some(next) => last = next,
                    None => break,
                }
            }
            let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
            swept.done(settings.version, number, end);
        }
        Ok(forgotten)
    }
}

/// A page of what a rule covers and is past its time.
fn past(tx: &Tx<'_>, rule: &Rule, (id, after): Ended, end: i64) -> Result<Vec<Ended>, Fault> {
    let json = |names: &Vec<String>| {
        serde_json::to_string(names).map_err(|e| Fault::from(rusqlite::Error::ToSqlConversionFailure(Box::new(e))))
    };
    let states =
        serde_json::to_string(&rule.codes()).map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))?;
    let (groups, tasks) = (
        rule.groups.as_ref().map(json).transpose()?,
        rule.tasks.as_ref().map(json).transpose()?,
    );
    let (not_groups, not_tasks) = (json(&rule.except_groups)?, json(&rule.except_tasks)?);
    let found = tx
        .connection
        .prepare_cached(sql!("past"))?
        .query_map(
            params![
                after,
                bytes(&id.0),
                end,
                states,
                groups,
                tasks,
                not_groups,
                not_tasks,
                PAGE
            ],
            |row| Ok((JobId(uuid(row, 0)?), row.get(1)?)),
        )?
        .collect::<Result<_, _>>()?;
    Ok(found)
}

/// Forgets ended jobs with what is kept beside them. Tasks that want to know are told.
fn forget(tx: &mut Tx<'_>, jobs: &[Ended]) -> Result<u64, Fault> {
    let hooked: bool = tx
        .connection
        .prepare_cached(sql!("hooked"))?
        .query_row([Hook::Delete.code()], |row| row.get(0))?;
    let connection = tx.connection;
    let mut history = connection.prepare_cached(sql!("prune"))?;
    let mut beside = [
        connection.prepare_cached(sql!("prune_log"))?,
        connection.prepare_cached(sql!("prune_attempts"))?,
    ];
    let mut forgotten = 0;
    for (id, finished) in jobs {
        let job: Option<Job> = if hooked {
            rows::find_to_change(connection, *id)?
                .filter(|found| found.ended)
                .map(|found| found.job)
        } else {
            None
        };
        let id = bytes(&id.0);
        if history.execute(params![id, finished])? == 0 {
            continue;
        }
        forgotten += 1;
        for statement in &mut beside {
            statement.execute([id])?;
        }
        if let Some(job) = job
            && hooks::has(tx, &job.task, Hook::Delete)?
        {
            hooks::note(tx, &[(Hook::Delete, job)])?;
        }
    }
    Ok(forgotten)
}

/// Forgets what is not a job.
fn tidy(tx: &mut Tx<'_>) -> Result<(), Fault> {
    if let Some(end) = ago(tx.now, OWED_KEPT) {
        tx.connection
            .prepare_cached(sql!("forget_owed"))?
            .execute([micros(end)])?;
    }
    if tx.keeps_nothing()? {
        for sql in [sql!("prune_orphan_logs"), sql!("prune_orphan_attempts")] {
            tx.connection.prepare_cached(sql)?.execute([])?;
        }
    }
    if let Some(end) = ago(tx.now, ACCOUNT_KEPT) {
        tx.connection
            .prepare_cached(sql!("prune_accounts"))?
            .execute([micros(end)])?;
    }
    if let Some(end) = ago(tx.now, NAMES_KEPT) {
        tx.connection
            .prepare_cached(sql!("prune_names"))?
            .execute([micros(end)])?;
    }
    tx.connection.prepare_cached(sql!("prune_reports"))?.execute([])?;
    tx.connection
        .prepare_cached(sql!("prune_rate_keys"))?
        .execute([nanoseconds(tx.now)])?;
    tx.connection
        .prepare_cached(sql!("prune_rates"))?
        .execute([nanoseconds(tx.now)])?;
    tx.connection.prepare_cached(sql!("prune_idle"))?.execute([])?;
    Ok(())
}

/// Gives free pages back to the disk. Says whether there may be more.
fn vacuum(tx: &mut Tx<'_>) -> Result<bool, Fault> {
    // Each row of this pragma is a page given back; unread, it would stop at the first.
    let mut vacuum = tx
        .connection
        .prepare_cached(&format!("PRAGMA incremental_vacuum({PAGES_AT_ONCE})"))?;
    let mut pages = vacuum.query([])?;
    let mut given = 0;
    while pages.next()?.is_some() {
        given += 1;
    }
    Ok(given >= PAGES_AT_ONCE)
}

/// So long before; none if that was before time began.
fn ago(now: Timestamp, duration: Duration) -> Option<Timestamp> {
    let duration = SignedDuration::try_from(duration).ok()?;
    now.checked_sub(duration).ok()
}
