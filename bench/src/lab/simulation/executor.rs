//! One executor: its slots, what it holds ahead, its memory of turns. What it does with them is what
//! `executor/claimer.rs` does.

use std::collections::HashMap;
use std::time::Duration;

use turnabout::Fairness;
use turnabout::job::Claimed;
use turnabout::turn::pace::{Load, STALE};
use turnabout::turn::starts::Starts;
use turnabout::turn::{Pace, Scheme, Turns};

use super::store::Store;
use crate::lab::workload::{Micros, as_seconds};

/// One take asks for no more jobs.
const BATCH: usize = 1000;
/// What executors believe a take lasts, which decides how much they hold ahead. Here it costs no time.
const TAKE: Duration = Duration::from_millis(2);

/// A job in hand.
pub(super) struct Held {
    /// Which job of the workload.
    pub(super) number: usize,
    pub(super) job: Claimed,
    /// Whether its end frees a place under a cap.
    pub(super) capped: bool,
    weight: u32,
    charged: f64,
    started: Micros,
}

pub(super) struct Executor {
    fairness: Fairness,
    turns: Turns,
    pace: Pace,
    /// None before it has joined and after it has left.
    pub(super) slots: usize,
    /// Claimed and not started.
    queue: Starts<Held>,
    /// By number.
    running: HashMap<usize, Held>,
    starts: u64,
    /// Found nothing; looks again when woken.
    pub(super) asleep: bool,
    /// At how many starts we last began to watch for jobs that do not start.
    watched: Option<u64>,
}

impl Executor {
    pub(super) fn new(fairness: Fairness, seed: u64) -> Self {
        Self {
            fairness,
            turns: Turns::new(fairness, Scheme::default(), seed),
            pace: Pace::new(0, Duration::ZERO),
            slots: 0,
            queue: Starts::default(),
            running: HashMap::new(),
            starts: 0,
            asleep: false,
            watched: None,
        }
    }

    pub(super) fn join(&mut self, slots: u32, now: Micros) {
        self.slots = slots as usize;
        self.pace = Pace::new(0, Duration::from_micros(now));
    }

    /// Takes no more; what has not started goes back.
    pub(super) fn leave(&mut self) -> Vec<Held> {
        self.slots = 0;
        self.queue.take_back(0)
    }

    /// Something may have become ready.
    pub(super) fn hear(&mut self) {
        if self.asleep {
            self.asleep = false;
            self.turns.forgive();
        }
    }

    /// Forgives, charges long jobs as they go, and shares the accounts.
    pub(super) fn each_second(&mut self, store: &mut Store<'_>, now: Micros) {
        self.turns.forgive();
        if self.fairness == Fairness::Jobs {
            return;
        }
        let mut numbers: Vec<usize> = self.running.keys().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            if let Some(held) = self.running.get_mut(&number) {
                let seconds = as_seconds(now - held.started);
                held.charged = self
                    .turns
                    .charge_running(&held.job.group, held.weight, held.charged, seconds);
            }
        }
        let shared = store.share(self.turns.accounts.charges());
        self.turns.accounts.absorb(shared);
    }

    /// How many jobs to ask for.
    pub(super) fn want(&mut self, now: Micros) -> usize {
        if self.slots == 0 {
            return 0;
        }
        self.pace.measure(self.starts, Duration::from_micros(now));
        self.pace.want(Load {
            slots: self.slots,
            running: self.running.len(),
            queued: self.queue.len(),
        })
    }

    /// Takes jobs; goes to sleep if there are none. Says which they are.
    pub(super) fn take(&mut self, store: &mut Store<'_>, want: usize) -> Vec<usize> {
        loop {
            let benched = self.turns.benched().len();
            let nothing = Turns::new(self.fairness, Scheme::default(), 0);
            let turns = std::mem::replace(&mut self.turns, nothing);
            let taken = store.take(turns, want.min(BATCH) as u32);
            self.turns = taken.turns;
            if !taken.jobs.is_empty() {
                self.pace.took(TAKE);
                let numbers = taken.jobs.iter().map(|(number, _)| *number).collect();
                for (number, job) in taken.jobs {
                    self.hold(number, job, store);
                }
                return numbers;
            }
            // A take that finds a cap full brings nothing, and the next one leaves out whom it concerns.
            if !taken.found || (self.turns.benched().len() == benched && !self.turns.is_passing()) {
                self.asleep = true;
                return Vec::new();
            }
        }
    }

    fn hold(&mut self, number: usize, job: Claimed, store: &Store<'_>) {
        let group = store.settings.group(&job.group);
        let capped = group.max_running.is_some() || store.settings.task(&job.task).max_running.is_some();
        let charged = self.turns.charge(&job.group, group.weight(), job.items);
        let name = job.group.clone();
        let held = Held {
            number,
            job,
            capped,
            weight: group.weight(),
            charged: charged.unwrap_or(0.0),
            started: 0,
        };
        self.queue.push(&name, group.weight(), held);
    }

    /// Fills free slots with what is held; says which jobs have started.
    pub(super) fn start(&mut self, now: Micros) -> Vec<usize> {
        let mut started = Vec::new();
        while self.running.len() < self.slots
            && let Some(mut held) = self.queue.pop()
        {
            held.started = now;
            self.starts += 1;
            started.push(held.number);
            self.running.insert(held.number, held);
        }
        started
    }

    /// A job has ended.
    pub(super) fn end(&mut self, number: usize, now: Micros) -> Held {
        let Some(held) = self.running.remove(&number) else {
            unreachable!("job {number} does not run here");
        };
        let cost = self.fairness.cost(held.job.items, as_seconds(now - held.started));
        self.settle(&held, Some(cost));
        // There is room now, so it looks at once.
        self.asleep = false;
        if held.capped {
            self.turns.forgive();
        }
        held
    }

    /// A job is no longer in hand.
    pub(super) fn settle(&mut self, held: &Held, cost: Option<f64>) {
        self.turns.settle(&held.job.group, held.weight, held.charged, cost);
    }

    /// When to look whether what is held ahead has started, if that is not being watched for yet.
    pub(super) fn watch_for_stale(&mut self, now: Micros) -> Option<(Micros, u64)> {
        if self.queue.is_empty() || self.watched == Some(self.starts) {
            return None;
        }
        self.watched = Some(self.starts);
        Some((now + STALE.as_micros() as Micros, self.starts))
    }

    /// What is held ahead goes back if nothing has started since.
    pub(super) fn stale(&mut self, starts: u64) -> Vec<Held> {
        if self.starts != starts {
            return Vec::new();
        }
        self.watched = None;
        self.queue.take_back(0)
    }
}
