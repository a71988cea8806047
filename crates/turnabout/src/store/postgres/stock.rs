//! What an executor knows to be ready: the groups from a place in the ring on, and the first jobs of each stream.
//!
//! A peek costs a step down the index for every group. Where nothing has come since the last one (`sql/lock_ring.sql` tells)
//! and nobody else moved the place, what it saw is still all there is: the next take is planned from here, and claims
//! jobs where they lie. Streams are read ahead, deeper each time that this proves worth while.

use std::collections::{BTreeSet, HashSet};
use std::time::{Duration, Instant};

use super::peek::Look;
use crate::group::Settings;
use crate::turn::{Candidate, Name, Peeked, Pick, Ring, Stream};

mod shelf;
#[cfg(test)]
mod tests;

pub(super) use shelf::{Ahead, Dry, Part, Seen, Shelf, Tid, Way, first_name};

/// How long a stock is trusted, whatever `lock_ring.sql` says.
const LIFE: Duration = Duration::from_secs(5);
/// How long once a stream was claimed from by walking it, which may have passed over a job that someone else had locked.
const WALKED_LIFE: Duration = Duration::from_secs(1);
/// So many jobs of a stream are read ahead at the most.
const DEEPEST: i32 = 32;
/// Each time a stock was of use, the next one is so many times as deep.
const DEEPER: i32 = 8;
/// So many groups tell how many jobs others have.
const ENOUGH: usize = 50;
/// So many jobs are known at the most, as far as that can be told before reading.
const MOST: usize = 200_000;

/// How things stood, as `lock_ring.sql` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    /// How many places in lanes had been given away.
    pub(super) places: i64,
    /// Whether all jobs up to there could be seen.
    pub(super) settled: bool,
    /// The version of the settings.
    pub(super) version: i64,
}

/// Everything that is ready on a stretch of the ring.
#[derive(Debug)]
pub(super) struct Stock {
    since: Instant,
    standing: Standing,
    /// Groups that were stepped over.
    skipped: BTreeSet<String>,
    /// The place in the ring, as this executor left it.
    pub(super) ring: Ring,
    /// By the executor's queues.
    queues: Vec<Shelf>,
    /// Whether a stream was claimed from by walking it.
    walked: bool,
}

impl Stock {
    pub(super) fn new(standing: Standing, skipped: BTreeSet<String>, ring: Ring, queues: Vec<Shelf>) -> Self {
        Self {
            since: Instant::now(),
            standing,
            skipped,
            ring,
            queues,
            walked: false,
        }
    }

    /// Whether this is still all there is.
    pub(super) fn stands(&self, standing: Standing, ring: &Ring, skipped: &BTreeSet<String>) -> bool {
        self.keeps()
            && self.standing.places == standing.places
            && self.standing.version == standing.version
            && self.ring == *ring
            && self.skipped.is_subset(skipped)
    }

    /// Whether it may be of use to a later take.
    pub(super) fn keeps(&self) -> bool {
        self.standing.settled && self.since.elapsed() < if self.walked { WALKED_LIFE } else { LIFE }
    }

    /// What is ready from the place on, queue by queue, as a peek tells it.
    pub(super) fn peeked(&self, look: &Look<'_>, settings: &Settings) -> Vec<Peeked> {
        self.queues
            .iter()
            .map(|shelf| {
                let mut peeked = Peeked {
                    groups: Vec::new(),
                    complete: shelf.end.is_none(),
                };
                let mut useful = 0;
                for (group, streams) in shelf.from(&self.ring) {
                    if look.turns.benched().contains(&**group) {
                        continue;
                    }
                    // Beyond a stream of which nothing is known, nothing can be planned.
                    if useful == look.window() || streams.iter().any(|(_, ahead)| ahead.is_dry()) {
                        peeked.complete = false;
                        break;
                    }
                    useful += usize::from(is_useful(group, streams, look, settings));
                    peeked.groups.push(Candidate {
                        group: group.clone(),
                        streams: streams.iter().map(|(stream, _)| stream.clone()).collect(),
                    });
                }
                peeked
            })
            .collect()
    }

    /// What has to be looked at before the next take: parts of the queues, and streams that have run dry.
    pub(super) fn missing(&self, look: &Look<'_>, settings: &Settings) -> (Vec<Option<Way>>, Vec<Dry>) {
        let mut dry = Vec::new();
        let mut ways = Vec::with_capacity(self.queues.len());
        for (queue, shelf) in self.queues.iter().enumerate() {
            // What comes beyond this is left to the next take: this one is then told that there is more.
            let mut left = 2 * look.window() + 100;
            let mut useful = 0;
            let mut look_at = |group: &Name, streams: &[(Stream, Ahead)]| {
                let mut counts = false;
                for (stream, ahead) in streams {
                    if ahead.is_dry() {
                        dry.push(Dry {
                            queue,
                            group: group.clone(),
                            stream: stream.clone(),
                            last: ahead.last,
                        });
                    } else {
                        counts |= look.is_useful(&stream.task, settings);
                    }
                }
                // One that may turn out to be empty is not counted on.
                counts && !settings.group(group).paused && !look.turns.benched().contains(&**group)
            };
            for (group, streams) in shelf.from(&self.ring) {
                if useful == look.window() || left == 0 {
                    break;
                }
                left -= 1;
                useful += usize::from(look_at(group, streams));
            }
            let rest = shelf.rest().filter(|_| useful < look.window() && left > 0);
            if rest.is_some() {
                // The rest may close the ring, and these are next then.
                for (group, streams) in shelf.behind(&self.ring).take(left) {
                    look_at(group, streams);
                }
            }
            ways.push(rest);
        }
        (ways, dry)
    }

    /// What was found in streams that had run dry.
    pub(super) fn refill(&mut self, dry: Vec<Dry>, found: Vec<Ahead>) {
        for (dry, found) in dry.into_iter().zip(found) {
            let streams = self.queues[dry.queue].groups.get_mut(&dry.group);
            if let Some((_, ahead)) = streams.into_iter().flatten().find(|(stream, _)| *stream == dry.stream) {
                let last = ahead.last.max(found.last);
                *ahead = Ahead { last, ..found };
                if !ahead.has_ended() {
                    continue;
                }
            }
            self.tidy(&dry.group);
        }
    }

    /// Whether nothing is ready, all around the ring.
    fn is_empty(&self) -> bool {
        let nothing = |shelf: &Shelf| shelf.groups.is_empty() && shelf.end.is_none();
        self.skipped.is_empty() && self.queues.iter().all(nothing)
    }

    /// How many groups are known.
    pub(super) fn groups(&self) -> usize {
        self.queues.iter().map(|shelf| shelf.groups.len()).sum()
    }

    /// A further part of a queue.
    pub(super) fn extend(&mut self, queue: usize, part: Shelf) {
        let known = &mut self.queues[queue];
        known.groups.extend(part.groups);
        known.end = part.end;
    }

    /// The jobs of a pick, as far as all of them are known: they are put to `chosen`, and are no longer in stock then. Says how
    /// many.
    pub(super) fn choose(&mut self, pick: &Pick, chosen: &mut Vec<Seen>) -> Option<usize> {
        let before = chosen.len();
        let ended = match &*pick.streams {
            [(stream, limit)] => {
                let (ahead, jobs) = (self.ahead(&pick.group, stream)?, pick.jobs.min(*limit) as usize);
                if ahead.seen.len() < jobs && ahead.more {
                    return None;
                }
                let jobs = jobs.min(ahead.seen.len());
                chosen.extend(ahead.seen.iter().take(jobs));
                ahead.took(jobs)
            }
            _ => self.choose_over(pick, chosen)?,
        };
        if ended {
            self.tidy(&pick.group);
        }
        Some(chosen.len() - before).filter(|jobs| *jobs > 0)
    }

    /// The same over several streams. Says whether one of them has come to its end.
    fn choose_over(&mut self, pick: &Pick, chosen: &mut Vec<Seen>) -> Option<bool> {
        let mut streams: Vec<(&mut Ahead, u32)> = Vec::with_capacity(pick.streams.len());
        for shelf in &mut self.queues {
            for (stream, ahead) in shelf.groups.get_mut(&pick.group).into_iter().flatten() {
                if let Some((_, limit)) = pick.streams.iter().find(|(wanted, _)| wanted == stream) {
                    streams.push((ahead, *limit));
                }
            }
        }
        if streams.len() < pick.streams.len() {
            return None;
        }
        // Which stream the next job comes from: the lowest `seq` over all of them.
        let mut taken = vec![0; streams.len()];
        let mut found = Vec::with_capacity(pick.jobs as usize);
        while found.len() < pick.jobs as usize {
            let mut next: Option<(usize, Seen)> = None;
            for (at, (ahead, limit)) in streams.iter().enumerate() {
                if taken[at] == *limit as usize {
                    continue;
                }
                match ahead.seen.get(taken[at]) {
                    Some(seen) if next.is_none_or(|(_, best)| seen.0 < best.0) => next = Some((at, *seen)),
                    None if ahead.more => return None,
                    _ => {}
                }
            }
            let Some((at, seen)) = next else { break };
            taken[at] += 1;
            found.push(seen);
        }
        chosen.append(&mut found);
        let mut ended = false;
        for ((ahead, _), taken) in streams.into_iter().zip(taken) {
            ended |= ahead.took(taken);
        }
        Some(ended)
    }

    /// What is known of a stream.
    fn ahead(&mut self, group: &str, stream: &Stream) -> Option<&mut Ahead> {
        let shelves = self.queues.iter_mut();
        let mut streams = shelves.filter_map(|shelf| shelf.groups.get_mut(group)).flatten();
        streams.find(|(known, _)| known == stream).map(|(_, ahead)| ahead)
    }

    /// A claim has drawn these places itself. Any other that was drawn meanwhile is a job that has come or that someone
    /// else has taken.
    pub(super) fn drew(&mut self, places: [Option<i64>; 2]) {
        let mut drawn: Vec<i64> = places.into_iter().flatten().collect();
        drawn.sort_unstable();
        for place in drawn {
            if place == self.standing.places {
                self.standing.places += 1;
            } else {
                self.standing.settled = false;
            }
        }
    }

    /// Something was not as it should be: this take goes on without it, and the next one looks anew.
    pub(super) fn spoil(&mut self) {
        self.standing.settled = false;
        self.queues.iter_mut().for_each(|shelf| shelf.groups.clear());
    }

    /// A pick is claimed by walking its streams: what they hold next is not known any longer.
    pub(super) fn walk(&mut self, pick: &Pick) {
        self.walked = true;
        self.each_of(pick, |ahead| {
            // The next look begins before the first that was seen and may still be there.
            if let Some((seq, _)) = ahead.seen.front() {
                ahead.last = seq - 1;
            }
            ahead.seen.clear();
            ahead.more = true;
            ahead.sure = false;
        });
    }

    /// A walked stream goes on behind this job.
    pub(super) fn resume(&mut self, group: &str, lane: i16, queue: &str, task: &str, seq: i64) {
        for shelf in &mut self.queues {
            for (stream, ahead) in shelf.groups.get_mut(group).into_iter().flatten() {
                if stream.lane.code() == lane && *stream.queue == *queue && *stream.task == *task {
                    ahead.last = ahead.last.max(seq);
                }
            }
        }
    }

    fn each_of(&mut self, pick: &Pick, change: impl Fn(&mut Ahead)) {
        let wanted: HashSet<&Stream> = pick.streams.iter().map(|(stream, _)| stream).collect();
        for shelf in &mut self.queues {
            for (stream, ahead) in shelf.groups.get_mut(&pick.group).into_iter().flatten() {
                if wanted.contains(stream) {
                    change(ahead);
                }
            }
        }
    }

    /// Streams that have nothing more, and groups without streams, are gone.
    fn tidy(&mut self, group: &str) {
        for shelf in &mut self.queues {
            if let Some(streams) = shelf.groups.get_mut(group) {
                streams.retain(|(_, ahead)| !ahead.has_ended());
                if streams.is_empty() {
                    shelf.groups.remove(group);
                }
            }
        }
    }
}

fn is_useful(group: &str, streams: &[(Stream, Ahead)], look: &Look<'_>, settings: &Settings) -> bool {
    !settings.group(group).paused && streams.iter().any(|(stream, _)| look.is_useful(&stream.task, settings))
}

/// What an executor remembers from take to take.
#[derive(Debug, Default)]
pub(super) struct Memory {
    stock: Option<Stock>,
    /// How many places had been given away after the last take.
    left: Option<i64>,
    /// Whether nothing had come between the last two takes.
    calm: bool,
    /// Whether the last take left nothing behind, as far as it could see.
    empty: bool,
    depth: i32,
    /// How many jobs the groups had that were read last, if those were all.
    length: Option<usize>,
    /// Whether a few groups have many, so that streams are not read as short ones for now.
    uneven: bool,
}

impl Memory {
    /// A take is over.
    pub(super) fn leave(&mut self, stock: Stock) {
        self.left = stock.keeps().then_some(stock.standing.places);
        self.empty = stock.is_empty();
        self.stock = Some(stock).filter(Stock::keeps);
    }

    /// A take that took all it could is over, and has left nothing behind or not.
    pub(super) fn leave_all(&mut self, nothing: bool) {
        (self.stock, self.left, self.empty) = (None, None, nothing);
    }

    /// Whether the last take left nothing behind, as far as it could see.
    pub(super) fn is_empty(&self) -> bool {
        self.empty
    }

    /// What the last take left, if it may still be of use, and whether that was nothing.
    pub(super) fn enter(&mut self) -> (Option<Stock>, bool) {
        let empty = std::mem::take(&mut self.empty);
        let stock = self.stock.take().filter(Stock::keeps);
        self.uneven &= stock.is_some();
        (stock, empty)
    }

    /// How deep to read streams now: the deeper the longer nothing has come, as far as so many groups leave room.
    pub(super) fn depth(&mut self, groups: usize) -> i32 {
        let room = i32::try_from(MOST / groups.max(1)).unwrap_or(DEEPEST);
        self.depth = if self.calm {
            self.depth.max(1).saturating_mul(DEEPER).min(DEEPEST).min(room).max(1)
        } else {
            self.length = None;
            1
        };
        self.depth
    }

    /// How many jobs a group has, where its streams are short and so many groups leave room for all of them.
    pub(super) fn length(&self, groups: usize) -> Option<usize> {
        self.length
            .filter(|length| !self.uneven && length.saturating_mul(groups) <= MOST)
    }

    /// These parts of the queues were read so deep. Of streams that are not useful, no more than one job was told.
    pub(super) fn learn(&mut self, parts: &[Option<Part>], depth: i32, is_useful: impl Fn(&str) -> bool) {
        let read = || parts.iter().flatten();
        if read().next().is_none() {
            return;
        }
        if read().any(|part| part.sparse) {
            (self.length, self.uneven) = (None, true);
            return;
        }
        let (mut groups, mut jobs, mut streams, mut long) = (0, 0, 0, 0);
        for known in read().flat_map(|part| part.shelf.groups.values()) {
            groups += 1;
            for (stream, ahead) in known {
                streams += 1;
                jobs += ahead.seen.len();
                let all = !ahead.more && ahead.seen.len() <= DEEPEST as usize && is_useful(&stream.task);
                long += usize::from(!all);
            }
        }
        // Of a single job nothing can be told, and of few groups little.
        if depth == 1 {
            self.length = None;
        } else if groups >= ENOUGH {
            self.length = (long * 10 <= streams).then(|| jobs.div_ceil(groups));
        }
    }

    /// How things stand now.
    pub(super) fn note(&mut self, standing: Standing) {
        self.calm = self.left.take() == Some(standing.places);
    }
}
