//! The case the project exists for: one group floods, then many others have one job each.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use anyhow::Result;

use crate::History;
use crate::place::Place;
use crate::report::{Measured, millis, percentile};
use crate::work::{Notes, Work, execute, idle};

const SLOTS: u32 = 4;
const OTHERS: u64 = 99;
const JOB: Duration = Duration::from_millis(2);

/// Waits of the others (from before the call that submits to the start of the handler), and how long everything
/// takes against slots that are never empty.
pub(crate) async fn run(place: &Place, flood: u64) -> Result<Measured> {
    let open = place.open(History::Kept).await?;
    let jobs = flood + OTHERS;
    let notes = Notes::new(jobs, Some(JOB));
    let executor = execute(&open.jobs, &notes, SLOTS).await?;
    idle(&executor).await;
    let begin = notes.now();
    crate::work::submit(&open.jobs, 0..flood, 1, 1000).await?;
    let mut submitted = Vec::new();
    for n in flood..jobs {
        submitted.push(notes.now());
        open.jobs.submit(Work::new(n)).group(format!("other{n:05}")).await?;
    }
    notes.all_ended().await?;
    let span = notes.now().saturating_sub(begin).as_secs_f64();
    executor.shutdown(Duration::from_secs(10)).await;
    drop(executor);
    open.close().await?;
    let waits: Vec<Duration> = (flood..jobs)
        .zip(submitted)
        .map(|(n, submitted)| notes.start(n).saturating_sub(submitted))
        .collect();
    let ideal = jobs as f64 * JOB.as_secs_f64() / f64::from(SLOTS);
    let busy = notes.busy.load(Relaxed) as f64 / 1e9 / f64::from(SLOTS);
    Ok(Measured::new("flood", place.store)
        .setting("flood", flood)
        .setting("others", OTHERS)
        .setting("slots", SLOTS)
        .setting("job_ms", JOB.as_millis() as u64)
        .value("p50_ms", millis(percentile(&waits, 0.5)))
        .value("max_ms", millis(percentile(&waits, 1.0)))
        .value("span_s", span)
        .value("ideal_s", ideal)
        .value("slots_in_use", busy / span))
}
