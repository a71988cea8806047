//! A worker process: an executor as any application would run it. Ends with its coordinator.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio::io::AsyncReadExt;
use tokio::signal::unix::{SignalKind, signal};
use turnabout::{ExecutorHandle, Jobs};

use crate::record::{Record, SideLog, now};
use crate::tasks::{App, executor};

/// The exit code of a worker whose id is taken.
pub const REFUSED: i32 = 3;
/// The exit code of a worker that was told to stop twice.
pub const AT_ONCE: i32 = 130;

/// How a worker behaves.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// The store's URL.
    #[arg(long)]
    pub store: String,
    /// The side log.
    #[arg(long)]
    pub side: PathBuf,
    /// The executor's id.
    #[arg(long)]
    pub name: String,
    /// Which process of the run this is.
    #[arg(long)]
    pub process: u32,
    /// How many jobs it runs at a time.
    #[arg(long)]
    pub slots: u32,
    /// How often the lease is renewed, in milliseconds.
    #[arg(long)]
    pub heartbeat: u64,
    /// How long it lasts, in milliseconds.
    #[arg(long)]
    pub lease: u64,
}

/// Works until it is told to stop, or the coordinator is gone. Returns the exit code; the caller exits with it at once,
/// since the thread that reads standard input would keep a runtime from ending.
pub async fn work(options: Options) -> Result<i32> {
    let mut terminate = signal(SignalKind::terminate())?;
    let app = App::new(SideLog::open(&options.side)?, options.process);
    let handle = tokio::select! {
        handle = start(&options, &app) => handle,
        _ = terminate.recv() => return Ok(0),
        () = orphaned() => return Ok(1),
    };
    let handle = match handle {
        Ok(handle) => Arc::new(handle),
        Err(error) => {
            tracing::warn!("refused: {}", error.chain());
            return Ok(REFUSED);
        }
    };
    watch_lease(&app, &handle);
    app.executor.send_replace(Some(Arc::clone(&handle)));
    tokio::select! {
        _ = terminate.recv() => {}
        () = orphaned() => return Ok(1),
    }
    tokio::select! {
        () = handle.shutdown(Duration::from_secs(1)) => Ok(0),
        _ = terminate.recv() => Ok(AT_ONCE),
        () = orphaned() => Ok(1),
    }
}

/// Opens the store and starts the executor. A store that cannot be reached is waited for; an error that waiting does not
/// help is returned.
async fn start(options: &Options, app: &Arc<App>) -> turnabout::Result<ExecutorHandle> {
    loop {
        let jobs = match Jobs::open(&options.store).connections(6).await {
            Ok(jobs) => jobs,
            Err(error) => {
                tracing::warn!("cannot open the store yet: {}", error.chain());
                tokio::time::sleep(Duration::from_millis(200)).await;
                continue;
            }
        };
        let started = executor(&jobs, Arc::clone(app), options.store.starts_with("postgres"))
            .name(&options.name)
            .slots(options.slots)
            .lease(
                Duration::from_millis(options.heartbeat),
                Duration::from_millis(options.lease),
            )
            .grace(Duration::from_millis(300))
            .start()
            .await;
        match started {
            Err(error) if error.is_transient() => {
                tracing::warn!("cannot start yet: {}", error.chain());
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            started => return started,
        }
    }
}

/// Waits until whoever holds the other end of standard input is gone.
async fn orphaned() {
    let mut stdin = tokio::io::stdin();
    let mut byte = [0];
    while !matches!(stdin.read(&mut byte).await, Ok(0) | Err(_)) {}
}

/// Writes each renewal of the lease into the side log, from a thread that nothing else keeps busy.
fn watch_lease(app: &Arc<App>, handle: &Arc<ExecutorHandle>) {
    let (app, handle) = (Arc::clone(app), Arc::clone(handle));
    std::thread::spawn(move || {
        let mut last = (uuid::Uuid::nil(), 0);
        loop {
            // Before looking: should this thread stand still in between, the lease looks older than it is, not younger.
            let before = now();
            let health = handle.health();
            if let Some(ago) = health.renewed.filter(|_| health.registered) {
                let at = before.saturating_sub(ago.as_nanos() as u64);
                if last.0 != health.incarnation || at > last.1 + 5_000_000 {
                    last = (health.incarnation, at);
                    app.side.write(&Record::Renewed {
                        process: app.process,
                        incarnation: health.incarnation,
                        at,
                    });
                }
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    });
}
