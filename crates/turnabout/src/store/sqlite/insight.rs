//! What operators ask on a bad day: who holds slots, who waits, what ended and failed lately.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Row, params};

use super::SqliteStore;
use super::fault::Fault;
use super::open::MIGRATIONS;
use super::rows::{code, micros, moment, optional_code, uuid};
use super::tx::Tx;
use crate::error::Result;
use crate::job::{JobId, Lane, Reason, State};
use crate::store::insight::{
    Backlog, Checkup, ERROR_READ, Ended, FAILURES_READ, Failure, Head, Held, HeldBy, Insight, ReadyPlace,
};
use crate::store::overview::Whose;

#[async_trait]
impl Insight for SqliteStore {
    fn moment(&self) -> Timestamp {
        self.clock.now()
    }

    async fn held(&self) -> Result<Vec<Held>> {
        self.read("looking at what is held", |tx| held(tx)).await
    }

    async fn held_by(&self) -> Result<Vec<HeldBy>> {
        self.read("looking at what is held", |tx| held_by(tx)).await
    }

    async fn heads(&self, limit: u32) -> Result<Vec<Head>> {
        self.read("looking at who waits", move |tx| heads(tx, limit)).await
    }

    async fn ready(&self, places: &[ReadyPlace], limit: u32) -> Result<Vec<u64>> {
        let places = places.to_vec();
        self.read("counting ready jobs", move |tx| ready(tx, &places, limit))
            .await
    }

    async fn backlog(&self, _limit: u32) -> Result<Backlog> {
        self.read("counting ready jobs", |tx| {
            let ready: i64 = tx
                .connection
                .prepare_cached(sql!("backlog"))?
                .query_row([], |row| row.get(0))?;
            Ok(Backlog {
                ready: ready as u64,
                exact: true,
            })
        })
        .await
    }

    async fn ended(&self, from: Timestamp, until: Timestamp, limit: u32) -> Result<Vec<Ended>> {
        self.read("looking at what has ended", move |tx| ended(tx, from, until, limit))
            .await
    }

    async fn failures(&self, whose: &Whose, since: Timestamp, until: Option<Timestamp>) -> Result<Vec<Failure>> {
        let whose = whose.clone();
        self.read("looking at failures", move |tx| failures(tx, &whose, since, until))
            .await
    }

    async fn checkup(&self) -> Result<Checkup> {
        self.read("looking at the database", |tx| checkup(tx)).await
    }
}

fn held(tx: &Tx<'_>) -> Result<Vec<Held>, Fault> {
    let held = tx
        .connection
        .prepare_cached(sql!("held_groups"))?
        .query_map([], |row| {
            Ok(Held {
                group: row.get(0)?,
                task: row.get(1)?,
                queue: row.get(2)?,
                jobs: row.get::<_, i64>(3)? as u64,
                started: row.get::<_, i64>(4)? as u64,
                since: row.get::<_, Option<i64>>(5)?.map(moment),
            })
        })?
        .collect::<Result<_, _>>()?;
    Ok(held)
}

fn held_by(tx: &Tx<'_>) -> Result<Vec<HeldBy>, Fault> {
    let held = tx
        .connection
        .prepare_cached(sql!("held_tasks"))?
        .query_map([], |row| {
            Ok(HeldBy {
                task: row.get(0)?,
                executor: uuid(row, 1)?,
                jobs: row.get::<_, i64>(2)? as u64,
            })
        })?
        .collect::<Result<_, _>>()?;
    Ok(held)
}

fn heads(tx: &Tx<'_>, limit: u32) -> Result<Vec<Head>, Fault> {
    let heads = tx
        .connection
        .prepare_cached(sql!("stream_heads"))?
        .query_map([limit], |row| {
            Ok(Head {
                queue: row.get(0)?,
                group: row.get(1)?,
                lane: code(row, 2, Lane::from_code)?,
                task: row.get(3)?,
                seq: row.get(4)?,
                submitted: moment(row.get(5)?),
            })
        })?
        .collect::<Result<_, _>>()?;
    Ok(heads)
}

fn ready(tx: &Tx<'_>, places: &[ReadyPlace], limit: u32) -> Result<Vec<u64>, Fault> {
    let mut statement = tx.connection.prepare_cached(sql!("ready_of"))?;
    let mut counts = Vec::with_capacity(places.len());
    for place in places {
        let jobs: i64 = statement.query_row(params![place.queue, place.group, place.task], |row| row.get(0))?;
        counts.push((jobs as u64).min(limit.into()));
    }
    Ok(counts)
}

fn ended(tx: &Tx<'_>, from: Timestamp, until: Timestamp, limit: u32) -> Result<Vec<Ended>, Fault> {
    let ended = tx
        .connection
        .prepare_cached(sql!("ended_since"))?
        .query_map(params![micros(from), micros(until), limit], |row| {
            let (submitted, started): (i64, Option<i64>) = (row.get(4)?, row.get(5)?);
            let finished: i64 = row.get(6)?;
            let between = |from: i64, to: i64| Duration::from_micros(u64::try_from(to - from).unwrap_or(0));
            Ok(Ended {
                group: row.get(0)?,
                task: row.get(1)?,
                state: code(row, 2, State::from_code)?,
                reason: optional_code(row, 3, Reason::from_code)?,
                waited: started.map(|started| between(submitted, started)),
                ran: started.map(|started| between(started, finished)),
                attempts: row.get(7)?,
                at: moment(finished),
            })
        })?
        .collect::<Result<_, _>>()?;
    Ok(ended)
}

fn failure(row: &Row<'_>) -> rusqlite::Result<Failure> {
    Ok(Failure {
        id: JobId(uuid(row, 0)?),
        task: row.get(1)?,
        state: code(row, 2, State::from_code)?,
        reason: optional_code(row, 3, Reason::from_code)?,
        code: row.get(4)?,
        message: row.get(5)?,
        at: moment(row.get(6)?),
    })
}

fn failures(tx: &Tx<'_>, whose: &Whose, since: Timestamp, until: Option<Timestamp>) -> Result<Vec<Failure>, Fault> {
    let (from, end) = (micros(since), until.map_or(i64::MAX, micros));
    let length = ERROR_READ as u32;
    let connection = tx.connection;
    let mut found: Vec<Failure> = match &whose.group {
        None => connection
            .prepare_cached(sql!("failures"))?
            .query_map(params![from, end, FAILURES_READ, length], failure)?
            .collect::<Result<_, _>>()?,
        Some(group) => connection
            .prepare_cached(sql!("failures_of_group"))?
            .query_map(params![from, end, FAILURES_READ, length, group, whose.owner], failure)?
            .collect::<Result<_, _>>()?,
    };
    if until.is_none() {
        let mut stuck = connection.prepare_cached(sql!("failures_stuck"))?;
        for row in stuck.query_map(params![FAILURES_READ, length, whose.group, whose.owner], failure)? {
            found.push(row?);
        }
    }
    Ok(found)
}

fn checkup(tx: &Tx<'_>) -> Result<Checkup, Fault> {
    let pragma = |name: &str| tx.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let file = tx.connection.path().filter(|path| !path.is_empty()).map(PathBuf::from);
    let log = file.as_ref().map(|file| {
        let mut log = file.clone().into_os_string();
        log.push("-wal");
        std::fs::metadata(log).map_or(0, |log| log.len())
    });
    Ok(Checkup {
        schema: (pragma("user_version")?, MIGRATIONS.len() as i64),
        clock_ahead: SignedDuration::ZERO,
        bytes: ((pragma("page_count")? * pragma("page_size")?) as u64, log),
        file,
        ..Checkup::default()
    })
}
