//! Submitting: many jobs at once, one at a time, and as part of a caller's own transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use turnabout::{JobId, Jobs};

use crate::ceiling;
use crate::meter::Cpu;
use crate::place::{History, Place};
use crate::report::Measured;
use crate::work::{Work, group, submit};

const GROUPS: u64 = 100;
const CALLERS: u64 = 8;
const BATCH: usize = 1000;

/// How one caller submits many jobs.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Way {
    /// All of them by one call, which stores them in portions.
    OneCall,
    /// By calls of 1000 each, one after the other.
    Batches,
}

/// One caller, who submits that way.
pub(crate) async fn bulk(place: &Place, jobs: u64, way: Way) -> Result<Measured> {
    let ceiling = ceiling::insert(place, jobs).await?;
    let open = place.open(History::Kept).await?;
    let per_call = match way {
        Way::OneCall => jobs as usize,
        Way::Batches => BATCH,
    };
    let (begin, cpu) = (Instant::now(), Cpu::now());
    submit(&open.jobs, 0..jobs, GROUPS, per_call).await?;
    let (time, cpu) = (begin.elapsed(), Cpu::per_job(&cpu, jobs));
    open.close().await?;
    Ok(Measured::new("submit-bulk", place.store)
        .setting("jobs", jobs)
        .setting("batch", BATCH)
        .setting("calls", jobs.div_ceil(per_call as u64))
        .setting("groups", GROUPS)
        .rate(jobs, time, ceiling)
        .maybe("cpu_us_per_job", cpu))
}

/// Eight callers in one process, one job per call.
pub(crate) async fn single(place: &Place, jobs: u64) -> Result<Measured> {
    let ceiling = ceiling::insert_single(place, CALLERS, jobs / 2).await?;
    let open = place.open(History::Kept).await?;
    // Connections are made, statements prepared.
    callers(&open.jobs, CALLERS * 4, GROUPS, Duration::MAX).await?;
    let begin = Instant::now();
    callers(&open.jobs, jobs, GROUPS, Duration::MAX).await?;
    let time = begin.elapsed();
    open.close().await?;
    Ok(Measured::new("submit-single", place.store)
        .setting("jobs", jobs)
        .setting("callers", CALLERS)
        .setting("groups", GROUPS)
        .rate(jobs, time, ceiling))
}

/// Submits jobs one by one, eight callers, for no longer than that; says how many.
pub(crate) async fn callers(jobs: &Jobs, number: u64, groups: u64, longest: Duration) -> Result<u64> {
    let next = Arc::new(AtomicU64::new(0));
    let begin = Instant::now();
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let (jobs, next) = (jobs.clone(), Arc::clone(&next));
            tokio::spawn(async move {
                while begin.elapsed() < longest {
                    let n = next.fetch_add(1, Relaxed);
                    if n >= number {
                        break;
                    }
                    jobs.submit(Work::new(n)).group(group(n, groups)).await?;
                }
                Ok::<_, turnabout::Error>(())
            })
        })
        .collect();
    for caller in callers {
        caller.await??;
    }
    Ok(next.load(Relaxed).min(number))
}

/// Eight callers with a connection each; every transaction writes a row of the caller's and submits a job.
pub(crate) async fn within(place: &Place, jobs: u64) -> Result<Measured> {
    let ceiling = ceiling::insert_within(place, CALLERS, jobs / 2).await?;
    let open = place.open(History::Kept).await?;
    let client = open.client.as_ref().context("only PostgreSQL has this")?;
    let table = format!("{}.bench_account", open.address.schema);
    client
        .batch_execute(&format!(
            "create table {table} (id uuid primary key, name text not null)"
        ))
        .await?;
    let mut clients = Vec::new();
    for _ in 0..CALLERS {
        let client = place.connect().await?;
        let insert = client
            .prepare(&format!("insert into {table} values ($1, 'ada')"))
            .await?;
        clients.push((client, insert));
    }
    let next = Arc::new(AtomicU64::new(0));
    let begin = Instant::now();
    let callers: Vec<_> = clients
        .into_iter()
        .map(|(mut client, insert)| {
            let (handle, next) = (open.jobs.clone(), Arc::clone(&next));
            tokio::spawn(async move {
                loop {
                    let n = next.fetch_add(1, Relaxed);
                    if n >= jobs {
                        return Ok::<_, anyhow::Error>(());
                    }
                    let mut tx = client.transaction().await?;
                    tx.execute(&insert, &[&JobId::new().0]).await?;
                    let submit = handle.submit(Work::new(n)).group(group(n, GROUPS));
                    submit.within(&mut tx).await?;
                    tx.commit().await?;
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await??;
    }
    let time = begin.elapsed();
    open.close().await?;
    Ok(Measured::new("submit-within", place.store)
        .setting("jobs", jobs)
        .setting("callers", CALLERS)
        .setting("groups", GROUPS)
        .rate(jobs, time, ceiling))
}
