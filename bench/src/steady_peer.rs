//! Part in a comparison that lasts for hours: a process that offers jobs at a steady rate, runs them, and prints what it sees as
//! lines of JSON, until it is told to end. It speaks the language of the public comparison of job queues on `PostgreSQL`
//! (`postgresql-job-queue-benchmarking`): settings come from the environment, samples go to standard output.
//!
//! - `steady_peer/waits.rs` keeps how long jobs waited, in bounded memory

mod waits;

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, MissedTickBehavior};
use turnabout::{Context, Executor, Jobs, Submission, Task, TaskResult};

use waits::{WINDOW, Waits};

/// What it is called there.
const SYSTEM: &str = "turnabout";
/// The harness looks at how these tables grow; adapter.json has the same.
const TABLES: [&str; 6] = ["job", "arrival", "stream", "ring", "hold", "heartbeat"];
/// Jobs are offered this often, so many at a time at the most.
const OFFERS: Duration = Duration::from_millis(10);
const MOST: u64 = 128;
/// The depth of the queue is looked at this often.
const LOOKS: Duration = Duration::from_millis(250);

/// A job of the comparison.
#[derive(Debug, Serialize, Deserialize)]
struct Step {
    n: u64,
    /// When it was offered, in nanoseconds since the process began.
    offered: u64,
    padding: String,
}

impl Task for Step {
    const NAME: &'static str = "step";
}

/// What the environment asks for.
struct Wanted {
    url: String,
    rate: f64,
    /// Offer as many as bring the queue to this depth, instead of a rate.
    depth: Option<u64>,
    slots: u32,
    padding: usize,
    work: Duration,
    every: Duration,
    groups: u64,
    instance: u64,
}

impl Wanted {
    fn read() -> Result<Self> {
        let scenario = text("SCENARIO", "long_horizon");
        ensure!(
            scenario == "long_horizon",
            "SCENARIO is {scenario}; only long_horizon is known here"
        );
        let mode = text("PRODUCER_MODE", "fixed");
        Ok(Self {
            url: std::env::var("DATABASE_URL").context("DATABASE_URL is not set: the database to work in")?,
            rate: number("PRODUCER_RATE", 800.0)?,
            depth: (mode == "depth-target")
                .then(|| number("TARGET_DEPTH", 1000.0))
                .transpose()?
                .map(|depth| depth as u64),
            slots: number("WORKER_COUNT", 32.0)? as u32,
            padding: number("JOB_PAYLOAD_BYTES", 256.0)? as usize,
            work: Duration::from_secs_f64(number("JOB_WORK_MS", 1.0)? / 1e3),
            every: Duration::from_secs_f64(number("SAMPLE_EVERY_S", 5.0)?.max(0.1)),
            groups: (number("TURNABOUT_GROUPS", 1.0)? as u64).max(1),
            instance: number("BENCH_INSTANCE_ID", 0.0)? as u64,
        })
    }
}

fn text(name: &str, usual: &str) -> String {
    let said = std::env::var(name).ok().filter(|said| !said.is_empty());
    said.unwrap_or_else(|| usual.to_owned())
}

fn number(name: &str, usual: f64) -> Result<f64> {
    let text = text(name, &usual.to_string());
    text.parse()
        .with_context(|| format!("{name} should be a number, not `{text}`"))
}

/// What the parts of the process share.
struct Seen {
    begin: Instant,
    work: Duration,
    offered: AtomicU64,
    ended: AtomicU64,
    depth: AtomicU64,
    starts: Mutex<Waits>,
    ends: Mutex<Waits>,
}

impl Seen {
    fn now(&self) -> u64 {
        self.begin.elapsed().as_nanos() as u64
    }

    fn note(&self, waits: &Mutex<Waits>, offered: u64) {
        let (now, waited) = (self.begin.elapsed(), self.now().saturating_sub(offered));
        let mut waits = waits.lock().unwrap_or_else(PoisonError::into_inner);
        waits.add(now, Duration::from_nanos(waited));
    }

    fn quantiles(&self, waits: &Mutex<Waits>) -> [f64; 3] {
        let mut waits = waits.lock().unwrap_or_else(PoisonError::into_inner);
        waits.quantiles(self.begin.elapsed(), [0.5, 0.95, 0.99])
    }
}

async fn step(cx: Context<Arc<Seen>>, step: Step) -> TaskResult {
    let seen = cx.state();
    seen.note(&seen.starts, step.offered);
    tokio::time::sleep(seen.work).await;
    seen.note(&seen.ends, step.offered);
    seen.ended.fetch_add(1, Relaxed);
    Ok(())
}

/// Takes part until SIGTERM or Ctrl-C.
pub(crate) async fn run() -> Result<()> {
    let mut stop = signal(SignalKind::terminate())?;
    let wanted = Wanted::read()?;
    // Deleted when they end, as with the others.
    let jobs = Jobs::open(&wanted.url).retention(Duration::ZERO).await?;
    let seen = Arc::new(Seen {
        begin: Instant::now(),
        work: wanted.work,
        offered: AtomicU64::new(0),
        ended: AtomicU64::new(0),
        depth: AtomicU64::new(0),
        starts: Mutex::new(Waits::default()),
        ends: Mutex::new(Waits::default()),
    });
    let executor = Executor::with_state(&jobs, Arc::clone(&seen))
        .task(step)
        .slots(wanted.slots)
        .name(format!("bench-{}", wanted.instance));
    let executor = executor.start().await?;
    print(&json!({
        "kind": "descriptor", "system": SYSTEM, "event_tables": TABLES.map(|table| format!("turnabout.{table}")),
        "extensions": [], "version": env!("CARGO_PKG_VERSION"), "schema_version": null,
        "db_name": wanted.url.rsplit('/').next().and_then(|name| name.split('?').next()),
        "started_at": Timestamp::now().to_string(), "instance_id": wanted.instance,
    }))?;
    let ended = tokio::select! {
        _ = stop.recv() => Ok(()),
        _ = tokio::signal::ctrl_c() => Ok(()),
        failed = offer(&jobs, &wanted, &seen) => failed,
        failed = look(&jobs, &wanted, &seen) => failed,
        failed = sample(&wanted, &seen) => failed,
    };
    executor.shutdown(Duration::from_secs(4)).await;
    ended
}

/// Offers jobs, at the rate or up to the depth. A database that is away for a while is waited for.
async fn offer(jobs: &Jobs, wanted: &Wanted, seen: &Seen) -> Result<()> {
    let padding = "x".repeat(wanted.padding.saturating_sub(96));
    let mut clock = tokio::time::interval(OFFERS);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut last, mut due) = (Instant::now(), 0.0_f64);
    loop {
        clock.tick().await;
        let count = if let Some(depth) = wanted.depth {
            let ready = jobs.counts().await.map_or(depth, |counts| counts.ready);
            depth.saturating_sub(ready).min(MOST)
        } else {
            due = (due + last.elapsed().as_secs_f64() * wanted.rate).min(wanted.rate.max(MOST as f64));
            last = Instant::now();
            (due as u64).min(MOST)
        };
        if count == 0 {
            continue;
        }
        let first = seen.offered.load(Relaxed);
        let batch = (first..first + count).map(|n| {
            let step = Step {
                n,
                offered: seen.now(),
                padding: padding.clone(),
            };
            Submission::new(step).group(format!("group-{}", n % wanted.groups))
        });
        match jobs.submit_all(batch).await.all() {
            Ok(stored) => {
                seen.offered.fetch_add(stored.len() as u64, Relaxed);
                due -= count as f64;
            }
            Err(error) if error.is_transient() => {
                eprintln!("{}", error.chain());
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Looks how many jobs are ready. One instance does for all.
async fn look(jobs: &Jobs, wanted: &Wanted, seen: &Seen) -> Result<()> {
    loop {
        if wanted.instance == 0
            && let Ok(counts) = jobs.counts().await
        {
            seen.depth.store(counts.ready, Relaxed);
        }
        tokio::time::sleep(LOOKS).await;
    }
}

/// Tells what was seen, at whole multiples of the interval on the clock, so that the samples of all systems stand side by side.
async fn sample(wanted: &Wanted, seen: &Seen) -> Result<()> {
    let every = wanted.every.as_millis() as u64;
    let (mut offered, mut ended, mut last) = (0, 0, Instant::now());
    loop {
        let into = Timestamp::now().as_millisecond() as u64 % every;
        tokio::time::sleep(Duration::from_millis(every - into)).await;
        let seconds = last.elapsed().as_secs_f64();
        last = Instant::now();
        let rate = |all: &AtomicU64, before: &mut u64| {
            let now = all.load(Relaxed);
            (now - std::mem::replace(before, now)) as f64 / seconds
        };
        let (starts, ends) = (seen.quantiles(&seen.starts), seen.quantiles(&seen.ends));
        let [p50, p95, p99] = starts;
        let window = WINDOW.as_secs_f64();
        let mut metrics = vec![
            ("claim_p50_ms", p50, window),
            ("claim_p95_ms", p95, window),
            ("claim_p99_ms", p99, window),
            ("end_to_end_p50_ms", ends[0], window),
            ("end_to_end_p95_ms", ends[1], window),
            ("end_to_end_p99_ms", ends[2], window),
            (
                "enqueue_rate",
                rate(&seen.offered, &mut offered),
                wanted.every.as_secs_f64(),
            ),
            (
                "completion_rate",
                rate(&seen.ended, &mut ended),
                wanted.every.as_secs_f64(),
            ),
        ];
        if wanted.instance == 0 {
            metrics.push(("queue_depth", seen.depth.load(Relaxed) as f64, 0.0));
            metrics.push(("producer_target_rate", wanted.rate, 0.0));
        }
        let now = Timestamp::now().to_string();
        for (metric, value, window) in metrics {
            print(&json!({
                "t": now, "system": SYSTEM, "kind": "adapter", "subject_kind": "adapter", "subject": "", "metric": metric,
                "value": value, "window_s": window, "instance_id": wanted.instance,
            }))?;
        }
    }
}

/// One line. Whoever reads sees it at once, also through a pipe.
fn print(line: &serde_json::Value) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}
