//! The scenarios of the comparison, as its other peers do them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Map, Value, json};

use super::{FEW, PeerArgs, Scenario, Sizes};
use crate::place::Open;
use crate::report::{millis, percentile};
use crate::scenario::submit::callers;
use crate::work::{Length, Notes, Work, execute, group, let_go, stop, submit_batch};

type Values = Map<String, Value>;

/// So many jobs in so much time.
struct Done {
    jobs: u64,
    time: Duration,
    capped: bool,
}

impl Done {
    fn per_s(&self) -> f64 {
        (self.jobs as f64 / self.time.as_secs_f64()).round()
    }
}

/// Other peers give their worker a second to settle.
const SETTLE: Duration = Duration::from_secs(1);
const BATCH: u64 = 1000;
const OTHERS: u64 = 99;
/// These do not count in `latency`.
const FIRST: u64 = 10;

pub(super) async fn bulk_drain(open: &Open, args: &PeerArgs, sizes: &Sizes) -> Result<Values> {
    let inserted = insert(open, args, sizes.bulk, sizes.cap).await?;
    open.analyze().await?;
    let drained = drain(open, args.slots, inserted.jobs, sizes.cap).await?;
    Ok(values(json!({
        "n": inserted.jobs,
        "bulk_insert_per_s": inserted.per_s(),
        "drain_per_s": drained.per_s(),
        "drained": drained.jobs,
        "capped": drained.capped,
    })))
}

pub(super) async fn single(open: &Open, args: &PeerArgs, sizes: &Sizes) -> Result<Values> {
    open.jobs.submit(Work::new(0)).group(group(0, args.groups)).await?;
    let begin = Instant::now();
    let jobs = callers(&open.jobs, sizes.single, args.groups, sizes.cap).await?;
    let rate = jobs as f64 / begin.elapsed().as_secs_f64();
    Ok(values(json!({ "n": jobs, "single_insert_per_s": rate.round() })))
}

pub(super) async fn latency(open: &Open, args: &PeerArgs, sizes: &Sizes) -> Result<Values> {
    let jobs = FIRST + sizes.latency;
    let notes = Notes::new(jobs, Length::Nothing);
    let executor = execute(&open.jobs, &notes, FEW).await?;
    tokio::time::sleep(SETTLE).await;
    let begin = Instant::now();
    let mut waits = Vec::new();
    for n in 0..jobs {
        let submitted = notes.now();
        open.jobs.submit(Work::new(n)).group(group(n, args.groups)).await?;
        ensure!(
            notes.wait_for(n + 1, Duration::from_secs(20)).await,
            "a job did not start for 20 seconds"
        );
        if n >= FIRST {
            waits.push(notes.start(n).unwrap_or_default().saturating_sub(submitted));
        }
        if begin.elapsed() > sizes.cap {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    stop(vec![executor]).await;
    Ok(values(json!({
        "n": waits.len(),
        "p50_ms": rounded(percentile(&waits, 0.5)),
        "p99_ms": rounded(percentile(&waits, 0.99)),
        "max_ms": rounded(percentile(&waits, 1.0)),
    })))
}

pub(super) async fn fair(open: &Open, args: &PeerArgs, sizes: &Sizes) -> Result<Values> {
    let tenant = |tenant: u64| {
        // Without the feature, nobody tells tenants apart.
        let tenant = if args.scenario == Scenario::Fair { 0 } else { tenant };
        format!("tenant{tenant:03}")
    };
    let jobs = sizes.fair + OTHERS;
    let notes = Notes::new(jobs, args.length());
    let executor = execute(&open.jobs, &notes, FEW).await?;
    tokio::time::sleep(SETTLE).await;
    let begin = notes.now();
    for from in (0..sizes.fair).step_by(BATCH as usize) {
        let batch = from..sizes.fair.min(from + BATCH);
        submit_batch(
            &open.jobs,
            batch.map(|n| turnabout::Submission::new(Work::new(n)).group(tenant(0))),
        )
        .await?;
    }
    let flooded = notes.now();
    // All at once, as independent callers would.
    let calls = (1..=OTHERS).map(|other| {
        let (jobs, notes, group) = (&open.jobs, &notes, tenant(other));
        async move {
            let submitted = notes.now();
            jobs.submit(Work::new(sizes.fair + other - 1)).group(group).await?;
            Ok::<_, turnabout::Error>(submitted)
        }
    });
    let submitted = futures_util::future::try_join_all(calls).await?;
    let stored = notes.now();
    notes.wait_for(jobs, sizes.fair_cap).await;
    let span = notes.now().saturating_sub(begin).as_secs_f64();
    let done = notes.ended();
    let waits: Vec<Duration> = (sizes.fair..jobs)
        .zip(submitted)
        .filter_map(|(n, submitted)| Some(notes.start(n)?.saturating_sub(submitted)))
        .collect();
    executor.shutdown(Duration::from_secs(1)).await;
    let never = OTHERS - waits.len() as u64;
    Ok(values(json!({
        "stored_ms": rounded(stored.saturating_sub(flooded)),
        "min_ms": waits.iter().min().map(|wait| rounded(*wait)),
        "p50_ms": (waits.len() as u64 > OTHERS / 2).then(|| rounded(percentile(&waits, 0.5))),
        "max_ms": (never == 0).then(|| rounded(percentile(&waits, 1.0))),
        "not_started": never,
        "flood_insert_ms": millis(flooded.saturating_sub(begin)).round(),
        "makespan_s": (span * 100.0).round() / 100.0,
        "done": done,
    })))
}

pub(super) async fn mvcc(open: &Open, args: &PeerArgs, sizes: &Sizes) -> Result<Values> {
    insert(open, args, sizes.mvcc, sizes.cap).await?;
    let pin = if args.scenario == Scenario::MvccHeld {
        Some(open.pin().await?)
    } else {
        None
    };
    open.analyze().await?;
    let first = drain(open, args.slots, sizes.mvcc, sizes.cap).await?;
    let inserted = insert(open, args, sizes.mvcc, sizes.cap).await?;
    let left = sizes.mvcc - first.jobs;
    let second = drain(open, args.slots, inserted.jobs + left, sizes.cap).await?;
    drop(pin);
    Ok(values(json!({
        "n": inserted.jobs,
        "first_drain_per_s": first.per_s(),
        "drain_per_s": second.per_s(),
        "drained": second.jobs,
        "capped": second.capped,
    })))
}

/// One caller, so many jobs a call.
async fn insert(open: &Open, args: &PeerArgs, jobs: u64, cap: Duration) -> Result<Done> {
    let begin = Instant::now();
    let mut inserted = 0;
    while inserted < jobs && begin.elapsed() <= cap {
        let batch = inserted..jobs.min(inserted + args.per_call);
        inserted = batch.end;
        submit_batch(&open.jobs, batch.map(|n| Work::of(n, args.groups))).await?;
    }
    Ok(Done {
        jobs: inserted,
        time: begin.elapsed(),
        capped: inserted < jobs,
    })
}

/// From the first job's start until the store says that nothing is unfinished.
async fn drain(open: &Open, slots: u32, jobs: u64, cap: Duration) -> Result<Done> {
    let notes: Arc<Notes> = Notes::new(jobs, Length::Nothing);
    let executors = vec![execute(&open.jobs, &notes, slots).await?];
    let all = notes.wait_for(jobs, cap).await;
    let done = notes.ended().min(jobs);
    let mut end = notes.now();
    if all {
        loop {
            let_go(&executors).await;
            end = notes.now();
            if open.unfinished().await? == 0 {
                break;
            }
        }
    }
    stop(executors).await;
    Ok(Done {
        jobs: done,
        time: end.saturating_sub(notes.first().unwrap_or_default()),
        capped: !all,
    })
}

fn rounded(wait: Duration) -> f64 {
    (millis(wait) * 100.0).round() / 100.0
}

fn values(value: Value) -> Values {
    match value {
        Value::Object(values) => values,
        _ => Map::new(),
    }
}
