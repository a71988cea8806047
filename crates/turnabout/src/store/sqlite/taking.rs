//! Handing ready jobs to an executor: peek, let `turn.rs` decide, claim.

use rusqlite::{OptionalExtension, params};
use uuid::Uuid;

use super::desk::Tx;
use super::fault::Fault;
use super::peek::Look;
use super::rows::{bytes, code, meta, moment, optional_code, parent, uuid};
use super::{members, settings, writing};
use crate::error::Error;
use crate::group::Cap;
use crate::job::{Claimed, JobId, Lane, Priority, Reason, State};
use crate::lifecycle::{Event, Policy, Standing, decide};
use crate::store::{Take, Taken};
use crate::turn::{Peeked, Pick, Ring, Round, interleave};

pub(super) fn take(tx: &mut Tx<'_>, take: Take) -> Result<Taken, Fault> {
    if !members::is_registered(tx, take.executor)? {
        return Err(Error::LeaseLost.into());
    }
    let settings = tx.settings()?;
    let ring = ring(tx, &take.kind)?;
    let look = Look {
        ring: &ring,
        tasks: &take.tasks,
        settings: &settings,
        benched: take.turns.benched(),
        window: take.turns.window(take.want).max(1),
    };
    let mut peeks = Vec::with_capacity(take.queues.len());
    for queue in &take.queues {
        peeks.push(look.peek(tx.connection, queue)?);
    }
    let peeked = Peeked::merge(&ring, peeks);

    let mut round = Round::begin(take.turns, &ring, peeked, take.want, &take.tasks, &settings);
    if round.ring != ring {
        move_ring(tx, &take.kind, &round.ring)?;
    }
    let caps = round.caps(&settings);
    for cap in &caps {
        let most = settings::limit(&settings, cap).unwrap_or(u32::MAX);
        let running = settings::running(tx.connection, cap)?;
        round.allow(cap.clone(), most.saturating_sub(running));
    }

    let (mut jobs, mut asked) = (Vec::new(), Vec::new());
    loop {
        let picks = round.picks();
        if picks.is_empty() {
            break;
        }
        let mut taken = Vec::new();
        for pick in &picks {
            claim(tx, take.executor, take.number, pick, &mut taken)?;
        }
        round.took(&picks, &taken);
        jobs.extend(taken);
        asked.extend(picks);
    }
    for cap in &caps {
        let under = jobs.iter().filter(|job| is_under(cap, job)).count();
        if under > 0 {
            writing::add_to_cap(tx, cap, under as i64)?;
        }
    }
    Ok(Taken {
        jobs: interleave(jobs, &asked),
        found: round.found,
        turns: round.end(),
        settings,
    })
}

fn is_under(cap: &Cap, job: &Claimed) -> bool {
    match cap {
        Cap::Group(group) => job.group == *group,
        Cap::Task(task) => job.task == *task,
    }
}

fn ring(tx: &Tx<'_>, kind: &str) -> Result<Ring, Fault> {
    let ring = tx
        .connection
        .prepare_cached(sql!("ring"))?
        .query_row([kind], |row| {
            Ok(Ring {
                place: row.get(0)?,
                left: row.get(1)?,
            })
        })
        .optional()?;
    Ok(ring.unwrap_or_default())
}

fn move_ring(tx: &Tx<'_>, kind: &str, ring: &Ring) -> Result<(), Fault> {
    tx.connection
        .prepare_cached(sql!("ring_move"))?
        .execute(params![kind, ring.place, ring.left])?;
    Ok(())
}

/// Takes what a pick says: lowest `seq` first over all its streams, from each no more than its limit.
fn claim(tx: &Tx<'_>, executor: Uuid, number: i64, pick: &Pick, jobs: &mut Vec<Claimed>) -> Result<(), Fault> {
    let mut heads: Vec<(i64, Uuid, usize)> = Vec::new();
    let mut statement = tx.connection.prepare_cached(sql!("heads"))?;
    for (at, (stream, limit)) in pick.streams.iter().enumerate() {
        let limit = pick.jobs.min(*limit);
        let mut rows = statement.query(params![stream.queue, pick.group, pick.lane.code(), stream.task, limit])?;
        while let Some(row) = rows.next()? {
            heads.push((row.get(0)?, uuid(row, 1)?, at));
        }
    }
    if pick.streams.len() > 1 {
        heads.sort_unstable();
        heads.truncate(pick.jobs as usize);
    }
    for (seq, id, at) in heads {
        let task = &pick.streams[at].0.task;
        jobs.push(claim_one(
            tx,
            executor,
            number,
            pick.lane,
            &pick.group,
            task,
            (seq, id),
        )?);
    }
    Ok(())
}

fn claim_one(
    tx: &Tx<'_>,
    executor: Uuid,
    number: i64,
    lane: Lane,
    group: &str,
    task: &str,
    (seq, id): (i64, Uuid),
) -> Result<Claimed, Fault> {
    let mut statement = tx.connection.prepare_cached(sql!("claim_read"))?;
    let (job, state, reason) = statement.query_row([bytes(&id)], |row| {
        let job = Claimed {
            id: JobId(id),
            number,
            task: task.to_owned(),
            group: group.to_owned(),
            owner: row.get(0)?,
            priority: code(row, 1, Priority::from_code)?,
            lane,
            seq,
            args: row.get(4)?,
            prepared: row.get(5)?,
            items: row.get(6)?,
            meta: meta(row, 7)?,
            parent: parent(row, 8)?,
            submitted: moment(row.get(9)?),
            attempts: row.get(10)?,
            interruptions: row.get(11)?,
            losses: row.get(12)?,
        };
        let state = code(row, 2, State::from_code)?;
        Ok((job, state, optional_code(row, 3, Reason::from_code)?))
    })?;
    let standing = Standing {
        state,
        reason,
        ready: true,
        ..job.standing()
    };
    // What is in a lane is ready, and what is ready can be claimed: anything else is a damaged file.
    let change = decide(&standing, &Event::Claim, &Policy::default(), 0.0)
        .map_err(|_| rusqlite::Error::IntegralValueOutOfRange(2, state.code().into()))?;
    tx.connection.prepare_cached(sql!("claim"))?.execute(params![
        bytes(&id),
        change.state.code(),
        change.reason.map(Reason::code),
        bytes(&executor),
        number,
    ])?;
    Ok(job)
}
