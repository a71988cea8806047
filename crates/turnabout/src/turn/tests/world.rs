//! A store in a few lines: groups with streams of ready jobs, one shared place in the ring, caps. It peeks and claims
//! as the real stores do, and checks on the way that no pick goes beyond a cap and that rounds come to an end.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use uuid::Uuid;

use crate::group::{Cap, GroupSettings, Settings, TaskLimits};
use crate::job::{Claimed, JobId, Lane, Meta, Priority};
use crate::turn::{Candidate, Fairness, Name, Peeked, Pick, Ring, Round, Stream, Tasks, Turns};

#[derive(Default)]
pub(in crate::turn) struct World {
    ready: BTreeMap<String, BTreeMap<Stream, VecDeque<(i64, u32)>>>,
    pub(in crate::turn) ring: Ring,
    pub(in crate::turn) settings: Settings,
    pub(in crate::turn) tasks: Tasks,
    pub(in crate::turn) running: HashMap<Cap, u32>,
    queues: BTreeSet<String>,
    seq: i64,
}

pub(in crate::turn) fn turns(scheme: &str) -> Turns {
    Turns::new(Fairness::Jobs, scheme.parse().expect("a scheme"), 0)
}

pub(in crate::turn) fn stream(lane: Lane, queue: &str, task: &str) -> Stream {
    Stream {
        lane,
        queue: queue.into(),
        task: task.into(),
        key: 0,
    }
}

impl World {
    pub(in crate::turn) fn new() -> Self {
        Self {
            tasks: ["t", "u"].map(Name::from).into_iter().collect(),
            ..Self::default()
        }
    }

    /// Jobs of one item in the normal lane.
    pub(in crate::turn) fn submit(&mut self, group: &str, jobs: u32) {
        for _ in 0..jobs {
            self.put(group, stream(Lane::Normal, "default", "t"), 1);
        }
    }

    pub(in crate::turn) fn submit_to(&mut self, group: &str, lane: Lane, queue: &str, task: &str, jobs: u32) {
        for _ in 0..jobs {
            self.put(group, stream(lane, queue, task), 1);
        }
    }

    /// One job; returns its place in its lane.
    pub(in crate::turn) fn put(&mut self, group: &str, stream: Stream, items: u32) -> i64 {
        self.seq += 1;
        self.queues.insert(stream.queue.to_string());
        let streams = self.ready.entry(group.into()).or_default();
        streams.entry(stream).or_default().push_back((self.seq, items));
        self.seq
    }

    pub(in crate::turn) fn empty(&mut self, group: &str) {
        self.ready.remove(group);
    }

    pub(in crate::turn) fn is_ready(&self, group: &str) -> bool {
        self.ready.contains_key(group)
    }

    pub(in crate::turn) fn backlog(&self, group: &str) -> usize {
        let streams = self.ready.get(group);
        streams.map_or(0, |streams| streams.values().map(VecDeque::len).sum())
    }

    pub(in crate::turn) fn groups(&self) -> impl Iterator<Item = &String> {
        self.ready.keys()
    }

    pub(in crate::turn) fn weigh(&mut self, group: &str, weight: u32) {
        self.set(group, |s| s.weight = Some(weight));
    }

    pub(in crate::turn) fn set(&mut self, group: &str, change: impl Fn(&mut GroupSettings)) {
        change(self.settings.groups.entry(group.into()).or_default());
    }

    pub(in crate::turn) fn limit(&mut self, task: &str, max_running: u32) {
        let limits = TaskLimits {
            max_running: Some(max_running),
            ..TaskLimits::default()
        };
        self.settings.tasks.insert(task.into(), limits);
    }

    fn peek_queue(&self, queue: &str, window: usize, benched: &BTreeSet<String>) -> Peeked {
        let (ahead, behind): (Vec<_>, Vec<_>) = self.ready.iter().partition(|(group, _)| !self.ring.wraps(group));
        let mut groups: Vec<Candidate> = ahead
            .into_iter()
            .chain(behind)
            .filter(|(group, _)| !benched.contains(*group))
            .map(|(group, streams)| Candidate {
                group: group.as_str().into(),
                streams: streams.keys().filter(|s| *s.queue == *queue).cloned().collect(),
            })
            .filter(|candidate| !candidate.streams.is_empty())
            .take(window + 1)
            .collect();
        let complete = groups.len() <= window;
        groups.truncate(window);
        Peeked { groups, complete }
    }

    pub(in crate::turn) fn peek(&self, window: usize, benched: &BTreeSet<String>) -> Peeked {
        let peeks = self
            .queues
            .iter()
            .map(|q| self.peek_queue(q, window, benched))
            .collect();
        Peeked::merge(&self.ring, peeks)
    }

    /// Peeks, plans and moves the ring. What follows may come later, or never.
    pub(in crate::turn) fn begin(&mut self, turns: Turns, want: u32) -> Round {
        let peeked = self.peek(turns.window(want), turns.benched());
        let round = Round::begin(turns, &self.ring, peeked, want, &self.tasks, &self.settings);
        self.ring = round.ring.clone();
        round
    }

    /// Claims what the round asks for until it asks for nothing more.
    pub(in crate::turn) fn claim(&mut self, round: Round) -> (Vec<Claimed>, Turns) {
        let (jobs, _, turns) = self.claim_with_picks(round);
        (jobs, turns)
    }

    /// As [`Self::claim`], and the picks that were made.
    fn claim_with_picks(&mut self, mut round: Round) -> (Vec<Claimed>, Vec<Pick>, Turns) {
        for cap in round.caps(&self.settings) {
            let max = match &cap {
                Cap::Group(group) => self.settings.group(group).max_running,
                Cap::Task(task) => self.settings.task(task).max_running,
            };
            let running = self.running.get(&cap).copied().unwrap_or(0);
            round.allow(cap, max.expect("only caps are asked for").saturating_sub(running));
        }
        let wanted: u32 = round.visits.iter().map(|v| v.wanted).sum();
        let bound = wanted as usize + 4 * round.visits.len() + 1;
        let (mut jobs, mut asked): (Vec<Claimed>, Vec<Pick>) = (Vec::new(), Vec::new());
        for _ in 0..bound {
            let picks = round.picks();
            if picks.is_empty() {
                return (jobs, asked, round.end().turns);
            }
            check_caps(&picks, &round.free);
            let got: Vec<Claimed> = picks.iter().flat_map(|pick| self.pick(pick)).collect();
            round.took(&picks, &got);
            jobs.extend(got);
            asked.extend(picks);
        }
        panic!("a round goes on after {bound} claims");
    }

    pub(in crate::turn) fn take(&mut self, turns: Turns, want: u32) -> (Vec<Claimed>, Turns) {
        let round = self.begin(turns, want);
        self.claim(round)
    }

    /// As [`Self::take`], and the picks that were made.
    pub(in crate::turn) fn take_with_picks(&mut self, turns: Turns, want: u32) -> (Vec<Claimed>, Vec<Pick>, Turns) {
        let round = self.begin(turns, want);
        self.claim_with_picks(round)
    }

    fn pick(&mut self, pick: &Pick) -> Vec<Claimed> {
        let mut limits = pick.streams.clone();
        let mut jobs = Vec::new();
        let Some(streams) = self.ready.get_mut(&*pick.group) else {
            return jobs;
        };
        while jobs.len() < pick.jobs as usize {
            let heads = limits.iter_mut().filter(|(_, limit)| *limit > 0);
            let heads = heads.filter_map(|(s, limit)| Some((*streams.get(s)?.front()?, s, limit)));
            let Some(((seq, items), stream, limit)) = heads.min_by_key(|((seq, _), ..)| *seq) else {
                break;
            };
            *limit -= 1;
            jobs.push(claimed(&pick.group, stream, seq, items));
            let waiting = streams.get_mut(stream).expect("it has a head");
            waiting.pop_front();
            if waiting.is_empty() {
                streams.remove(stream);
            }
            for cap in [Cap::Group(pick.group.to_string()), Cap::Task(stream.task.to_string())] {
                *self.running.entry(cap).or_default() += 1;
            }
        }
        if streams.is_empty() {
            self.ready.remove(&*pick.group);
        }
        jobs
    }

    /// A job has ended: its places under caps are free.
    pub(in crate::turn) fn end(&mut self, job: &Claimed) {
        for cap in [Cap::Group(job.group.clone()), Cap::Task(job.task.clone())] {
            *self.running.get_mut(&cap).expect("it ran") -= 1;
        }
    }
}

fn check_caps(picks: &[Pick], free: &foldhash::HashMap<Cap, u32>) {
    for (cap, places) in free {
        let asked: u32 = match cap {
            Cap::Group(group) => picks.iter().filter(|p| *p.group == **group).map(|p| p.jobs).sum(),
            Cap::Task(task) => {
                let limits = picks.iter().flat_map(|p| &p.streams);
                limits.filter(|(s, _)| *s.task == **task).map(|(_, limit)| limit).sum()
            }
        };
        assert!(asked <= *places, "{asked} asked of {places} places under {cap:?}");
    }
    for pick in picks {
        let reach: u32 = pick.streams.iter().map(|(_, limit)| limit).sum();
        assert!(pick.jobs > 0 && pick.jobs <= reach, "{pick:?}");
    }
}

fn claimed(group: &str, stream: &Stream, seq: i64, items: u32) -> Claimed {
    Claimed {
        id: JobId(Uuid::from_u128(seq as u128)),
        number: 0,
        task: stream.task.to_string(),
        group: group.into(),
        owner: None,
        priority: Priority::Normal,
        lane: stream.lane,
        seq,
        prepared: false,
        args: String::new(),
        items,
        meta: Meta::new(),
        parent: None,
        submitted: jiff::Timestamp::UNIX_EPOCH,
        attempts: 0,
        interruptions: 0,
        losses: 0,
    }
}

/// How many of these jobs are of each group.
pub(in crate::turn) fn tally(jobs: &[Claimed]) -> BTreeMap<&str, u32> {
    let mut tally = BTreeMap::new();
    for job in jobs {
        *tally.entry(job.group.as_str()).or_default() += 1;
    }
    tally
}
