//! Things that happen to jobs which no executor's attempt decides: cancel, restart, expiry, due times.

use std::time::Duration;

use rusqlite::{OptionalExtension, params};

use super::apply::{self, Left, Live};
use super::fault::Fault;
use super::hooks;
use super::insert::defaults;
use super::limits::Quotas;
use super::rows::{bytes, code, find_to_change, micros, moment, optional_code, uuid};
use super::streams::{Entering, Key};
use super::tx::Tx;
use crate::clock::until;
use crate::job::{JobId, Priority, Reason, State};
use crate::lifecycle::{Event, Location, Policy, Standing, decide, words};
use crate::progress::Shown;
use crate::store::{Changed, Promoted, Rewrite, Which};

pub(super) fn change(tx: &mut Tx<'_>, which: Which, event: Event) -> Result<Vec<Changed>, Fault> {
    let ids = match which {
        Which::Ids(ids) => ids,
        Which::Expired(limit) => expired(tx, limit)?,
    };
    if event == Event::Restart {
        check_room(tx, &ids)?;
    }
    let mut changes = Vec::with_capacity(ids.len());
    for id in ids {
        changes.extend(change_one(tx, id, &event, &Policy::default())?);
    }
    Ok(changes)
}

/// Restarted jobs are unfinished again: there must be room for all of them.
fn check_room(tx: &mut Tx<'_>, ids: &[JobId]) -> Result<(), Fault> {
    let mut quotas = Quotas::new(true);
    for id in ids {
        if let Some(found) = find_to_change(tx.connection, *id)?.filter(|found| found.ended) {
            let published = defaults(tx, &found.job.task)?;
            quotas.restart(tx, &found.job, &published)?;
        }
    }
    Ok(())
}

fn expired(tx: &Tx<'_>, limit: u32) -> Result<Vec<JobId>, Fault> {
    let ids = tx
        .connection
        .prepare_cached(sql!("expired"))?
        .query_map(params![micros(tx.now), limit], |row| uuid(row, 0).map(JobId))?
        .collect::<Result<_, _>>()?;
    Ok(ids)
}

/// Reads a job, decides, and writes what was decided. None: there is no such job.
pub(super) fn change_one(tx: &mut Tx<'_>, id: JobId, event: &Event, policy: &Policy) -> Result<Option<Changed>, Fault> {
    let Some(found) = find_to_change(tx.connection, id)? else {
        return Ok(None);
    };
    let outcome = decide(&found.job.standing(), event, &found.job.policy(*policy), 0.0);
    if let Ok(change) = &outcome {
        hooks::note_change(tx, &found.job, change)?;
        if found.ended {
            apply::write_ended(tx, &found, change)?;
        } else {
            let words = words(found.job.state, change);
            let came = Shown {
                percent: found.job.progress,
                step: found.job.step.clone(),
            };
            let left = Left {
                started: found.job.started,
                error: words.as_ref().map(|(error, _)| *error),
                message: words.as_ref().and_then(|(_, described)| described.message.as_deref()),
                code: words.as_ref().and_then(|(_, described)| described.code.as_deref()),
                came: Some(&came),
                ..Left::default()
            };
            apply::write(tx, &Live::from(&found), change, &left)?;
        }
        if change.cancelling && change.place == Location::Held {
            tx.cancel(id);
        }
    }
    Ok(Some(Changed {
        job: found.job,
        outcome,
    }))
}

/// Another queue, or other arguments, for jobs that nobody holds.
pub(super) fn rewrite(tx: &mut Tx<'_>, ids: &[JobId], to: &Rewrite) -> Result<Vec<Changed>, Fault> {
    let mut changes = Vec::with_capacity(ids.len());
    for &id in ids {
        let Some(found) = find_to_change(tx.connection, id)? else {
            continue;
        };
        let outcome = to.decide(&found.job);
        if let Ok(change) = &outcome {
            // Aside, so that it leaves the stream that it is in; then into the other one.
            let moves = matches!(change.place, Location::Parked(_));
            if moves {
                change_one(tx, id, &Event::Postpone(Duration::ZERO), &Policy::default())?;
            }
            tx.connection
                .prepare_cached(sql!("rewrite"))?
                .execute(params![bytes(&id.0), to.queue, to.args])?;
            if moves {
                change_one(tx, id, &Event::Promote, &Policy::default())?;
            }
            tx.changed(id);
        }
        changes.push(Changed {
            job: found.job,
            outcome,
        });
    }
    Ok(changes)
}

pub(super) fn promote(tx: &mut Tx<'_>, limit: u32) -> Result<Promoted, Fault> {
    let due = due(tx, limit)?;
    let mut promoted = Promoted::default();
    if !due.is_empty() {
        let mut seq = apply::next_seq(tx, due.len())? - due.len() as i64;
        let mut entering = Entering::default();
        for (id, standing, [queue, group, task]) in &due {
            let id = *id;
            seq += 1;
            // What is parked can be promoted; should the rules come to say otherwise, it stays.
            let Ok(change) = decide(standing, &Event::Promote, &Policy::default(), 0.0) else {
                continue;
            };
            let Location::Ready(lane) = change.place else { continue };
            tx.connection.prepare_cached(sql!("promote"))?.execute(params![
                bytes(&id.0),
                change.state.code(),
                change.reason.map(Reason::code),
                lane.code(),
                seq,
            ])?;
            let key = Key {
                queue,
                group,
                lane,
                task,
            };
            entering.add(tx, key, seq, id)?;
            tx.changed(id);
            tx.ready(task);
            promoted.jobs += 1;
        }
        entering.write(tx)?;
    }
    let next: Option<i64> = tx
        .connection
        .prepare_cached(sql!("next_due"))?
        .query_row([], |row| row.get(0))
        .optional()?;
    promoted.next = next.map(|due| until(tx.now, moment(due)));
    promoted.schedules = super::schedules::next(tx)?.map(|due| until(tx.now, due));
    Ok(promoted)
}

/// Due jobs: how each stands, its queue, group and task.
fn due(tx: &Tx<'_>, limit: u32) -> Result<Vec<(JobId, Standing, [String; 3])>, Fault> {
    let due = tx
        .connection
        .prepare_cached(sql!("due"))?
        .query_map(params![micros(tx.now), limit], |row| {
            let standing = Standing {
                state: code(row, 2, State::from_code)?,
                reason: optional_code(row, 3, Reason::from_code)?,
                cancelling: row.get(4)?,
                priority: code(row, 1, Priority::from_code)?,
                ready: false,
                attempts: row.get(5)?,
                interruptions: row.get(6)?,
                losses: row.get(7)?,
            };
            Ok((JobId(uuid(row, 0)?), standing, [row.get(8)?, row.get(9)?, row.get(10)?]))
        })?
        .collect::<Result<_, _>>()?;
    Ok(due)
}
