//! The simulation: a workload run event by event on the real rules about turns and states. No clock, no sleeping, no
//! threads: the same seed gives the same run to the microsecond, and an hour takes milliseconds.
//!
//! What is real: `turn.rs` (rotation, accounts, booking, pace) and `lifecycle.rs`. What is simulated: the store, in which
//! a take costs no time, and the slots. The loop of each executor is that of `executor/claimer.rs`: take while there is
//! room, sleep when nothing is found, share accounts and forgive benched groups once a second.

mod events;
mod executor;
mod store;

use turnabout::job::State;
use turnabout::lifecycle::{Event, Location, Standing, decide};

use super::rule::Rule;
use super::trace::Trace;
use super::workload::{Micros, SECOND, Workload};
use events::{Events, What};
use executor::Executor;
use store::Store;

/// Runs a workload under a rule.
pub(crate) fn run(workload: &Workload, rule: Rule, seed: u64) -> Trace {
    let mut simulation = Simulation::new(workload, rule, seed);
    while let Some(now) = simulation.events.next_moment() {
        if workload.until.is_some_and(|until| now >= until) || simulation.unfinished == 0 {
            break;
        }
        simulation.step(now);
    }
    let mut trace = simulation.trace;
    let end = workload.until.unwrap_or_else(|| trace.last_end());
    trace.cut(end);
    trace
}

/// Where a job is in its life.
struct Life {
    standing: Standing,
    /// Its present or next attempt, in the trace.
    run: usize,
}

struct Simulation<'a> {
    workload: &'a Workload,
    random: fastrand::Rng,
    events: Events,
    store: Store<'a>,
    /// By shift; those that have not come yet have no slots.
    executors: Vec<Executor>,
    jobs: Vec<Life>,
    unfinished: usize,
    trace: Trace,
}

impl<'a> Simulation<'a> {
    fn new(workload: &'a Workload, rule: Rule, seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut events = Events::default();
        for (number, job) in workload.jobs.iter().enumerate() {
            events.add(job.at, What::Ready(number));
        }
        let executors = workload
            .crew
            .iter()
            .enumerate()
            .map(|(number, shift)| {
                events.add(shift.from, What::Join(number));
                if let Some(until) = shift.until {
                    events.add(until, What::Leave(number));
                }
                Executor::new(rule.fairness(), random.u64(..))
            })
            .collect();
        let waiting = Standing {
            state: State::Waiting,
            reason: None,
            cancelling: false,
            priority: turnabout::Priority::Normal,
            ready: true,
            attempts: 0,
            interruptions: 0,
            losses: 0,
        };
        let life = |_| Life {
            standing: waiting,
            run: usize::MAX,
        };
        Self {
            workload,
            random,
            events,
            store: Store::new(workload, rule),
            executors,
            jobs: (0..workload.jobs.len()).map(life).collect(),
            unfinished: workload.jobs.len(),
            trace: Trace::new(workload),
        }
    }

    /// All that happens at one moment, and what executors do about it.
    fn step(&mut self, now: Micros) {
        let mut news = false;
        while let Some(what) = self.events.pop(now) {
            news |= self.happen(what, now);
        }
        // Those who sleep are woken by what has become ready, and by places that have become free.
        for executor in self.executors.iter_mut().filter(|_| news) {
            executor.hear();
        }
        // All look at the same moment; who comes first varies.
        let first = self.random.usize(..self.executors.len());
        for i in 0..self.executors.len() {
            self.fill((first + i) % self.executors.len(), now);
        }
    }

    /// Says whether those who sleep would hear of it.
    fn happen(&mut self, what: What, now: Micros) -> bool {
        match what {
            What::Ready(number) => {
                let life = &mut self.jobs[number];
                if !life.standing.ready {
                    life.standing = changed(&life.standing, Event::Promote, self.workload, 0.0).0;
                }
                life.run = self.trace.ready(number, &self.workload.jobs[number], now);
                self.store.put(number, &life.standing);
                return true;
            }
            What::End { executor, job } => return self.end(executor, job, now),
            What::Join(number) => {
                self.executors[number].join(self.workload.crew[number].slots, now);
                self.second(number, now);
            }
            What::Leave(number) => {
                for held in self.executors[number].leave() {
                    self.release(number, &held);
                }
                return true;
            }
            What::Second(number) => self.second(number, now),
            What::Stale { executor, starts } => {
                let stale = self.executors[executor].stale(starts);
                let any = !stale.is_empty();
                for held in stale {
                    self.release(executor, &held);
                }
                return any;
            }
        }
        false
    }

    /// What an executor does once a second, and before its first take.
    fn second(&mut self, number: usize, now: Micros) {
        let executor = &mut self.executors[number];
        if executor.slots > 0 {
            executor.each_second(&mut self.store, now);
            self.events.add(now + SECOND, What::Second(number));
        }
    }

    /// An executor takes and starts what it can.
    fn fill(&mut self, number: usize, now: Micros) {
        loop {
            for job in self.executors[number].start(now) {
                let life = &mut self.jobs[job];
                life.standing = changed(&life.standing, Event::Start, self.workload, 0.0).0;
                self.trace.runs[life.run].start = Some(now);
                let ends = now + self.workload.jobs[job].lasts;
                self.events.add(ends, What::End { executor: number, job });
            }
            let executor = &mut self.executors[number];
            let want = executor.want(now);
            if want == 0 || executor.asleep {
                break;
            }
            let taken = executor.take(&mut self.store, want);
            for job in taken {
                let life = &mut self.jobs[job];
                life.standing = changed(&life.standing, Event::Claim, self.workload, 0.0).0;
            }
        }
        if let Some((at, starts)) = self.executors[number].watch_for_stale(now) {
            let executor = number;
            self.events.add(at, What::Stale { executor, starts });
        }
    }

    /// A handler has returned.
    fn end(&mut self, number: usize, job: usize, now: Micros) -> bool {
        let held = self.executors[number].end(job, now);
        self.store.free(&held.job);
        let life = &mut self.jobs[job];
        self.trace.runs[life.run].end = Some(now);
        let event = if life.standing.attempts <= self.workload.jobs[job].failures {
            Event::Fail
        } else {
            Event::Succeed
        };
        let (standing, place) = changed(&life.standing, event, self.workload, self.random.f64());
        life.standing = standing;
        if let Location::Parked(delay) = place {
            self.events.add(now + delay.as_micros() as Micros, What::Ready(job));
        } else {
            self.unfinished -= 1;
        }
        held.capped
    }

    /// A job goes back to where it was taken from.
    fn release(&mut self, number: usize, held: &executor::Held) {
        let life = &mut self.jobs[held.number];
        life.standing = changed(&life.standing, Event::Release, self.workload, 0.0).0;
        self.store.free(&held.job);
        self.store.put_back(held);
        self.executors[number].settle(held, None);
    }
}

/// What becomes of a job, by the rules about states.
fn changed(standing: &Standing, event: Event, workload: &Workload, jitter: f64) -> (Standing, Location) {
    match decide(standing, &event, &workload.policy(), jitter) {
        Ok(change) => (change.standing(), change.place),
        Err(refusal) => unreachable!("{event:?} of {standing:?}: {refusal:?}"),
    }
}
