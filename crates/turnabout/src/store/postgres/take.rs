//! Handing out jobs: peek, plan, claim.
//!
//! Two round trips. The first locks the place in the ring and peeks; the plan is made here, by `turn.rs`, while the
//! place is locked. The second moves the place and claims, in a transaction of its own: the place is free for the
//! next executor before the claim is on disk.

use std::collections::{BTreeSet, HashSet};
use std::time::Instant;

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::connect::{Mode, Tx, failed};
use super::peek::{Found, Heads, Look};
use super::{PostgresStore, rows};
use crate::error::{Error, Result};
use crate::group::Cap;
use crate::job::{Claimed, State};
use crate::store::{Take, Taken};
use crate::turn::{Peeked, Pick, Ring, Round, Stream, interleave};

/// A lane that gave too little is made up from the others; this is more than enough for all of them.
const PASSES: usize = 16;

/// What is sent before a claim, in the same round trip.
enum Before<'a> {
    /// The end of the peek: the place moves, if it does, and is unlocked. A crash of the server may undo a few visits.
    Peek(&'a str, Option<&'a Ring>),
    /// Nothing: a transaction is open, and stays open, since it holds the locks of caps.
    Locks,
    /// The beginning of a transaction.
    Nothing,
}

impl PostgresStore {
    pub(super) async fn hand_out(&self, take: Take) -> Result<Taken> {
        let Take {
            executor,
            number,
            kind,
            queues,
            tasks,
            want,
            turns,
        } = take;
        let tx = Tx::on(self.client().await?);
        let look = Look {
            executor,
            kind: &kind,
            queues: &queues,
            tasks: &tasks,
            want,
            turns: &turns,
        };
        let Found {
            ring,
            settings,
            peeks,
            mut heads,
        } = self.peek(&tx, &look).await?;
        let mut round = Round::begin(turns, &ring, Peeked::merge(&ring, peeks), want, &tasks, &settings);
        let place = round.ring.clone();
        let mut before = Before::Peek(&kind, (place != ring).then_some(&place));

        let mut jobs = Vec::new();
        let mut all_picks = Vec::new();
        let caps = round.caps(&settings);
        if !caps.is_empty() {
            self.claim(&tx, before, executor, number, &[], &heads).await?;
            self.lock_caps(&tx, &caps, &mut round).await?;
            before = Before::Locks;
        }
        let begun = Instant::now();
        for pass in 0..PASSES {
            let picks = round.picks();
            if picks.is_empty() && pass > 0 {
                break;
            }
            let mut got = self.claim(&tx, before, executor, number, &picks, &heads).await?;
            // What comes next in a stream is not known any longer.
            heads.clear();
            if !caps.is_empty() {
                // Whose turn it is under a limit depends on the order of what was taken.
                got.sort_by_cached_key(|job| (place_of(&picks, job), job.seq));
            }
            round.took(&picks, &got);
            jobs.extend(got);
            all_picks.extend(picks);
            before = if caps.is_empty() {
                Before::Nothing
            } else {
                Before::Locks
            };
        }
        if !caps.is_empty() {
            tx.client()
                .batch_execute("commit")
                .await
                .map_err(failed("claiming jobs"))?;
        }
        drop(tx.finish());
        self.all_marks().entry(executor).or_default().claimed(begun.elapsed());
        let found = round.found;
        if !found {
            self.all_marks().entry(executor).or_default().rest();
        }
        Ok(Taken {
            jobs: interleave(jobs, &all_picks),
            turns: round.end(),
            found,
            settings,
        })
    }

    /// Locks the caps that stand before the round, in a transaction that begins here, and tells it the free places.
    async fn lock_caps(&self, tx: &Tx, caps: &BTreeSet<Cap>, round: &mut Round) -> Result<()> {
        let failed = failed("looking at caps");
        tx.open(Mode::Durable).await.map_err(&failed)?;
        tx.client().batch_execute(&self.sql.enter).await.map_err(&failed)?;
        let (kinds, names): (Vec<i16>, Vec<&str>) = caps.iter().map(cap_key).unzip();
        for row in tx
            .query(&self.sql.lock_caps, &[&kinds, &names])
            .await
            .map_err(&failed)?
        {
            let name: String = row.get(1);
            let cap = if row.get::<_, i16>(0) == 0 {
                Cap::Group(name)
            } else {
                Cap::Task(name)
            };
            round.allow(cap, row.get::<_, i32>(2).try_into().unwrap_or(0));
        }
        Ok(())
    }

    /// Claims these picks in a transaction of their own, together with what comes before: one round trip. A second one
    /// for those whose head was gone.
    async fn claim(
        &self,
        tx: &Tx,
        before: Before<'_>,
        executor: Uuid,
        number: i64,
        picks: &[Pick],
        heads: &Heads,
    ) -> Result<Vec<Claimed>, Error> {
        let failed = failed("claiming jobs");
        let again = if matches!(before, Before::Locks) {
            Before::Locks
        } else {
            Before::Nothing
        };
        let orders = self.orders(executor, picks, heads);
        let mut rows = self
            .run_claims(tx, before, executor, number, &orders)
            .await
            .map_err(&failed)?;
        if !orders.places.is_empty() {
            let taken: HashSet<(&str, i16)> = rows.iter().map(|row| (row.get(5), row.get(1))).collect();
            let missed: Vec<&Pick> = (orders.by_head.iter())
                .filter(|pick| !taken.contains(&(pick.group.as_str(), pick.lane.code())))
                .copied()
                .collect();
            if !missed.is_empty() {
                let none = Heads::default();
                let orders = self.orders(executor, missed, &none);
                let late = self.run_claims(tx, again, executor, number, &orders).await;
                rows.append(&mut late.map_err(&failed)?);
            }
        }
        let mut jobs = Vec::with_capacity(rows.len());
        for row in &rows {
            jobs.push(rows::claimed(row, number)?);
        }
        self.remember(executor, &rows, &jobs);
        Ok(jobs)
    }

    async fn run_claims(
        &self,
        tx: &Tx,
        before: Before<'_>,
        executor: Uuid,
        number: i64,
        orders: &Orders<'_>,
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        let Orders {
            places,
            ids,
            single,
            merged,
            ..
        } = orders;
        let scheduled = State::Scheduled.code();
        // Prepared before anything is sent, so that nothing overtakes the beginning or the end.
        let move_ring = tx.prepare(&self.sql.move_ring).await?;
        let claim = tx.prepare(&self.sql.claim).await?;
        let claim_merged = tx.prepare(&self.sql.claim_merged).await?;
        let claim_heads = tx.prepare(&self.sql.claim_heads).await?;
        let anything = !places.is_empty() || !single.is_empty() || !merged.is_empty();
        let moved = async {
            if let Before::Peek(kind, Some(ring)) = &before {
                let left = i32::try_from(ring.left).unwrap_or(i32::MAX);
                tx.client().execute(&move_ring, &[kind, &ring.place, &left]).await?;
            }
            Ok::<_, tokio_postgres::Error>(())
        };
        let unlocked = async {
            match &before {
                Before::Peek(..) => tx.client().batch_execute("commit").await,
                _ => Ok(()),
            }
        };
        let begun = async {
            match &before {
                Before::Locks => Ok(()),
                _ if anything => tx.open(Mode::Durable).await,
                _ => Ok(()),
            }
        };
        let seen = async {
            if places.is_empty() {
                return Ok(Vec::new());
            }
            let params: [&(dyn ToSql + Sync); 5] = [&executor, &number, &scheduled, places, ids];
            tx.client().query(&claim_heads, &params).await
        };
        let first = async {
            if single.is_empty() {
                return Ok(Vec::new());
            }
            let s = single;
            let params: [&(dyn ToSql + Sync); 9] = [
                &executor, &number, &scheduled, &s.queue, &s.group, &s.lane, &s.task, &s.mark, &s.limit,
            ];
            tx.client().query(&claim, &params).await
        };
        let second = async {
            if merged.is_empty() {
                return Ok(Vec::new());
            }
            let s = merged;
            let params: [&(dyn ToSql + Sync); 11] = [
                &executor, &number, &scheduled, &s.pick, &s.jobs, &s.queue, &s.group, &s.lane, &s.task, &s.mark,
                &s.limit,
            ];
            tx.client().query(&claim_merged, &params).await
        };
        let committed = async {
            match &before {
                Before::Locks => Ok(()),
                _ if anything => tx.client().batch_execute("commit").await,
                _ => Ok(()),
            }
        };
        let (moved, unlocked, begun, seen, first, second, committed) =
            futures_util::join!(moved, unlocked, begun, seen, first, second, committed);
        moved?;
        unlocked?;
        begun?;
        let mut rows = seen?;
        rows.append(&mut first?);
        rows.append(&mut second?);
        committed?;
        Ok(rows)
    }

    /// The picks as arrays.
    fn orders<'a>(&self, executor: Uuid, picks: impl IntoIterator<Item = &'a Pick>, heads: &'a Heads) -> Orders<'a> {
        let marks = self.all_marks();
        let marks = marks.get(&executor);
        let mut orders = Orders::default();
        for (i, pick) in (0..).zip(picks) {
            if let [(stream, 1)] = pick.streams.as_slice()
                && let Some((place, id)) = heads.get(&(pick.group.clone(), stream.clone()))
            {
                orders.places.push(place);
                orders.ids.push(*id);
                orders.by_head.push(pick);
                continue;
            }
            let alone = pick.streams.len() == 1;
            for (stream, limit) in &pick.streams {
                let mark = marks.map_or(0, |m| m.get(&pick.group, stream.lane, &stream.queue, &stream.task));
                // A capped stream gives no more than its places; others are read ahead, for what others have locked.
                let capped = *limit < pick.jobs;
                let candidates = if capped { *limit } else { 2 * *limit + 10 };
                let order = if alone { &mut orders.single } else { &mut orders.merged };
                order.push(i, pick, stream, mark, if alone { *limit } else { candidates });
            }
        }
        orders
    }

    fn remember(&self, executor: Uuid, rows: &[Row], jobs: &[Claimed]) {
        let mut marks = self.all_marks();
        let marks = marks.entry(executor).or_default();
        for (row, job) in rows.iter().zip(jobs) {
            marks.set(&job.group, job.lane, row.get(3), &job.task, job.seq);
        }
    }
}

/// Which pick a job was taken by.
fn place_of(picks: &[Pick], job: &Claimed) -> Option<usize> {
    picks
        .iter()
        .position(|pick| pick.lane == job.lane && pick.group == job.group)
}

fn cap_key(cap: &Cap) -> (i16, &str) {
    match cap {
        Cap::Group(name) => (0, name),
        Cap::Task(name) => (1, name),
    }
}

/// Picks as the arrays that statements take: single jobs that the peek has seen, picks of one stream, and picks that
/// merge several.
#[derive(Default)]
struct Orders<'a> {
    places: Vec<&'a str>,
    ids: Vec<Uuid>,
    by_head: Vec<&'a Pick>,
    single: Streams<'a>,
    merged: Streams<'a>,
}

/// Streams to claim from, as the arrays that a statement takes.
#[derive(Default)]
struct Streams<'a> {
    pick: Vec<i32>,
    jobs: Vec<i32>,
    queue: Vec<&'a str>,
    group: Vec<&'a str>,
    lane: Vec<i16>,
    task: Vec<&'a str>,
    mark: Vec<i64>,
    limit: Vec<i32>,
}

impl<'a> Streams<'a> {
    fn push(&mut self, number: i32, pick: &'a Pick, stream: &'a Stream, mark: i64, limit: u32) {
        self.pick.push(number);
        self.jobs.push(pick.jobs as i32);
        self.queue.push(&stream.queue);
        self.group.push(&pick.group);
        self.lane.push(stream.lane.code());
        self.task.push(&stream.task);
        self.mark.push(mark);
        self.limit.push(limit as i32);
    }

    fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}
