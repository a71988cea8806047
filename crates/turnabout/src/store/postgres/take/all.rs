//! Everything that is ready, in one round trip: where nothing was ready a moment ago, little will be now, and where all of
//! it can be taken there is no need to look whose turn it is. An executor that was asleep takes a single new job that way.
//!
//! `turn.rs` is told afterwards what there was and what was taken, and says where the place in the ring is then: the same
//! as if it had been asked before. That place is kept here and written by the next look that begins at it, unless someone
//! else has moved on meanwhile.

use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::super::connect::{Tx, failed};
use super::super::peek::{Found, Look};
use super::super::stock::{Ahead, Shelf, Standing, Stock, Tid};
use super::super::{PostgresStore, rows};
use super::begin;
use crate::error::Result;
use crate::group::Settings;
use crate::job::{Claimed, Lane, State};
use crate::store::{Stood, Take, Taken};
use crate::turn::{Pick, Ring, Stream, interleave, shared};

/// Rows are looked for one by one: more than so many are not taken so.
const MUCH: u32 = 16;

/// A place in the ring that is not written yet, and how often the one that is written had been moved.
pub(in crate::store::postgres) struct Unwritten {
    pub(in crate::store::postgres) moves: i64,
    pub(in crate::store::postgres) ring: Ring,
}

/// How everything that is ready is asked for.
pub(in crate::store::postgres) struct Asked<'a> {
    executor: Uuid,
    number: i64,
    state: i16,
    kind: &'a str,
    queues: &'a [String],
    tasks: Vec<&'a str>,
    most: i32,
    pub(in crate::store::postgres) settings: Arc<Settings>,
}

impl Asked<'_> {
    /// As `take_all.sql` wants them.
    pub(in crate::store::postgres) fn params(&self) -> [&(dyn ToSql + Sync); 8] {
        [
            &self.executor,
            &self.number,
            &self.state,
            &self.kind,
            &self.queues,
            &self.tasks,
            &self.most,
            &self.settings.version,
        ]
    }
}

/// All that was ready and is taken now, but for what others had their hands on.
pub(super) struct All {
    /// In the order of their lanes.
    jobs: Vec<Claimed>,
    /// Whether nothing is left.
    whole: bool,
    /// How often the place in the ring had been moved.
    moves: i64,
}

impl All {
    /// The jobs that a pick asks for.
    fn give(&mut self, pick: &Pick) -> Vec<Claimed> {
        let mut left = pick.jobs;
        self.jobs
            .extract_if(.., |job| {
                let chosen = left > 0 && job.lane == pick.lane && *job.group == *pick.group;
                left -= u32::from(chosen);
                chosen
            })
            .collect()
    }
}

impl PostgresStore {
    /// Takes everything that is ready, if that is little. Nothing: a look by the rules has to be taken, and nothing was taken
    /// so far.
    pub(super) async fn take_all(&self, tx: &Tx, look: &Look<'_>, number: i64) -> Result<Option<(Found, All)>> {
        let failed = failed("taking all jobs");
        let Some(asked) = self.ask_for_all(look, number) else {
            return Ok(None);
        };
        let statement = tx.prepare(&self.sql.take_all).await.map_err(&failed)?;
        let rows = tx.client().query(&statement, &asked.params()).await.map_err(&failed)?;
        self.all_of(look, number, asked.settings, &rows)
    }

    /// How to ask for everything that is ready. Nothing: there may be too much, or it may not be for all.
    pub(in crate::store::postgres) fn ask_for_all<'a>(&self, look: &Look<'a>, number: i64) -> Option<Asked<'a>> {
        let settings = self.settings.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let most = look.turns.whole(look.want, &settings).min(MUCH);
        (most > 0 && self.expects_little(look)).then(|| Asked {
            executor: look.executor,
            number,
            state: State::Scheduled.code(),
            kind: look.kind,
            queues: look.queues,
            tasks: look.tasks.iter().map(|task| &**task).collect(),
            most: most as i32,
            settings,
        })
    }

    /// What the server answered.
    fn all_of(
        &self,
        look: &Look<'_>,
        number: i64,
        settings: Arc<Settings>,
        rows: &[Row],
    ) -> Result<Option<(Found, All)>> {
        let Some((first, seen)) = rows.first().and_then(|row| Some((row, row.get::<_, Option<i32>>(20)?))) else {
            return Ok(None);
        };
        #[cfg(test)]
        self.trial
            .taken_whole
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let (ring, moves) = self.ring_at(look.kind, first);
        let looked = Duration::try_from_secs_f64(first.get(21)).unwrap_or_default();
        self.all_marks().entry(look.executor).or_default().looked(looked);
        let taken = if seen == 0 { &[] } else { rows };
        let mut jobs = Vec::with_capacity(taken.len());
        for row in taken {
            jobs.push(rows::claimed(row, number)?);
        }
        jobs.sort_by_key(|job| job.seq);
        let whole = jobs.len() == seen as usize;
        let found = shelved(look, ring, settings, taken);
        Ok(Some((found, All { jobs, whole, moves })))
    }

    /// What a take has got that was asked by someone else, in a statement of theirs.
    pub(in crate::store::postgres) fn served(
        &self,
        take: Take,
        settings: Arc<Settings>,
        rows: &[Row],
    ) -> Result<Stood> {
        match self.all_of(&Look::of(&take), take.number, settings, rows)? {
            Some((found, all)) => Ok(Stood::Taken(self.hand_over(take, found, all))),
            None => Ok(Stood::Recalled(take.turns)),
        }
    }

    /// What was taken, in the order of turns. The round plans as ever, and is told of each pick what came of it.
    pub(super) fn hand_over(&self, take: Take, found: Found, mut all: All) -> Taken {
        let (executor, kind) = (take.executor, take.kind.clone());
        self.hands.took(executor, take.number, all.jobs.len());
        let mut round = begin(take, &found);
        if round.ring != found.ring {
            let (moves, ring) = (all.moves, round.ring.clone());
            self.unwritten().insert(kind, Unwritten { moves, ring });
        }
        let mut jobs = Vec::with_capacity(all.jobs.len());
        let mut all_picks = Vec::new();
        loop {
            let picks = round.picks();
            if picks.is_empty() {
                break;
            }
            let got: Vec<Claimed> = picks.iter().flat_map(|pick| all.give(pick)).collect();
            round.took(&picks, &got);
            jobs.extend(got);
            all_picks.extend(picks);
        }
        // Nothing, as long as `Turns::whole` is right; and what was taken must not be lost.
        jobs.append(&mut all.jobs);
        self.memory(executor, |memory| memory.leave_all(all.whole));
        if !round.found {
            self.all_marks().entry(executor).or_default().rest();
        }
        Taken {
            jobs: interleave(jobs, &all_picks),
            found: round.found,
            turns: round.end(),
            settings: found.settings,
        }
    }

    /// Whether nothing was ready a moment ago, and a look costs little.
    fn expects_little(&self, look: &Look<'_>) -> bool {
        #[cfg(test)]
        if self.trial.whole.load(std::sync::atomic::Ordering::Relaxed) {
            return true;
        }
        let mut marks = self.all_marks();
        let marks = marks.entry(look.executor).or_default();
        marks.refresh();
        marks.are_needless() && self.memory(look.executor, |memory| memory.is_empty())
    }

    /// The place in the ring, as this process knows it, and how often the one that is written was moved.
    fn ring_at(&self, kind: &str, row: &Row) -> (Ring, i64) {
        let moves: i64 = row.get(19);
        let mut unwritten = self.unwritten();
        if let Some(known) = unwritten.get(kind) {
            if known.moves == moves {
                return (known.ring.clone(), moves);
            }
            unwritten.remove(kind);
        }
        let ring = Ring {
            place: row.get(17),
            left: row.get::<_, i32>(18).try_into().unwrap_or(0),
        };
        (ring, moves)
    }

    /// Places in rings that are not written yet, by kind.
    pub(in crate::store::postgres) fn unwritten(&self) -> MutexGuard<'_, HashMap<String, Unwritten>> {
        self.unwritten.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was there, as a look finds it. Not for keeps: when it was seen, nobody knew who was about to bring more.
fn shelved(look: &Look<'_>, ring: Ring, settings: Arc<Settings>, rows: &[Row]) -> Found {
    let mut streams: Vec<(&str, Stream, i64)> = rows
        .iter()
        .map(|row| {
            let stream = Stream {
                lane: Lane::from_code(row.get(1)).unwrap_or(Lane::Low),
                queue: row.get::<_, &str>(3).into(),
                task: shared(row.get(4), look.tasks),
                key: 0,
            };
            (row.get(5), stream, row.get(2))
        })
        .collect();
    streams.sort_unstable();
    let mut shelves: Vec<Shelf> = look.queues.iter().map(|_| Shelf::default()).collect();
    for jobs in streams.chunk_by(|a, b| (a.0, &a.1) == (b.0, &b.1)) {
        let (group, stream, _) = &jobs[0];
        if let Some(at) = look.queues.iter().position(|queue| **queue == *stream.queue) {
            let seqs: Vec<i64> = jobs.iter().map(|(.., seq)| *seq).collect();
            let places = vec![Tid::default(); seqs.len()];
            // More were asked for than there are.
            shelves[at].put(group, stream.clone(), Ahead::new(seqs, places, i32::MAX));
        }
    }
    let standing = Standing {
        places: 0,
        settled: false,
        version: settings.version,
    };
    Found {
        stock: Stock::new(standing, look.skipped(&settings), ring.clone(), shelves),
        ring,
        settings,
    }
}
