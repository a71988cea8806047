//! Reading: jobs by id, lists, counts, and why a job waits.

use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, params};

use super::fault::Fault;
use super::rows::{bytes, find, job, micros, moment, uuid};
use super::settings;
use super::tx::Tx;
use crate::clock::nanoseconds;
use crate::job::{Job, JobId, Reason, State};
use crate::store::{Counts, Filter, Standpoint};

/// Counting stops here: more than this is "many" to anyone who asks.
const COUNTED: u32 = 10_000;

pub(super) fn get(tx: &mut Tx<'_>, ids: &[JobId], brief: bool) -> Result<Vec<Job>, Fault> {
    let mut jobs = Vec::with_capacity(ids.len());
    for id in ids {
        // One by one, so that no more than one whole job is in memory.
        jobs.extend(find(tx.connection, *id)?.map(|found| shortened(found.job, brief)));
    }
    Ok(jobs)
}

pub(super) fn list(tx: &mut Tx<'_>, filter: &Filter) -> Result<Vec<Job>, Fault> {
    let mut jobs = Vec::new();
    for sql in lists(filter) {
        walk(tx, filter, sql, |row| {
            jobs.push(shortened(job(row)?, filter.brief));
            Ok(())
        })?;
    }
    jobs.sort_unstable_by_key(|job| std::cmp::Reverse(job.id));
    jobs.truncate(filter.limit as usize);
    Ok(jobs)
}

fn shortened(mut job: Job, brief: bool) -> Job {
    if brief {
        job.shorten();
    }
    job
}

/// Where a list is after so many looks. What walks an index of its own is not stopped before that.
pub(super) fn depth(tx: &mut Tx<'_>, filter: &Filter, looks: u32) -> Result<Option<JobId>, Fault> {
    let (floor, ceiling) = bounds(filter);
    let mut deepest = None;
    let live = filter.wants(false).then_some(sql!("depth_live"));
    let ended = filter.wants(true).then_some(match &filter.group {
        Some(_) => sql!("depth_history_of_group"),
        None if filter.wants_failed() => sql!("depth_history_failed"),
        None => sql!("depth_history"),
    });
    for sql in live.into_iter().chain(ended) {
        let mut statement = tx.connection.prepare_cached(sql)?;
        let id = statement
            .query_row(params![ceiling, floor, looks, filter.group], |row| uuid(row, 0))
            .optional()?;
        deepest = deepest.max(id.map(JobId));
    }
    Ok(deepest)
}

/// How many jobs match, up to the filter's limit.
pub(super) fn count(tx: &mut Tx<'_>, filter: &Filter) -> Result<u64, Fault> {
    let mut count = 0;
    for sql in lists(filter) {
        walk(tx, filter, &counting(sql), |row| {
            count += row.get::<_, i64>(0)? as u64;
            Ok(())
        })?;
    }
    Ok(count.min(u64::from(filter.limit)))
}

/// Counts what a list would find. `SQLite` reads no column for it that only the list needs.
pub(super) fn counting(list: &str) -> String {
    format!("SELECT count(*) FROM ({list})")
}

/// From where to where ids go: the first is included, the second is not.
fn bounds(filter: &Filter) -> (Vec<u8>, Vec<u8>) {
    let (floor, ceiling) = filter.range();
    (
        floor.map_or_else(Vec::new, |id| bytes(&id.0).to_vec()),
        // Longer than an id, so after every one of them.
        ceiling.map_or_else(|| vec![0xff; 17], |id| bytes(&id.0).to_vec()),
    )
}

/// The statements that find what matches.
fn lists(filter: &Filter) -> impl Iterator<Item = &'static str> {
    let live = filter.wants(false).then_some(match filter.parent {
        Some(_) => sql!("list_live_of_parent", "list_filter"),
        None => sql!("list_live", "list_filter"),
    });
    let ended = filter.wants(true).then_some(match (filter.parent, &filter.group) {
        (Some(_), _) => sql!("list_history_of_parent", "list_filter"),
        (None, None) if filter.wants_failed() => sql!("list_history_failed", "list_filter"),
        (None, Some(_)) => sql!("list_history_of_group", "list_filter"),
        (None, None) => sql!("list_history", "list_filter"),
    });
    live.into_iter().chain(ended)
}

fn walk(
    tx: &Tx<'_>,
    filter: &Filter,
    sql: &str,
    mut each: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
) -> Result<(), Fault> {
    let (from, before) = bounds(filter);
    let codes: Vec<String> = filter.states.iter().map(|s: &State| s.code().to_string()).collect();
    let states = (!codes.is_empty()).then(|| format!("[{}]", codes.join(",")));
    let (meta, not) = filter.as_json();
    let mut statement = tx.connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![
        before,
        states,
        filter.task,
        filter.group,
        filter.owner,
        filter.queue,
        filter.limit,
        filter.subject,
        filter.since.map(micros),
        filter.until.map(micros),
        from,
        filter.reason.map(Reason::code),
        filter.code,
        filter.parent.as_ref().map(|id| bytes(&id.0)),
        filter.executor.as_ref().map(bytes),
        filter.attempts,
        meta,
        not,
    ])?;
    while let Some(row) = rows.next()? {
        each(row)?;
    }
    Ok(())
}

pub(super) fn counts(tx: &mut Tx<'_>) -> Result<Counts, Fault> {
    let counts = tx.connection.prepare_cached(sql!("counts"))?.query_row([], |row| {
        let count = |at: usize| row.get::<_, i64>(at).map(|n| n as u64);
        Ok(Counts {
            ready: count(0)?,
            parked: count(1)?,
            held: count(2)?,
            ended: count(3)?,
        })
    })?;
    Ok(counts)
}

pub(super) fn standpoint(tx: &mut Tx<'_>, id: JobId) -> Result<Option<Standpoint>, Fault> {
    let settings = tx.settings()?;
    let Some(found) = find(tx.connection, id)? else {
        return Ok(None);
    };
    let job = found.job;
    let mut running = Vec::new();
    for cap in settings.caps(&job.group, &job.task) {
        let now = settings::running(tx.connection, &cap)?;
        let most = settings.limit(&cap).unwrap_or(u32::MAX);
        running.push((cap, now, most));
    }
    let mut rates = Vec::new();
    for (of, rate) in settings.rates(&job.group, &job.task) {
        let full = settings::full_at(tx.connection, &of)?;
        rates.push((of, rate, rate.wait(full, nanoseconds(tx.now))));
    }
    Ok(Some(Standpoint {
        rates,
        ahead: ahead(tx, &job)?,
        groups: groups(tx, &job.queue)?,
        running,
        heard: heard(tx, &job)?,
        settings: (settings.group(&job.group), settings.task(&job.task)),
        queue: settings.queue(&job.queue),
        global: settings.global,
        job,
    }))
}

fn ahead(tx: &Tx<'_>, job: &Job) -> Result<u64, Fault> {
    let Some(lane) = job.lane else { return Ok(0) };
    let ahead: i64 = tx.connection.prepare_cached(sql!("ahead"))?.query_row(
        params![job.queue, job.group, lane.code(), job.task, job.seq, COUNTED],
        |row| row.get(0),
    )?;
    Ok(ahead as u64)
}

fn groups(tx: &Tx<'_>, queue: &str) -> Result<u64, Fault> {
    let groups: i64 = tx
        .connection
        .prepare_cached(sql!("groups"))?
        .query_row(params![queue, COUNTED], |row| row.get(0))?;
    Ok(groups as u64)
}

/// When one of those was last heard of who would take the job.
fn heard(tx: &Tx<'_>, job: &Job) -> Result<Option<Timestamp>, Fault> {
    let heard: Option<i64> = tx
        .connection
        .prepare_cached(sql!("heard"))?
        .query_row([&job.queue, &job.task], |row| row.get(0))?;
    Ok(heard.map(moment))
}
