//! Picks as the arrays that statements take, and what came of them.

use foldhash::{HashMap, HashSet};
use tokio_postgres::Row;

use super::super::stock::{Stock, Tid};
use crate::turn::{Name, Pick, Stream};

/// Picks as the arrays that statements take: jobs that are known, picks of one stream, and picks that merge several.
#[derive(Default)]
pub(super) struct Orders<'a> {
    pub(super) places: Vec<Tid>,
    pub(super) seqs: Vec<i64>,
    pub(super) by_place: Vec<(&'a Pick, usize)>,
    pub(super) walked: Vec<&'a Pick>,
    pub(super) single: Streams<'a>,
    pub(super) merged: Streams<'a>,
}

impl Orders<'_> {
    /// The second half of the known jobs.
    pub(super) fn split(&mut self) -> Self {
        let half = self.places.len() / 2;
        Self {
            places: self.places.split_off(half),
            seqs: self.seqs.split_off(half),
            ..Self::default()
        }
    }

    /// What was split off is here again.
    pub(super) fn join(&mut self, other: Self) {
        self.places.extend(other.places);
        self.seqs.extend(other.seqs);
    }

    /// Where every job was where it had been seen, and each pick meant one stream: those streams, and the last job of each.
    pub(super) fn all_came(&self, rows: usize) -> Option<impl Iterator<Item = (&Name, &Stream, i64)>> {
        let plain = self.by_place.iter().all(|(pick, _)| pick.streams.len() == 1);
        let all = plain && self.walked.is_empty() && rows == self.places.len();
        all.then(|| {
            let mut end = 0;
            self.by_place.iter().map(move |(pick, jobs)| {
                end += jobs;
                (&pick.group, &pick.streams[0].0, self.seqs[end - 1])
            })
        })
    }

    /// How many rows each group and lane gave.
    fn tally(rows: &[Row]) -> HashMap<(&str, i16), usize> {
        let mut tally = HashMap::default();
        for row in rows {
            *tally.entry((row.get(5), row.get(1))).or_default() += 1;
        }
        tally
    }

    /// What is left of picks whose jobs were not all where they had been seen. Places under caps that were given to those that
    /// were are gone.
    pub(super) fn missed(&self, rows: &[Row]) -> Vec<Pick> {
        if self.places.is_empty() || self.walked.is_empty() && rows.len() == self.places.len() {
            return Vec::new();
        }
        let got = Self::tally(rows);
        let mut given: HashMap<(&str, i16, &str, &str), u32> = HashMap::default();
        for row in rows {
            *given
                .entry((row.get(5), row.get(1), row.get(3), row.get(4)))
                .or_default() += 1;
        }
        let mut missed = Vec::new();
        for (pick, wanted) in &self.by_place {
            let got = got.get(&(&*pick.group, pick.lane.code())).copied().unwrap_or(0);
            if got >= *wanted {
                continue;
            }
            let rest = (wanted - got) as u32;
            let mut streams = pick.streams.clone();
            for (stream, limit) in &mut streams {
                let key = (&*pick.group, stream.lane.code(), &*stream.queue, &*stream.task);
                *limit = rest.min(limit.saturating_sub(given.get(&key).copied().unwrap_or(0)));
            }
            streams.retain(|(_, limit)| *limit > 0);
            let reach = streams.iter().map(|(_, limit)| limit).sum();
            if reach > 0 {
                missed.push(Pick {
                    jobs: rest.min(reach),
                    streams,
                    ..(*pick).clone()
                });
            }
        }
        missed
    }

    /// Streams that gave all that was asked for go on behind that. Of the others nothing is known: someone else may have
    /// had their hands on jobs that were passed over.
    pub(super) fn resume(&self, rows: &[Row], stock: &mut Stock) {
        let got = Self::tally(rows);
        let full = |pick: &Pick| got.get(&(&*pick.group, pick.lane.code())).copied().unwrap_or(0) >= pick.jobs as usize;
        let full: HashSet<(&str, i16)> = self
            .walked
            .iter()
            .filter(|pick| full(pick))
            .map(|pick| (&*pick.group, pick.lane.code()))
            .collect();
        for row in rows {
            let (group, lane): (&str, i16) = (row.get(5), row.get(1));
            if full.contains(&(group, lane)) {
                stock.resume(group, lane, row.get(3), row.get(4), row.get(2));
            }
        }
    }
}

/// Streams to claim from, as the arrays that a statement takes.
#[derive(Default)]
pub(super) struct Streams<'a> {
    pub(super) pick: Vec<i32>,
    pub(super) jobs: Vec<i32>,
    pub(super) queue: Vec<&'a str>,
    pub(super) group: Vec<&'a str>,
    pub(super) lane: Vec<i16>,
    pub(super) task: Vec<&'a str>,
    pub(super) mark: Vec<i64>,
    pub(super) limit: Vec<i32>,
}

impl<'a> Streams<'a> {
    pub(super) fn push(&mut self, number: i32, pick: &'a Pick, stream: &'a Stream, mark: i64, limit: u32) {
        self.pick.push(number);
        self.jobs.push(pick.jobs as i32);
        self.queue.push(&stream.queue);
        self.group.push(&pick.group);
        self.lane.push(stream.lane.code());
        self.task.push(&stream.task);
        self.mark.push(mark);
        self.limit.push(limit as i32);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}
