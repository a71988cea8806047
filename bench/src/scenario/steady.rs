//! Steady state: jobs come at a fixed rate, whatever happens to them.

use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::task::JoinSet;

use crate::meter::Cpu;
use crate::place::{History, Place};
use crate::report::{Measured, millis, percentile};
use crate::work::{Length, Notes, Work, execute, group, idle, let_go, stop};

const SLOTS: u32 = 16;
const GROUPS: u64 = 100;

/// From the moment at which a job was to be submitted (not that at which the callers got to it) to the start of its
/// handler. The rate is offered, not adapted: a store that is too slow shows in the latency and in what is left over.
pub(crate) async fn run(place: &Place, rate: u64, time: Duration) -> Result<Measured> {
    let open = place.open(History::Kept).await?;
    let jobs = rate * time.as_secs();
    let notes = Notes::new(jobs, Length::Nothing);
    let executor = execute(&open.jobs, &notes, SLOTS).await?;
    idle(&executor).await;
    let cpu = Cpu::now();
    let (begin, clock) = (Instant::now(), notes.now());
    let due = |n: u64| Duration::from_secs_f64(n as f64 / rate as f64);
    let mut calls = JoinSet::new();
    let mut next = 0;
    while next < jobs {
        while next < jobs && due(next) <= begin.elapsed() {
            let submit = open.jobs.submit(Work::new(next)).group(group(next, GROUPS));
            calls.spawn(async move { submit.await });
            next += 1;
        }
        while let Some(call) = calls.try_join_next() {
            call??;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let unfinished = jobs - notes.ended();
    for call in calls.join_all().await {
        call?;
    }
    notes.all_ended().await?;
    let last = begin.elapsed();
    let executors = vec![executor];
    let_go(&executors).await;
    let cpu = Cpu::per_job(&cpu, jobs);
    stop(executors).await;
    open.close().await?;
    let waits: Vec<Duration> = (0..jobs)
        .map(|n| notes.start(n).unwrap_or_default().saturating_sub(clock + due(n)))
        .collect();
    Ok(Measured::new("steady", place.store)
        .setting("rate", rate)
        .setting("seconds", time.as_secs())
        .setting("groups", GROUPS)
        .setting("slots", SLOTS)
        .value("per_s", jobs as f64 / last.as_secs_f64())
        .value("p50_ms", millis(percentile(&waits, 0.5)))
        .value("p95_ms", millis(percentile(&waits, 0.95)))
        .value("p99_ms", millis(percentile(&waits, 0.99)))
        .value("max_ms", millis(percentile(&waits, 1.0)))
        .value("left_over", unfinished as f64)
        .maybe("cpu_us_per_job", cpu))
}
