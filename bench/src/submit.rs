//! Submitting: many jobs at once, and one at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use anyhow::Result;

use crate::History;
use crate::ceiling;
use crate::place::Place;
use crate::report::{Cpu, Measured};
use crate::work::{Work, submit};

const GROUPS: u64 = 100;
const CALLERS: u64 = 8;

/// One caller, batches of 1000.
pub(crate) async fn bulk(place: &Place, jobs: u64) -> Result<Measured> {
    let ceiling = ceiling::insert(place, jobs).await?;
    let open = place.open(History::Kept).await?;
    let (begin, cpu) = (Instant::now(), Cpu::now());
    submit(&open.jobs, 0..jobs, GROUPS, 1000).await?;
    let (seconds, cpu) = (begin.elapsed().as_secs_f64(), cpu.since());
    open.close().await?;
    let rate = jobs as f64 / seconds;
    Ok(Measured::new("submit-bulk", place.store)
        .setting("jobs", jobs)
        .setting("batch", 1000)
        .setting("groups", GROUPS)
        .value("per_s", rate)
        .value("ceiling_per_s", ceiling)
        .value("of_ceiling", rate / ceiling)
        .value("cpu_us_per_job", cpu.as_secs_f64() * 1e6 / jobs as f64))
}

/// Eight callers, one job per call.
pub(crate) async fn single(place: &Place, jobs: u64) -> Result<Measured> {
    let ceiling = ceiling::insert_single(place, CALLERS, jobs / 2).await?;
    let open = place.open(History::Kept).await?;
    let next = Arc::new(AtomicU64::new(0));
    let begin = Instant::now();
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let (handle, next) = (open.jobs.clone(), Arc::clone(&next));
            tokio::spawn(async move {
                loop {
                    let n = next.fetch_add(1, Relaxed);
                    if n >= jobs {
                        return Ok::<_, turnabout::Error>(());
                    }
                    let group = format!("g{:05}", n % GROUPS);
                    handle.submit(Work::new(n)).group(group).await?;
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await??;
    }
    let seconds = begin.elapsed().as_secs_f64();
    open.close().await?;
    let rate = jobs as f64 / seconds;
    Ok(Measured::new("submit-single", place.store)
        .setting("jobs", jobs)
        .setting("callers", CALLERS)
        .setting("groups", GROUPS)
        .value("per_s", rate)
        .value("ceiling_per_s", ceiling)
        .value("of_ceiling", rate / ceiling))
}
