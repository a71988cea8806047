//! The model: a store in plain collections behind one lock, built on the pure files. What it does is what the other
//! stores must do: it is the oracle of the random tests, and the quickest store to run every other case on.
//!
//! It is written to be obviously right, not to be fast: whole jobs in maps, and one index of the ready ones.

mod audit;
mod change;
mod claim;
mod forget;
mod insight;
mod look;
mod overview;
mod schedules;
mod submit;
mod tell;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use tokio::sync::broadcast;
use uuid::Uuid;

use super::{
    Beat, Changed, Configuration, ExecutorInfo, Executors, Leg, NewJob, Occupied, OwedHooks, Promoted, Rewrite,
    Schedules, Setting, Settle, Settled, Signal, Start, Stood, Store, StoreOptions, Submitted, Take, Taken,
    Transactions, Wake, Which,
};
use crate::clock::{Clock, after};
use crate::error::Result;
use crate::group::{Admissions, Cap, KeyRate, Settings};
use crate::hook::{self, Hook, Hooks, Owed};
use crate::job::{Attempt, Claim, Claimed, Job, JobId, Lane, State};
use crate::lifecycle::{Change, Event, Location, Policy, keeps_progress};
use crate::log::Line;
use crate::progress::percent_of;
use crate::task::TaskSettings;
use crate::turn::{Charge, Ring};

/// A store in memory, for tests.
#[derive(Debug)]
pub(crate) struct Model {
    options: StoreOptions,
    tables: Mutex<Tables>,
    signals: broadcast::Sender<Signal>,
    ids: super::ids::IdsInMemory,
}

/// A ready job's place: queue, group, lane, task, seq. The order is that of the stores' ready index.
type Place5 = (String, String, Lane, String, i64);

/// Everything that the model keeps.
#[derive(Debug, Default)]
struct Tables {
    live: BTreeMap<JobId, Job>,
    ended: BTreeMap<JobId, Job>,
    /// Kept by `put` and `remove`: where the ready jobs are.
    ready: BTreeMap<Place5, JobId>,
    /// Kept by `put` and `remove`: group, task and unique key of unfinished jobs.
    unique: HashMap<(String, String, String), JobId>,
    /// Lines by job and number.
    logs: BTreeMap<(JobId, i64), Line>,
    /// Attempts that were not their job's last.
    attempts: BTreeMap<JobId, Vec<Attempt>>,
    executors: BTreeMap<Uuid, ExecutorInfo>,
    /// What executors are called, also those that have left.
    names: HashMap<Uuid, (String, Timestamp)>,
    /// When each executor was last heard of.
    seen: HashMap<Uuid, Timestamp>,
    /// Executors that are to take no more jobs.
    draining: HashSet<Uuid>,
    /// Those of them that are to end.
    dismissed: HashSet<Uuid>,
    feed: overview::Feed,
    audit: Vec<super::audit::Entry>,
    audited: i64,
    calendar: schedules::Calendar,
    tasks: BTreeMap<String, TaskSettings>,
    rings: HashMap<String, Ring>,
    accounts: HashMap<(String, String), f64>,
    settings: Arc<Settings>,
    /// When the buckets of rates will be full, in nanoseconds since 1970.
    rates: HashMap<Cap, i64>,
    /// How the jobs of keys stand.
    keys: HashMap<String, Admissions>,
    seq: i64,
    /// Hooks, by number, and from when on they may be given out.
    owed: BTreeMap<i64, (Timestamp, Owed)>,
    noted: i64,
}

impl Model {
    pub(crate) fn new(options: StoreOptions) -> Arc<Self> {
        Arc::new(Self {
            options,
            tables: Mutex::default(),
            signals: broadcast::Sender::new(1024),
            ids: super::ids::IdsInMemory::default(),
        })
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Timestamp {
        self.options.clock.now()
    }

    fn signal(&self, signal: Signal) {
        // Nobody listens: nobody needs to know.
        let _ = self.signals.send(signal);
    }

    /// Whether any ended job is kept.
    fn keeps(&self, tables: &Tables) -> bool {
        !crate::retention::keeps_nothing(&tables.settings, self.options.retention)
    }

    /// Writes what a rule said about a job, and tells whom it concerns. `hooks` are those that its task has.
    fn apply(&self, tables: &mut Tables, mut job: Job, change: &Change, hooks: Hooks) {
        let now = self.now();
        if tables.note(hook::owed(&job, change, hooks, self.keeps(tables), now), now) {
            self.signal(Signal::Owed);
        }
        let was_held = matches!(job.state, State::Scheduled | State::Running);
        let is_held = matches!(change.state, State::Scheduled | State::Running);
        tables.remove(job.id);
        if was_held && !is_held && change.place != Location::History {
            job.started = None;
        }
        job.state = change.state;
        job.reason = change.reason;
        job.cancelling = change.cancelling;
        job.priority = change.priority;
        job.attempts = change.attempts;
        job.interruptions = change.interruptions;
        job.losses = change.losses;
        // What was reported is the holder's, and goes with it.
        let kept = change.place == Location::Held || keeps_progress(change);
        let step = job.step.take().filter(|_| kept);
        let reported = Some(job.progress).filter(|_| kept);
        (job.step, job.progress) = (step, percent_of(job.state, reported));
        match change.place {
            Location::Ready(lane) => {
                // Out of parking or history it goes to the end of its lane; otherwise it keeps its place.
                if job.due.is_some() || job.finished.is_some() {
                    job.seq = tables.next_seq();
                }
                job.due = None;
                job.finished = None;
                job.claim = None;
                job.lane = Some(lane);
            }
            Location::Parked(delay) => {
                job.due = Some(after(now, delay));
                job.claim = None;
                job.lane = None;
                self.signal(Signal::Due(delay));
            }
            Location::StillParked | Location::Gone => {}
            Location::Held => {
                job.due = None;
                job.lane = None;
            }
            Location::History => {
                job.due = None;
                job.lane = None;
                job.finished = Some(now);
            }
        }
        self.signal(Signal::Changed(job.id));
        let last = change.place == Location::History && !self.keeps(tables);
        if change.place != Location::Gone {
            tables.feed.tell(now, &job, last);
        }
        if job.cancelling && is_held {
            self.signal(Signal::Cancel(job.id));
        }
        if was_held != is_held {
            self.signal(Signal::Ready);
        }
        match change.place {
            Location::Gone => {
                tables.logs.retain(|(id, _), _| *id != job.id);
                tables.attempts.remove(&job.id);
            }
            Location::History if !self.keeps(tables) => {}
            Location::History => {
                tables.ended.insert(job.id, job);
            }
            _ => tables.put(job),
        }
    }
}

impl Tables {
    fn next_seq(&mut self) -> i64 {
        self.seq += 1;
        self.seq
    }

    /// A job, unfinished or ended.
    fn job(&self, id: JobId) -> Option<&Job> {
        self.live.get(&id).or_else(|| self.ended.get(&id))
    }

    /// Adds an unfinished job.
    fn put(&mut self, job: Job) {
        if let Some(place) = place(&job) {
            self.ready.insert(place, job.id);
        }
        if let Some(key) = key(&job) {
            self.unique.insert(key, job.id);
        }
        self.live.insert(job.id, job);
    }

    /// Takes a job out, unfinished or ended.
    fn remove(&mut self, id: JobId) {
        self.ended.remove(&id);
        let Some(job) = self.live.remove(&id) else { return };
        if let Some(place) = place(&job) {
            self.ready.remove(&place);
        }
        if let Some(key) = key(&job) {
            self.unique.remove(&key);
        }
    }

    /// What a task says about running its jobs again: as published, else the defaults.
    fn policy(&self, task: &str) -> Policy {
        self.tasks.get(task).map_or_else(Policy::default, |t| t.policy)
    }

    /// The hooks that a task has, as published.
    fn hooks(&self, task: &str) -> Hooks {
        self.tasks.get(task).map_or(Hooks::NONE, |t| t.hooks)
    }

    /// Notes hooks that are owed. Says whether there are any.
    fn note(&mut self, owed: Vec<(Hook, Job)>, now: Timestamp) -> bool {
        let any = !owed.is_empty();
        for (hook, job) in owed {
            self.noted += 1;
            let (number, tries) = (self.noted, 0);
            let owed = Owed {
                number,
                hook,
                tries,
                job,
            };
            self.owed.insert(number, (now, owed));
        }
        any
    }

    /// The jobs in executors' hands.
    fn held(&self) -> impl Iterator<Item = &Job> {
        self.live
            .values()
            .filter(|j| matches!(j.state, State::Scheduled | State::Running))
    }
}

fn place(job: &Job) -> Option<Place5> {
    let lane = job.lane?;
    Some((job.queue.clone(), job.group.clone(), lane, job.task.clone(), job.seq))
}

fn key(job: &Job) -> Option<(String, String, String)> {
    let unique = job.unique.clone()?;
    Some((job.group.clone(), job.task.clone(), unique))
}

#[async_trait]
impl Store for Model {
    fn clock(&self) -> &Clock {
        &self.options.clock
    }

    fn insight(&self) -> &dyn super::insight::Insight {
        self
    }

    fn audit(&self) -> &dyn super::audit::Audit {
        self
    }

    fn schedules(&self) -> &dyn Schedules {
        self
    }

    fn transactions(&self) -> Option<&dyn Transactions> {
        None
    }

    async fn submit_portion(&self, jobs: Vec<NewJob>, mut leg: Leg) -> Result<Vec<Result<Submitted>>> {
        leg.until_over().await;
        Ok(self.insert(jobs))
    }

    async fn take(&self, take: Take) -> Result<Taken> {
        self.claim(take)
    }

    async fn stand_by(&self, take: Take, until: BoxFuture<'_, ()>) -> Result<Stood> {
        until.await;
        Ok(Stood::Recalled(take.turns))
    }

    async fn grab(&self, executor: Uuid, number: i64, id: JobId) -> Result<Option<Claimed>> {
        self.grab_parked(Claim { executor, number }, id)
    }

    async fn admit(&self, rate: &KeyRate, back: bool) -> Result<Option<Duration>> {
        Ok(self.admit_by_key(rate, back))
    }

    async fn start(&self, executor: Uuid, jobs: Vec<Start>) -> Result<Vec<(JobId, Settled)>> {
        Ok(self.mark_started(executor, jobs))
    }

    async fn settle(&self, executor: Uuid, jobs: Vec<Settle>) -> Result<Vec<Settled>> {
        let tables = &mut *self.tables();
        Ok(jobs.into_iter().map(|s| self.settle_one(tables, executor, s)).collect())
    }

    async fn change(&self, which: Which, event: Event) -> Result<Vec<Changed>> {
        self.change_jobs(which, event)
    }

    async fn rewrite(&self, ids: Vec<JobId>, to: Rewrite) -> Result<Vec<Changed>> {
        Ok(self.rewrite_jobs(&ids, &to))
    }

    async fn promote(&self, limit: u32) -> Result<Promoted> {
        Ok(self.promote_due(limit))
    }

    async fn get(&self, ids: &[JobId]) -> Result<Vec<Job>> {
        let tables = self.tables();
        let jobs = ids.iter().filter_map(|id| tables.job(*id)).cloned();
        Ok(jobs.map(|job| tables.named(job)).collect())
    }

    async fn attempts(&self, job: JobId) -> Result<Vec<Attempt>> {
        let tables = self.tables();
        let mut attempts = tables.attempts.get(&job).cloned().unwrap_or_default();
        for attempt in &mut attempts {
            attempt.executor = tables.name_of(attempt.claim.executor);
        }
        Ok(attempts)
    }

    async fn forget(&self) -> Result<u64> {
        Ok(self.forget_old())
    }

    async fn prune(&self) -> Result<u64> {
        self.prune_audit();
        Ok(self.forget_old())
    }
}

#[async_trait]
impl Executors for Model {
    async fn register(&self, executor: &ExecutorInfo, _kind: &str, tasks: &[TaskSettings]) -> Result<()> {
        let tables = &mut *self.tables();
        let beat = tables
            .executors
            .get(&executor.incarnation)
            .map_or(executor.beat, |known| known.beat);
        let known = ExecutorInfo {
            beat,
            ..executor.clone()
        };
        tables.executors.insert(executor.incarnation, known);
        let now = self.now();
        tables.names.insert(executor.incarnation, (executor.name.clone(), now));
        tables.seen.insert(executor.incarnation, self.now());
        for task in tasks {
            tables.tasks.insert(task.name.clone(), task.clone());
        }
        Ok(())
    }

    async fn heartbeat(&self, executor: Uuid, beat: i64) -> Result<Beat> {
        Ok(self.beat(executor, beat))
    }

    async fn reap(&self, executor: Uuid, beat: i64) -> Result<u32> {
        Ok(self.lose(executor, beat))
    }

    async fn deregister(&self, executor: Uuid) -> Result<()> {
        self.tables().executors.remove(&executor);
        Ok(())
    }

    async fn occupy(&self, id: &str) -> Result<Occupied> {
        Ok(self.ids.occupy(id))
    }

    async fn share(&self, kind: &str, charges: Vec<Charge>) -> Result<Vec<(String, f64)>> {
        Ok(self.tables().share(kind, charges))
    }
}

#[async_trait]
impl Wake for Model {
    fn signals(&self) -> broadcast::Receiver<Signal> {
        self.signals.subscribe()
    }
}

#[async_trait]
impl OwedHooks for Model {
    async fn owed(&self, tasks: &[(String, Hooks)], limit: u32, again: Duration) -> Result<Vec<Owed>> {
        Ok(self.give_out(tasks, limit, again))
    }

    async fn strike(&self, owed: Vec<i64>) -> Result<()> {
        let mut tables = self.tables();
        for number in owed {
            tables.owed.remove(&number);
        }
        Ok(())
    }
}

#[async_trait]
impl Configuration for Model {
    async fn settings(&self) -> Result<Arc<Settings>> {
        Ok(self.tables().settings.clone())
    }

    async fn set_since(&self, version: i64, setting: Setting) -> Result<bool> {
        let set = self.tables().set_since(version, setting);
        self.signal(Signal::Ready);
        Ok(set)
    }

    async fn tasks(&self) -> Result<Vec<TaskSettings>> {
        Ok(self.tables().tasks.values().cloned().collect())
    }
}
