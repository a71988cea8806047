//! Slots, durations and time: executors that run jobs of the tiny world as real ones will, event by event. There is
//! no clock and no sleeping; an hour takes milliseconds.

use std::collections::{BTreeMap, HashMap};

use super::tests::world::{World, stream};
use super::{Accounts, Fairness, Scheme, Turns};
use crate::job::{Claimed, Lane};

mod cost;
mod slots;

/// A job in a slot.
struct Running {
    job: Claimed,
    weight: u32,
    started: f64,
    ends: f64,
    charged: f64,
}

struct Executor {
    turns: Turns,
    slots: usize,
    running: Vec<Running>,
}

/// A group that never runs out of jobs: each new one as long, and of as many items, as this says.
type Flood = Box<dyn FnMut(&mut fastrand::Rng) -> (f64, u32)>;

struct Simulation {
    fairness: Fairness,
    world: World,
    random: fastrand::Rng,
    now: f64,
    executors: Vec<Executor>,
    /// How long each job takes, by its `seq`.
    durations: HashMap<i64, f64>,
    floods: BTreeMap<String, Flood>,
    /// The accounts that executors share, as a store keeps them.
    shared: HashMap<String, f64>,
    next_tick: f64,
    /// Jobs in the order in which they started.
    started: Vec<(f64, Claimed)>,
    /// What each group's ended jobs have cost.
    ended: HashMap<String, f64>,
}

impl Simulation {
    fn new(fairness: Fairness, executors: usize, slots: usize) -> Self {
        let executor = |i| Executor {
            turns: Turns::new(fairness, Scheme::default(), i as u64),
            slots,
            running: Vec::new(),
        };
        Self {
            fairness,
            world: World::new(),
            random: fastrand::Rng::with_seed(7),
            now: 0.0,
            executors: (0..executors).map(executor).collect(),
            durations: HashMap::new(),
            floods: BTreeMap::new(),
            shared: HashMap::new(),
            next_tick: 0.0,
            started: Vec::new(),
            ended: HashMap::new(),
        }
    }

    fn submit(&mut self, group: &str, jobs: u32, seconds: f64) {
        for _ in 0..jobs {
            self.put(group, seconds, 1);
        }
    }

    fn put(&mut self, group: &str, seconds: f64, items: u32) {
        let seq = self.world.put(group, stream(Lane::Normal, "default", "t"), items);
        self.durations.insert(seq, seconds);
    }

    fn flood(&mut self, group: &str, job: impl FnMut(&mut fastrand::Rng) -> (f64, u32) + 'static) {
        self.floods.insert(group.into(), Box::new(job));
        self.top_up(group);
    }

    fn cost(&self, job: &Claimed, seconds: f64) -> f64 {
        match self.fairness {
            Fairness::Jobs => 1.0,
            Fairness::Items => f64::from(job.items),
            Fairness::Time => seconds,
        }
    }

    /// What a group has had so far: by time also what its running jobs have used, by items also what they hold.
    fn had(&self, group: &str) -> f64 {
        let running = self
            .executors
            .iter()
            .flat_map(|e| &e.running)
            .filter(|r| r.job.group == group);
        let running: f64 = running.map(|r| self.cost(&r.job, self.now - r.started)).sum();
        self.ended.get(group).copied().unwrap_or(0.0) + running
    }

    fn held(&self, group: &str) -> usize {
        let running = self.executors.iter().flat_map(|e| &e.running);
        running.filter(|r| r.job.group == group).count()
    }

    /// Runs until `end`; calls `look` whenever something has happened.
    fn run(&mut self, end: f64, mut look: impl FnMut(&Self)) {
        loop {
            self.fill();
            look(self);
            let ends = self.executors.iter().flat_map(|e| e.running.iter().map(|r| r.ends));
            let next = ends.fold(self.next_tick, f64::min);
            if next > end {
                self.now = end;
                return;
            }
            self.now = next;
            self.finish();
            if self.now >= self.next_tick {
                self.tick();
                self.next_tick += 1.0;
            }
        }
    }

    /// Each executor takes until its slots are full or nothing is ready; the one that begins varies.
    fn fill(&mut self) {
        let first = self.random.usize(..self.executors.len());
        for i in 0..self.executors.len() {
            let at = (first + i) % self.executors.len();
            let mut fruitless = 0;
            loop {
                let executor = &mut self.executors[at];
                let free = (executor.slots - executor.running.len()) as u32;
                if free == 0 {
                    break;
                }
                let round = self.world.begin(executor.turns.clone(), free);
                let found = round.found;
                let (jobs, turns) = self.world.claim(round);
                self.executors[at].turns = turns;
                if !found {
                    assert!(
                        self.world.groups().next().is_none(),
                        "a slot idles while a job is ready"
                    );
                    break;
                }
                // A stretch of the ring that has had enough is passed over.
                let passing = self.executors[at].turns.is_passing();
                fruitless = if jobs.is_empty() && !passing { fruitless + 1 } else { 0 };
                assert!(fruitless < 3, "a slot idles while a job is ready");
                for job in jobs {
                    self.top_up(&job.group);
                    self.start(at, job);
                }
            }
        }
    }

    fn top_up(&mut self, group: &str) {
        if self.world.backlog(group) < 20
            && let Some(mut flood) = self.floods.remove(group)
        {
            for _ in 0..100 {
                let (seconds, items) = flood(&mut self.random);
                self.put(group, seconds, items);
            }
            self.floods.insert(group.into(), flood);
        }
    }

    fn start(&mut self, at: usize, job: Claimed) {
        let weight = self.world.settings.group(&job.group).weight();
        let known = (self.fairness == Fairness::Items).then_some(f64::from(job.items));
        let accounts = &mut self.executors[at].turns.accounts;
        let charged = accounts.take(&job.group, weight, known);
        self.started.push((self.now, job.clone()));
        let ends = self.now + self.durations[&job.seq];
        self.executors[at].running.push(Running {
            job,
            weight,
            started: self.now,
            ends,
            charged,
        });
    }

    fn finish(&mut self) {
        for at in 0..self.executors.len() {
            let running = std::mem::take(&mut self.executors[at].running);
            for run in running {
                if run.ends > self.now {
                    self.executors[at].running.push(run);
                    continue;
                }
                let cost = self.cost(&run.job, run.ends - run.started);
                let accounts = &mut self.executors[at].turns.accounts;
                accounts.correct(&run.job.group, run.weight, cost - run.charged);
                accounts.ended(&run.job.group, cost);
                *self.ended.entry(run.job.group.clone()).or_default() += cost;
                self.world.end(&run.job);
            }
        }
    }

    /// What executors do once a second.
    fn tick(&mut self) {
        for executor in &mut self.executors {
            executor.turns.forgive();
            if self.fairness == Fairness::Time {
                for run in &mut executor.running {
                    let over = self.now - run.started - run.charged;
                    if over > 0.0 {
                        run.charged += over;
                        executor.turns.accounts.correct(&run.job.group, run.weight, over);
                    }
                }
            }
            share(&mut self.shared, &mut executor.turns.accounts);
        }
    }
}

/// As `Store::share` does it.
fn share(shared: &mut HashMap<String, f64>, accounts: &mut Accounts) {
    let mut answer = Vec::new();
    for charge in accounts.charges() {
        let account = shared.entry(charge.group.clone()).or_default();
        *account = account.max(charge.floor) + charge.add;
        answer.push((charge.group, *account));
    }
    accounts.absorb(answer);
}
