//! Rows and what they mean: times, ids, codes, and whole jobs.

use std::time::Duration;

use jiff::Timestamp;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row};
use uuid::Uuid;

use super::fault::Fault;
use crate::job::{Claim, Job, JobId, Lane, Meta, Priority, Reason, State};
use crate::progress::percent_of;

pub(super) fn micros(moment: Timestamp) -> i64 {
    moment.as_microsecond()
}

pub(super) fn moment(micros: i64) -> Timestamp {
    Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX)
}

/// A duration as a number; one that is too long for that is as good as for ever.
pub(super) fn span(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

pub(super) fn duration(span: i64) -> Duration {
    Duration::from_micros(u64::try_from(span).unwrap_or(0))
}

pub(super) fn bytes(id: &Uuid) -> &[u8] {
    id.as_bytes().as_slice()
}

pub(super) fn uuid(row: &Row<'_>, at: usize) -> rusqlite::Result<Uuid> {
    let bytes = row.get_ref(at)?.as_blob()?;
    Uuid::from_slice(bytes).map_err(|e| rusqlite::Error::FromSqlConversionFailure(at, Type::Blob, Box::new(e)))
}

fn optional_uuid(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Uuid>> {
    match row.get_ref(at)? {
        rusqlite::types::ValueRef::Null => Ok(None),
        _ => uuid(row, at).map(Some),
    }
}

/// A job's parent.
pub(super) fn parent(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<JobId>> {
    Ok(optional_uuid(row, at)?.map(JobId))
}

/// A value of an enum by its code. A code that nobody knows means a damaged file.
pub(super) fn code<T>(row: &Row<'_>, at: usize, from: fn(i16) -> Option<T>) -> rusqlite::Result<T> {
    let code: i16 = row.get(at)?;
    from(code).ok_or(rusqlite::Error::IntegralValueOutOfRange(at, code.into()))
}

pub(super) fn optional_code<T>(row: &Row<'_>, at: usize, from: fn(i16) -> Option<T>) -> rusqlite::Result<Option<T>> {
    match row.get::<_, Option<i16>>(at)? {
        None => Ok(None),
        Some(_) => code(row, at, from).map(Some),
    }
}

/// What was set beside the arguments. Most jobs have nothing, and nothing is stored as such.
pub(super) fn meta(row: &Row<'_>, at: usize) -> rusqlite::Result<Meta> {
    match row.get_ref(at)?.as_str_or_null()? {
        None => Ok(Meta::new()),
        Some(text) => serde_json::from_str(text)
            .map_err(|e| rusqlite::Error::FromSqlConversionFailure(at, Type::Text, Box::new(e))),
    }
}

/// What [`meta`] reads.
pub(super) fn meta_text(meta: &Meta) -> Result<Option<String>, Fault> {
    if meta.is_empty() {
        return Ok(None);
    }
    let text = serde_json::to_string(meta).map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))?;
    Ok(Some(text))
}

/// A job as it was found, and where.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) job: Job,
    /// Whether it is among the ended ones.
    pub(super) ended: bool,
}

/// A job by its id, unfinished or ended, for whoever changes it: what its executor is called is nothing to them.
pub(super) fn find_to_change(connection: &Connection, id: JobId) -> Result<Option<Found>, Fault> {
    Ok(find(connection, id)?.map(|mut found| {
        found.job.executor = None;
        found
    }))
}

/// A job by its id, unfinished or ended.
pub(super) fn find(connection: &Connection, id: JobId) -> Result<Option<Found>, Fault> {
    let key = [bytes(&id.0)];
    let live = connection
        .prepare_cached(sql!("get_live"))?
        .query_row(key, |row| found(row, false))
        .optional()?;
    if live.is_some() {
        return Ok(live);
    }
    let ended = connection
        .prepare_cached(sql!("get_history"))?
        .query_row(key, |row| found(row, true))
        .optional()?;
    Ok(ended)
}

fn found(row: &Row<'_>, ended: bool) -> rusqlite::Result<Found> {
    Ok(Found { job: job(row)?, ended })
}

/// A whole job, from the columns of `get_live.sql`.
pub(super) fn job(row: &Row<'_>) -> rusqlite::Result<Job> {
    let time = |at: usize| -> rusqlite::Result<Option<Timestamp>> { Ok(row.get::<_, Option<i64>>(at)?.map(moment)) };
    let executor = optional_uuid(row, 12)?;
    let state = code(row, 6, State::from_code)?;
    let number: Option<i64> = row.get(13)?;
    Ok(Job {
        id: JobId(uuid(row, 0)?),
        task: row.get(1)?,
        group: row.get(2)?,
        owner: row.get(3)?,
        queue: row.get(4)?,
        priority: code(row, 5, Priority::from_code)?,
        state,
        reason: optional_code(row, 7, Reason::from_code)?,
        cancelling: row.get(8)?,
        lane: optional_code(row, 9, Lane::from_code)?,
        seq: row.get(10)?,
        due: time(11)?,
        claim: executor
            .zip(number)
            .map(|(executor, number)| Claim { executor, number }),
        attempts: row.get(14)?,
        interruptions: row.get(15)?,
        losses: row.get(16)?,
        items: row.get(17)?,
        submitted: moment(row.get(18)?),
        expires: time(19)?,
        started: time(20)?,
        finished: time(21)?,
        parent: parent(row, 22)?,
        unique: row.get(23)?,
        meta: meta(row, 24)?,
        args: row.get(25)?,
        error: row.get(26)?,
        result: row.get(27)?,
        error_message: row.get(28)?,
        error_code: row.get(29)?,
        progress: percent_of(state, row.get(30)?),
        step: row.get(31)?,
        subject: row.get(32)?,
        prepared: row.get(33)?,
        executor: row.get(34)?,
    })
}
