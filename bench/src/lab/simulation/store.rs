//! A store in a few lines: the ready jobs, the shared place in the ring, caps and accounts. It peeks and claims as the
//! real stores do.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use jiff::Timestamp;
use turnabout::group::{Cap, Settings};
use turnabout::job::{Claimed, JobId, Lane, Meta};
use turnabout::lifecycle::Standing;
use turnabout::turn::{Candidate, Charge, Name, Peeked, Pick, Ring, Round, Stream, Tasks, Turns, interleave};
use turnabout::{Priority, State};
use uuid::Uuid;

use super::executor::Held;
use crate::lab::rule::Rule;
use crate::lab::workload::Workload;

const QUEUE: &str = "default";

pub(super) struct Store<'a> {
    workload: &'a Workload,
    rule: Rule,
    /// By group and stream: the jobs' places in their lanes, and their numbers.
    ready: BTreeMap<String, BTreeMap<Stream, BTreeMap<i64, usize>>>,
    ring: Ring,
    pub(super) settings: Settings,
    tasks: Tasks,
    running: HashMap<Cap, u32>,
    accounts: HashMap<String, f64>,
    seq: i64,
}

/// What a take brought.
pub(super) struct Taken {
    pub(super) jobs: Vec<(usize, Claimed)>,
    pub(super) found: bool,
    pub(super) turns: Turns,
}

impl<'a> Store<'a> {
    pub(super) fn new(workload: &'a Workload, rule: Rule) -> Self {
        Self {
            workload,
            rule,
            ready: BTreeMap::new(),
            ring: Ring::default(),
            settings: rule.settings(workload),
            tasks: workload.tasks().into_iter().map(Name::from).collect(),
            running: HashMap::new(),
            accounts: HashMap::new(),
            seq: 0,
        }
    }

    /// A job has become ready: it goes to the end of its lane.
    pub(super) fn put(&mut self, number: usize, standing: &Standing) {
        let group = &self.workload.groups[self.workload.jobs[number].group];
        let lane = match standing.state {
            State::Stuck => Lane::Retry,
            _ => Lane::from(standing.priority),
        };
        self.seq += 1;
        let name = self.rule.store_group(group);
        self.insert(name.to_owned(), stream(lane, group.task), self.seq, number);
    }

    /// A job goes back to its place.
    pub(super) fn put_back(&mut self, held: &Held) {
        let stream = stream(held.job.lane, &held.job.task);
        self.insert(held.job.group.clone(), stream, held.job.seq, held.number);
    }

    fn insert(&mut self, group: String, stream: Stream, seq: i64, number: usize) {
        let streams = self.ready.entry(group).or_default();
        streams.entry(stream).or_default().insert(seq, number);
    }

    /// As `Store::take` does it.
    pub(super) fn take(&mut self, turns: Turns, want: u32) -> Taken {
        let peeked = self.peek(&turns, want);
        let mut round = Round::begin(turns, &self.ring, peeked, want, &self.tasks, &self.settings);
        self.ring = round.ring.clone();
        for cap in round.caps(&self.settings) {
            let max = match &cap {
                Cap::Group(group) => self.settings.group(group).max_running,
                Cap::Task(task) => self.settings.task(task).max_running,
                cap => unreachable!("no workload has a cap like {cap:?}"),
            };
            let running = self.running.get(&cap).copied().unwrap_or(0);
            round.allow(cap, max.unwrap_or(u32::MAX).saturating_sub(running));
        }
        let (mut jobs, mut asked, mut numbers) = (Vec::new(), Vec::new(), HashMap::new());
        loop {
            let picks = round.picks();
            if picks.is_empty() {
                break;
            }
            let mut taken = Vec::new();
            for pick in &picks {
                for (number, job) in self.claim(pick) {
                    numbers.insert(job.seq, number);
                    taken.push(job);
                }
            }
            round.took(&picks, &taken);
            jobs.extend(taken);
            asked.extend(picks);
        }
        Taken {
            jobs: interleave(jobs, &asked)
                .into_iter()
                .map(|job| (numbers[&job.seq], job))
                .collect(),
            found: round.found,
            turns: round.end().turns,
        }
    }

    /// The groups from the place on, as many as a take looks for.
    fn peek(&self, turns: &Turns, want: u32) -> Peeked {
        let (window, place) = (turns.window(want), self.ring.place.as_str());
        let (ahead, behind) = if self.ring.inclusive() {
            (Bound::Included(place), Bound::Excluded(place))
        } else {
            (Bound::Excluded(place), Bound::Included(place))
        };
        let mut groups: Vec<Candidate> = self
            .ready
            .range::<str, _>((ahead, Bound::Unbounded))
            .chain(self.ready.range::<str, _>((Bound::Unbounded, behind)))
            .filter(|(group, _)| !turns.benched().contains(*group))
            .take(window + 1)
            .map(|(group, streams)| Candidate {
                group: group.as_str().into(),
                streams: streams.keys().cloned().collect(),
            })
            .collect();
        let complete = groups.len() <= window;
        groups.truncate(window);
        Peeked { groups, complete }
    }

    /// The jobs that a pick names: lowest `seq` first over its streams, none giving more than its limit.
    fn claim(&mut self, pick: &Pick) -> Vec<(usize, Claimed)> {
        let Some(streams) = self.ready.get_mut(&*pick.group) else {
            return Vec::new();
        };
        let mut found: Vec<(i64, usize, Stream)> = Vec::new();
        for (stream, limit) in &pick.streams {
            let jobs = streams.get(stream).into_iter().flatten().take(*limit as usize);
            found.extend(jobs.map(|(seq, number)| (*seq, *number, stream.clone())));
        }
        found.sort_unstable_by_key(|(seq, ..)| *seq);
        found.truncate(pick.jobs as usize);
        let mut claimed = Vec::with_capacity(found.len());
        for (seq, number, stream) in found {
            if let Some(jobs) = streams.get_mut(&stream) {
                jobs.remove(&seq);
                if jobs.is_empty() {
                    streams.remove(&stream);
                }
            }
            for cap in caps(&pick.group, &stream.task) {
                *self.running.entry(cap).or_default() += 1;
            }
            claimed.push((number, job(&pick.group, &stream, seq, self.workload.jobs[number].items)));
        }
        if streams.is_empty() {
            self.ready.remove(&*pick.group);
        }
        claimed
    }

    /// A job is no longer in anybody's hand: its places under caps are free.
    pub(super) fn free(&mut self, job: &Claimed) {
        for cap in caps(&job.group, &job.task) {
            if let Some(running) = self.running.get_mut(&cap) {
                *running -= 1;
            }
        }
    }

    /// As `Store::share` does it.
    pub(super) fn share(&mut self, charges: Vec<Charge>) -> Vec<(String, f64)> {
        let shared = charges.into_iter().map(|charge| {
            let account = self.accounts.entry(charge.group.clone()).or_insert(charge.floor);
            *account = account.max(charge.floor) + charge.add;
            (charge.group, *account)
        });
        shared.collect()
    }
}

fn caps(group: &str, task: &str) -> [Cap; 2] {
    [Cap::Group(group.to_owned()), Cap::Task(task.to_owned())]
}

fn stream(lane: Lane, task: &str) -> Stream {
    Stream {
        lane,
        queue: QUEUE.into(),
        task: task.into(),
        key: 0,
    }
}

fn job(group: &str, stream: &Stream, seq: i64, items: u32) -> Claimed {
    Claimed {
        id: JobId(Uuid::from_u128(seq as u128)),
        number: 0,
        task: stream.task.to_string(),
        group: group.to_owned(),
        owner: None,
        priority: Priority::Normal,
        lane: stream.lane,
        seq,
        args: String::new(),
        prepared: true,
        items,
        meta: Meta::new(),
        parent: None,
        submitted: Timestamp::UNIX_EPOCH,
        attempts: 0,
        interruptions: 0,
        losses: 0,
    }
}
