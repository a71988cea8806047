//! Handing out jobs: peek, plan, claim.
//!
//! Two round trips. The first locks the place in the ring and peeks; the plan is made here, by `turn.rs`, while the
//! place is locked. The second moves the place and claims, in a transaction of its own: the place is free for the
//! next executor before the claim is on disk.
//!
//! A single one where all that is ready can be taken (`take/all.rs`): the plan is then made of what is in hand already.

use std::collections::BTreeSet;
use std::time::Instant;

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::connect::{Mode, Tx, failed};
use super::peek::{Found, Look};
use super::stock::Stock;
use super::{PostgresStore, rows};
use crate::error::{Error, Result};
use crate::group::Cap;
use crate::job::{Claimed, State};
use crate::store::{Take, Taken};
use crate::turn::{Peeked, Pick, Ring, Round, interleave};

mod all;
mod orders;

pub(super) use all::{Asked, Unwritten};
use orders::Orders;

/// A lane that gave too little is made up from the others; this is more than enough for all of them.
const PASSES: usize = 16;

/// So many known jobs are claimed over two connections.
const MANY: usize = 200;

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
        let tx = self.sit(&self.seats.taking).await?;
        let look = Look::of(&take);
        if let Some((found, all)) = self.take_all(&tx, &look, take.number).await? {
            drop(tx.finish());
            return Ok(self.hand_over(take, found, all));
        }
        let found = self.peek(&tx, &look).await?;
        let (executor, number, kind) = (take.executor, take.number, take.kind.clone());
        let mut round = begin(take, &found);
        let Found {
            ring,
            settings,
            mut stock,
        } = found;
        let place = round.ring.clone();
        let mut before = Before::Peek(&kind, (place != ring).then_some(&place));

        let mut jobs = Vec::new();
        let mut all_picks = Vec::new();
        let caps = round.caps(&settings);
        if !caps.is_empty() {
            self.claim(&tx, before, executor, number, &[], &mut stock).await?;
            self.lock_caps(&tx, &caps, &mut round).await?;
            before = Before::Locks;
        }
        let begun = Instant::now();
        for pass in 0..PASSES {
            let picks = round.picks();
            if picks.is_empty() && pass > 0 {
                break;
            }
            let mut got = self.claim(&tx, before, executor, number, &picks, &mut stock).await?;
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
            let failed = failed("claiming jobs");
            tx.execute(&self.sql.count_claimed, &[&executor, &number])
                .await
                .map_err(&failed)?;
            tx.client().batch_execute("commit").await.map_err(&failed)?;
        }
        drop(tx.finish());
        self.hands.took(executor, number, jobs.len());
        self.all_marks().entry(executor).or_default().claimed(begun.elapsed());
        stock.ring = place;
        self.memory(executor, |memory| memory.leave(stock));
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
    /// for jobs that do not lie any longer where they were seen.
    async fn claim(
        &self,
        tx: &Tx,
        before: Before<'_>,
        executor: Uuid,
        number: i64,
        picks: &[Pick],
        stock: &mut Stock,
    ) -> Result<Vec<Claimed>, Error> {
        let failed = failed("claiming jobs");
        let again = if matches!(before, Before::Locks) {
            Before::Locks
        } else {
            Before::Nothing
        };
        let mut orders = self.orders(executor, picks, stock);
        // Half of many known jobs is claimed over a second connection at the same time, if one is free.
        let spare = match before {
            Before::Locks => None,
            _ if orders.places.len() < MANY => None,
            _ => self.spare_client().await.map(Tx::on),
        };
        let other = spare.as_ref().map(|_| orders.split()).unwrap_or_default();
        let (rows, theirs) = futures_util::join!(
            async {
                let claimed = self.run_claims(tx, before, executor, number, &orders);
                Box::pin(claimed).await.map_err(&failed)
            },
            async {
                let Some(tx) = spare else { return Ok((Vec::new(), None)) };
                let claimed = self.run_claims(&tx, Before::Nothing, executor, number, &other);
                let claimed = Box::pin(claimed).await.map_err(&failed)?;
                drop(tx.finish());
                Ok(claimed)
            },
        );
        let (mut rows, drawn) = rows?;
        let (mut theirs, also_drawn) = theirs?;
        rows.append(&mut theirs);
        stock.drew([drawn, also_drawn]);
        orders.join(other);
        let missed = orders.missed(&rows);
        let all_came = orders.all_came(rows.len());
        if !missed.is_empty() {
            // Someone else is at work here: what is known is out of date.
            stock.spoil();
            let orders = self.orders(executor, &missed, stock);
            let late = self.run_claims(tx, again, executor, number, &orders);
            rows.append(&mut Box::pin(late).await.map_err(&failed)?.0);
        }
        if !orders.walked.is_empty() {
            orders.resume(&rows, stock);
        }
        let mut jobs = Vec::with_capacity(rows.len());
        for row in &rows {
            jobs.push(rows::claimed(row, number)?);
        }
        // Later claims begin behind these.
        let mut marks = self.all_marks();
        let marks = marks.entry(executor).or_default();
        match all_came {
            Some(streams) => streams.for_each(|(group, stream, seq)| marks.note(group, stream, seq)),
            None => {
                for (row, job) in rows.iter().zip(&jobs) {
                    marks.set(&job.group, job.lane, row.get(3), &job.task, job.seq);
                }
            }
        }
        Ok(jobs)
    }

    async fn run_claims(
        &self,
        tx: &Tx,
        before: Before<'_>,
        executor: Uuid,
        number: i64,
        orders: &Orders<'_>,
    ) -> Result<(Vec<Row>, Option<i64>), tokio_postgres::Error> {
        let Orders {
            places,
            seqs,
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
        let draw = tx.prepare(&self.sql.draw).await?;
        let count_claimed = tx.prepare(&self.sql.count_claimed).await?;
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
        let drawn = async {
            if !anything {
                return Ok(None);
            }
            Ok(Some(tx.client().query_one(&draw, &[]).await?.get(0)))
        };
        let seen = async {
            if places.is_empty() {
                return Ok(Vec::new());
            }
            let params: [&(dyn ToSql + Sync); 5] = [&executor, &number, &scheduled, places, seqs];
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
        // A transaction that stays open counts what it has claimed at its end.
        let ends = anything && !matches!(before, Before::Locks);
        let counted = async {
            if ends {
                tx.client().execute(&count_claimed, &[&executor, &number]).await?;
            }
            Ok::<_, tokio_postgres::Error>(())
        };
        let committed = async {
            if ends {
                tx.client().batch_execute("commit").await?;
            }
            Ok::<_, tokio_postgres::Error>(())
        };
        let (moved, unlocked, begun, drawn, seen, first, second, counted, committed) =
            futures_util::join!(moved, unlocked, begun, drawn, seen, first, second, counted, committed);
        moved?;
        unlocked?;
        begun?;
        let mut rows = seen?;
        rows.append(&mut first?);
        rows.append(&mut second?);
        counted?;
        committed?;
        Ok((rows, drawn?))
    }

    /// The picks as arrays. Jobs that are in stock are claimed where they lie, others by walking their streams.
    fn orders<'a>(&self, executor: Uuid, picks: &'a [Pick], stock: &mut Stock) -> Orders<'a> {
        let mut marks = self.all_marks();
        let marks = marks.entry(executor).or_default();
        let mut orders = Orders::default();
        let mut chosen = Vec::new();
        for (i, pick) in (0..).zip(picks) {
            if let Some(jobs) = stock.choose(pick, &mut chosen) {
                orders.by_place.push((pick, jobs));
                for (seq, place) in chosen.drain(..) {
                    orders.places.push(place);
                    orders.seqs.push(seq);
                }
                continue;
            }
            stock.walk(pick);
            orders.walked.push(pick);
            let alone = pick.streams.len() == 1;
            for (stream, limit) in &pick.streams {
                let mark = marks.get(&pick.group, stream.lane, &stream.queue, &stream.task);
                // A capped stream gives no more than its places; others are read ahead, for what others have locked.
                let capped = *limit < pick.jobs;
                let candidates = if capped { *limit } else { 2 * *limit + 10 };
                let order = if alone { &mut orders.single } else { &mut orders.merged };
                order.push(i, pick, stream, mark, if alone { *limit } else { candidates });
            }
        }
        orders
    }
}

/// A round of what was found.
fn begin(take: Take, found: &Found) -> Round {
    let peeks = found.stock.peeked(&Look::of(&take), &found.settings);
    let peeks = Peeked::merge(&found.ring, peeks);
    Round::begin(take.turns, &found.ring, peeks, take.want, &take.tasks, &found.settings)
}

/// Which pick a job was taken by.
fn place_of(picks: &[Pick], job: &Claimed) -> Option<usize> {
    picks
        .iter()
        .position(|pick| pick.lane == job.lane && *pick.group == *job.group)
}

fn cap_key(cap: &Cap) -> (i16, &str) {
    match cap {
        Cap::Group(name) => (0, name),
        Cap::Task(name) => (1, name),
    }
}
