//! Taking jobs: reserve, plan, claim (docs/adr/0011).
//!
//! Two round trips. `reserve` says whose turn it is and moves the place in the ring on; all executors of a kind do that one
//! after the other, with no round trip inside. `turn.rs` then plans how many jobs come from which lane, and `claim` takes
//! them, beside the claims of everybody else.
//!
//! Where caps stand before the jobs, the claim is made in a transaction that locks them first.

use std::collections::BTreeSet;
use std::sync::{MutexGuard, PoisonError};

use foldhash::HashMap;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::client::Object;
use super::connect::{Mode, Tx, failed};
use super::{PostgresStore, rows};
use crate::error::{Error, Result};
use crate::group::{Cap, Settings};
use crate::job::{Claimed, Lane, Priority, Reason, State};
use crate::lifecycle::{Change, Event, Policy, Standing, decide};
use crate::store::{Take, Taken};
use crate::turn::{Candidate, Fairness, Name, Peeked, Pick, Ring, Round, Rounded, Stream, interleave, shared};

/// A lane that gave too little is made up from the others; this is more than enough for all of them.
const PASSES: usize = 16;

/// What `reserve` says.
struct Reserved {
    /// Where the place was.
    ring: Ring,
    /// Where it is now.
    next: Ring,
    peeked: Peeked,
    /// The streams' `first` and `last`; the key of a stream is where they stand.
    ends: Vec<(i64, i64)>,
    /// The version of the settings by which all this is so.
    version: i64,
}

impl PostgresStore {
    pub(super) async fn take_jobs(&self, take: Take) -> Result<Taken> {
        let tx = Tx::on(self.client().await?);
        let reserved = self.reserve(tx.client(), &take).await?;
        let settings = self.settings_of(tx.client(), reserved.version).await?;
        let (executor, number) = (take.executor, take.number);
        let ends = reserved.ends;
        let visits = take.turns.fairness() == Fairness::Jobs;
        let (ring, last, complete) = (&reserved.ring, reserved.peeked.groups.last(), reserved.peeked.complete);
        let last = last.map(|candidate| candidate.group.clone());
        let mut round = Round::begin(take.turns, ring, reserved.peeked, take.want, &take.tasks, &settings);
        // The rule is written twice, in `Turns::rotate` and in `reserve`.
        debug_assert!(
            !visits || settings.version != reserved.version || round.ring == reserved.next,
            "turn.rs moves the place from {ring:?} to {:?}, the server to {:?}",
            round.ring,
            reserved.next,
        );
        if let Some(last) = last.filter(|last| !visits && !complete && *round.ring.place == **last) {
            // By cost, the groups up to there have had enough.
            self.behind().insert(executor, last);
        }
        let (caps, rates) = (round.caps(&settings), round.rates(&settings));
        let locks = !caps.is_empty() || !rates.is_empty();
        if locks {
            self.lock_caps(&tx, executor, &caps, &settings, &mut round).await?;
        }
        if !rates.is_empty() {
            self.lock_rates(&tx, rates, &settings, &mut round).await?;
        }
        let (mut jobs, mut asked) = (Vec::new(), Vec::new());
        for _ in 0..PASSES {
            let picks = round.picks();
            if picks.is_empty() {
                break;
            }
            let mut got = self
                .claim(
                    tx.client(),
                    executor,
                    number,
                    settings.version,
                    &Asked::of(&picks, &ends),
                )
                .await?;
            if locks {
                // Whose turn it is under a limit depends on the order of what was taken.
                got.sort_by_cached_key(|job| (pick_of(&picks, job), job.seq));
            }
            round.took(&picks, &got);
            jobs.extend(got);
            asked.extend(picks);
        }
        if locks {
            let metered = round.metered();
            self.move_rates(&tx, &metered).await?;
            // Where limits leave nothing to claim, nothing was written but locks, and the disk need not keep those.
            let end = if asked.is_empty() && metered.is_empty() {
                "rollback"
            } else {
                "commit"
            };
            tx.client().batch_execute(end).await.map_err(failed("claiming jobs"))?;
        }
        drop(tx.finish());
        self.holds.took(executor, number, jobs.len());
        let Rounded { turns, found, again } = round.end();
        Ok(Taken {
            jobs: interleave(jobs, &asked),
            found,
            again,
            turns,
            settings,
        })
    }

    /// Asks whose turn it is.
    async fn reserve(&self, client: &Object, take: &Take) -> Result<Reserved> {
        let failed = failed("looking for jobs");
        // From now on the store may hold something for this claim, whatever becomes of the answer.
        self.holds.asked(take.executor, take.number);
        let want = i32::try_from(take.want).unwrap_or(i32::MAX);
        let span = i32::try_from(take.turns.window(take.want).max(1)).unwrap_or(i32::MAX / 2);
        let visits = take.turns.fairness() == Fairness::Jobs;
        let benched: Vec<&str> = take.turns.benched().iter().map(String::as_str).collect();
        let known = self.known_settings();
        let limited: Vec<&str> = known
            .tasks
            .iter()
            .filter(|(task, limits)| limits.is_limited() && take.tasks.contains(task.as_str()))
            .map(|(task, _)| task.as_str())
            .collect();
        let behind = self.behind().remove(&take.executor);
        let statement = client.prepare_cached(&self.sql.reserve).await.map_err(&failed)?;
        let params: [&(dyn ToSql + Sync); 7] = [
            &take.executor,
            &want,
            &span,
            &visits,
            &benched,
            &limited,
            &behind.as_deref(),
        ];
        let row = client.query_one(&statement, &params).await.map_err(&failed)?;
        if !row.get::<_, bool>(0) {
            return Err(Error::LeaseLost);
        }
        let (firsts, lasts): (Option<Vec<i64>>, Option<Vec<i64>>) = (row.get(11), row.get(12));
        let peeked = Peeked {
            groups: candidates(&row, take)?,
            complete: row.get(6),
        };
        Ok(Reserved {
            ring: ring(&row, 2),
            next: ring(&row, 4),
            peeked,
            ends: firsts.into_iter().flatten().zip(lasts.into_iter().flatten()).collect(),
            version: row.get(1),
        })
    }

    /// Locks the caps that stand before the round, in a transaction that begins here, and tells it the free places.
    async fn lock_caps(
        &self,
        tx: &Tx,
        executor: Uuid,
        caps: &BTreeSet<Cap>,
        settings: &Settings,
        round: &mut Round,
    ) -> Result<()> {
        let failed = failed("looking at caps");
        let alive = tx.prepare(&self.sql.alive).await.map_err(&failed)?;
        let lock = tx.prepare(&self.sql.lock_caps).await.map_err(&failed)?;
        let (kinds, names): (Vec<i16>, Vec<&str>) = caps.iter().map(cap_key).unzip();
        let (me, params): ([&(dyn ToSql + Sync); 1], [&(dyn ToSql + Sync); 2]) = ([&executor], [&kinds, &names]);
        // In one round trip, and in the order of all who lock these: the executor, then caps, then jobs.
        let (begun, alive, entered, locked) = futures_util::join!(
            tx.open(Mode::Durable),
            tx.client().query(&alive, &me),
            tx.client().batch_execute(&self.sql.enter),
            tx.client().query(&lock, &params),
        );
        begun.and(alive).and(entered).map_err(&failed)?;
        let locked = locked.map_err(&failed)?;
        let running = if locked.len() < names.len() {
            self.running_under(tx, caps.iter()).await?
        } else {
            locked.iter().map(running).collect()
        };
        for (cap, running) in running {
            let most = settings.limit(&cap).unwrap_or(0);
            round.allow(cap, most.saturating_sub(running));
        }
        Ok(())
    }

    /// Locks these caps, and tells how many jobs are held under each.
    pub(super) async fn running_under(&self, tx: &Tx, caps: impl Iterator<Item = &Cap>) -> Result<Vec<(Cap, u32)>> {
        let (kinds, names): (Vec<i16>, Vec<&str>) = caps.map(cap_key).unzip();
        let rows = self
            .locked(
                tx,
                (&self.sql.lock_caps, &[&kinds, &names]),
                &self.sql.make_caps,
                (&kinds, &names),
            )
            .await?;
        Ok(rows.iter().map(running).collect())
    }

    /// Locks the buckets of these rates, and tells when they will be full, and what time it is.
    pub(super) async fn buckets(&self, tx: &Tx, rates: impl Iterator<Item = &Cap>) -> Result<HashMap<Cap, (i64, i64)>> {
        let now = self.options.clock.manual();
        let (kinds, names): (Vec<i16>, Vec<&str>) = rates.map(cap_key).unzip();
        let lock: &[&(dyn ToSql + Sync)] = &[&kinds, &names, &now];
        let rows = self
            .locked(tx, (&self.sql.lock_rates, lock), &self.sql.make_rates, (&kinds, &names))
            .await?;
        Ok(rows.iter().map(bucket).collect())
    }

    /// Rows that are locked by a statement. Those that are missing are made first: what is idle has none.
    async fn locked(
        &self,
        tx: &Tx,
        (lock, params): (&str, &[&(dyn ToSql + Sync)]),
        make: &str,
        (kinds, names): (&[i16], &[&str]),
    ) -> Result<Vec<Row>> {
        let failed = failed("looking at caps and rates");
        if names.is_empty() {
            return Ok(Vec::new());
        }
        loop {
            let rows = tx.query(lock, params).await.map_err(&failed)?;
            if rows.len() >= names.len() {
                return Ok(rows);
            }
            tx.execute(make, &[&kinds, &names]).await.map_err(&failed)?;
        }
    }

    /// Locks the rates that stand before the round, in its transaction, and tells it how they stand.
    async fn lock_rates(&self, tx: &Tx, rates: BTreeSet<Cap>, settings: &Settings, round: &mut Round) -> Result<()> {
        let stand = self.buckets(tx, rates.iter()).await?;
        for of in rates {
            if let (Some(rate), Some((full, now))) = (settings.rate(&of), stand.get(&of)) {
                round.meter(of, rate, *full, *now);
            }
        }
        Ok(())
    }

    /// Writes how rates stand after a claim.
    pub(super) async fn move_rates(&self, tx: &Tx, metered: &[(&Cap, i64)]) -> Result<()> {
        if metered.is_empty() {
            return Ok(());
        }
        let (kinds, names): (Vec<i16>, Vec<&str>) = metered.iter().map(|(of, _)| cap_key(of)).unzip();
        let full: Vec<i64> = metered.iter().map(|(_, full)| *full).collect();
        let moved = tx.execute(&self.sql.move_rates, &[&kinds, &names, &full]).await;
        moved.map(drop).map_err(failed("moving rates on"))
    }

    /// Takes what picks say.
    async fn claim(
        &self,
        client: &Object,
        executor: Uuid,
        number: i64,
        version: i64,
        asked: &Asked<'_>,
    ) -> Result<Vec<Claimed>> {
        let failed = failed("claiming jobs");
        let statement = client.prepare_cached(&self.sql.claim).await.map_err(&failed)?;
        let change = claimed_change()?;
        let (state, reason) = (change.state.code(), change.reason.map(Reason::code));
        let params: [&(dyn ToSql + Sync); 15] = [
            &executor,
            &number,
            &state,
            &reason,
            &version,
            &asked.pick,
            &asked.wanted,
            &asked.several,
            &asked.queue,
            &asked.group,
            &asked.lane,
            &asked.task,
            &asked.first,
            &asked.last,
            &asked.most,
        ];
        let rows = client.query(&statement, &params).await.map_err(&failed)?;
        rows.iter().map(|row| rows::claimed(row, number)).collect()
    }

    /// For each executor whose turns go by cost: the group up to which all have had enough.
    fn behind(&self) -> MutexGuard<'_, HashMap<Uuid, Name>> {
        self.behind.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The streams of picks, as the arrays that the statement takes.
#[derive(Default)]
struct Asked<'a> {
    pick: Vec<i32>,
    wanted: Vec<i32>,
    several: Vec<bool>,
    queue: Vec<&'a str>,
    group: Vec<&'a str>,
    lane: Vec<i16>,
    task: Vec<&'a str>,
    first: Vec<i64>,
    last: Vec<i64>,
    most: Vec<i32>,
}

impl<'a> Asked<'a> {
    fn of(picks: &'a [Pick], ends: &[(i64, i64)]) -> Self {
        let mut asked = Self::default();
        for (number, pick) in (0..).zip(picks) {
            for (stream, limit) in &pick.streams {
                asked.pick.push(number);
                asked.wanted.push(pick.jobs as i32);
                asked.several.push(pick.streams.len() > 1);
                asked.queue.push(&stream.queue);
                asked.group.push(&pick.group);
                asked.lane.push(stream.lane.code());
                asked.task.push(&stream.task);
                let (first, last) = usize::try_from(stream.key)
                    .ok()
                    .and_then(|at| ends.get(at))
                    .copied()
                    .unwrap_or_default();
                asked.first.push(first);
                asked.last.push(last);
                asked.most.push(pick.jobs.min(*limit) as i32);
            }
        }
        asked
    }
}

/// What a claim makes of a job that is ready, whatever made it so.
fn claimed_change() -> Result<Change> {
    let ready = Standing {
        state: State::Waiting,
        reason: None,
        cancelling: false,
        priority: Priority::Normal,
        ready: true,
        attempts: 0,
        interruptions: 0,
        losses: 0,
    };
    decide(&ready, &Event::Claim, &Policy::default(), 0.0).map_err(|_| Error::Store {
        doing: "claiming jobs",
        cause: "a ready job cannot be claimed".into(),
        transient: false,
    })
}

fn ring(row: &Row, at: usize) -> Ring {
    Ring {
        place: row.get(at),
        left: row.get::<_, i32>(at + 1).try_into().unwrap_or(0),
    }
}

/// The groups that a row of `reserve.sql` tells of, with their streams, in ring order.
fn candidates(row: &Row, take: &Take) -> Result<Vec<Candidate>> {
    let Some(groups) = row.get::<_, Option<Vec<&str>>>(7) else {
        return Ok(Vec::new());
    };
    let (lanes, queues): (Vec<i16>, Vec<&str>) = (row.get(8), row.get(9));
    let tasks: Vec<&str> = row.get(10);
    let names: Vec<Name> = take.queues.iter().map(|queue| queue.as_str().into()).collect();
    let mut found: Vec<Candidate> = Vec::with_capacity(groups.len());
    let streams = groups.iter().zip(&lanes).zip(&queues).zip(&tasks).zip(0..);
    for ((((group, lane), queue), task), at) in streams {
        if found.last().is_none_or(|last| *last.group != **group) {
            found.push(Candidate {
                group: (*group).into(),
                streams: Vec::new(),
            });
        }
        let stream = Stream {
            lane: rows::coded("lane", *lane, Lane::from_code)?,
            queue: names
                .iter()
                .find(|name| ***name == **queue)
                .cloned()
                .unwrap_or_else(|| (*queue).into()),
            task: shared(task, &take.tasks),
            key: at,
        };
        if let Some(last) = found.last_mut() {
            last.streams.push(stream);
        }
    }
    // As a peek into one queue after the other would tell them.
    let rank = |stream: &Stream| take.queues.iter().position(|queue| **queue == *stream.queue);
    for candidate in &mut found {
        candidate.streams.sort_by_key(rank);
    }
    Ok(found)
}

/// Which pick a job was taken by.
fn pick_of(picks: &[Pick], job: &Claimed) -> Option<usize> {
    picks
        .iter()
        .position(|pick| pick.lane == job.lane && *pick.group == *job.group)
}

/// A row of `lock_caps.sql`: a cap, and how many jobs are held under it.
fn running(row: &Row) -> (Cap, u32) {
    (cap_of(row), row.get::<_, i32>(2) as u32)
}

/// A row of `lock_rates.sql` or `rates.sql`: whose rate, when its bucket will be full, and the time.
pub(super) fn bucket(row: &Row) -> (Cap, (i64, i64)) {
    (cap_of(row), (row.get(2), row.get(3)))
}

/// The kind and the name with which such a row begins.
pub(super) fn cap_of(row: &Row) -> Cap {
    let name: String = row.get(1);
    if row.get::<_, i16>(0) == 0 {
        Cap::Group(name)
    } else {
        Cap::Task(name)
    }
}

pub(super) fn cap_key(cap: &Cap) -> (i16, &str) {
    match cap {
        Cap::Group(name) => (0, name),
        Cap::Task(name) => (1, name),
    }
}
