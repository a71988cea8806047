//! A worker process: an executor as any application would run it. Ends with its coordinator.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt;
use tokio::signal::unix::{SignalKind, signal};
use turnabout::executor::Health;
use turnabout::{ExecutorHandle, Jobs};

use crate::record::{Moment, Record, SideLog, now};
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
    /// How many connections it may have.
    #[arg(long, default_value_t = 6)]
    pub connections: u32,
    /// Where it listens, past a pooler.
    #[arg(long)]
    pub listen_url: Option<String>,
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
    watch(&app, &handle, Wellness::path(&options.side, options.process));
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
    let mut told = String::new();
    loop {
        let mut open = Jobs::open(&options.store).connections(options.connections);
        if let Some(url) = &options.listen_url {
            open = open.listen_url(url);
        }
        let jobs = match open.await {
            Ok(jobs) => jobs,
            Err(error) => {
                tell_once(&mut told, &format!("cannot open the store yet: {}", error.chain()));
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
                tell_once(&mut told, &format!("cannot start yet: {}", error.chain()));
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            started => return started,
        }
    }
}

/// The same again is not worth a line.
fn tell_once(told: &mut String, message: &str) {
    if told != message {
        message.clone_into(told);
        tracing::warn!("{message}");
    }
}

/// Waits until whoever holds the other end of standard input is gone.
async fn orphaned() {
    let mut stdin = tokio::io::stdin();
    let mut byte = [0];
    while !matches!(stdin.read(&mut byte).await, Ok(0) | Err(_)) {}
}

/// What a worker says about itself, in a file of its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Wellness {
    /// When.
    pub at: Moment,
    /// Whether all is well.
    pub good: bool,
    /// What is not.
    pub why: String,
}

impl Wellness {
    /// The file of a process, beside the side log.
    pub fn path(side: &Path, process: u32) -> PathBuf {
        side.with_file_name(format!("health-{process}.json"))
    }

    fn of(at: Moment, health: &Health) -> Self {
        let mut why = String::new();
        if !health.is_good() {
            why = format!(
                "registered {}, failing {:?}, behind {:?}",
                health.registered, health.troubles, health.behind
            );
        }
        let good = health.is_good();
        Self { at, good, why }
    }

    /// Whoever reads it at the same time sees the last one or this one.
    fn write(&self, path: &Path) -> Result<()> {
        let next = path.with_extension("next");
        std::fs::write(&next, serde_json::to_vec(self)?)?;
        std::fs::rename(next, path)?;
        Ok(())
    }
}

/// Writes each renewal of the lease into the side log, and how the executor is, from a thread that nothing else keeps busy.
fn watch(app: &Arc<App>, handle: &Arc<ExecutorHandle>, wellness: PathBuf) {
    let (app, handle) = (Arc::clone(app), Arc::clone(handle));
    std::thread::spawn(move || {
        let mut last = (uuid::Uuid::nil(), 0);
        loop {
            // Before looking: should this thread stand still in between, the lease looks older than it is, not younger.
            let before = now();
            let health = handle.health();
            if let Err(error) = Wellness::of(before, &health).write(&wellness) {
                tracing::warn!(%error, "cannot say how the executor is");
            }
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
