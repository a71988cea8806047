//! How long a single job waits on an idle executor.

use std::ops::Range;
use std::time::Duration;

use anyhow::{Result, ensure};
use turnabout::Jobs;

use crate::ceiling;
use crate::place::{History, Place};
use crate::report::{Measured, millis, percentile};
use crate::work::{Length, Notes, Work, execute, group, idle, stop};

const SLOTS: u32 = 4;
pub(super) const GROUPS: u64 = 100;
/// These do not count: connections are made, statements prepared.
const FIRST: u64 = 10;

/// From before the call that submits to the start of the handler, one job after the other, with so much time between them.
/// Beside it, how long the call took: whoever made it knows then that the job is kept.
pub(crate) async fn run(place: &Place, jobs: u64, apart: Duration) -> Result<Measured> {
    let ceiling = ceiling::hand_over(place, jobs, apart).await?;
    let flush = ceiling::flush(place, jobs, apart).await?;
    let open = place.open(History::Kept).await?;
    let notes = Notes::new(FIRST + jobs, Length::Nothing);
    let executor = execute(&open.jobs, &notes, SLOTS).await?;
    idle(&executor).await;
    let numbers = 0..FIRST + jobs;
    let (mut waits, mut told) = one_by_one(&open.jobs, &notes, numbers, apart).await?;
    waits.drain(..FIRST as usize);
    told.drain(..FIRST as usize);
    stop(vec![executor]).await;
    open.close().await?;
    Ok(Measured::new("latency", place.store)
        .setting("jobs", jobs)
        .setting("slots", SLOTS)
        .setting("apart_ms", apart.as_millis() as u64)
        .value("p50_ms", millis(percentile(&waits, 0.5)))
        .value("p95_ms", millis(percentile(&waits, 0.95)))
        .value("p99_ms", millis(percentile(&waits, 0.99)))
        .value("max_ms", millis(percentile(&waits, 1.0)))
        .value("told_p50_ms", millis(percentile(&told, 0.5)))
        .value("ceiling_p50_ms", millis(percentile(&ceiling.claimed, 0.5)))
        .value("ceiling_p99_ms", millis(percentile(&ceiling.claimed, 0.99)))
        .value("stored_p50_ms", millis(percentile(&ceiling.stored, 0.5)))
        .value("flush_p50_ms", millis(percentile(&flush, 0.5)))
        .value("flush_p99_ms", millis(percentile(&flush, 0.99))))
}

/// Submits jobs with these numbers, each when the one before it has ended: how long each waited for its start, and its submitter
/// for the answer.
pub(super) async fn one_by_one(
    jobs: &Jobs,
    notes: &Notes,
    numbers: Range<u64>,
    apart: Duration,
) -> Result<(Vec<Duration>, Vec<Duration>)> {
    let (mut waits, mut told) = (Vec::new(), Vec::new());
    for n in numbers {
        let submitted = notes.now();
        jobs.submit(Work::new(n)).group(group(n, GROUPS)).await?;
        told.push(notes.now().saturating_sub(submitted));
        let ended = notes.wait_for(n + 1, Duration::from_secs(20)).await;
        ensure!(ended, "a job did not start for 20 seconds");
        waits.push(notes.start(n).unwrap_or_default().saturating_sub(submitted));
        tokio::time::sleep(apart).await;
    }
    Ok((waits, told))
}
