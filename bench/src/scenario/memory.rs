//! How much memory an executor needs while very many jobs wait.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::meter;
use crate::place::{Address, History, Place};
use crate::report::Measured;
use crate::work::{Length, Notes, execute, stop, submit};

const GROUPS: u64 = 1_000;
/// Long enough to see whether it grows with what has been done.
const LONGEST: Duration = Duration::from_secs(20);

/// An executor in a process of its own, so that its memory is not that of the one that made the backlog.
#[derive(Debug, clap::Args)]
pub(crate) struct ExecutorArgs {
    /// The store
    #[arg(long)]
    url: String,
    /// Its schema
    #[arg(long)]
    schema: String,
    /// How many slots
    #[arg(long)]
    slots: u32,
    /// How many jobs wait
    #[arg(long)]
    jobs: u64,
}

/// What it tells.
#[derive(Serialize, Deserialize)]
struct Told {
    ran: u64,
    began_mib: Option<f64>,
    peak_mib: Option<f64>,
}

/// The peak of an executor that works on such a backlog for a while, as fast as it can.
pub(crate) async fn run(place: &Place, jobs: u64, slots: u32) -> Result<Measured> {
    let open = place.open(History::Kept).await?;
    submit(&open.jobs, 0..jobs, GROUPS, 10_000).await?;
    open.analyze().await?;
    let output = tokio::process::Command::new(std::env::current_exe()?)
        .args(["executor", "--url", &open.address.url, "--schema", &open.address.schema])
        .args(["--slots", &slots.to_string(), "--jobs", &jobs.to_string()])
        .stderr(Stdio::inherit())
        .output()
        .await
        .context("starting an executor in a process of its own")?;
    ensure!(output.status.success(), "the executor in a process of its own failed");
    let told: Told = serde_json::from_slice(&output.stdout).context("reading what the executor tells")?;
    open.close().await?;
    Ok(Measured::new("memory", place.store)
        .setting("jobs", jobs)
        .setting("groups", GROUPS)
        .setting("slots", slots)
        .maybe("peak_mib", told.peak_mib)
        .maybe("began_mib", told.began_mib)
        .value("ran", told.ran as f64))
}

/// The process of its own.
pub(crate) async fn execute_here(args: ExecutorArgs) -> Result<()> {
    let address = Address {
        url: args.url,
        schema: args.schema,
        retention: Duration::from_hours(30 * 24),
    };
    let jobs = address.open().await?;
    // It notes no single job's start: that would be memory of the benchmark's.
    let notes = Notes::new(0, Length::Nothing);
    let began_mib = meter::memory();
    let executor = execute(&jobs, &notes, args.slots).await?;
    notes.wait_for(args.jobs, LONGEST).await;
    let told = Told {
        ran: notes.ended(),
        began_mib,
        peak_mib: meter::peak_memory(),
    };
    stop(vec![executor]).await;
    println!("{}", serde_json::to_string(&told)?);
    Ok(())
}
