//! The case the project exists for: one group floods, then many others have one job each.

use std::time::Duration;

use anyhow::Result;

use crate::place::{History, Place};
use crate::report::{Measured, millis, percentile};
use crate::work::{Length, Notes, Work, execute, idle, stop, submit};

const SLOTS: u32 = 4;
const OTHERS: u64 = 99;
const JOB: Duration = Duration::from_millis(2);

/// Waits of the others (from before the call that submits to the start of the handler), and how long everything
/// takes against slots that are never empty.
pub(crate) async fn run(place: &Place, flood: u64) -> Result<Measured> {
    let open = place.open(History::Kept).await?;
    let jobs = flood + OTHERS;
    let notes = Notes::new(jobs, Length::Exact(JOB));
    let executor = execute(&open.jobs, &notes, SLOTS).await?;
    idle(&executor).await;
    let begin = notes.now();
    submit(&open.jobs, 0..flood, 1, 1000).await?;
    let mut submitted = Vec::new();
    for n in flood..jobs {
        submitted.push(notes.now());
        open.jobs.submit(Work::new(n)).group(format!("other{n:05}")).await?;
    }
    notes.all_ended().await?;
    let span = notes.now().saturating_sub(begin).as_secs_f64();
    stop(vec![executor]).await;
    open.close().await?;
    let waits: Vec<Duration> = (flood..jobs)
        .zip(submitted)
        .map(|(n, submitted)| notes.start(n).unwrap_or_default().saturating_sub(submitted))
        .collect();
    let ideal = jobs as f64 * JOB.as_secs_f64() / f64::from(SLOTS);
    Ok(Measured::new("flood", place.store)
        .setting("flood", flood)
        .setting("others", OTHERS)
        .setting("slots", SLOTS)
        .setting("job_ms", JOB.as_millis() as u64)
        .value("p50_ms", millis(percentile(&waits, 0.5)))
        .value("max_ms", millis(percentile(&waits, 1.0)))
        .value("span_s", span)
        .value("ideal_s", ideal)
        .value("of_ideal", span / ideal)
        .value("job_took_ms", millis(notes.busy()) / jobs as f64)
        .value("slots_in_use", notes.busy().as_secs_f64() / f64::from(SLOTS) / span))
}
