//! The task that is measured: it does nothing, or sleeps, and notes when it started.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use turnabout::{Context, Executor, ExecutorHandle, Jobs, Submission, Task, TaskResult};

/// Arguments of about 85 bytes, as the ceilings have them.
#[derive(Serialize, Deserialize)]
pub(crate) struct Work {
    pub(crate) n: u64,
    document: String,
    note: String,
}

impl Task for Work {
    const NAME: &'static str = "work";
}

impl Work {
    pub(crate) fn new(n: u64) -> Self {
        Self {
            n,
            document: "0192f0c0-0000-7000-8000-000000000000".to_owned(),
            note: "forty".to_owned(),
        }
    }

    /// Job `n`, of one of so many groups.
    pub(crate) fn of(n: u64, groups: u64) -> Submission {
        Submission::new(Self::new(n)).group(format!("g{:05}", n % groups))
    }
}

/// What handlers note.
pub(crate) struct Notes {
    begin: Instant,
    sleep: Option<Duration>,
    /// When job `n` started, in nanoseconds after `begin`.
    starts: Vec<AtomicU64>,
    first: AtomicU64,
    started: AtomicU64,
    ended: AtomicU64,
    /// For how many nanoseconds slots were in use, all together.
    pub(crate) busy: AtomicU64,
    all_ended: Notify,
}

impl Notes {
    /// Notes for so many jobs, each of which takes so long.
    pub(crate) fn new(jobs: u64, sleep: Option<Duration>) -> Arc<Self> {
        Arc::new(Self {
            begin: Instant::now(),
            sleep,
            starts: (0..jobs).map(|_| AtomicU64::new(0)).collect(),
            first: AtomicU64::new(u64::MAX),
            started: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            busy: AtomicU64::new(0),
            all_ended: Notify::new(),
        })
    }

    /// Now, as the notes tell the time.
    pub(crate) fn now(&self) -> Duration {
        self.begin.elapsed()
    }

    /// When the first job started.
    pub(crate) fn first(&self) -> Duration {
        Duration::from_nanos(self.first.load(Relaxed))
    }

    /// When job `n` started.
    pub(crate) fn start(&self, n: u64) -> Duration {
        Duration::from_nanos(self.starts[n as usize].load(Relaxed))
    }

    /// Waits until as many handlers have returned as there are jobs.
    pub(crate) async fn all_ended(&self) -> Result<()> {
        let jobs = self.starts.len() as u64;
        while self.ended.load(Relaxed) < jobs {
            let before = self.ended.load(Relaxed);
            let woken = tokio::time::timeout(Duration::from_mins(1), self.all_ended.notified()).await;
            if woken.is_err() && self.ended.load(Relaxed) == before {
                bail!("no job ended for a minute; {before} of {jobs} had");
            }
        }
        Ok(())
    }

    fn note_start(&self, n: u64) -> u64 {
        let now = self.now().as_nanos() as u64;
        self.starts[n as usize].store(now, Relaxed);
        if self.started.fetch_add(1, Relaxed) == 0 {
            self.first.store(now, Relaxed);
        }
        now
    }
}

async fn work(cx: Context<Arc<Notes>>, work: Work) -> TaskResult<()> {
    let notes = cx.state();
    let start = notes.note_start(work.n);
    if let Some(sleep) = notes.sleep {
        tokio::time::sleep(sleep).await;
        notes.busy.fetch_add(notes.now().as_nanos() as u64 - start, Relaxed);
    }
    if notes.ended.fetch_add(1, Relaxed) + 1 == notes.starts.len() as u64 {
        notes.all_ended.notify_one();
    }
    Ok(())
}

/// An executor of these jobs.
pub(crate) async fn execute(jobs: &Jobs, notes: &Arc<Notes>, slots: u32) -> Result<ExecutorHandle> {
    Executor::new(jobs)
        .state(Arc::clone(notes))
        .task(work)
        .slots(slots)
        .start()
        .await
        .context("starting the executor")
}

/// Submits these jobs of so many groups in batches, one caller.
pub(crate) async fn submit(jobs: &Jobs, numbers: std::ops::Range<u64>, groups: u64, batch: usize) -> Result<()> {
    let numbers: Vec<u64> = numbers.collect();
    for batch in numbers.chunks(batch) {
        let outcomes = jobs.submit_all(batch.iter().map(|n| Work::of(*n, groups))).await;
        outcomes
            .into_iter()
            .collect::<turnabout::Result<Vec<_>>>()
            .context("submitting a batch")?;
    }
    Ok(())
}

/// Waits until an executor has nothing to do and has found that out.
pub(crate) async fn idle(executor: &ExecutorHandle) {
    while !executor.is_idle() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // It looks again at once, and then a few times more: the first of these is the busiest.
    tokio::time::sleep(Duration::from_millis(300)).await;
}
