//! What it costs that handlers tell how far they are and what they do: many short jobs that tell ten times each, beside
//! the same jobs in silence, and what one call costs the handler that makes it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use turnabout::{Context, Executor, Jobs, Submission, Task, TaskResult};

use crate::place::{History, Open, Place};
use crate::report::Measured;
use crate::work::let_go;

/// A short job tells so often.
const OFTEN: u64 = 10;
/// The job whose calls are timed tells so often.
const VERY_OFTEN: u64 = 100_000;
/// The jobs are of so many groups.
const GROUPS: u64 = 100;

/// What a handler tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum What {
    Nothing,
    Progress,
    Lines,
}

impl What {
    fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Progress => "progress",
            Self::Lines => "lines",
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Tell {
    what: What,
    times: u64,
}

impl Task for Tell {
    const NAME: &'static str = "tell";
}

/// What handlers note.
#[derive(Default)]
struct Notes {
    ended: AtomicU64,
    /// For how long the last handler ran, in nanoseconds.
    ran: AtomicU64,
    news: Notify,
}

impl Notes {
    async fn wait_for(&self, jobs: u64) -> Result<()> {
        let all = async {
            while self.ended.load(SeqCst) < jobs {
                self.news.notified().await;
            }
        };
        if tokio::time::timeout(Duration::from_mins(2), all).await.is_err() {
            bail!("{} of {jobs} jobs ended within two minutes", self.ended.load(SeqCst));
        }
        Ok(())
    }
}

async fn tell(cx: Context<Arc<Notes>>, task: Tell) -> TaskResult<()> {
    let begin = Instant::now();
    match task.what {
        What::Nothing => {}
        What::Progress => {
            cx.progress().set_total(task.times);
            for _ in 0..task.times {
                cx.progress().increment(1)?;
            }
        }
        What::Lines => {
            for n in 0..task.times {
                cx.log().info(format_args!("page {n} has been read"));
            }
        }
    }
    let notes = cx.state();
    notes.ran.store(begin.elapsed().as_nanos() as u64, SeqCst);
    notes.ended.fetch_add(1, SeqCst);
    notes.news.notify_one();
    Ok(())
}

/// All three ways of telling, each as a share of silence.
pub(crate) async fn run(place: &Place, jobs: u64, slots: u32) -> Result<Vec<Measured>> {
    let mut measured = Vec::new();
    let mut silent = None;
    for what in [What::Nothing, What::Progress, What::Lines] {
        let rate = drain(place, what, jobs, slots).await?;
        let silent = *silent.get_or_insert(rate);
        let mut result = Measured::new("telling", place.store)
            .setting("tells", what.name())
            .setting("times", OFTEN)
            .setting("jobs", jobs)
            .setting("slots", slots)
            .value("per_s", rate)
            .value("of_silent", rate / silent);
        if what != What::Nothing {
            result = result.value("ns_per_call", nanoseconds(place, what).await?);
        }
        measured.push(result);
    }
    Ok(measured)
}

/// Jobs a second.
async fn drain(place: &Place, what: What, jobs: u64, slots: u32) -> Result<f64> {
    let open = place.open(History::Kept).await?;
    let job = |n: u64| Submission::new(Tell { what, times: OFTEN }).group(format!("g{}", n % GROUPS));
    submit(&open, (0..jobs).map(job)).await?;
    open.analyze().await?;
    let notes = Arc::new(Notes::default());
    let begin = Instant::now();
    execute(&open.jobs, &notes, jobs, slots).await?;
    let rate = jobs as f64 / begin.elapsed().as_secs_f64();
    open.close().await?;
    Ok(rate)
}

/// What a call costs a handler that makes very many.
async fn nanoseconds(place: &Place, what: What) -> Result<f64> {
    let open = place.open(History::Kept).await?;
    let times = VERY_OFTEN;
    submit(&open, [Submission::new(Tell { what, times })].into_iter()).await?;
    let notes = Arc::new(Notes::default());
    execute(&open.jobs, &notes, 1, 1).await?;
    open.close().await?;
    Ok(notes.ran.load(SeqCst) as f64 / times as f64)
}

async fn submit(open: &Open, jobs: impl Iterator<Item = Submission>) -> Result<()> {
    let outcomes = open.jobs.submit_all(jobs).await;
    let outcomes: turnabout::Result<Vec<_>> = outcomes.into_iter().collect();
    outcomes.map(drop).context("submitting a batch")
}

/// Until everything that was told is stored.
async fn execute(jobs: &Jobs, notes: &Arc<Notes>, count: u64, slots: u32) -> Result<()> {
    let executor = Executor::with_state(jobs, Arc::clone(notes)).task(tell);
    let executor = executor.slots(slots).name("bench").start().await?;
    notes.wait_for(count).await?;
    let_go(std::slice::from_ref(&executor)).await;
    executor.shutdown(Duration::from_secs(10)).await;
    Ok(())
}
