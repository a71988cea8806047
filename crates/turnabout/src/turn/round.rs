//! PURE: one take, from what a peek found to the jobs in hand.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::time::Duration;

use foldhash::{HashMap, HashMapExt as _};

use super::limited::limits;
use super::meters::Bucket;
use super::{Fairness, Name, Peeked, Ring, Stream, Tasks, Turns};
use crate::group::{Cap, Settings};
use crate::job::{Claimed, Lane};

/// An order to a store: take so many jobs from one lane of a group, lowest `seq` first over all these streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pick {
    /// The group.
    pub group: Name,
    /// The lane.
    pub lane: Lane,
    /// How many jobs.
    pub jobs: u32,
    /// The turn that each of them has.
    pub turns: Vec<Turn>,
    /// From which queues and tasks, and at most how many of each.
    pub streams: Vec<(Stream, u32)>,
}

/// A turn of a lane inside its group's visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn {
    /// In which order the jobs of the visit are to start.
    pub order: u32,
    /// Where the counting scheme stands after it. None: it had no choice, and nothing is counted.
    pub next: Option<u32>,
}

/// One take, from what a peek found to the jobs in hand.
///
/// `begin`, then while [`Round::picks`] is not empty: claim them and tell [`Round::took`]; then [`Round::end`].
#[derive(Debug)]
pub struct Round {
    pub(super) turns: Turns,
    pub(super) visits: Vec<Visit>,
    /// Groups that were seen and can give nothing beyond these limits, visited or not.
    waiting: Vec<(Name, Vec<Cap>)>,
    /// How many jobs may be taken yet under the caps, limits and rates that matter here, once the store has told them.
    pub(super) free: HashMap<Cap, u32>,
    /// The rates that matter here.
    pub(super) buckets: HashMap<Cap, Bucket>,
    /// How many jobs under rates may be taken yet: as many as there are free slots.
    pub(super) slots: u32,
    /// Whether some of those were left out for want of a slot.
    pub(super) crowded: bool,
    /// All groups that were seen and have something ready; none if there may be others.
    seen: Option<Vec<Name>>,
    /// Those that had none from the beginning.
    full: HashSet<Cap>,
    /// Where the ring is to be moved to, before anything is claimed.
    pub ring: Ring,
    /// Whether the peek found anything ready that this executor may run, or there may be such beyond what it saw.
    pub found: bool,
}

/// What is left when a round has ended.
#[derive(Debug)]
pub struct Rounded {
    /// The memory of turns. Groups that a limit kept from giving anything are left out for a while.
    pub turns: Turns,
    /// Whether anything is ready that could be taken, as far as limits allow it, or may be beyond what was seen.
    pub found: bool,
    /// How long until a rate lets the next job start, if one has kept jobs back.
    pub again: Option<Duration>,
}

/// What one group is to give in a round, over all its visits.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) group: Name,
    weight: u32,
    pub(super) wanted: u32,
    got: u32,
    streams: Vec<Stream>,
    /// How many turns were planned by earlier picks, whatever they brought.
    planned: u32,
    /// Where the scheme stands, if it has moved: only by jobs taken where it had a choice.
    counted: Option<u32>,
}

impl Visit {
    /// The lanes that still have jobs, as far as known, in streams that pass.
    fn lanes(&self, pass: impl Fn(&Stream) -> bool) -> Vec<Lane> {
        let mut lanes: Vec<Lane> = self.streams.iter().filter(|s| pass(s)).map(|s| s.lane).collect();
        lanes.sort_unstable();
        lanes.dedup();
        lanes
    }

    /// Whether a cap that was full from the beginning stands before what is left of it. One that others filled in
    /// this round does not count: those others are not benched, and would be alone when a place becomes free.
    fn is_capped(&self, full: &HashSet<Cap>) -> bool {
        !full.is_empty()
            && (full.contains(&Cap::Group(self.group.to_string()))
                || self
                    .streams
                    .iter()
                    .any(|s| full.contains(&Cap::Task(s.task.to_string()))))
    }
}

impl Round {
    /// Plans who gets how many of `want` jobs. `tasks` are those that the executor knows.
    pub fn begin(
        mut turns: Turns,
        ring: &Ring,
        mut peeked: Peeked,
        want: u32,
        tasks: &Tasks,
        settings: &Settings,
    ) -> Self {
        let horizon = peeked.groups.last().map(|c| c.group.clone());
        peeked.groups.retain_mut(|candidate| {
            let group = &candidate.group;
            candidate
                .streams
                .retain(|s| tasks.contains(&s.task) && !settings.is_paused(&s.queue, group, &s.task));
            let ready = !candidate.streams.is_empty();
            if !ready {
                turns.bench(&candidate.group);
            }
            ready
        });
        turns.limited.look(tasks, settings);
        let found = !peeked.groups.is_empty() || !peeked.complete;
        let (shares, mut ring) = turns.rotate(ring, &peeked, want, settings);
        // Where nothing was ready as far as the peek saw, the next one begins behind that: the bench is bounded, and
        // without this more groups than it holds could stand before all others for ever.
        if let Some(horizon) = horizon.filter(|_| peeked.groups.is_empty() && !peeked.complete) {
            ring = Ring {
                place: horizon.to_string(),
                left: 0,
            };
        }
        let mut waiting = Vec::new();
        if turns.limited.any() {
            for candidate in &peeked.groups {
                let tasks = limits(candidate, settings).into_iter().flatten();
                let caps: Vec<Cap> = tasks.map(|task| Cap::Task(task.to_owned())).collect();
                if !caps.is_empty() {
                    waiting.push((candidate.group.clone(), caps));
                }
            }
        }
        let seen = peeked
            .complete
            .then(|| peeked.groups.iter().map(|c| c.group.clone()).collect());
        let visits = shares
            .into_iter()
            .map(|(at, wanted)| Visit {
                weight: settings.group(&peeked.groups[at].group).weight(),
                group: peeked.groups[at].group.clone(),
                wanted,
                got: 0,
                streams: std::mem::take(&mut peeked.groups[at].streams),
                planned: 0,
                counted: None,
            })
            .collect();
        let mut round = Self {
            slots: turns.here.free(),
            turns,
            visits,
            waiting,
            free: HashMap::default(),
            buckets: HashMap::default(),
            crowded: false,
            seen,
            full: HashSet::new(),
            ring,
            found,
        };
        round.look_here(settings);
        round
    }

    /// How many jobs of each group and task may be taken because of what runs here already.
    fn look_here(&mut self, settings: &Settings) {
        let slots = self.turns.here.slots();
        let share = |visit: &Visit| {
            let most = settings.group(&visit.group).slots(slots)?;
            Some((Cap::Group(visit.group.to_string()), most))
        };
        for (cap, most) in self.visits.iter().filter_map(share).collect::<Vec<_>>() {
            let held = self.turns.here.held(&cap);
            self.allow(cap, most.saturating_sub(held));
        }
        if !self.turns.limited.any() {
            return;
        }
        for task in self.tasks() {
            if let Some(most) = settings.task(&task).max_running_each {
                let cap = Cap::Task(task);
                let held = self.turns.here.held(&cap);
                self.allow(cap, most.saturating_sub(held));
            }
        }
    }

    /// The tasks of these visits.
    pub(super) fn tasks(&self) -> BTreeSet<String> {
        let streams = self.visits.iter().flat_map(|v| &v.streams);
        streams.map(|stream| stream.task.to_string()).collect()
    }

    /// The caps that limit these visits: the store locks them in this order and tells [`Round::allow`] what is free.
    pub fn caps(&self, settings: &Settings) -> BTreeSet<Cap> {
        let groups = self.visits.iter().map(|v| &v.group);
        let tasks = self.visits.iter().flat_map(|v| v.streams.iter().map(|s| &s.task));
        groups
            .filter(|g| settings.group(g).max_running.is_some())
            .map(|g| Cap::Group(g.to_string()))
            .chain(
                tasks
                    .filter(|t| settings.task(t).max_running.is_some())
                    .map(|t| Cap::Task(t.to_string())),
            )
            .collect()
    }

    /// How many places are free under a cap, or how many jobs may be taken for another reason: the least counts.
    pub fn allow(&mut self, cap: Cap, free: u32) {
        // Rounds that come by every group begin with the same one each time. If places under a task's limit went in
        // that order, it would get them all.
        if matches!(cap, Cap::Task(_)) {
            self.visits.sort_by_key(|v| self.turns.limited.last(&v.group));
        }
        if free == 0 {
            self.full.insert(cap.clone());
        }
        let least = self.free.get(&cap).map_or(free, |known| free.min(*known));
        self.free.insert(cap, least);
    }

    /// What to claim next. Empty when there is nothing more to try.
    ///
    /// Each pick asks for a job at least, and afterwards either has what it asked for or loses its lane: so there
    /// are no more calls than jobs wanted and lanes seen.
    pub fn picks(&self) -> Vec<Pick> {
        let mut free = self.free.clone();
        let mut slots = self.slots;
        let mut picks = Vec::with_capacity(self.visits.len());
        for visit in &self.visits {
            let mut wanted = visit.wanted.saturating_sub(visit.got);
            if !free.is_empty()
                && let Some(places) = free.get(&Cap::Group(visit.group.to_string()))
            {
                wanted = wanted.min(*places);
            }
            if wanted == 0 {
                continue;
            }
            // A lane without a free place must not be chosen: the others would wait for it.
            let lanes = visit.lanes(|s| {
                free.is_empty()
                    || free.get(&Cap::Task(s.task.to_string())) != Some(&0)
                        && (slots > 0 || !self.is_rated(&visit.group, &s.task))
            });
            let count = visit.counted.unwrap_or_else(|| self.turns.count(&visit.group));
            for (lane, mut turns) in self.turns.plan(count, wanted, &lanes) {
                let jobs = turns.len() as u32;
                let mut streams = Vec::new();
                let mut reach = 0;
                for stream in visit.streams.iter().filter(|s| s.lane == lane) {
                    let mut limit = jobs;
                    if self.is_rated(&visit.group, &stream.task) {
                        limit = limit.min(slots);
                    }
                    if !free.is_empty()
                        && let Some(places) = free.get_mut(&Cap::Task(stream.task.to_string()))
                    {
                        limit = limit.min(*places);
                        *places -= limit;
                    }
                    if self.is_rated(&visit.group, &stream.task) {
                        slots -= limit;
                    }
                    if limit > 0 {
                        reach += limit;
                        streams.push((stream.clone(), limit));
                    }
                }
                if reach > 0 {
                    turns.truncate(reach as usize);
                    for turn in &mut turns {
                        turn.order += visit.planned;
                    }
                    picks.push(Pick {
                        group: visit.group.clone(),
                        lane,
                        jobs: jobs.min(reach),
                        turns,
                        streams,
                    });
                }
            }
        }
        picks
    }

    /// What came of these picks, which are all that [`Round::picks`] said, in its order. A lane that gave fewer jobs
    /// than asked for is taken to be empty; the group's other lanes make up for it in the next picks.
    pub fn took(&mut self, picks: &[Pick], jobs: &[Claimed]) {
        let mut got: HashMap<(&str, Lane), u32> = HashMap::with_capacity(picks.len());
        for job in jobs {
            *got.entry((&job.group, job.lane)).or_default() += 1;
            if self.free.is_empty() {
                continue;
            }
            if self.is_rated(&job.group, &job.task) {
                self.slots = self.slots.saturating_sub(1);
            }
            for cap in [Cap::Group(job.group.clone()), Cap::Task(job.task.clone())] {
                if let Some(bucket) = self.buckets.get_mut(&cap) {
                    bucket.taken += 1;
                }
                if let Some(places) = self.free.get_mut(&cap) {
                    *places = places.saturating_sub(1);
                    if matches!(cap, Cap::Task(_)) {
                        let weight = self.visits.iter().find(|v| *v.group == *job.group).map(|v| v.weight);
                        self.turns.limited.serve(&job.group, weight.unwrap_or(1));
                    }
                }
            }
        }
        let mut visits = self.visits.iter_mut();
        for picks in picks.chunk_by(|a, b| a.group == b.group) {
            let Some(visit) = visits.find(|v| v.group == picks[0].group) else {
                break;
            };
            // The count stands after the last turn that brought a job; turns that brought none before it are skipped.
            let mut last = None;
            for pick in picks {
                let taken = got.get(&(&*pick.group, pick.lane)).copied().unwrap_or(0);
                visit.got += taken;
                last = last.max(pick.turns[..taken.min(pick.jobs) as usize].last().copied());
                if taken < pick.jobs {
                    visit.streams.retain(|s| s.lane != pick.lane);
                }
            }
            let planned = picks
                .iter()
                .filter_map(|pick| pick.turns.last())
                .map(|turn| turn.order + 1);
            visit.planned = planned.max().unwrap_or(visit.planned);
            visit.counted = last.and_then(|turn| turn.next).or(visit.counted);
        }
    }

    /// What is left of this round. Groups that a limit kept from giving anything are left out for a while.
    pub fn end(mut self) -> Rounded {
        let again = self.again();
        if self.crowded {
            self.full.extend(self.buckets.keys().cloned());
        }
        // By cost the same groups would be chosen again and again, if something else keeps their jobs back.
        let stalled = self.turns.fairness != Fairness::Jobs && self.visits.iter().all(|v| v.got == 0);
        for visit in &self.visits {
            if visit.got == 0 && (stalled || visit.is_capped(&self.full)) {
                self.turns.bench(&visit.group);
            }
            if let Some(count) = visit.counted {
                self.turns.advance(&visit.group, count);
            }
        }
        // All who wait for the same place, not only those who were to have it: the others would find that out one by one,
        // and meanwhile keep slots idle.
        for (group, limits) in &self.waiting {
            if limits.iter().all(|cap| self.full.contains(cap)) {
                self.turns.bench(group);
            } else if self.visits.iter().any(|v| v.got == 0 && v.group == *group)
                && limits
                    .iter()
                    .any(|cap| self.free.get(cap).is_some_and(|free| *free > 0))
            {
                self.turns.limited.pass(group);
            }
        }
        // What is ready, but left out now for the sake of limits, is as good as not there: whoever looks for it once more finds
        // it so again, as often as he likes.
        let left_out = |group: &Name| self.turns.benched.contains(&**group);
        let nothing =
            self.visits.iter().all(|v| v.got == 0) && self.seen.as_ref().is_some_and(|seen| seen.iter().all(left_out));
        Rounded {
            found: self.found && !nothing,
            turns: self.turns,
            again,
        }
    }
}

/// The order in which jobs that were taken together should start: the groups take turns, the first job of each in the
/// order of the visits, then the second of each, and so on. Inside a group the jobs come as the counting scheme has it, and
/// inside a lane as they were submitted. `picks` are all picks of the round, in the order they were made.
///
/// Every store returns its jobs in this order, so that a group with a large share of a batch does not fill all slots
/// before the others have one, and so that the scheme holds for jobs however short they are.
pub fn interleave(jobs: Vec<Claimed>, picks: &[Pick]) -> Vec<Claimed> {
    // Jobs are large and picks are many: places are sorted, and each job is moved once.
    let mut by_seq: Vec<usize> = (0..jobs.len()).collect();
    by_seq.sort_by_key(|at| jobs[*at].seq);
    let mut lanes: HashMap<(&str, Lane), VecDeque<usize>> = HashMap::with_capacity(picks.len());
    for at in by_seq {
        lanes.entry((&jobs[at].group, jobs[at].lane)).or_default().push_back(at);
    }
    // By the group's place among the visits, then by turn.
    let mut order: Vec<(usize, u32, usize)> = Vec::with_capacity(jobs.len());
    let mut groups: HashMap<&str, usize> = HashMap::with_capacity(picks.len());
    for pick in picks {
        let visit = groups.len();
        let visit = *groups.entry(&pick.group).or_insert(visit);
        let Some(lane) = lanes.get_mut(&(&*pick.group, pick.lane)) else {
            continue;
        };
        let taken = lane.drain(..lane.len().min(pick.jobs as usize));
        order.extend(taken.zip(&pick.turns).map(|(at, turn)| (visit, turn.order, at)));
    }
    order.sort_unstable();
    // Turns that brought nothing leave no gap.
    let mut ranked: Vec<(usize, usize, usize)> = Vec::with_capacity(order.len());
    for visit in order.chunk_by(|a, b| a.0 == b.0) {
        ranked.extend(
            visit
                .iter()
                .enumerate()
                .map(|(rank, (visit, _, at))| (rank, *visit, *at)),
        );
    }
    ranked.sort_unstable();
    // Nothing that was taken may be lost here, whether a pick asked for it or not.
    let mut rest: Vec<usize> = lanes.into_values().flatten().collect();
    rest.sort_unstable_by_key(|at| jobs[*at].seq);
    let order: Vec<usize> = ranked.into_iter().map(|(_, _, at)| at).chain(rest).collect();
    let mut jobs: Vec<Option<Claimed>> = jobs.into_iter().map(Some).collect();
    order.into_iter().filter_map(|at| jobs[at].take()).collect()
}
