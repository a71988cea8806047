//! One scenario of a comparison with other job queues, as one of them: called with the scenario's name, it reads sizes
//! from the environment and prints one line of JSON. What the scenarios are is in docs/benchmarks.md.
//!
//! - `peer/scenarios.rs` has the scenarios
//! - `peer/table.rs` makes tables of all peers' lines

mod scenarios;
pub(crate) mod table;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::ValueEnum;
use serde_json::{Map, json};

use crate::place::{History, Place, Store};
use crate::work::Length;

/// How a comparison calls us.
#[derive(Debug, clap::Args)]
pub(crate) struct PeerArgs {
    /// What to do
    scenario: Scenario,
    /// Which store: that of `PG_URL`, or a file in `SCRATCH`
    #[arg(long, default_value = "postgres")]
    store: Store,
    /// Over how many groups jobs are spread (`fair`: all have one, `fair_grouped`: each tenant is one)
    #[arg(long, default_value_t = 1_000)]
    groups: u64,
    /// Keep ended jobs, as an application would that wants to look at them
    #[arg(long)]
    history: bool,
    /// Jobs submitted by one call, which stores them in portions; with 1,000, each call waits for its own
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    per_call: u64,
    /// Slots when draining
    #[arg(long, default_value_t = 64)]
    slots: u32,
    /// How jobs of 2 ms wait: for a timer of tokio's, as the other peers in Rust do, or exactly 2 ms
    #[arg(long, default_value = "exact")]
    timer: Timer,
    /// Another name than `turnabout`, `turnabout-history`, `turnabout-sqlite` or `turnabout-sqlite-history`
    #[arg(long)]
    name: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Scenario {
    BulkDrain,
    Single,
    Latency,
    Fair,
    FairGrouped,
    Mvcc,
    MvccHeld,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Timer {
    Exact,
    Tokio,
}

/// Slots of an executor that is not drained.
const FEW: u32 = 4;
const JOB: Duration = Duration::from_millis(2);

/// What the environment says.
struct Sizes {
    bulk: u64,
    single: u64,
    latency: u64,
    fair: u64,
    mvcc: u64,
    cap: Duration,
    fair_cap: Duration,
}

impl Sizes {
    fn read() -> Result<Self> {
        Ok(Self {
            bulk: number("N", 100_000)?,
            single: number("N_SINGLE", 4_000)?,
            latency: number("N_LAT", 300)?,
            fair: number("N_FAIR", 10_000)?,
            mvcc: number("N_MVCC", 50_000)?,
            cap: Duration::from_secs(number("CAP_S", 30)?),
            fair_cap: Duration::from_secs(number("FAIR_CAP_S", 30)?),
        })
    }
}

/// Prints the line.
pub(crate) async fn run(args: PeerArgs) -> Result<()> {
    let sizes = Sizes::read()?;
    let dir = std::env::var_os("SCRATCH").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let url = std::env::var("PG_URL").unwrap_or_default();
    let place = Place::new(args.store, &url, &dir);
    let open = place.open(args.kept()).await?;
    let values = match args.scenario {
        Scenario::BulkDrain => scenarios::bulk_drain(&open, &args, &sizes).await?,
        Scenario::Single => scenarios::single(&open, &args, &sizes).await?,
        Scenario::Latency => scenarios::latency(&open, &args, &sizes).await?,
        Scenario::Fair | Scenario::FairGrouped => scenarios::fair(&open, &args, &sizes).await?,
        Scenario::Mvcc | Scenario::MvccHeld => scenarios::mvcc(&open, &args, &sizes).await?,
    };
    open.close().await?;
    let scenario = args.scenario.to_possible_value().context("every scenario has a name")?;
    let mut line = Map::new();
    line.insert("peer".to_owned(), args.name().into());
    line.insert("version".to_owned(), env!("CARGO_PKG_VERSION").into());
    line.insert("scenario".to_owned(), scenario.get_name().into());
    line.insert("settings".to_owned(), args.settings().into());
    if args.scenario == Scenario::FairGrouped {
        line.insert("feature".to_owned(), json!("group per tenant"));
    }
    line.extend(values);
    println!("{}", serde_json::Value::Object(line));
    Ok(())
}

impl PeerArgs {
    fn kept(&self) -> History {
        if self.history { History::Kept } else { History::None }
    }

    fn name(&self) -> String {
        let usual = || {
            let store = if self.store == Store::Sqlite { "-sqlite" } else { "" };
            let history = if self.history { "-history" } else { "" };
            format!("turnabout{store}{history}")
        };
        self.name.clone().unwrap_or_else(usual)
    }

    fn length(&self) -> Length {
        match self.timer {
            Timer::Exact => Length::Exact(JOB),
            Timer::Tokio => Length::Timer(JOB),
        }
    }

    fn settings(&self) -> String {
        let store = match self.store {
            Store::Postgres => "PostgreSQL",
            Store::Sqlite => "SQLite, WAL, synchronous=full",
        };
        let history = if self.history { "history kept" } else { "retention 0" };
        let rest = match self.scenario {
            Scenario::BulkDrain | Scenario::Mvcc | Scenario::MvccHeld => {
                let (per_call, groups, slots) = (self.per_call, self.groups, self.slots);
                format!("submit_all of {per_call} in portions; {groups} groups; {slots} slots")
            }
            Scenario::Single => format!("submit from 8 callers; {} groups", self.groups),
            Scenario::Latency => format!("{FEW} slots; {} groups", self.groups),
            Scenario::Fair => format!("{FEW} slots; one group; timer {:?}", self.timer),
            Scenario::FairGrouped => format!("{FEW} slots; group per tenant; timer {:?}", self.timer),
        };
        format!("{store}; {history}; {rest}")
    }
}

/// A number from the environment.
fn number(name: &str, usual: u64) -> Result<u64> {
    match std::env::var(name) {
        Ok(text) if !text.is_empty() => {
            let number: f64 = text.parse().with_context(|| format!("{name} should be a number"))?;
            Ok(number.ceil() as u64)
        }
        _ => Ok(usual),
    }
}
