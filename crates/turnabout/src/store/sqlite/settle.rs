//! What executors write about jobs that they hold: start marks, and what became of attempts.

use rusqlite::{CachedStatement, OptionalExtension, params};
use uuid::Uuid;

use super::apply::{self, Left, Live};
use super::fault::Fault;
use super::rows::{self, bytes, micros};
use super::tx::Tx;
use super::{hooks, report};
use crate::hook;
use crate::job::{Claim, JobId, State};
use crate::lifecycle::Location;
use crate::store::{Settle, Settled, Start};

/// A job that is held by the claim that was named.
struct Held {
    cancelling: bool,
    group: String,
    task: String,
    seq: i64,
    queue: String,
}

/// The fence: a job is written only by the claim that holds it.
fn fence(tx: &Tx<'_>, id: JobId, claim: Claim) -> Result<Option<Held>, Fault> {
    let held = tx
        .connection
        .prepare_cached(sql!("fence"))?
        .query_row(params![bytes(&id.0), bytes(&claim.executor), claim.number], |row| {
            Ok(Held {
                cancelling: row.get(0)?,
                group: row.get(1)?,
                task: row.get(2)?,
                seq: row.get(3)?,
                queue: row.get(4)?,
            })
        })
        .optional()?;
    Ok(held)
}

/// Whether this claim holds the job.
pub(super) fn is_held_by(tx: &Tx<'_>, id: JobId, claim: Claim) -> Result<bool, Fault> {
    Ok(fence(tx, id, claim)?.is_some())
}

/// Whether this very claim has ended the job: the reply to an earlier call was lost.
pub(super) fn was_ended_by(tx: &Tx<'_>, id: JobId, claim: Claim) -> Result<bool, Fault> {
    Ok(tx.connection.prepare_cached(sql!("ended_by"))?.exists(params![
        bytes(&id.0),
        bytes(&claim.executor),
        claim.number
    ])?)
}

pub(super) fn start(tx: &mut Tx<'_>, executor: Uuid, jobs: &[Start]) -> Result<Vec<(JobId, Settled)>, Fault> {
    let mut refused = Vec::new();
    for &Start {
        id,
        number,
        attempts,
        at,
    } in jobs
    {
        let claim = Claim { executor, number };
        match fence(tx, id, claim)? {
            Some(held) if !held.cancelling => {
                apply::move_claim(tx, id)?;
                tx.connection.prepare_cached(sql!("start"))?.execute(params![
                    bytes(&id.0),
                    State::Running.code(),
                    attempts,
                    micros(at.min(tx.now))
                ])?;
                tx.changed(id);
            }
            Some(_) => refused.push((id, Settled::Cancelling)),
            None if was_ended_by(tx, id, claim)? => {}
            None => refused.push((id, Settled::Lost)),
        }
    }
    Ok(refused)
}

pub(super) fn settle(tx: &mut Tx<'_>, executor: Uuid, jobs: &[Settle]) -> Result<Vec<Settled>, Fault> {
    // Where no place becomes free by it, most jobs can end without being looked at first.
    let forgets = tx.keeps_nothing()?;
    let watched = forgets && tx.is_watched();
    let settings = tx.settings()?;
    let quick = !watched && !settings.any_cap() && !settings.any_limit_here();
    let mut forget = Forget::new(tx)?;
    let mut answers = Vec::with_capacity(jobs.len());
    for job in jobs {
        if !job.hooks.is_empty() {
            answers.push(settle_with_hooks(tx, executor, job)?);
            continue;
        }
        let ended = quick && job.change.place == Location::History;
        answers.push(if ended && forgets && forget.job(executor, job)? {
            report::forget(tx, job)?;
            tx.changed(job.id);
            Settled::Done
        } else {
            settle_one(tx, executor, job, ended && !forgets)?
        });
    }
    Ok(answers)
}

/// Settles a job whose task may want to know.
fn settle_with_hooks(tx: &mut Tx<'_>, executor: Uuid, job: &Settle) -> Result<Settled, Fault> {
    let before = rows::find_to_change(tx.connection, job.id)?.filter(|found| !found.ended);
    let settled = settle_one(tx, executor, job, false)?;
    if let Some(found) = before.filter(|_| settled == Settled::Done) {
        let kept = !tx.keeps_nothing()?;
        let owed = hook::owed_by(&found.job, job, kept, tx.now);
        hooks::note(tx, &owed)?;
    }
    Ok(settled)
}

/// Forgets jobs that have ended, with statements that are looked up once.
struct Forget<'a> {
    claim: CachedStatement<'a>,
    live: CachedStatement<'a>,
    held: CachedStatement<'a>,
}

impl<'a> Forget<'a> {
    fn new(tx: &Tx<'a>) -> Result<Self, Fault> {
        Ok(Self {
            claim: tx.connection.prepare_cached(sql!("forget_claim"))?,
            live: tx.connection.prepare_cached(sql!("forget_live"))?,
            held: tx.connection.prepare_cached(sql!("forget_held"))?,
        })
    }

    /// If it is (still) held by that claim and a cancel is as far as it was. Says whether.
    fn job(&mut self, executor: Uuid, job: &Settle) -> Result<bool, Fault> {
        let (id, executor) = (bytes(&job.id.0), bytes(&executor));
        // A cancel would have moved the claim into the row.
        if !job.cancelling && self.claim.execute(params![id, executor, job.number])? > 0 {
            return Ok(self.live.execute([id])? > 0);
        }
        Ok(self.held.execute(params![id, executor, job.number, job.cancelling])? > 0)
    }
}

/// `keep`: it has ended and goes to the history, if it is still ours.
fn settle_one(tx: &mut Tx<'_>, executor: Uuid, job: &Settle, keep: bool) -> Result<Settled, Fault> {
    let claim = Claim {
        executor,
        number: job.number,
    };
    let live = Live {
        id: job.id,
        queue: "",
        group: "",
        task: "",
        lane: None,
        seq: 0,
        due: None,
        claim: Some(claim),
        cancelling: job.cancelling,
    };
    let report = Left {
        error: job.error.as_deref(),
        result: job.result.as_deref(),
        started: job.started.map(|started| started.min(tx.now)),
        message: job.described.message.as_deref(),
        code: job.described.code.as_deref(),
        came: job.came.as_ref(),
    };
    if keep && apply::finish(tx, &live, &job.change, &report)? {
        report::forget(tx, job)?;
        tx.changed(job.id);
        return Ok(Settled::Done);
    }
    let Some(held) = fence(tx, job.id, claim)? else {
        let done = was_ended_by(tx, job.id, claim)?;
        if done {
            // By a lost call, or inside the handler's own transaction: nobody here has been told.
            tx.changed(job.id);
        }
        return Ok(if done { Settled::Done } else { Settled::Lost });
    };
    if held.cancelling != job.cancelling {
        return Ok(Settled::Cancelling);
    }
    let live = Live {
        queue: &held.queue,
        group: &held.group,
        task: &held.task,
        seq: held.seq,
        ..live
    };
    apply::write(tx, &live, &job.change, &report)?;
    report::forget(tx, job)?;
    Ok(Settled::Done)
}
