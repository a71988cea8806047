//! How long a single job waits on an idle executor.

use std::time::Duration;

use anyhow::Result;

use crate::History;
use crate::place::Place;
use crate::report::{Measured, millis, percentile};
use crate::work::{Notes, Work, execute, idle};

const SLOTS: u32 = 4;
const APART: Duration = Duration::from_millis(10);

/// From before the call that submits to the start of the handler, one job after the other.
pub(crate) async fn run(place: &Place, jobs: u64) -> Result<Measured> {
    let open = place.open(History::Kept).await?;
    let notes = Notes::new(jobs, None);
    let executor = execute(&open.jobs, &notes, SLOTS).await?;
    idle(&executor).await;
    let mut submitted = Vec::new();
    for n in 0..jobs {
        submitted.push(notes.now());
        open.jobs.submit(Work::new(n)).group("g").await?;
        tokio::time::sleep(APART).await;
    }
    notes.all_ended().await?;
    executor.shutdown(Duration::from_secs(10)).await;
    drop(executor);
    open.close().await?;
    let waits: Vec<Duration> = (0..jobs)
        .map(|n| notes.start(n).saturating_sub(submitted[n as usize]))
        .collect();
    Ok(Measured::new("latency", place.store)
        .setting("jobs", jobs)
        .setting("slots", SLOTS)
        .value("p50_ms", millis(percentile(&waits, 0.5)))
        .value("p99_ms", millis(percentile(&waits, 0.99))))
}
