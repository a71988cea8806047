//! The task that is measured: it does nothing, or takes an exact time, and notes when it started.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
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
        Submission::new(Self::new(n)).group(group(n, groups))
    }
}

/// The group of job `n`, of so many.
pub(crate) fn group(n: u64, groups: u64) -> String {
    format!("g{:05}", n % groups)
}

/// How long a job takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Length {
    /// It returns at once.
    Nothing,
    /// It waits for a timer of tokio's, which goes off up to a millisecond late, often more.
    Timer(Duration),
    /// It takes that long and not longer, holding no processor but for the last moment.
    Exact(Duration),
}

/// The system wakes a thread about so much late, and the thread the task; what is left of it is waited out awake.
const SLACK: Duration = Duration::from_micros(150);

impl Length {
    async fn pass(self) {
        match self {
            Self::Nothing => {}
            Self::Timer(time) => tokio::time::sleep(time).await,
            Self::Exact(time) => {
                let end = Instant::now() + time;
                let slept = tokio::task::spawn_blocking(move || {
                    std::thread::sleep(end.saturating_duration_since(Instant::now()).saturating_sub(SLACK));
                });
                // It cannot fail, short of the end of the program.
                let _ = slept.await;
                while Instant::now() < end {
                    std::hint::spin_loop();
                }
            }
        }
    }
}

/// What handlers note.
pub(crate) struct Notes {
    begin: Instant,
    length: Length,
    /// When job `n` started, in nanoseconds after `begin`.
    starts: Vec<AtomicU64>,
    first: AtomicU64,
    started: AtomicU64,
    ended: AtomicU64,
    /// How many ends somebody waits for.
    awaited: AtomicU64,
    enough: Notify,
    /// For how many nanoseconds slots were in use, all together.
    busy: AtomicU64,
}

impl Notes {
    /// Notes for so many jobs, each of which takes so long.
    pub(crate) fn new(jobs: u64, length: Length) -> Arc<Self> {
        Arc::new(Self {
            begin: Instant::now(),
            length,
            starts: (0..jobs).map(|_| AtomicU64::new(0)).collect(),
            first: AtomicU64::new(u64::MAX),
            started: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            awaited: AtomicU64::new(u64::MAX),
            enough: Notify::new(),
            busy: AtomicU64::new(0),
        })
    }

    /// Now, as the notes tell the time.
    pub(crate) fn now(&self) -> Duration {
        self.begin.elapsed()
    }

    /// When the first job started, if one did.
    pub(crate) fn first(&self) -> Option<Duration> {
        let first = self.first.load(Relaxed);
        (first < u64::MAX).then(|| Duration::from_nanos(first))
    }

    /// When job `n` started, if it did.
    pub(crate) fn start(&self, n: u64) -> Option<Duration> {
        let start = self.starts[n as usize].load(Relaxed);
        (start > 0).then(|| Duration::from_nanos(start))
    }

    /// How many handlers have returned.
    pub(crate) fn ended(&self) -> u64 {
        self.ended.load(SeqCst)
    }

    /// For how long slots were in use, all together.
    pub(crate) fn busy(&self) -> Duration {
        Duration::from_nanos(self.busy.load(Relaxed))
    }

    /// Waits until so many handlers have returned, or no longer than `patience`; says whether they have.
    pub(crate) async fn wait_for(&self, jobs: u64, patience: Duration) -> bool {
        self.awaited.store(jobs, SeqCst);
        let enough = async {
            while self.ended() < jobs {
                self.enough.notified().await;
            }
        };
        tokio::time::timeout(patience, enough).await.is_ok()
    }

    /// Waits until as many handlers have returned as there are jobs.
    pub(crate) async fn all_ended(&self) -> Result<()> {
        let jobs = self.starts.len() as u64;
        loop {
            let before = self.ended();
            if self.wait_for(jobs, Duration::from_mins(1)).await {
                return Ok(());
            }
            if self.ended() == before {
                bail!("no job ended for a minute; {before} of {jobs} had");
            }
        }
    }

    fn note_start(&self, n: u64) -> u64 {
        let now = self.now().as_nanos() as u64;
        if let Some(start) = self.starts.get(n as usize) {
            start.store(now, Relaxed);
        }
        if self.started.fetch_add(1, Relaxed) == 0 {
            self.first.store(now, Relaxed);
        }
        now
    }

    fn note_end(&self) {
        if self.ended.fetch_add(1, SeqCst) + 1 >= self.awaited.load(SeqCst) {
            self.enough.notify_one();
        }
    }
}

pub(crate) async fn work(cx: Context<Arc<Notes>>, work: Work) -> TaskResult<()> {
    let notes = cx.state();
    let start = notes.note_start(work.n);
    if notes.length != Length::Nothing {
        notes.length.pass().await;
        notes.busy.fetch_add(notes.now().as_nanos() as u64 - start, Relaxed);
    }
    notes.note_end();
    Ok(())
}

/// An executor of these jobs.
pub(crate) async fn execute(jobs: &Jobs, notes: &Arc<Notes>, slots: u32) -> Result<ExecutorHandle> {
    execute_as(jobs, notes, slots, "bench").await
}

/// One of several.
pub(crate) async fn execute_as(jobs: &Jobs, notes: &Arc<Notes>, slots: u32, name: &str) -> Result<ExecutorHandle> {
    Executor::with_state(jobs, Arc::clone(notes))
        .task(work)
        .slots(slots)
        .name(name)
        .start()
        .await
        .context("starting the executor")
}

/// Makes the task known, as it is wherever an executor has ever run.
pub(crate) async fn publish(jobs: &Jobs) -> Result<()> {
    let executor = execute(jobs, &Notes::new(0, Length::Nothing), 1).await?;
    stop(vec![executor]).await;
    Ok(())
}

/// Submits these jobs of so many groups in batches, one caller.
pub(crate) async fn submit(jobs: &Jobs, numbers: std::ops::Range<u64>, groups: u64, batch: usize) -> Result<()> {
    let numbers: Vec<u64> = numbers.collect();
    for batch in numbers.chunks(batch) {
        submit_batch(jobs, batch.iter().map(|n| Work::of(*n, groups))).await?;
    }
    Ok(())
}

pub(crate) async fn submit_batch(jobs: &Jobs, batch: impl Iterator<Item = Submission>) -> Result<()> {
    jobs.submit_all(batch).await.all().context("submitting a batch")?;
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

/// Waits until executors have written the ends of all jobs: they let go of a job only when the store has answered, and
/// asking them costs nothing, while asking the store to count would.
pub(crate) async fn let_go(executors: &[ExecutorHandle]) {
    while executors.iter().any(|executor| executor.health().held > 0) {
        tokio::time::sleep(Duration::from_micros(500)).await;
    }
}

/// Ends executors.
pub(crate) async fn stop(executors: Vec<ExecutorHandle>) {
    for executor in &executors {
        executor.shutdown(Duration::from_secs(10)).await;
    }
}
