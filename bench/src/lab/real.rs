//! The real run: real executors on a real store, so many times faster than the workload says. Handlers sleep, and note
//! when they began and ended.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, watch};
use turnabout::task::TaskSettings;
use turnabout::{Context, Executor, ExecutorHandle, JobId, Jobs, Submission, TaskError, TaskResult};

use super::foretold::{self, Foretold};
use super::rule::Rule;
use super::trace::{Run, Trace};
use super::workload::{Micros, Shift, Workload};
use crate::place::{History, Open, Place};

/// So many jobs are submitted at a time.
const BATCH: usize = 1000;
/// Handlers that still run at the end do not listen, and are dropped after this time.
const GRACE: Duration = Duration::from_millis(50);
/// If nothing ends for so long, something is wrong.
const PATIENCE: Duration = Duration::from_mins(1);

/// Runs a workload under a rule. It is as fast as it says: hurry it first.
pub(crate) async fn run(workload: &Workload, rule: Rule, place: &Place) -> Result<Trace> {
    Ok(observe(workload, rule, place, false).await?.0)
}

/// The same, while jobs that wait are asked when they will start.
pub(crate) async fn foretell(workload: &Workload, rule: Rule, place: &Place) -> Result<(Trace, Vec<Foretold>)> {
    observe(workload, rule, place, true).await
}

async fn observe(workload: &Workload, rule: Rule, place: &Place, ask: bool) -> Result<(Trace, Vec<Foretold>)> {
    // What is said of the future follows from what has ended.
    let history = if ask { History::Kept } else { History::None };
    let open = place.open(history).await?;
    prepare(&open.jobs, workload, rule).await?;
    // What is there from the beginning is there before the executors are.
    let later = workload.jobs.partition_point(|job| job.at == 0);
    let notes = Notes::new(workload);
    submit(&open.jobs, workload, rule, &notes, 0..later).await?;
    open.analyze().await?;
    let crew = crew(&open, workload, rule, &notes).await?;
    for (number, job) in workload.jobs[..later].iter().enumerate() {
        notes.ready(number, job.group, 0);
    }
    let submitting = async {
        let mut next = later;
        while let Some(job) = workload.jobs.get(next) {
            notes.until(job.at).await;
            let now = notes.now();
            let due = workload.jobs[next..].partition_point(|job| job.at <= now);
            let batch = next..next + due.clamp(1, BATCH);
            for number in batch.clone() {
                notes.ready(number, workload.jobs[number].group, notes.now());
            }
            submit(&open.jobs, workload, rule, &notes, batch.clone()).await?;
            next = batch.end;
        }
        anyhow::Ok(())
    };
    let running = async { tokio::try_join!(submitting, notes.all_ended(workload.until)) };
    let mut said = Vec::new();
    tokio::select! {
        ran = running => { ran?; }
        () = notes.ask(&open.jobs, &mut said), if ask => {}
    }
    let end = notes.now();
    notes.over.send_replace(true);
    for shift in crew {
        shift.await.context("an executor")?;
    }
    open.close().await?;
    Ok((notes.trace(workload, workload.until.unwrap_or(end)), said))
}

/// What is set for groups and tasks.
async fn prepare(jobs: &Jobs, workload: &Workload, rule: Rule) -> Result<()> {
    let settings = rule.settings(workload);
    for group in workload.groups.iter().filter(|g| settings.groups.contains_key(&g.name)) {
        if group.weight != 1 || group.cap.is_some() {
            jobs.group(&group.name)
                .weight(group.weight)
                .max_running(group.cap)
                .await?;
        }
    }
    for (task, limit) in &workload.limits {
        jobs.task_limits(*task).max_running(Some(*limit)).await?;
    }
    Ok(())
}

async fn submit(
    jobs: &Jobs,
    workload: &Workload,
    rule: Rule,
    notes: &Notes,
    numbers: std::ops::Range<usize>,
) -> Result<()> {
    let numbers: Vec<usize> = numbers.collect();
    for batch in numbers.chunks(BATCH) {
        let submissions = batch.iter().map(|number| {
            let job = &workload.jobs[*number];
            let group = &workload.groups[job.group];
            Submission::named(group.task, Sleep { number: *number })
                .group(rule.store_group(group))
                .items(job.items)
        });
        let outcomes = jobs.submit_all(submissions).await;
        let ids = outcomes.into_iter().collect::<turnabout::Result<Vec<_>>>();
        let ids = ids.context("submitting a batch")?.into_iter().map(|done| done.id);
        notes.inner().ids.extend(batch.iter().copied().zip(ids));
    }
    Ok(())
}

/// Every executor as a task that lives from the beginning of its shift to the end.
async fn crew(
    open: &Open,
    workload: &Workload,
    rule: Rule,
    notes: &Arc<Notes>,
) -> Result<Vec<tokio::task::JoinHandle<()>>> {
    let mut crew = Vec::new();
    for (number, shift) in workload.crew.iter().enumerate() {
        // With connections of its own, as another process would have.
        let jobs = open.another().await?;
        let executor = Executor::with_state(&jobs, Arc::clone(notes));
        let executor = workload.tasks().into_iter().fold(executor, |executor, task| {
            let mut settings = TaskSettings::named(task);
            settings.policy = workload.policy();
            settings.time_limit = None;
            executor.task_named(settings, sleep)
        });
        let executor = executor
            .slots(shift.slots)
            .grace(GRACE)
            .fairness(rule.fairness())
            .name(format!("lab-{number}"));
        crew.push((executor, *shift));
    }
    notes.begin();
    let work = |(executor, shift): (Executor<Arc<Notes>>, Shift)| {
        let notes = Arc::clone(notes);
        tokio::spawn(async move {
            notes.until(shift.from).await;
            match executor.start().await {
                Ok(executor) => stay(&notes, &executor, shift).await,
                Err(error) => eprintln!("an executor could not start: {error}"),
            }
        })
    };
    Ok(crew.into_iter().map(work).collect())
}

async fn stay(notes: &Notes, executor: &ExecutorHandle, shift: Shift) {
    let end_of_shift = async {
        match shift.until {
            Some(until) => notes.until(until).await,
            None => std::future::pending().await,
        }
    };
    let mut over = notes.over.subscribe();
    let patience = tokio::select! {
        () = end_of_shift => PATIENCE,
        // What still runs is given back.
        _ = over.wait_for(|over| *over) => Duration::ZERO,
    };
    executor.shutdown(patience).await;
}

/// The arguments of every job: which one it is.
#[derive(Serialize, Deserialize)]
struct Sleep {
    number: usize,
}

async fn sleep(cx: Context<Arc<Notes>>, task: Sleep) -> TaskResult<()> {
    let notes = cx.state();
    let (lasts, fails) = notes.start(task.number, cx.attempt());
    tokio::time::sleep(lasts).await;
    notes.end(task.number, cx.attempt(), fails);
    if fails {
        return Err(TaskError::retry("it was to fail"));
    }
    Ok(())
}

/// What happens, as it happens.
struct Notes {
    workload: Workload,
    inner: Mutex<Inner>,
    news: Notify,
    /// Whether the observation has ended.
    over: watch::Sender<bool>,
}

struct Inner {
    begin: Instant,
    /// The same moment by the clock.
    begun: Timestamp,
    /// Jobs by their numbers.
    ids: HashMap<usize, JobId>,
    /// By job: its attempts.
    runs: Vec<Vec<Run>>,
    ended: usize,
}

impl Notes {
    fn new(workload: &Workload) -> Arc<Self> {
        Arc::new(Self {
            inner: Mutex::new(Inner {
                begin: Instant::now(),
                begun: Timestamp::now(),
                ids: HashMap::new(),
                runs: vec![Vec::new(); workload.jobs.len()],
                ended: 0,
            }),
            workload: workload.clone(),
            news: Notify::new(),
            over: watch::Sender::new(false),
        })
    }

    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The clock starts.
    fn begin(&self) {
        let inner = &mut *self.inner();
        (inner.begin, inner.begun) = (Instant::now(), Timestamp::now());
    }

    fn now(&self) -> Micros {
        self.inner().now()
    }

    async fn until(&self, at: Micros) {
        let moment = self.inner().begin + Duration::from_micros(at);
        tokio::time::sleep_until(moment.into()).await;
    }

    fn ready(&self, job: usize, group: usize, at: Micros) {
        self.inner().runs[job].push(Run {
            job,
            group,
            ready: at,
            start: None,
            end: None,
        });
    }

    /// Asks jobs that wait when they will start, one after the other, for as long as there are any. Never ends.
    async fn ask(&self, jobs: &Jobs, said: &mut Vec<Foretold>) {
        for question in 0_usize.. {
            tokio::time::sleep(foretold::PAUSE).await;
            let (found, begun) = {
                let inner = self.inner();
                let waits = |(_, runs): &(usize, &Vec<Run>)| matches!(runs.as_slice(), [run] if run.start.is_none());
                let waiting: Vec<usize> = inner
                    .runs
                    .iter()
                    .enumerate()
                    .filter(waits)
                    .map(|(job, _)| job)
                    .collect();
                // Another part of the backlog each time: those that wait stand in the order of their submits.
                let at = question * 7919 % waiting.len().max(1);
                let found = waiting.get(at).and_then(|job| Some((*job, *inner.ids.get(job)?)));
                (found, inner.begun)
            };
            if let Some((job, id)) = found {
                said.extend(foretold::ask(jobs, job, id, begun).await);
            }
        }
    }

    /// How long this attempt is to take, and whether it is to fail.
    fn start(&self, number: usize, attempt: u32) -> (Duration, bool) {
        let inner = &mut *self.inner();
        let now = inner.now();
        if let Some(run) = inner.runs[number].get_mut(attempt as usize - 1) {
            run.start = Some(now);
        }
        let job = &self.workload.jobs[number];
        (Duration::from_micros(job.lasts), attempt <= job.failures)
    }

    fn end(&self, number: usize, attempt: u32, failed: bool) {
        let inner = &mut *self.inner();
        let now = inner.now();
        let Some(run) = inner.runs[number].get_mut(attempt as usize - 1) else {
            return;
        };
        run.end = Some(now);
        if failed {
            let delay = self.workload.policy().delay(attempt, 0.0);
            let next = Run {
                ready: now + delay.as_micros() as Micros,
                start: None,
                end: None,
                ..*run
            };
            inner.runs[number].push(next);
        } else {
            inner.ended += 1;
            if inner.ended == inner.runs.len() {
                self.news.notify_one();
            }
        }
    }

    /// Waits until all jobs have ended, or until so long after the beginning.
    async fn all_ended(&self, until: Option<Micros>) -> Result<()> {
        if let Some(until) = until {
            self.until(until).await;
            return Ok(());
        }
        let mut before = None;
        loop {
            let (ended, all) = {
                let inner = self.inner();
                (inner.ended, inner.runs.len())
            };
            if ended == all {
                return Ok(());
            }
            if before == Some(ended) {
                bail!("no job ended for {} s; {ended} of {all} had", PATIENCE.as_secs());
            }
            before = Some(ended);
            let _ = tokio::time::timeout(PATIENCE, self.news.notified()).await;
        }
    }

    fn trace(&self, workload: &Workload, end: Micros) -> Trace {
        let mut trace = Trace::new(workload);
        trace.runs = self.inner().runs.iter().flatten().copied().collect();
        trace.runs.sort_by_key(|run| run.ready);
        trace.cut(end);
        trace
    }
}

impl Inner {
    fn now(&self) -> Micros {
        self.begin.elapsed().as_micros() as Micros
    }
}
