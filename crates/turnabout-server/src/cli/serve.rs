//! `turnabout serve`: an executor in the foreground, until it is told to stop.

use std::process::ExitCode;
use std::time::Duration;

use turnabout::{Executor, ExecutorHandle};

use super::database::Database;
use super::signals::Signals;
use crate::tasks;

/// The exit code by which shells know that a program was interrupted.
const INTERRUPTED: i32 = 130;

#[derive(Debug, clap::Args)]
pub(crate) struct Serve {
    /// How many jobs run at a time [default: the number of processors]
    #[arg(long, value_name = "N", env = "TURNABOUT_SLOTS")]
    slots: Option<u32>,
    /// A queue whose jobs are taken; may be given several times
    #[arg(long = "queue", value_name = "NAME", default_value = "default")]
    queues: Vec<String>,
    /// How long running jobs may go on after SIGTERM or Ctrl-C
    #[arg(long, value_name = "DURATION", default_value = "30 seconds", value_parser = super::duration)]
    deadline: Duration,
}

pub(crate) async fn run(database: &Database, args: Serve) -> anyhow::Result<ExitCode> {
    // First of all, so that no signal finds the program half started.
    let mut signals = Signals::listen()?;
    let deadline = args.deadline;
    let executor = tokio::select! {
        executor = start(database, args) => executor?,
        // Nothing was taken yet. Returning would wait for a connection, perhaps for long.
        () = signals.next() => std::process::exit(INTERRUPTED),
    };
    tracing::info!("serving the jobs in {}; Ctrl-C stops", database.name());

    signals.next().await;
    tracing::info!("shutting down; a second signal ends the program at once");
    tokio::select! {
        () = executor.shutdown(deadline) => Ok(ExitCode::SUCCESS),
        () = signals.next() => {
            tracing::warn!("ended at once; other executors take the running jobs over when the lease ends");
            // Returning would wait for whatever blocks a thread.
            std::process::exit(INTERRUPTED)
        }
    }
}

async fn start(database: &Database, args: Serve) -> anyhow::Result<ExecutorHandle> {
    let jobs = database.open().await?;
    let mut executor = Executor::new(&jobs).task(tasks::sleep).queues(args.queues);
    if let Some(slots) = args.slots {
        executor = executor.slots(slots);
    }
    Ok(executor.start().await?)
}
