//! Storing new jobs.

use std::collections::HashMap;

use jiff::Timestamp;
use rusqlite::{OptionalExtension, params};

use super::desk::Tx;
use super::fault::Fault;
use super::limits::Quotas;
use super::members;
use super::rows::{bytes, meta_text, micros, uuid};
use crate::clock::{after, until};
use crate::error::{Error, Result};
use crate::job::{JobId, Lane, Priority, State};
use crate::store::{ID_AHEAD, ID_PAST, NewJob, Submitted};

/// What a task says of its jobs where a submit is silent.
struct Defaults {
    queue: String,
    priority: Priority,
    max_unfinished: Option<u32>,
}

pub(super) fn submit(tx: &mut Tx<'_>, jobs: &[NewJob]) -> Result<Vec<Result<Submitted>>, Fault> {
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let mut tasks: HashMap<&str, Defaults> = HashMap::new();
    let (last, limits) = first_look(tx, jobs.len())?;
    let mut quotas = Quotas::new(limits);
    let mut seq = last - jobs.len() as i64;
    let mut outcomes = Vec::with_capacity(jobs.len());
    for job in jobs {
        seq += 1;
        if let Some(outcome) = known(tx, job)? {
            outcomes.push(outcome);
            continue;
        }
        let defaults = match tasks.entry(&job.task) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => entry.insert(defaults(tx, &job.task)?),
        };
        let over = quotas.of(tx, job, defaults.max_unfinished)?;
        let full = quotas.room(tx, &over)?;
        outcomes.push(if let Some(full) = full {
            // A job that exists already needs no room.
            refused(tx, job)?.map_err(|_| full)
        } else if insert(tx, job, defaults, seq, !over.is_empty())? {
            quotas.use_up(&over);
            Ok(Submitted { id: job.id, new: true })
        } else {
            refused(tx, job)?
        });
    }
    Ok(outcomes)
}

/// The last of the next `count` places in the lanes, and whether any group has a limit.
fn first_look(tx: &Tx<'_>, count: usize) -> Result<(i64, bool), Fault> {
    Ok(tx
        .connection
        .prepare_cached(sql!("seq_and_limits"))?
        .query_row([count as i64], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

/// What there is to say of a given id before anything is stored: it is known already, or it cannot be right.
fn known(tx: &Tx<'_>, job: &NewJob) -> Result<Option<Result<Submitted>>, Fault> {
    if !job.id_given {
        return Ok(None);
    }
    let group: Option<String> = tx
        .connection
        .prepare_cached(sql!("group_of"))?
        .query_row([bytes(&job.id.0)], |row| row.get(0))
        .optional()?;
    Ok(match group {
        Some(group) if group == job.group => Some(Ok(Submitted { id: job.id, new: false })),
        Some(_) => Some(Err(Error::Conflict("job id"))),
        None => check_time(job.id, tx.now).err().map(Err),
    })
}

fn check_time(id: JobId, now: Timestamp) -> Result<()> {
    let Some(made) = id.time() else {
        return Err(Error::invalid("job id", "it is not a UUID of version 7"));
    };
    if made > after(now, ID_AHEAD) || after(made, ID_PAST) < now {
        let why = format!("its time, {made}, is more than 7 days ago or 24 hours ahead; make a new id");
        return Err(Error::invalid("job id", why));
    }
    Ok(())
}

fn defaults(tx: &Tx<'_>, task: &str) -> Result<Defaults, Fault> {
    let published = members::tasks(tx, Some(task))?.pop();
    Ok(published.map_or_else(
        || Defaults {
            queue: "default".to_owned(),
            priority: Priority::Normal,
            max_unfinished: None,
        },
        |task| Defaults {
            queue: task.queue,
            priority: task.priority,
            max_unfinished: task.max_unfinished,
        },
    ))
}

/// Says whether the job got in.
fn insert(tx: &mut Tx<'_>, job: &NewJob, defaults: &Defaults, seq: i64, limited: bool) -> Result<bool, Fault> {
    let priority = job.priority.unwrap_or(defaults.priority);
    let due = job.when.moment(tx.now);
    let inserted = tx.connection.prepare_cached(sql!("insert"))?.execute(params![
        bytes(&job.id.0),
        job.task,
        job.group,
        job.owner,
        job.queue.as_deref().unwrap_or(&defaults.queue),
        priority.code(),
        State::Waiting.code(),
        due.is_none().then(|| Lane::from(priority).code()),
        // A parked job gets its place in the lane when it comes into it.
        if due.is_none() { seq } else { 0 },
        due.map(micros),
        job.items,
        micros(tx.now),
        job.expires.expiry(tx.now).map(micros),
        job.parent.as_ref().map(|parent| bytes(&parent.0)),
        job.unique,
        meta_text(&job.meta)?,
        job.args,
        job.subject,
        job.prepared,
        limited,
    ])?;
    if inserted == 0 {
        return Ok(false);
    }
    match due {
        None => tx.ready(),
        Some(due) => tx.parked(until(tx.now, due)),
    }
    Ok(true)
}

/// Why a job did not get in: its unique key or its id is taken.
fn refused(tx: &Tx<'_>, job: &NewJob) -> Result<Result<Submitted>, Fault> {
    let Some(key) = &job.unique else {
        return Ok(Err(Error::Conflict("job id")));
    };
    let holder = tx
        .connection
        .prepare_cached(sql!("key_holder"))?
        .query_row(params![job.group, job.task, key], |row| uuid(row, 0))
        .optional()?;
    Ok(match holder {
        Some(id) => Ok(Submitted {
            id: JobId(id),
            new: false,
        }),
        None => Err(Error::Conflict("job id")),
    })
}
