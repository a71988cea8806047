//! `turnabout serve`: an executor in the foreground, until it is told to stop.

use std::process::ExitCode;
use std::time::Duration;

use turnabout::{Executor, ExecutorHandle, Jobs, LogLimits};

use super::global::{self, Global};
use super::signals::Signals;
use crate::config::{Config, Flags};
use crate::tasks;

/// The exit code by which shells know that a program was interrupted.
const INTERRUPTED: i32 = 130;
/// Programs are killed after the grace period; then their handlers have so long to see it.
const REAPING: Duration = Duration::from_secs(5);

#[derive(Debug, clap::Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    flags: Flags,
}

pub(crate) async fn run(global: &Global, args: Serve) -> anyhow::Result<ExitCode> {
    // First of all, so that no signal finds the program half started.
    let mut signals = Signals::listen()?;
    let config = global.sources(&args.flags).read()?;
    let (_jobs, executor) = tokio::select! {
        executor = start(&config) => executor?,
        // Nothing was taken yet. Returning would wait for a connection, perhaps for long.
        () = signals.next() => std::process::exit(INTERRUPTED),
    };
    tracing::info!("serving the jobs in {}; Ctrl-C stops", config.store.database.shown());

    signals.next().await;
    tracing::info!("shutting down; a second signal ends the program at once");
    tokio::select! {
        () = executor.shutdown(config.executor.shutdown_deadline) => Ok(ExitCode::SUCCESS),
        () = signals.next() => {
            tracing::warn!("ended at once; other executors take the running jobs over when the lease ends");
            tasks::kill_all();
            // Returning would wait for whatever blocks a thread.
            std::process::exit(INTERRUPTED)
        }
    }
}

async fn start(config: &Config) -> anyhow::Result<(Jobs, ExecutorHandle)> {
    let jobs = global::open(config).await?;
    let executor = executor(&jobs, config)?.start().await?;
    Ok((jobs, executor))
}

/// An executor as the configuration says.
fn executor(jobs: &Jobs, config: &Config) -> anyhow::Result<Executor> {
    let settings = &config.executor;
    let mut executor = Executor::new(jobs)
        .queues(&settings.queues)
        .scheme(&settings.counting_scheme.0)
        .fairness(settings.fairness)
        .lease(settings.heartbeat, settings.lease)
        .grace(settings.grace + REAPING)
        .wake_up(settings.wakeup_period)
        .log_limits(LogLimits {
            buffer: settings.log_buffer_size as usize,
            line: settings.log_line_length as usize,
            job: settings.log_lines as usize,
        });
    if let Some(slots) = settings.pool_size {
        executor = executor.slots(slots);
    }
    if let Some(name) = &settings.name {
        executor = executor.name(name);
    }
    tasks::add_all(executor, config)
}
