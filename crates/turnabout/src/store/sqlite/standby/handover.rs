//! A new job straight to an idle executor.
//!
//! Most jobs of a system that is not busy come alone, while an executor waits for them. Such a job would enter a stream,
//! be found there by the executor's take and leave the stream again, all in one transaction. Where it is the only one that
//! can be found, it is planned by the same rules as any take, and taken without that.

use rusqlite::params;

use super::IdleTake;
use crate::job::{Claimed, Priority, State};
use crate::lifecycle::{Event, Policy, Standing, decide};
use crate::store::sqlite::fault::Fault;
use crate::store::sqlite::peek::names;
use crate::store::sqlite::rows::{bytes, micros, moment};
use crate::store::sqlite::settings;
use crate::store::sqlite::streams::Key;
use crate::store::sqlite::take;
use crate::store::sqlite::tx::Tx;
use crate::store::{NewJob, Taken};
use crate::turn::{Candidate, Peeked, Ring, Round, Stream, interleave};

/// Gives a job that was just stored to an idle executor, and says whether it did. If not, the job has to go into its stream, where
/// the takes of idle executors find it.
pub(in crate::store::sqlite) fn hand_over(
    tx: &mut Tx<'_>,
    job: &NewJob,
    key: Key<'_>,
    priority: Priority,
    seq: i64,
) -> Result<bool, Fault> {
    let Some(idle) = tx.idle_take(key.queue, key.task) else {
        return Ok(false);
    };
    let Some((version, ring)) = look(tx, idle)? else {
        return Ok(false);
    };
    let settings = tx.settings_of(version)?;
    let paused = settings.group(key.group).paused || settings.task(key.task).paused;
    let capped = settings::caps(&settings, key.group, key.task).next().is_some();
    if paused || capped || idle.take.turns.benched().contains(key.group) {
        return Ok(false);
    }
    let job = claimed(tx, job, key, priority, seq, idle.take.number);
    let new = Standing {
        state: State::Waiting,
        ready: true,
        ..job.standing()
    };
    let Ok(change) = decide(&new, &Event::Claim, &Policy::default(), 0.0) else {
        return Ok(false);
    };
    // From here on the memory of turns is in the round: the idle take is answered in any case.
    let mut round = Round::begin(
        idle.begin(),
        &ring,
        alone(key),
        idle.take.want,
        &idle.take.tasks,
        &settings,
    );
    let picks = round.picks();
    if picks.is_empty() {
        idle.withdraw(round.end());
        return Ok(false);
    }
    if round.ring != ring {
        take::move_ring(tx, &idle.take.kind, &round.ring)?;
    }
    let mut statement = tx.connection.prepare_cached(sql!("claim"))?;
    take::claim(&mut statement, job.id, idle.take.executor, job.number, &change)?;
    let jobs = vec![job];
    round.took(&picks, &jobs);
    idle.hand_over(Taken {
        jobs: interleave(jobs, &picks),
        found: round.found,
        turns: round.end(),
        settings,
    });
    tx.handed_over();
    Ok(true)
}

/// What a take would have brought.
fn claimed(tx: &Tx<'_>, job: &NewJob, key: Key<'_>, priority: Priority, seq: i64, number: i64) -> Claimed {
    Claimed {
        id: job.id,
        number,
        task: job.task.clone(),
        group: job.group.clone(),
        owner: job.owner.clone(),
        priority,
        lane: key.lane,
        seq,
        args: job.args.clone(),
        prepared: job.prepared,
        items: job.items,
        meta: job.meta.clone(),
        parent: job.parent,
        submitted: moment(micros(tx.now)),
        attempts: 0,
        interruptions: 0,
        losses: 0,
    }
}

/// The version of the settings and the place in the ring, if the executor is registered and nothing else is ready that it may
/// take.
fn look(tx: &Tx<'_>, idle: &IdleTake) -> Result<Option<(i64, Ring)>, Fault> {
    let take = &idle.take;
    let mut statement = tx.connection.prepare_cached(sql!("handover"))?;
    let tasks = names(take.tasks.iter());
    let mut seen = None;
    for queue in &take.queues {
        let (registered, busy): (bool, bool);
        (registered, busy, seen) =
            statement.query_row(params![bytes(&take.executor), take.kind, queue, tasks], |row| {
                let ring = Ring {
                    place: row.get::<_, Option<_>>(2)?.unwrap_or_default(),
                    left: row.get::<_, Option<_>>(3)?.unwrap_or_default(),
                };
                Ok((row.get(0)?, row.get(4)?, Some((row.get(1)?, ring))))
            })?;
        if !registered || busy {
            return Ok(None);
        }
    }
    Ok(seen)
}

/// What a peek would find once the job was in its stream.
fn alone(key: Key<'_>) -> Peeked {
    let stream = Stream {
        lane: key.lane,
        queue: key.queue.into(),
        task: key.task.into(),
        key: 0,
    };
    Peeked {
        groups: vec![Candidate {
            group: key.group.into(),
            streams: vec![stream],
        }],
        complete: true,
    }
}
