//! Handing ready jobs to an executor: peek, let `turn.rs` decide, claim.

use rusqlite::{CachedStatement, OptionalExtension, Row, Statement, params};
use uuid::Uuid;

use super::fault::Fault;
use super::peek::Look;
use super::rows::{bytes, code, meta, moment, optional_code, parent, uuid};
use super::tx::Tx;
use super::{apply, executors, settings, streams};
use crate::clock::nanoseconds;
use crate::error::Error;
use crate::group::Cap;
use crate::job::{Claimed, JobId, Priority, Reason, State};
use crate::lifecycle::{Change, Event, Policy, Standing, decide};
use crate::store::{Take, Taken};
use crate::turn::{Peeked, Pick, Ring, Round, Rounded, interleave};

/// Takes what it can. The memory of turns is moved out of `take`.
pub(super) fn take(tx: &mut Tx<'_>, take: &mut Take) -> Result<Taken, Fault> {
    if !executors::is_registered(tx, take.executor)? {
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
    // What is paused as a whole is not even looked into.
    let open = |queue: &&String| !settings.global.paused && !settings.queue(queue).paused;
    for queue in take.queues.iter().filter(open) {
        peeks.push(look.peek(tx.connection, queue)?);
    }
    let peeked = Peeked::merge(&ring, peeks);

    let mut round = Round::begin(
        std::mem::take(&mut take.turns),
        &ring,
        peeked,
        take.want,
        &take.tasks,
        &settings,
    );
    if round.ring != ring {
        move_ring(tx, &take.kind, &round.ring)?;
    }
    let caps = round.caps(&settings);
    for cap in &caps {
        let most = settings.limit(cap).unwrap_or(u32::MAX);
        let running = settings::running(tx.connection, cap)?;
        round.allow(cap.clone(), most.saturating_sub(running));
    }

    for of in round.rates(&settings) {
        if let Some(rate) = settings.rate(&of) {
            let full = settings::full_at(tx.connection, &of)?;
            round.meter(of, rate, full, nanoseconds(tx.now));
        }
    }

    let (mut jobs, mut asked) = (Vec::new(), Vec::new());
    let mut claims = Claims::new(tx, take.executor, take.number)?;
    loop {
        let picks = round.picks();
        if picks.is_empty() {
            break;
        }
        let mut got = Vec::new();
        for pick in &picks {
            claims.take(pick, &mut got)?;
        }
        round.took(&picks, &got);
        jobs.extend(got);
        asked.extend(picks);
    }
    for cap in &caps {
        let under = jobs.iter().filter(|job| is_under(cap, job)).count();
        if under > 0 {
            apply::add_to_cap(tx, cap, under as i64)?;
        }
    }
    for (of, full) in round.metered() {
        settings::move_rate(tx.connection, of, full)?;
    }
    let Rounded { turns, found, again } = round.end();
    Ok(Taken {
        jobs: interleave(jobs, &asked),
        found,
        again,
        turns,
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

/// Takes what picks say, with statements that are looked up once.
struct Claims<'a> {
    tx: &'a Tx<'a>,
    executor: Uuid,
    number: i64,
    heads: CachedStatement<'a>,
    claim: CachedStatement<'a>,
    move_on: CachedStatement<'a>,
}

/// A job at the front of a stream, its state and reason, and which of the pick's streams that is.
struct Head {
    job: Claimed,
    state: State,
    reason: Option<Reason>,
    at: usize,
}

/// A stream that a pick looked into.
#[derive(Default)]
struct Front {
    stream: i64,
    dead: i64,
    /// How many of its jobs stay.
    left: i64,
    /// The last job taken.
    cursor: i64,
}

impl<'a> Claims<'a> {
    fn new(tx: &'a Tx<'a>, executor: Uuid, number: i64) -> Result<Self, Fault> {
        Ok(Self {
            tx,
            executor,
            number,
            heads: tx.connection.prepare_cached(sql!("heads"))?,
            claim: tx.connection.prepare_cached(sql!("claim"))?,
            move_on: tx.connection.prepare_cached(sql!("stream_move"))?,
        })
    }

    /// Takes what a pick says: lowest `seq` first over all its streams, from each no more than its limit.
    fn take(&mut self, pick: &Pick, jobs: &mut Vec<Claimed>) -> Result<(), Fault> {
        let mut heads = Vec::new();
        let mut fronts = Vec::with_capacity(pick.streams.len());
        for at in 0..pick.streams.len() {
            fronts.push(self.look(pick, at, &mut heads)?);
        }
        if pick.streams.len() > 1 {
            heads.sort_unstable_by_key(|head| head.job.seq);
            heads.truncate(pick.jobs as usize);
        }
        for head in heads {
            self.claim(&head)?;
            let front = &mut fronts[head.at];
            front.cursor = head.job.seq;
            front.left -= 1;
            front.dead += 1;
            jobs.push(head.job);
        }
        for front in fronts.iter().filter(|front| front.cursor > 0) {
            let Front {
                stream,
                dead,
                left,
                cursor,
            } = *front;
            streams::move_on(self.tx, &mut self.move_on, stream, left, cursor, dead)?;
        }
        Ok(())
    }

    /// Reads the first jobs of a stream.
    fn look(&mut self, pick: &Pick, at: usize, heads: &mut Vec<Head>) -> Result<Front, Fault> {
        let (stream, limit) = &pick.streams[at];
        let limit = pick.jobs.min(*limit);
        let mut rows = self.heads.query([stream.key, limit.into()])?;
        let mut front = Front {
            stream: stream.key,
            ..Front::default()
        };
        let mut found = 0;
        while let Some(row) = rows.next()? {
            if found == 0 {
                front.left = row.get(14)?;
                front.dead = row.get(15)?;
            }
            found += 1;
            heads.push(head(row, self.number, pick, at)?);
        }
        // The end was seen, which says more than any count.
        if found < limit {
            front.left = found.into();
        }
        drop(rows);
        if found == 0 && limit > 0 {
            // It has been emptied in this round, though a peek saw it. Should it be there still, it is a fault to get rid of: all
            // would come to look, again and again.
            streams::close(self.tx, stream.key)?;
        }
        Ok(front)
    }

    fn claim(&mut self, head: &Head) -> Result<(), Fault> {
        let standing = Standing {
            state: head.state,
            reason: head.reason,
            ready: true,
            ..head.job.standing()
        };
        // What is in a lane is ready, and what is ready can be claimed: anything else is a damaged file.
        let change = decide(&standing, &Event::Claim, &Policy::default(), 0.0)
            .map_err(|_| rusqlite::Error::IntegralValueOutOfRange(4, head.state.code().into()))?;
        claim(&mut self.claim, head.job.id, self.executor, self.number, &change)
    }
}

/// Hands a job to an executor. `statement` is `claim.sql`.
fn claim(statement: &mut Statement<'_>, id: JobId, executor: Uuid, number: i64, change: &Change) -> Result<(), Fault> {
    statement.execute(params![
        bytes(&id.0),
        bytes(&executor),
        number,
        change.state.code(),
        change.reason.map(Reason::code),
    ])?;
    Ok(())
}

/// A row of `heads.sql`.
fn head(row: &Row<'_>, number: i64, pick: &Pick, at: usize) -> rusqlite::Result<Head> {
    Ok(Head {
        state: code(row, 4, State::from_code)?,
        reason: optional_code(row, 5, Reason::from_code)?,
        at,
        job: Claimed {
            id: JobId(uuid(row, 1)?),
            number,
            task: pick.streams[at].0.task.to_string(),
            group: pick.group.to_string(),
            owner: row.get(2)?,
            priority: code(row, 3, Priority::from_code)?,
            lane: pick.lane,
            seq: row.get(0)?,
            args: row.get(6)?,
            items: row.get(7)?,
            meta: meta(row, 8)?,
            parent: parent(row, 9)?,
            submitted: moment(row.get(10)?),
            attempts: row.get(11)?,
            interruptions: row.get(12)?,
            losses: row.get(13)?,
            prepared: row.get(16)?,
        },
    })
}
