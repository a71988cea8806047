//! How long a single job waits while jobs of another task wait in the same groups, which may not run now.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use turnabout::{Context, Executor, Submission, Task, TaskResult};

use super::latency::{GROUPS, one_by_one};
use crate::place::{History, Place};
use crate::report::{Measured, millis, percentile};
use crate::work::{Length, Notes, group, idle, submit_batch, work};

const SLOTS: u32 = 4;
/// These do not count: connections are made, statements prepared.
const FIRST: u64 = 10;
/// So many are submitted by one call.
const BATCH: u64 = 10_000;

/// A job that ends with its executor.
#[derive(Serialize, Deserialize)]
struct Held;

impl Task for Held {
    const NAME: &'static str = "held";
}

async fn held(_: Context<Arc<Notes>>, _: Held) -> TaskResult<()> {
    std::future::pending().await
}

/// Jobs one after the other, on an idle executor: alone; then while so many jobs of another task wait in the same groups, which is
/// paused, of which one may run at a time and does, and of which one may start in an hour and has.
pub(crate) async fn run(place: &Place, jobs: u64, waiting: u64, apart: Duration) -> Result<Measured> {
    let open = place.open(History::Kept).await?;
    let each = FIRST + jobs;
    let notes = Notes::new(4 * each, Length::Nothing);
    let executor = Executor::with_state(&open.jobs, Arc::clone(&notes))
        .task(work)
        .task(held);
    let executor = executor.slots(SLOTS).start().await.context("starting the executor")?;
    idle(&executor).await;
    let limits = || open.jobs.task_limits(Held::NAME);
    let mut measured = Measured::new("limited", place.store)
        .setting("jobs", jobs)
        .setting("waiting", waiting)
        .setting("slots", SLOTS);
    for (round, name) in ["alone", "paused", "limited", "rated"].into_iter().enumerate() {
        match name {
            "paused" => {
                limits().pause().await?;
                for from in (0..waiting).step_by(BATCH as usize) {
                    let batch = from..waiting.min(from + BATCH);
                    submit_batch(&open.jobs, batch.map(|n| Submission::new(Held).group(group(n, GROUPS)))).await?;
                }
            }
            "limited" => drop(limits().max_running(Some(1)).resume().await?),
            "rated" => drop(limits().max_running(None).rate(Some("1/h".parse()?)).await?),
            _ => {}
        }
        let numbers = round as u64 * each..(round as u64 + 1) * each;
        let (mut waits, _) = one_by_one(&open.jobs, &notes, numbers, apart).await?;
        waits.drain(..FIRST as usize);
        measured = measured.value(&format!("{name}_p50_ms"), millis(percentile(&waits, 0.5)));
    }
    executor.shutdown(Duration::ZERO).await;
    open.close().await?;
    Ok(measured)
}
