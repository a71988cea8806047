//! Load that looks like life: many executors in processes of their own, many groups, jobs that come at a fixed rate; and the
//! same while somebody holds a snapshot open, as `pg_dump` does.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result, ensure};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

use crate::place::{Address, History, Open, Place};
use crate::report::{Measured, millis, percentile};
use crate::work::{Length, Notes, Work, execute_as, group, stop};

/// What still waits so long after the last submit is left over.
const PATIENCE: Duration = Duration::from_mins(2);

/// What life is like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Life {
    pub(crate) name: &'static str,
    pub(crate) executors: u32,
    pub(crate) slots: u32,
    pub(crate) groups: u64,
    /// Jobs offered in a second.
    pub(crate) rate: u64,
    pub(crate) job: Duration,
    /// Whether one group offers half of them.
    pub(crate) flood: bool,
    /// Whether a snapshot is held open.
    pub(crate) pinned: bool,
}

impl Life {
    /// Steady load.
    pub(crate) const STEADY: Self = Self {
        name: "life",
        executors: 32,
        slots: 8,
        groups: 1_000,
        rate: 1_500,
        job: Duration::from_millis(20),
        flood: true,
        pinned: false,
    };

    /// While somebody makes a backup.
    pub(crate) const SNAPSHOT: Self = Self {
        name: "snapshot",
        executors: 8,
        slots: 4,
        groups: 200,
        rate: 300,
        job: Duration::ZERO,
        flood: false,
        pinned: true,
    };

    /// The same with a job of each group now and then.
    pub(crate) const SPARSE: Self = Self {
        groups: 10_000,
        ..Self::SNAPSHOT
    };

    fn group(&self, n: u64) -> String {
        if !self.flood {
            group(n, self.groups)
        } else if n.is_multiple_of(2) {
            "flood".to_owned()
        } else {
            group(n / 2, self.groups - 1)
        }
    }
}

/// An executor in a process of its own.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkerArgs {
    /// The store
    #[arg(long)]
    url: String,
    /// Its schema
    #[arg(long)]
    schema: String,
    /// Its name
    #[arg(long)]
    name: String,
    /// How many slots
    #[arg(long)]
    slots: u32,
    /// How many jobs there will be
    #[arg(long)]
    jobs: u64,
    /// How long each takes, in milliseconds
    #[arg(long)]
    millis: u64,
    /// Where it writes when each job started
    #[arg(long)]
    out: PathBuf,
}

/// The process of its own: works until its input ends.
pub(crate) async fn work_here(args: WorkerArgs) -> Result<()> {
    let address = Address {
        url: args.url,
        schema: args.schema,
        retention: Duration::from_hours(30 * 24),
    };
    let length = match args.millis {
        0 => Length::Nothing,
        millis => Length::Timer(Duration::from_millis(millis)),
    };
    let notes = Notes::new(args.jobs, length);
    let begun = SystemTime::now() - notes.now();
    let executor = execute_as(&address.open().await?, &notes, args.slots, &args.name).await?;
    let mut input = [0];
    while !matches!(tokio::io::stdin().read(&mut input).await, Ok(0) | Err(_)) {}
    stop(vec![executor]).await;
    let mut text = String::new();
    for n in 0..args.jobs {
        if let Some(start) = notes.start(n) {
            let at = (begun + start).duration_since(SystemTime::UNIX_EPOCH)?;
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{n} {}", at.as_micros());
        }
    }
    std::fs::write(args.out, text)?;
    // The thread that reads would keep the runtime from ending.
    std::process::exit(0)
}

/// From the moment at which a job was to be submitted to the start of its handler.
pub(crate) async fn run(place: &Place, life: Life, time: Duration) -> Result<Measured> {
    let open = place.open(History::Kept).await?;
    let jobs = life.rate * time.as_secs();
    let folder = place.folder()?;
    let workers = start(&open, &life, jobs, folder.path()).await?;
    let pin = if life.pinned { Some(open.pin().await?) } else { None };
    let begun = SystemTime::now();
    let answers = offer(&open, &life, jobs).await?;
    let offered = Instant::now();
    while open.unfinished().await? > 0 && offered.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (left_over, took) = (open.unfinished().await?, begun.elapsed()?);
    drop(pin);
    for mut worker in workers {
        drop(worker.stdin.take());
        ensure!(
            worker.wait().await?.success(),
            "an executor in a process of its own failed"
        );
    }
    let starts = read(folder.path(), begun)?;
    open.close().await?;
    let due = |n: u64| Duration::from_secs_f64(n as f64 / life.rate as f64);
    let wait = |n: u64| starts.get(&n).map(|start| start.saturating_sub(due(n)));
    let waits = |from: u64, to: u64| -> Vec<Duration> { (from..to).filter_map(wait).collect() };
    let all = waits(0, jobs);
    let tenth = jobs / 10;
    let (first, last) = (waits(0, tenth), waits(jobs - tenth, jobs));
    Ok(Measured::new(life.name, place.store)
        .setting("executors", life.executors)
        .setting("slots", life.slots)
        .setting("groups", life.groups)
        .setting("rate", life.rate)
        .setting("seconds", time.as_secs())
        .value("per_s", (jobs - left_over) as f64 / took.as_secs_f64())
        .value("p50_ms", millis(percentile(&all, 0.5)))
        .value("p99_ms", millis(percentile(&all, 0.99)))
        .value("max_ms", millis(percentile(&all, 1.0)))
        .value("first_p99_ms", millis(percentile(&first, 0.99)))
        .value("last_p99_ms", millis(percentile(&last, 0.99)))
        .value("overtaken", overtaken(&life, &answers, &starts) as f64)
        .value("left_over", left_over as f64))
}

/// Starts the executors, and waits until all are registered.
async fn start(open: &Open, life: &Life, jobs: u64, folder: &Path) -> Result<Vec<Child>> {
    let mut workers = Vec::new();
    for n in 0..life.executors {
        let worker = Command::new(std::env::current_exe()?)
            .args(["worker", "--url", &open.address.url])
            .args(["--schema", &open.address.schema, "--name", &format!("bench-{n}")])
            .args(["--slots", &life.slots.to_string(), "--jobs", &jobs.to_string()])
            .args(["--millis", &life.job.as_millis().to_string(), "--out"])
            .arg(folder.join(n.to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .context("starting an executor in a process of its own")?;
        workers.push(worker);
    }
    let client = open.client.as_ref().context("this needs PostgreSQL")?;
    let registered = format!("select count(*) from {}.executor", open.address.schema);
    let begun = Instant::now();
    while client.query_one(&registered, &[]).await?.get::<_, i64>(0) < i64::from(life.executors) {
        ensure!(begun.elapsed() < PATIENCE, "the executors do not start");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(workers)
}

/// Submits jobs at the rate that is wanted, whatever becomes of them. Says when each was there.
async fn offer(open: &Open, life: &Life, jobs: u64) -> Result<Vec<Duration>> {
    let begin = Instant::now();
    let mut calls: JoinSet<Result<(u64, Duration)>> = JoinSet::new();
    let mut answers = vec![Duration::MAX; jobs as usize];
    let mut next = 0;
    while next < jobs {
        while next < jobs && Duration::from_secs_f64(next as f64 / life.rate as f64) <= begin.elapsed() {
            let submit = open.jobs.submit(Work::new(next)).group(life.group(next));
            let n = next;
            calls.spawn(async move {
                submit.await?;
                Ok((n, begin.elapsed()))
            });
            next += 1;
        }
        while let Some(call) = calls.try_join_next() {
            let (n, answer) = call??;
            answers[n as usize] = answer;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    for call in calls.join_all().await {
        let (n, answer) = call?;
        answers[n as usize] = answer;
    }
    Ok(answers)
}

/// When each job started, after `begun`.
fn read(folder: &Path, begun: SystemTime) -> Result<BTreeMap<u64, Duration>> {
    let begun = begun.duration_since(SystemTime::UNIX_EPOCH)?;
    let mut starts = BTreeMap::new();
    for file in std::fs::read_dir(folder)? {
        for line in std::fs::read_to_string(file?.path())?.lines() {
            let (n, at) = line.split_once(' ').context("a number and a time")?;
            let start = Duration::from_micros(at.parse()?).saturating_sub(begun);
            starts.insert(n.parse()?, start);
        }
    }
    Ok(starts)
}

/// How many jobs of one other group came after a job was there and started before it, at the worst. A job waits for one
/// rotation at the most: in that time every group has one turn, and one more may be under way.
fn overtaken(life: &Life, answers: &[Duration], starts: &BTreeMap<u64, Duration>) -> u64 {
    let jobs = answers.len() as u64;
    let due = |n: u64| Duration::from_secs_f64(n as f64 / life.rate as f64);
    let mut most = 0;
    for (n, there) in (0..jobs).zip(answers) {
        let Some(start) = starts.get(&n) else { continue };
        let own = life.group(n);
        let mut turns: BTreeMap<String, u64> = BTreeMap::new();
        let came = (n + 1..jobs).take_while(|later| due(*later) < *start);
        for later in came.filter(|later| due(*later) > *there && starts.get(later).is_some_and(|other| other < start)) {
            let other = life.group(later);
            if other != own {
                *turns.entry(other).or_default() += 1;
            }
        }
        most = most.max(turns.into_values().max().unwrap_or(0));
    }
    most
}
