//! `turnabout-chaos`: tries to break Turnabout.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Parser;
use turnabout_chaos::crowd::{Crowd, gather};
use turnabout_chaos::limits::{self, Limit, Trial};
use turnabout_chaos::run::{Plan, Target, run};
use turnabout_chaos::{check, history, record, worker};

/// Tries to break Turnabout: executor processes, a nemesis, and a checker of what happened.
#[derive(Debug, Parser)]
#[command(version)]
enum Chaos {
    /// Runs for a while, and checks what happened.
    Run {
        /// Which store.
        #[arg(long, value_enum)]
        store: Target,
        /// How long the nemesis rages, in seconds.
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        /// Decides everything that is decided by chance [default: another one each time]
        #[arg(long)]
        seed: Option<u64>,
        /// Worker processes.
        #[arg(long, default_value_t = 3)]
        workers: usize,
        /// Schedules that fire every second.
        #[arg(long, default_value_t = 10)]
        schedules: usize,
        /// Leaves out what comes after the storm: each kind of fault by itself, until every worker is well again.
        #[arg(long)]
        no_drills: bool,
        /// Where the run's files go [default: a folder in the temporary one]
        #[arg(long)]
        folder: Option<PathBuf>,
    },
    /// Many worker processes on a `PostgreSQL` that accepts a certain number of connections.
    Crowd {
        /// Worker processes.
        #[arg(long, default_value_t = 20)]
        processes: usize,
        /// How many connections the server accepts.
        #[arg(long, default_value_t = 100)]
        max_connections: u32,
        /// How long jobs are submitted once all have had the time to join, in seconds.
        #[arg(long, default_value_t = 30)]
        seconds: u64,
    },
    /// Jobs under a limit, while workers are killed: never more than may be, and hardly ever fewer.
    Limits {
        /// Which store.
        #[arg(long, value_enum)]
        store: Target,
        /// Which limit.
        #[arg(long, value_enum)]
        limit: Limit,
        /// How many jobs.
        #[arg(long, default_value_t = 10_000)]
        jobs: usize,
        /// How long each takes, in milliseconds.
        #[arg(long, default_value_t = 200)]
        takes: u64,
        /// How often a worker is killed, in seconds. 0: never.
        #[arg(long, default_value_t = 15)]
        kill: u64,
    },
    /// A worker process (started by `limits`).
    #[command(hide = true)]
    LimitsWorker(limits::WorkerOptions),
    /// Checks the side log of a run once more.
    Check {
        /// The side log.
        side: PathBuf,
    },
    /// A worker process (started by `run`).
    #[command(hide = true)]
    Worker(worker::Options),
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<ExitCode> {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
    match Chaos::parse() {
        Chaos::Worker(options) => std::process::exit(worker::work(options).await?),
        Chaos::Check { side } => {
            let history = history::History::new(record::read(&side)?);
            let violations = check::check(&history);
            for violation in &violations {
                println!("VIOLATION {violation}");
                for line in violation.job.map(|job| history.of_job(job)).unwrap_or_default() {
                    println!("  {line}");
                }
            }
            println!("{} violations", violations.len());
            Ok(verdict(violations.is_empty()))
        }
        Chaos::LimitsWorker(options) => {
            limits::work(options).await?;
            Ok(ExitCode::SUCCESS)
        }
        Chaos::Limits {
            store,
            limit,
            jobs,
            takes,
            kill,
        } => {
            let seed = fastrand::u64(..);
            let trial = Trial {
                target: store,
                limit,
                jobs,
                takes: Duration::from_millis(takes),
                workers: 4,
                slots: 8,
                kill: Duration::from_secs(kill),
                seed,
                program: std::env::current_exe().context("cannot tell which program this is")?,
                folder: std::env::temp_dir().join(format!("turnabout-limits-{seed}-{}", std::process::id())),
            };
            println!("seed {seed}, files in {}", trial.folder.display());
            let outcome = limits::hold(&trial).await?;
            print!("{outcome}");
            Ok(verdict(outcome.is_good()))
        }
        Chaos::Crowd {
            processes,
            max_connections,
            seconds,
        } => {
            let seed = fastrand::u64(..);
            let crowd = Crowd {
                processes,
                accepted: max_connections,
                press: Duration::from_secs(seconds),
                idle: true,
                seed,
                program: std::env::current_exe().context("cannot tell which program this is")?,
                folder: std::env::temp_dir().join(format!("turnabout-crowd-{seed}-{}", std::process::id())),
            };
            println!("seed {seed}, files in {}", crowd.folder.display());
            let outcome = gather(&crowd).await?;
            print!("{outcome}");
            Ok(verdict(outcome.is_good()))
        }
        Chaos::Run {
            store,
            seconds,
            seed,
            workers,
            schedules,
            no_drills,
            folder,
        } => {
            let seed = seed.unwrap_or_else(|| fastrand::u64(..));
            let temporary = || std::env::temp_dir().join(format!("turnabout-chaos-{seed}-{}", std::process::id()));
            let plan = Plan {
                target: store,
                storm: Duration::from_secs(seconds),
                seed,
                workers,
                schedules,
                drills: !no_drills,
                program: std::env::current_exe().context("cannot tell which program this is")?,
                folder: folder.unwrap_or_else(temporary),
            };
            println!("seed {seed}, files in {}", plan.folder.display());
            let report = run(&plan).await.with_context(|| format!("seed {seed}"))?;
            print!("{report}");
            Ok(verdict(report.is_good()))
        }
    }
}

fn verdict(good: bool) -> ExitCode {
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
