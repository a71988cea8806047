//! Hints of what changed, for those who watch. They are written by the transaction that makes the change, and only while
//! someone watches.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{Connection, params};

use super::SqliteStore;
use super::fault::Fault;
use super::rows::{bytes, micros, uuid};
use super::tx::Tx;
use crate::clock::{after, before};
use crate::error::Result;
use crate::job::{Brief, JobId};
use crate::store::{HINTS_KEPT, Hint, Hints, Watched};

#[async_trait]
impl Hints for SqliteStore {
    async fn watch(&self, hold: Duration) -> Result<Watched> {
        self.write("watching jobs", move |tx| self::watch(tx, hold)).await
    }

    async fn hints(&self, after: i64, limit: u32) -> Result<Vec<Hint>> {
        self.read("looking for changes", move |tx| self::hints(tx, after, limit))
            .await
    }
}

/// What is known of watchers is believed for so long: others may begin to watch without telling us.
const BELIEVED: Duration = Duration::from_secs(1);

/// Until when someone watches, as far as is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Watching {
    until: i64,
    read: Option<Instant>,
}

impl Watching {
    /// Whether someone watches.
    pub(super) fn is_on(&mut self, connection: &Connection, now: Timestamp) -> bool {
        if self.read.is_none_or(|read| read.elapsed() > BELIEVED) {
            let read = connection.prepare_cached(sql!("feed"));
            // A failing look means that the next statement fails, too, and says so.
            self.until = read
                .and_then(|mut feed| feed.query_row([], |row| row.get(0)))
                .unwrap_or(0);
            self.read = Some(Instant::now());
        }
        self.until >= micros(now)
    }

    fn set(&mut self, until: i64) {
        self.until = until;
        self.read = Some(Instant::now());
    }

    /// What was read in a transaction that did not happen must not be believed.
    pub(super) fn forget(&mut self) {
        self.read = None;
    }
}

/// A job that has changed, and what it was at its end if it is not kept.
pub(super) type Told = (JobId, Option<Box<Brief>>);

/// Writes hints, each job once.
pub(super) fn write(connection: &Connection, now: Timestamp, told: &mut Vec<Told>) -> rusqlite::Result<()> {
    // Of several hints of one job the one that tells its end comes first, and is kept.
    told.sort_by_key(|(id, last)| (*id, last.is_none()));
    told.dedup_by_key(|(id, _)| *id);
    for (id, last) in told.drain(..) {
        let Some(last) = last else {
            connection
                .prepare_cached(sql!("hint"))?
                .execute(params![bytes(&id.0), micros(now)])?;
            continue;
        };
        let text = serde_json::to_string(&last).map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))?;
        connection.prepare_cached(sql!("hint_last"))?.execute(params![
            bytes(&id.0),
            last.group,
            last.owner,
            micros(now),
            text
        ])?;
    }
    Ok(())
}

pub(super) fn watch(tx: &mut Tx<'_>, hold: Duration) -> Result<Watched, Fault> {
    let times = params![
        micros(tx.now),
        micros(after(tx.now, hold)),
        micros(before(tx.now, HINTS_KEPT))
    ];
    let (watched, until) = tx.connection.prepare_cached(sql!("watch"))?.query_row(times, |row| {
        let watched = Watched {
            epoch: row.get(0)?,
            newest: row.get(3)?,
            forgotten: row.get(2)?,
        };
        Ok((watched, row.get(1)?))
    })?;
    tx.connection
        .prepare_cached(sql!("forget_hints"))?
        .execute([watched.forgotten])?;
    tx.watching.set(until);
    Ok(watched)
}

pub(super) fn hints(tx: &Tx<'_>, after: i64, limit: u32) -> Result<Vec<Hint>, Fault> {
    let hints = tx
        .connection
        .prepare_cached(sql!("hints"))?
        .query_map(params![after, limit], |row| {
            let last: Option<String> = row.get(4)?;
            Ok(Hint {
                number: row.get(0)?,
                job: JobId(uuid(row, 1)?),
                group: row.get(2)?,
                owner: row.get(3)?,
                // Written by a newer program, perhaps: then only that it changed is known.
                last: last.and_then(|text| serde_json::from_str(&text).ok()),
            })
        })?
        .collect::<Result<_, _>>()?;
    Ok(hints)
}
