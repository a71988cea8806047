//! Writes what the rules decided. Whoever calls this has read the job in the same transaction.

use jiff::Timestamp;
use rusqlite::params;

use super::attempts;
use super::fault::Fault;
use super::rows::{Found, bytes, find, micros};
use super::settings;
use super::streams::{self, Key};
use super::tx::Tx;
use crate::clock::after;
use crate::error::Error;
use crate::group::Cap;
use crate::job::{Attempt, Brief, Claim, JobId, Lane, Reason};
use crate::lifecycle::{Change, Location, attempt_to_keep, keeps_progress};
use crate::progress::Shown;

/// What must be known of an unfinished job to write a change to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Live<'a> {
    pub(super) id: JobId,
    pub(super) queue: &'a str,
    pub(super) group: &'a str,
    pub(super) task: &'a str,
    /// Its lane, while it is ready.
    pub(super) lane: Option<Lane>,
    pub(super) seq: i64,
    pub(super) due: Option<Timestamp>,
    pub(super) claim: Option<Claim>,
    pub(super) cancelling: bool,
}

impl<'a> From<&'a Found> for Live<'a> {
    fn from(found: &'a Found) -> Self {
        let job = &found.job;
        Self {
            id: job.id,
            queue: &job.queue,
            group: &job.group,
            task: &job.task,
            lane: job.lane,
            seq: job.seq,
            due: job.due,
            claim: job.claim,
            cancelling: job.cancelling,
        }
    }
}

impl<'a> Live<'a> {
    fn stream(&self, lane: Lane) -> Key<'a> {
        Key {
            queue: self.queue,
            group: self.group,
            lane,
            task: self.task,
        }
    }
}

/// What an attempt left behind. What is not said stays as it was.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Left<'a> {
    pub(super) error: Option<&'a str>,
    pub(super) result: Option<&'a str>,
    pub(super) started: Option<Timestamp>,
    pub(super) message: Option<&'a str>,
    pub(super) code: Option<&'a str>,
    /// How far it came.
    pub(super) came: Option<&'a Shown>,
}

/// Where an unfinished job is: exactly one of the three.
#[derive(Clone, Copy)]
enum Spot {
    Lane(Lane, i64),
    Due(Timestamp),
    Hands(Option<Claim>),
}

/// Writes a change to an unfinished job, gives back its places under caps, and notes whom to tell.
pub(super) fn write(tx: &mut Tx<'_>, job: &Live<'_>, change: &Change, report: &Left<'_>) -> Result<(), Fault> {
    if let Some(lane) = job.lane {
        streams::leave(tx, job.stream(lane), job.seq)?;
    }
    let forgets = change.place == Location::History && tx.keeps_nothing()?;
    match change.place {
        Location::History if forgets => {
            if tx.is_watched() {
                tell_last(tx, job, change, report)?;
            }
            forget(tx, job)?;
        }
        Location::History => {
            finish(tx, job, change, report)?;
        }
        Location::Gone => {
            forget(tx, job)?;
            forget_beside(tx, job.id)?;
        }
        Location::Ready(lane) => {
            // A place in the lane is given when a job first comes into it, and kept from then on.
            let seq = if job.due.is_some() { next_seq(tx, 1)? } else { job.seq };
            update(tx, job, change, report, Spot::Lane(lane, seq))?;
            streams::enter(tx, job.stream(lane), seq, job.id)?;
            tx.ready(job.task);
        }
        Location::Parked(delay) => {
            update(tx, job, change, report, Spot::Due(after(tx.now, delay)))?;
            tx.parked(delay);
        }
        Location::StillParked => update(tx, job, change, report, Spot::Due(job.due.unwrap_or(tx.now)))?,
        Location::Held => update(tx, job, change, report, Spot::Hands(job.claim))?,
    }
    if let Some((attempt, claim)) = attempt_to_keep(change).zip(job.claim)
        && let Some(started) = report.started
    {
        let attempt = Attempt {
            number: attempt,
            claim,
            executor: None,
            started,
            ended: Some(tx.now),
            reason: change.reason,
            error: report.error.map(str::to_owned),
            error_message: report.message.map(str::to_owned),
            error_code: report.code.map(str::to_owned),
        };
        attempts::keep(tx, job.id, &attempt)?;
    }
    if job.claim.is_some() && change.place != Location::Held {
        free(tx, job.group, job.task)?;
    }
    tx.changed(job.id);
    Ok(())
}

/// What a job is at its end, for those who watch: it is not kept.
fn tell_last(tx: &mut Tx<'_>, live: &Live<'_>, change: &Change, left: &Left<'_>) -> Result<(), Fault> {
    if let Some(Found { mut job, .. }) = find(tx.connection, live.id)? {
        job.started = left.started.or(job.started);
        job.error = left.error.map(str::to_owned).or(job.error);
        job.error_message = left.message.map(str::to_owned).or(job.error_message);
        job.error_code = left.code.map(str::to_owned).or(job.error_code);
        let came = left.came.cloned().unwrap_or_default();
        (job.progress, job.step) = (came.percent, came.step);
        tx.hint_last(Brief::ended(&job, change, tx.now));
    }
    Ok(())
}

fn update(tx: &Tx<'_>, job: &Live<'_>, change: &Change, report: &Left<'_>, spot: Spot) -> Result<(), Fault> {
    let (lane, seq) = match spot {
        Spot::Lane(lane, seq) => (Some(lane.code()), seq),
        _ => (None, job.seq),
    };
    let due = match spot {
        Spot::Due(due) => Some(micros(due)),
        _ => None,
    };
    let claim = match spot {
        Spot::Hands(claim) => claim,
        _ => None,
    };
    forget_claim(tx, job)?;
    tx.connection.prepare_cached(sql!("update"))?.execute(params![
        bytes(&job.id.0),
        change.state.code(),
        change.reason.map(Reason::code),
        change.cancelling,
        change.priority.code(),
        change.attempts,
        change.interruptions,
        change.losses,
        lane,
        seq,
        due,
        claim.as_ref().map(|c| bytes(&c.executor)),
        claim.map(|c| c.number),
        report.error,
        report.result,
        report.message,
        report.code,
    ])?;
    Ok(())
}

/// Moves a job to the history, if it is (still) held by that claim and a cancel is as far as it was. Says whether.
pub(super) fn finish(tx: &Tx<'_>, job: &Live<'_>, change: &Change, report: &Left<'_>) -> Result<bool, Fault> {
    let came = report.came.filter(|_| keeps_progress(change));
    let finished = tx.connection.prepare_cached(sql!("finish"))?.execute(params![
        bytes(&job.id.0),
        change.priority.code(),
        change.state.code(),
        change.reason.map(Reason::code),
        change.attempts,
        change.interruptions,
        change.losses,
        report.started.map(micros),
        micros(tx.now),
        report.error,
        report.result,
        job.claim.as_ref().map(|c| bytes(&c.executor)),
        job.claim.map(|c| c.number),
        job.cancelling,
        report.message,
        report.code,
        came.map(|came| came.percent),
        came.and_then(|came| came.step.as_deref()),
    ])?;
    if finished > 0 {
        forget(tx, job)?;
    }
    Ok(finished > 0)
}

fn forget(tx: &Tx<'_>, job: &Live<'_>) -> Result<(), Fault> {
    forget_claim(tx, job)?;
    tx.connection
        .prepare_cached(sql!("forget_live"))?
        .execute([bytes(&job.id.0)])?;
    Ok(())
}

/// What is kept beside a job goes with it.
fn forget_beside(tx: &Tx<'_>, id: JobId) -> Result<(), Fault> {
    for sql in [sql!("forget_log"), sql!("forget_attempts")] {
        tx.connection.prepare_cached(sql)?.execute([bytes(&id.0)])?;
    }
    Ok(())
}

/// A claim beside the row is of no use once the row is written or gone.
fn forget_claim(tx: &Tx<'_>, job: &Live<'_>) -> Result<(), Fault> {
    if job.claim.is_some() {
        tx.connection
            .prepare_cached(sql!("claim_forget"))?
            .execute([bytes(&job.id.0)])?;
    }
    Ok(())
}

/// A job's row is about to be written, and stays with the claim that it has: that has to stand in the row from now on.
pub(super) fn move_claim(tx: &Tx<'_>, id: JobId) -> Result<(), Fault> {
    let key = [bytes(&id.0)];
    if tx.connection.prepare_cached(sql!("claim_move"))?.execute(key)? > 0 {
        tx.connection.prepare_cached(sql!("claim_forget"))?.execute(key)?;
    }
    Ok(())
}

/// Writes a change to a job that has ended: it is forgotten, or comes back to life.
pub(super) fn write_ended(tx: &mut Tx<'_>, found: &Found, change: &Change) -> Result<(), Fault> {
    if let Location::Ready(lane) = change.place {
        if let Some(attempt) = Attempt::last(&found.job) {
            attempts::keep(tx, found.job.id, &attempt)?;
        }
        let seq = next_seq(tx, 1)?;
        let restarted = tx.connection.prepare_cached(sql!("restart"))?.execute(params![
            bytes(&found.job.id.0),
            change.priority.code(),
            change.state.code(),
            change.reason.map(Reason::code),
            lane.code(),
            seq,
            change.attempts,
            change.interruptions,
            change.losses,
        ])?;
        if restarted == 0 {
            return Err(Error::Conflict("unique key").into());
        }
        let job = Live::from(found);
        streams::enter(tx, job.stream(lane), seq, job.id)?;
        tx.ready(job.task);
    } else {
        forget_beside(tx, found.job.id)?;
    }
    tx.connection
        .prepare_cached(sql!("forget_history"))?
        .execute([bytes(&found.job.id.0)])?;
    tx.changed(found.job.id);
    Ok(())
}

/// The last of the next `count` places in the lanes.
pub(super) fn next_seq(tx: &Tx<'_>, count: usize) -> Result<i64, Fault> {
    let seq = tx
        .connection
        .prepare_cached(sql!("seq"))?
        .query_row([count as i64], |row| row.get(0))?;
    Ok(seq)
}

/// An executor no longer holds a job: its places under limits are free for others.
fn free(tx: &mut Tx<'_>, group: &str, task: &str) -> Result<(), Fault> {
    let settings = tx.settings()?;
    for cap in settings.caps(group, task) {
        add_to_cap(tx, &cap, -1)?;
        tx.all_ready();
    }
    if settings.is_limited_here(group, task) {
        tx.all_ready();
    }
    Ok(())
}

pub(super) fn add_to_cap(tx: &Tx<'_>, cap: &Cap, jobs: i64) -> Result<(), Fault> {
    let (kind, name) = settings::key(cap);
    tx.connection
        .prepare_cached(sql!("cap_add"))?
        .execute(params![kind, name, jobs])?;
    Ok(())
}
