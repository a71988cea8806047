//! Storing new jobs.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use jiff::Timestamp;
use rusqlite::{OptionalExtension, Statement, params};

use super::desk::Tx;
use super::fault::Fault;
use super::rows::{bytes, meta_text, micros, uuid};
use super::streams::{Entering, Key};
use super::{members, writing};
use crate::clock::{after, until};
use crate::error::{Error, Result};
use crate::job::{JobId, Priority, State};
use crate::store::{ID_AHEAD, ID_PAST, NewJob, Submitted};

/// What a task says of its jobs where a submit is silent.
struct Defaults {
    queue: String,
    priority: Priority,
}

pub(super) fn submit(tx: &mut Tx<'_>, jobs: &[NewJob]) -> Result<Vec<Result<Submitted>>, Fault> {
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let mut tasks: HashMap<&str, Defaults> = HashMap::new();
    for job in jobs {
        if let Entry::Vacant(entry) = tasks.entry(&job.task) {
            entry.insert(defaults(tx, &job.task)?);
        }
    }
    let mut statement = tx.connection.prepare_cached(sql!("insert"))?;
    let mut entering = Entering::default();
    let mut seq = writing::next_seq(tx, jobs.len())? - jobs.len() as i64;
    let mut outcomes = Vec::with_capacity(jobs.len());
    for job in jobs {
        seq += 1;
        if let Some(outcome) = known(tx, job)? {
            outcomes.push(outcome);
            continue;
        }
        let defaults = &tasks[job.task.as_str()];
        let priority = job.priority.unwrap_or(defaults.priority);
        let key = Key {
            queue: job.queue.as_deref().unwrap_or(&defaults.queue),
            group: &job.group,
            lane: priority.into(),
            task: &job.task,
        };
        let due = job.when.moment(tx.now);
        if !insert(&mut statement, tx.now, job, key, priority, due, seq)? {
            outcomes.push(refused(tx, job)?);
            continue;
        }
        match due {
            None => {
                entering.add(tx, key, seq, job.id)?;
                tx.ready();
            }
            Some(due) => tx.parked(until(tx.now, due)),
        }
        outcomes.push(Ok(Submitted { id: job.id, new: true }));
    }
    entering.write(tx)?;
    Ok(outcomes)
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
        },
        |task| Defaults {
            queue: task.queue,
            priority: task.priority,
        },
    ))
}

/// Says whether the job got in.
fn insert(
    statement: &mut Statement<'_>,
    now: Timestamp,
    job: &NewJob,
    key: Key<'_>,
    priority: Priority,
    due: Option<Timestamp>,
    seq: i64,
) -> Result<bool, Fault> {
    let inserted = statement.execute(params![
        bytes(&job.id.0),
        job.task,
        job.group,
        job.owner,
        key.queue,
        priority.code(),
        State::Waiting.code(),
        due.is_none().then(|| key.lane.code()),
        // A parked job gets its place in the lane when it comes into it.
        if due.is_none() { seq } else { 0 },
        due.map(micros),
        job.items,
        micros(now),
        job.expires.expiry(now).map(micros),
        job.parent.as_ref().map(|parent| bytes(&parent.0)),
        job.unique,
        meta_text(&job.meta)?,
        job.args,
    ])?;
    Ok(inserted > 0)
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
