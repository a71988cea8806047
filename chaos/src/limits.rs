//! Limits, held against what handlers saw: executor processes that are killed and replaced, thousands of jobs under a limit, and a
//! log of our own of when each handler began and ended.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use tokio::process::{Child, Command};
use turnabout::group::Rate;
use turnabout::{Context, Executor, Jobs, Submission, Task, TaskResult};

use crate::cluster::Cluster;
use crate::record::now;
use crate::run::Target;

/// Of what there is a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Limit {
    /// Three jobs of the task at a time, over all executors.
    Cluster,
    /// Three jobs of the only group at a time, over all executors.
    Group,
    /// Three jobs of the task at a time on each executor.
    Each,
    /// A hundred jobs of the task a second, over all executors.
    Rate,
}

/// What is tried.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Which store.
    pub target: Target,
    /// Which limit.
    pub limit: Limit,
    /// How many jobs.
    pub jobs: usize,
    /// How long each takes.
    pub takes: Duration,
    /// Worker processes.
    pub workers: usize,
    /// Slots of each.
    pub slots: u32,
    /// How often one of them is killed. Zero: never.
    pub kill: Duration,
    /// Decides whom.
    pub seed: u64,
    /// This program, which is also the worker's.
    pub program: PathBuf,
    /// Where the files go.
    pub folder: PathBuf,
}

/// How a worker behaves.
#[derive(Clone, Debug, clap::Args)]
pub struct WorkerOptions {
    /// The store's URL.
    #[arg(long)]
    pub store: String,
    /// The log of handlers.
    #[arg(long)]
    pub log: PathBuf,
    /// The executor's id.
    #[arg(long)]
    pub name: String,
    /// Which process of the trial this is.
    #[arg(long)]
    pub process: u32,
    /// How many jobs it runs at a time.
    #[arg(long)]
    pub slots: u32,
}

/// The limit of three.
const MOST: u32 = 3;
/// The rate.
const RATE: &str = "100/s";
const A_SECOND: i64 = 1_000_000_000;
/// Work that was lost with a worker is back by then.
const BACK: i64 = 3 * A_SECOND;

#[derive(Debug, Serialize, Deserialize)]
struct Nap {
    millis: u64,
}

impl Task for Nap {
    const NAME: &'static str = "nap";
    const RETRIES: u32 = 100;
    const RETRY_DELAY: Duration = Duration::ZERO;
}

/// What happened, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Event {
    /// A handler began.
    Began,
    /// It ended.
    Ended,
    /// The process was killed.
    Killed,
}

/// A line of the log.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Line {
    at: i64,
    process: u32,
    event: Event,
}

struct Log {
    file: File,
    process: u32,
}

impl Log {
    fn open(path: &Path, process: u32) -> Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { file, process })
    }

    /// One write, so that lines of several processes do not mix.
    fn write(&self, process: u32, event: Event) -> std::io::Result<()> {
        let at = i64::try_from(now()).unwrap_or(i64::MAX);
        let mut line = serde_json::to_vec(&Line { at, process, event })?;
        line.push(b'\n');
        (&self.file).write_all(&line)
    }
}

async fn nap(cx: Context<Arc<Log>>, nap: Nap) -> TaskResult {
    let log = Arc::clone(cx.state());
    log.write(log.process, Event::Began)?;
    tokio::time::sleep(Duration::from_millis(nap.millis)).await;
    log.write(log.process, Event::Ended)?;
    Ok(())
}

/// A worker process: works until it is killed, or its coordinator is gone.
pub async fn work(options: WorkerOptions) -> Result<()> {
    let log = Arc::new(Log::open(&options.log, options.process)?);
    let jobs = Jobs::open(&options.store).connections(6).await?;
    let executor = Executor::with_state(&jobs, log)
        .task(nap)
        .name(&options.name)
        .slots(options.slots);
    let executor = executor.lease(Duration::from_millis(500), Duration::from_secs(3));
    let handle = executor.start().await?;
    let mut input = tokio::io::stdin();
    let mut byte = [0; 1];
    while tokio::io::AsyncReadExt::read(&mut input, &mut byte).await? > 0 {}
    handle.shutdown(Duration::from_secs(1)).await;
    std::process::exit(0);
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    limit: Limit,
    workers: usize,
    /// How many jobs handlers began with.
    pub started: usize,
    /// How many workers were killed.
    pub killed: usize,
    /// At once at the most: of all executors, or of one under a limit on each; under a rate, in any second.
    pub most: usize,
    /// On average, while there was work: at once, or in a second. Without the times in which work was lost with a worker.
    pub average: f64,
    /// How many there may be.
    pub allowed: usize,
    /// How many there should be on average at least.
    pub wanted: f64,
}

impl Outcome {
    /// Whether the limit was never exceeded, and used.
    pub fn is_good(&self) -> bool {
        self.most <= self.allowed && self.average >= self.wanted
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.limit == Limit::Rate {
            "starts in any second"
        } else {
            "at once"
        };
        writeln!(
            f,
            "{:?}: {} starts on {} workers, {} killed; {} {what} at the most ({} may be), {:.2} on average ({} should be): {}",
            self.limit,
            self.started,
            self.workers,
            self.killed,
            self.most,
            self.allowed,
            self.average,
            self.wanted,
            if self.is_good() { "good" } else { "NOT GOOD" }
        )
    }
}

/// Tries it.
pub async fn hold(trial: &Trial) -> Result<Outcome> {
    std::fs::create_dir_all(&trial.folder)?;
    let path = trial.folder.join("handlers.jsonl");
    let _ = std::fs::remove_file(&path);
    let log = Log::open(&path, 0)?;
    let (_cluster, url) = if let Target::Sqlite = trial.target {
        (None, format!("sqlite://{}", trial.folder.join("jobs.db").display()))
    } else {
        let cluster = Cluster::start(false).await?;
        let url = Cluster::url(cluster.port());
        (Some(cluster), url)
    };
    let jobs = Jobs::open(&url).await?;
    set(&jobs, trial.limit).await?;
    let millis = u64::try_from(trial.takes.as_millis())?;
    let group = |n: usize| {
        if trial.limit == Limit::Group {
            "g".to_owned()
        } else {
            format!("g{}", n % 10)
        }
    };
    let all = (0..trial.jobs).map(|n| Submission::new(Nap { millis }).group(group(n)));
    ensure!(
        jobs.submit_all(all).await.iter().all(std::result::Result::is_ok),
        "a submit failed"
    );
    let mut count = 0;
    let mut workers = Vec::new();
    for n in 0..trial.workers {
        count += 1;
        workers.push((count, launch(trial, &url, &path, n, count)?));
    }
    let mut random = fastrand::Rng::with_seed(trial.seed);
    let mut last = Instant::now();
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let counts = jobs.counts().await?;
        if counts.ready + counts.parked + counts.held == 0 {
            break;
        }
        if !trial.kill.is_zero() && last.elapsed() >= trial.kill {
            last = Instant::now();
            let at = random.usize(..workers.len());
            let (process, worker) = &mut workers[at];
            worker.start_kill()?;
            worker.wait().await?;
            log.write(*process, Event::Killed)?;
            count += 1;
            workers[at] = (count, launch(trial, &url, &path, at, count)?);
        }
    }
    for (_, mut worker) in workers {
        drop(worker.stdin.take());
        let _ = tokio::time::timeout(Duration::from_secs(10), worker.wait()).await;
    }
    judge(trial, &read(&path)?)
}

async fn set(jobs: &Jobs, limit: Limit) -> Result<()> {
    let task = jobs.task_limits("nap");
    match limit {
        Limit::Cluster => drop(task.max_running(Some(MOST)).await?),
        Limit::Each => drop(task.max_running_each(Some(MOST)).await?),
        Limit::Rate => drop(task.rate(Some(RATE.parse()?)).await?),
        Limit::Group => drop(jobs.group("g").max_running(Some(MOST)).await?),
    }
    Ok(())
}

fn launch(trial: &Trial, url: &str, log: &Path, n: usize, process: u32) -> Result<Child> {
    let printed = File::create(trial.folder.join(format!("worker-{process}.log")))?;
    Command::new(&trial.program)
        .args(["limits-worker", "--store", url, "--log"])
        .arg(log)
        .args(["--name", &format!("worker-{n}"), "--process", &process.to_string()])
        .args(["--slots", &trial.slots.to_string()])
        .stdin(Stdio::piped())
        .stderr(printed)
        .kill_on_drop(true)
        .spawn()
        .context("a worker cannot be started")
}

fn read(path: &Path) -> Result<Vec<Line>> {
    let text = std::fs::read_to_string(path)?;
    let mut lines = text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<Vec<Line>, _>>()?;
    lines.sort_by_key(|line| line.at);
    Ok(lines)
}

fn judge(trial: &Trial, lines: &[Line]) -> Result<Outcome> {
    let starts: Vec<i64> = (lines.iter())
        .filter(|line| line.event == Event::Began)
        .map(|line| line.at)
        .collect();
    let kills: Vec<&Line> = lines.iter().filter(|line| line.event == Event::Killed).collect();
    let (first, last) = (
        starts.first().context("nothing began")?,
        starts.last().context("nothing began")?,
    );
    let mut outcome = Outcome {
        limit: trial.limit,
        workers: trial.workers,
        started: starts.len(),
        killed: kills.len(),
        most: 0,
        average: 0.0,
        allowed: MOST as usize,
        wanted: f64::from(MOST) - 0.1,
    };
    if trial.limit == Limit::Rate {
        let rate: Rate = RATE.parse()?;
        outcome.allowed = 100 + rate.burst() as usize;
        outcome.wanted = 95.0;
        outcome.most = busiest_second(&starts);
        outcome.average = starts.len() as f64 / ((last - first) as f64 / A_SECOND as f64).max(1.0);
        return Ok(outcome);
    }
    if trial.limit == Limit::Each {
        outcome.wanted *= trial.workers as f64;
    }
    // Until the last of the waiting jobs has begun there was work for everyone, but for the first moments of all workers.
    let (from, until) = (first + A_SECOND, *last);
    let mut running: HashMap<u32, i64> = HashMap::new();
    let mut dead: HashSet<u32> = HashSet::new();
    let (mut area, mut time, mut before) = (0.0, 0.0, from);
    for line in lines {
        let passed = (line.at.min(until) - before.max(from)).max(0) as f64;
        let missed = kills.iter().any(|kill| (kill.at..kill.at + BACK).contains(&before));
        if !missed {
            area += passed * running.values().sum::<i64>() as f64;
            time += passed;
        }
        before = before.max(line.at);
        let here = running.entry(line.process).or_default();
        match line.event {
            _ if dead.contains(&line.process) => {}
            Event::Began => *here += 1,
            Event::Ended => *here -= 1,
            Event::Killed => {
                *here = 0;
                dead.insert(line.process);
            }
        }
        let now = match trial.limit {
            Limit::Each => running.values().copied().max().unwrap_or(0),
            _ => running.values().sum(),
        };
        outcome.most = outcome.most.max(usize::try_from(now).unwrap_or(0));
    }
    outcome.average = if time > 0.0 { area / time } else { 0.0 };
    Ok(outcome)
}

/// How many began in any second, at the most.
fn busiest_second(starts: &[i64]) -> usize {
    let mut from = 0;
    let mut most = 0;
    for (at, start) in starts.iter().enumerate() {
        while start - starts[from] >= A_SECOND {
            from += 1;
        }
        most = most.max(at + 1 - from);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_second_is_found_wherever_it_begins() {
        let at = |tenths: &[i64]| tenths.iter().map(|n| n * A_SECOND / 10).collect::<Vec<_>>();
        assert_eq!(busiest_second(&at(&[0, 5, 9, 10, 11, 12, 30])), 5);
        assert_eq!(busiest_second(&at(&[0, 10, 20])), 1);
    }
}
