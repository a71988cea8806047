//! Jobs' logs: lines added, and read by page.

use async_trait::async_trait;
use rusqlite::params;
use uuid::Uuid;

use super::SqliteStore;
use super::fault::Fault;
use super::rows::{bytes, code, micros, moment};
use super::settle::{is_held_by, was_ended_by};
use super::tx::Tx;
use crate::error::Result;
use crate::job::{Claim, JobId};
use crate::log::{Level, Line};
use crate::store::{LogEnd, LogLines, Report, Reporting};

#[async_trait]
impl Reporting for SqliteStore {
    async fn report(&self, executor: Uuid, reports: Vec<Report>) -> Result<()> {
        self.write("writing progress", move |tx| {
            super::report::report(tx, executor, &reports)
        })
        .await
    }

    async fn log(&self, executor: Uuid, logs: Vec<LogLines>) -> Result<()> {
        self.write("storing logs", move |tx| log(tx, executor, &logs)).await
    }

    async fn log_ends(&self, jobs: &[JobId]) -> Result<Vec<LogEnd>> {
        let jobs = jobs.to_vec();
        self.read("looking at logs", move |tx| log_ends(tx, &jobs)).await
    }

    async fn lines(&self, job: JobId, after: i64, limit: u32) -> Result<Vec<Line>> {
        self.read("reading a log", move |tx| lines(tx, job, after, limit)).await
    }
}

pub(super) fn log(tx: &mut Tx<'_>, executor: Uuid, logs: &[LogLines]) -> Result<(), Fault> {
    for log in logs {
        let claim = Claim {
            executor,
            number: log.number,
        };
        if !is_held_by(tx, log.id, claim)? && !was_ended_by(tx, log.id, claim)? {
            continue;
        }
        let mut statement = tx.connection.prepare_cached(sql!("log"))?;
        for line in &log.lines {
            statement.execute(params![
                bytes(&log.id.0),
                line.number,
                line.attempt,
                line.level.code(),
                micros(line.time),
                line.message,
            ])?;
        }
        tx.logged(log.id);
    }
    Ok(())
}

pub(super) fn log_ends(tx: &mut Tx<'_>, jobs: &[JobId]) -> Result<Vec<LogEnd>, Fault> {
    let mut statement = tx.connection.prepare_cached(sql!("log_end"))?;
    let mut ends = Vec::with_capacity(jobs.len());
    for job in jobs {
        let end = statement.query_row([bytes(&job.0)], |row| {
            Ok(LogEnd {
                number: row.get(0)?,
                lines: row.get::<_, i64>(1)? as u64,
            })
        })?;
        ends.push(end);
    }
    Ok(ends)
}

pub(super) fn lines(tx: &mut Tx<'_>, job: JobId, after: i64, limit: u32) -> Result<Vec<Line>, Fault> {
    let lines = tx
        .connection
        .prepare_cached(sql!("lines"))?
        .query_map(params![bytes(&job.0), after, limit], |row| {
            Ok(Line {
                number: row.get(0)?,
                attempt: row.get(1)?,
                time: moment(row.get(2)?),
                level: code(row, 3, Level::from_code)?,
                message: row.get(4)?,
            })
        })?
        .collect::<Result<_, _>>()?;
    Ok(lines)
}
