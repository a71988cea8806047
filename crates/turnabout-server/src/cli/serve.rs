//! `turnabout serve`: the API and an executor in the foreground, until they are told to stop.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use turnabout::{Executor, ExecutorHandle};

use super::database::Database;
use super::signals::Signals;
use crate::api::{ApiSettings, Bound, Server};
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
    /// Where the API listens
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "TURNABOUT_ADDRESS",
        default_value = "127.0.0.1:7878"
    )]
    address: SocketAddr,
}

/// What serves.
struct Parts {
    executor: Arc<ExecutorHandle>,
    api: Bound,
    /// Cancelled by a caller of the API who wants the program to end.
    stop: CancellationToken,
}

pub(crate) async fn run(database: &Database, args: Serve) -> anyhow::Result<ExitCode> {
    // First of all, so that no signal finds the program half started.
    let mut signals = Signals::listen()?;
    let deadline = args.deadline;
    let parts = tokio::select! {
        parts = start(database, args) => parts?,
        // Nothing was taken yet. Returning would wait for a connection, perhaps for long.
        () = signals.next() => std::process::exit(INTERRUPTED),
    };
    let Parts { executor, api, stop } = parts;
    tracing::info!(
        "serving the jobs in {} on http://{}; Ctrl-C stops",
        database.name(),
        api.address()
    );
    let over = CancellationToken::new();
    let mut api = tokio::spawn(api.run(over.clone()));

    tokio::select! {
        () = signals.next() => {}
        () = stop.cancelled() => {}
        ended = &mut api => anyhow::bail!("the API ended unexpectedly: {ended:?}"),
    }
    tracing::info!("shutting down; a second signal ends the program at once");
    over.cancel();
    tokio::select! {
        _ = async { tokio::join!(executor.shutdown(deadline), api) } => Ok(ExitCode::SUCCESS),
        () = signals.next() => {
            tracing::warn!("ended at once; other executors take the running jobs over when the lease ends");
            // Returning would wait for whatever blocks a thread.
            std::process::exit(INTERRUPTED)
        }
    }
}

async fn start(database: &Database, args: Serve) -> anyhow::Result<Parts> {
    let jobs = database.open().await?;
    let mut executor = Executor::new(&jobs).task(tasks::sleep).queues(args.queues);
    if let Some(slots) = args.slots {
        executor = executor.slots(slots);
    }
    let settings = ApiSettings {
        address: args.address,
        ..ApiSettings::default()
    };
    let stop = CancellationToken::new();
    // First what can be refused, so that nothing is registered in vain.
    let api = Server::new(&jobs, settings).stop(&stop).bind().await?;
    let executor = Arc::new(executor.start().await?);
    let api = api.executor(&executor);
    Ok(Parts { executor, api, stop })
}
