//! Storing new jobs.

use std::collections::hash_map::Entry;

use foldhash::HashMap;
use jiff::Timestamp;
use rusqlite::{CachedStatement, OptionalExtension, params};

use super::fault::Fault;
use super::limits::Quotas;
use super::rows::{bytes, code, meta_text, micros, uuid};
use super::streams::{Entering, Key};
use super::tx::Tx;
use crate::clock::until;
use crate::error::{Error, Result};
use crate::job::{JobId, Lane, Priority, State};
use crate::store::{NewJob, Submitted, check_time};

/// What a task says of its jobs where a submit is silent.
pub(super) struct Defaults {
    queue: String,
    priority: Priority,
    pub(super) max_unfinished: Option<u32>,
    /// Whether an executor has ever published the task.
    pub(super) known: bool,
}

pub(super) fn insert(tx: &mut Tx<'_>, jobs: &[NewJob]) -> Result<Vec<Result<Submitted>>, Fault> {
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let mut tasks: HashMap<&str, Defaults> = HashMap::default();
    for job in jobs {
        if let Entry::Vacant(entry) = tasks.entry(&job.task) {
            entry.insert(defaults(tx, &job.task)?);
        }
    }
    let mut insert = Insert {
        statement: tx.connection.prepare_cached(sql!("insert"))?,
        last: None,
        beside: None,
    };
    let mut entering = Entering::default();
    let (last_seq, limits) = first_look(tx, jobs.len())?;
    let mut quotas = Quotas::new(limits);
    let mut seq = last_seq - jobs.len() as i64;
    let mut outcomes = Vec::with_capacity(jobs.len());
    for job in jobs {
        seq += 1;
        if let Some(outcome) = known(tx, job)? {
            outcomes.push(outcome);
            continue;
        }
        let defaults = &tasks[job.task.as_str()];
        let priority = job.priority.unwrap_or(defaults.priority);
        let common = Common {
            task: &job.task,
            group: &job.group,
            owner: job.owner.as_deref(),
            queue: job.queue.as_deref().unwrap_or(&defaults.queue),
            priority,
            lane: priority.into(),
            due: job.when.moment(tx.now),
            items: job.items,
            expires: job.expires.expiry(tx.now),
            parent: job.parent,
            unique: job.unique.as_deref(),
        };
        let over = quotas.of(tx, job, defaults.max_unfinished)?;
        let mut full = quotas.room(tx, &over)?;
        if full.is_none() && !defaults.known {
            full = quotas.name(tx, &job.group, &job.task)?;
        }
        if let Some(full) = full {
            // A job that exists already needs no room.
            outcomes.push(refused(tx, job)?.map_err(|_| full));
            continue;
        }
        if !insert.insert(job, common, seq, !over.is_empty() || !defaults.known, tx.now)? {
            outcomes.push(refused(tx, job)?);
            continue;
        }
        quotas.use_up(&over);
        if !defaults.known {
            quotas.use_name(&job.group, &job.task);
        }
        match common.due {
            None => {
                let key = Key {
                    queue: common.queue,
                    group: common.group,
                    lane: common.lane,
                    task: common.task,
                };
                entering.add(tx, key, seq, job.id)?;
                tx.ready(&job.task);
            }
            Some(due) => tx.parked(until(tx.now, due)),
        }
        tx.hint(job.id);
        outcomes.push(Ok(Submitted { id: job.id, new: true }));
    }
    entering.write(tx)?;
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

pub(super) fn defaults(tx: &Tx<'_>, task: &str) -> Result<Defaults, Fault> {
    let published = tx
        .connection
        .prepare_cached(sql!("defaults"))?
        .query_row([task], |row| {
            Ok(Defaults {
                queue: row.get(0)?,
                priority: code(row, 1, Priority::from_code)?,
                max_unfinished: row.get(2)?,
                known: true,
            })
        })
        .optional()?;
    Ok(published.unwrap_or_else(|| Defaults {
        queue: "default".to_owned(),
        priority: Priority::Normal,
        max_unfinished: None,
        known: false,
    }))
}

/// What a new job often has in common with the one before it.
#[derive(Clone, Copy, PartialEq)]
struct Common<'a> {
    task: &'a str,
    group: &'a str,
    owner: Option<&'a str>,
    queue: &'a str,
    priority: Priority,
    lane: Lane,
    due: Option<Timestamp>,
    items: u32,
    expires: Option<Timestamp>,
    parent: Option<JobId>,
    unique: Option<&'a str>,
}

/// Puts jobs into the table, with a statement that is looked up once. What is the same as for the job before it still
/// knows, and need not be told again.
struct Insert<'a> {
    statement: CachedStatement<'a>,
    last: Option<Common<'a>>,
    /// Whether the last one had a subject, was prepared, and came under a limit.
    beside: Option<(bool, bool, bool)>,
}

impl<'a> Insert<'a> {
    /// Says whether the job got in.
    fn insert(
        &mut self,
        job: &NewJob,
        common: Common<'a>,
        seq: i64,
        limited: bool,
        now: Timestamp,
    ) -> Result<bool, Fault> {
        let statement = &mut self.statement;
        let last = self.last.replace(common);
        let is_new = |differs: fn(&Common<'_>, &Common<'_>) -> bool| last.is_none_or(|last| differs(&last, &common));
        if last.is_none() {
            statement.raw_bind_parameter(7, State::Waiting.code())?;
            statement.raw_bind_parameter(12, micros(now))?;
        }
        if is_new(|a, b| a.group != b.group) {
            statement.raw_bind_parameter(3, common.group)?;
        }
        if is_new(|a, b| (a.task, a.owner, a.queue) != (b.task, b.owner, b.queue)) {
            statement.raw_bind_parameter(2, common.task)?;
            statement.raw_bind_parameter(4, common.owner)?;
            statement.raw_bind_parameter(5, common.queue)?;
        }
        if is_new(|a, b| (a.priority, a.lane, a.due) != (b.priority, b.lane, b.due)) {
            statement.raw_bind_parameter(6, common.priority.code())?;
            statement.raw_bind_parameter(8, common.due.is_none().then(|| common.lane.code()))?;
            statement.raw_bind_parameter(10, common.due.map(micros))?;
        }
        if is_new(|a, b| (a.items, a.expires, a.parent, a.unique) != (b.items, b.expires, b.parent, b.unique)) {
            statement.raw_bind_parameter(11, common.items)?;
            statement.raw_bind_parameter(13, common.expires.map(micros))?;
            statement.raw_bind_parameter(14, common.parent.as_ref().map(|parent| bytes(&parent.0)))?;
            statement.raw_bind_parameter(15, common.unique)?;
        }
        statement.raw_bind_parameter(1, bytes(&job.id.0))?;
        if self.beside.replace((job.subject.is_some(), job.prepared, limited)) != Some((false, job.prepared, limited))
            || job.subject.is_some()
        {
            statement.raw_bind_parameter(18, job.subject.as_deref())?;
            statement.raw_bind_parameter(19, job.prepared)?;
            statement.raw_bind_parameter(20, limited)?;
        }
        // A parked job gets its place in the lane when it comes into it.
        statement.raw_bind_parameter(9, if common.due.is_none() { seq } else { 0 })?;
        statement.raw_bind_parameter(16, meta_text(&job.meta)?)?;
        statement.raw_bind_parameter(17, job.args.as_str())?;
        Ok(statement.raw_execute()? > 0)
    }
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
