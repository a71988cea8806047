//! A store that counts its calls, and fails where it is told to.

mod schedules;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use tokio::sync::broadcast;
use uuid::Uuid;

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::group::{KeyRate, Settings};
use crate::hook::{Hooks, Owed};
use crate::job::{Attempt, Claimed, Job, JobId};
use crate::lifecycle::Event;
use crate::log::Line;
use crate::store::overview::{GroupSum, Member, SigningKey, Sum, Tally, Whose};
use crate::store::{
    Beat, Changed, Configuration, Counts, ExecutorInfo, Executors, Filter, Hint, Hints, Leg, LogEnd, LogLines, NewJob,
    Occupied, Overview, OwedHooks, Promoted, Report, Reporting, Rewrite, Schedules, Setting, Settle, Settled, Signal,
    Standpoint, Start, Stood, Store, Submitted, Take, Taken, Transactions, Wake, Watched, Which,
};
use crate::task::TaskSettings;
use crate::turn::Charge;

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fault {
    /// Nothing happens, and it may be worth trying again.
    Outage,
    /// It happens, but the answer gets lost on its way.
    LostReply,
    /// Nothing happens, and trying again is useless.
    Refusal,
    /// A mistake of ours, somewhere.
    Panic,
    /// No answer ever comes.
    Hang,
}

/// Another store, watched.
pub(super) struct Counting {
    inner: Arc<dyn Store>,
    calls: Mutex<BTreeMap<&'static str, u32>>,
    faults: Mutex<HashMap<&'static str, (Fault, u32)>>,
    /// Where signals go to be forgotten, if nobody should hear any.
    silence: Option<broadcast::Sender<Signal>>,
}

impl Counting {
    pub(super) fn new(inner: &Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self {
            inner: Arc::clone(inner),
            calls: Mutex::default(),
            faults: Mutex::default(),
            silence: None,
        })
    }

    /// As where notifications do not get through: nobody hears a signal.
    pub(super) fn deaf(inner: &Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self {
            inner: Arc::clone(inner),
            calls: Mutex::default(),
            faults: Mutex::default(),
            silence: Some(broadcast::Sender::new(1)),
        })
    }

    /// How often each verb was called since the last question.
    pub(super) fn calls(&self) -> BTreeMap<&'static str, u32> {
        std::mem::take(&mut *self.calls.lock().expect("the counts"))
    }

    /// The next `times` calls of `verb` fail.
    pub(super) fn fail(&self, verb: &'static str, fault: Fault, times: u32) {
        self.faults.lock().expect("the faults").insert(verb, (fault, times));
    }

    /// Counts a call, and lets it fail where it should.
    async fn call<T>(&self, verb: &'static str, call: impl Future<Output = Result<T>> + Send) -> Result<T> {
        *self.calls.lock().expect("the counts").entry(verb).or_default() += 1;
        let fault = match self.faults.lock().expect("the faults").get_mut(verb) {
            Some((fault, left)) if *left > 0 => {
                *left -= 1;
                Some(*fault)
            }
            _ => None,
        };
        match fault {
            None => return call.await,
            Some(Fault::LostReply) => drop(call.await),
            Some(Fault::Panic) => panic!("so the test wanted"),
            Some(Fault::Hang) => std::future::pending().await,
            Some(Fault::Outage | Fault::Refusal) => {}
        }
        Err(Error::Store {
            doing: "being tested",
            cause: "so the test wanted".into(),
            transient: fault != Some(Fault::Refusal),
        })
    }
}

#[async_trait]
impl Store for Counting {
    fn clock(&self) -> &Clock {
        self.inner.clock()
    }

    fn insight(&self) -> &dyn crate::store::insight::Insight {
        self.inner.insight()
    }

    fn audit(&self) -> &dyn crate::store::audit::Audit {
        self.inner.audit()
    }

    fn schedules(&self) -> &dyn Schedules {
        self
    }

    fn transactions(&self) -> Option<&dyn Transactions> {
        None
    }

    async fn submit_portion(&self, jobs: Vec<NewJob>, leg: Leg) -> Result<Vec<Result<Submitted>>> {
        self.call("submit", self.inner.submit_portion(jobs, leg)).await
    }

    async fn admit(&self, rate: &KeyRate, back: bool) -> Result<Option<Duration>> {
        self.call("admit", self.inner.admit(rate, back)).await
    }

    async fn take(&self, take: Take) -> Result<Taken> {
        self.call("take", self.inner.take(take)).await
    }

    async fn stand_by(&self, take: Take, until: BoxFuture<'_, ()>) -> Result<Stood> {
        if self.silence.is_some() {
            until.await;
            return Ok(Stood::Recalled(take.turns));
        }
        self.call("stand_by", self.inner.stand_by(take, until)).await
    }

    async fn grab(&self, executor: Uuid, number: i64, id: JobId) -> Result<Option<Claimed>> {
        self.call("grab", self.inner.grab(executor, number, id)).await
    }

    async fn start(&self, executor: Uuid, jobs: Vec<Start>) -> Result<Vec<(JobId, Settled)>> {
        self.call("start", self.inner.start(executor, jobs)).await
    }

    async fn settle(&self, executor: Uuid, jobs: Vec<Settle>) -> Result<Vec<Settled>> {
        self.call("settle", self.inner.settle(executor, jobs)).await
    }

    async fn change(&self, which: Which, event: Event) -> Result<Vec<Changed>> {
        self.call("change", self.inner.change(which, event)).await
    }

    async fn rewrite(&self, ids: Vec<JobId>, to: Rewrite) -> Result<Vec<Changed>> {
        self.call("rewrite", self.inner.rewrite(ids, to)).await
    }

    async fn promote(&self, limit: u32) -> Result<Promoted> {
        self.call("promote", self.inner.promote(limit)).await
    }

    async fn get(&self, ids: &[JobId]) -> Result<Vec<Job>> {
        self.call("get", self.inner.get(ids)).await
    }

    async fn attempts(&self, job: JobId) -> Result<Vec<Attempt>> {
        self.call("attempts", self.inner.attempts(job)).await
    }

    async fn forget(&self) -> Result<u64> {
        self.call("forget", self.inner.forget()).await
    }

    async fn prune(&self) -> Result<u64> {
        self.call("prune", self.inner.prune()).await
    }
}

#[async_trait]
impl Executors for Counting {
    async fn register(&self, executor: &ExecutorInfo, kind: &str, tasks: &[TaskSettings]) -> Result<()> {
        self.call("register", self.inner.register(executor, kind, tasks)).await
    }

    async fn heartbeat(&self, executor: Uuid, beat: i64) -> Result<Beat> {
        self.call("heartbeat", self.inner.heartbeat(executor, beat)).await
    }

    async fn reap(&self, executor: Uuid, beat: i64) -> Result<u32> {
        self.call("reap", self.inner.reap(executor, beat)).await
    }

    async fn deregister(&self, executor: Uuid) -> Result<()> {
        self.call("deregister", self.inner.deregister(executor)).await
    }

    async fn occupy(&self, id: &str) -> Result<Occupied> {
        self.call("occupy", self.inner.occupy(id)).await
    }

    async fn share(&self, kind: &str, charges: Vec<Charge>) -> Result<Vec<(String, f64)>> {
        self.call("share", self.inner.share(kind, charges)).await
    }
}

#[async_trait]
impl Wake for Counting {
    fn signals(&self) -> broadcast::Receiver<Signal> {
        match &self.silence {
            Some(silence) => silence.subscribe(),
            None => self.inner.signals(),
        }
    }

    fn serves(&self) -> bool {
        self.silence.is_none() && self.inner.serves()
    }

    async fn doze(&self, executor: Uuid, asleep: bool) -> Result<()> {
        self.call("doze", self.inner.doze(executor, asleep)).await
    }

    fn hears(&self) -> bool {
        self.silence.is_none() && self.inner.hears()
    }

    fn refresh(&self) {
        self.inner.refresh();
    }
}

#[async_trait]
impl Reporting for Counting {
    async fn report(&self, executor: Uuid, reports: Vec<Report>) -> Result<()> {
        self.call("report", self.inner.report(executor, reports)).await
    }

    async fn log(&self, executor: Uuid, logs: Vec<LogLines>) -> Result<()> {
        self.call("log", self.inner.log(executor, logs)).await
    }

    async fn log_ends(&self, jobs: &[JobId]) -> Result<Vec<LogEnd>> {
        self.call("log_ends", self.inner.log_ends(jobs)).await
    }

    async fn lines(&self, job: JobId, after: i64, limit: u32) -> Result<Vec<Line>> {
        self.call("lines", self.inner.lines(job, after, limit)).await
    }
}

#[async_trait]
impl OwedHooks for Counting {
    async fn owed(&self, tasks: &[(String, Hooks)], limit: u32, again: Duration) -> Result<Vec<Owed>> {
        self.call("owed", self.inner.owed(tasks, limit, again)).await
    }

    async fn strike(&self, owed: Vec<i64>) -> Result<()> {
        self.call("strike", self.inner.strike(owed)).await
    }
}

#[async_trait]
impl Configuration for Counting {
    async fn settings(&self) -> Result<Arc<Settings>> {
        self.call("settings", self.inner.settings()).await
    }

    async fn set_since(&self, version: i64, setting: Setting) -> Result<bool> {
        self.call("set", self.inner.set_since(version, setting)).await
    }

    async fn tasks(&self) -> Result<Vec<TaskSettings>> {
        self.call("tasks", self.inner.tasks()).await
    }
}

#[async_trait]
impl Overview for Counting {
    async fn executors(&self) -> Result<Vec<Member>> {
        self.call("executors", self.inner.executors()).await
    }

    async fn drain(&self, executor: Uuid, drain: bool) -> Result<bool> {
        self.inner.drain(executor, drain).await
    }

    async fn dismiss(&self, executor: Uuid) -> Result<bool> {
        self.inner.dismiss(executor).await
    }

    async fn failed_sums(&self, whose: &Whose) -> Result<Vec<Sum>> {
        self.inner.failed_sums(whose).await
    }

    async fn sums(&self, whose: &Whose, since: Timestamp) -> Result<Vec<Sum>> {
        self.inner.sums(whose, since).await
    }

    async fn groups(&self, whose: &Whose, after: &str, limit: u32) -> Result<Vec<GroupSum>> {
        self.inner.groups(whose, after, limit).await
    }

    async fn count(&self, filter: &Filter) -> Result<u64> {
        self.inner.count(filter).await
    }

    async fn tally(&self, whose: &Whose, since: Timestamp) -> Result<Tally> {
        self.inner.tally(whose, since).await
    }

    async fn list(&self, filter: &Filter) -> Result<Vec<Job>> {
        self.call("list", self.inner.list(filter)).await
    }

    async fn depth(&self, filter: &Filter, looks: u32) -> Result<Option<JobId>> {
        self.call("depth", self.inner.depth(filter, looks)).await
    }

    async fn counts(&self) -> Result<Counts> {
        self.call("counts", self.inner.counts()).await
    }

    async fn standpoint(&self, id: JobId) -> Result<Option<Standpoint>> {
        self.call("standpoint", self.inner.standpoint(id)).await
    }

    async fn keys(&self) -> Result<Vec<SigningKey>> {
        self.inner.keys().await
    }

    async fn renew_keys(&self, secret: &[u8], renew: Duration, forget: Duration) -> Result<Vec<SigningKey>> {
        self.inner.renew_keys(secret, renew, forget).await
    }
}

#[async_trait]
impl Hints for Counting {
    async fn watch(&self, hold: Duration) -> Result<Watched> {
        self.inner.watch(hold).await
    }

    async fn hints(&self, after: i64, limit: u32) -> Result<Vec<Hint>> {
        self.inner.hints(after, limit).await
    }
}
