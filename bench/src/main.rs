//! How fast Turnabout is: submitting, draining, latency and a flood, on both stores, beside what the bare storage
//! engines do in the same run. What the numbers mean is in README.md.
//!
//! - `place.rs` opens a fresh store for each measurement
//! - `work.rs` is the task that is measured
//! - `submit.rs`, `drain.rs`, `latency.rs`, `flood.rs` are the scenarios, `ceiling.rs` what they are held against
//! - `report.rs` prints lines and tables

mod ceiling;
mod drain;
mod flood;
mod latency;
mod place;
mod report;
mod submit;
mod work;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, ValueEnum};

use place::{Place, Store};
use report::Report;

/// Measures Turnabout. One JSON line per result on standard output, a table of medians on standard error at the end.
#[derive(Parser, Debug)]
#[command(name = "bench")]
struct Args {
    /// Small sizes, to see whether everything works.
    #[arg(long)]
    quick: bool,
    /// Only these scenarios.
    #[arg(long, value_delimiter = ',')]
    only: Vec<Scenario>,
    /// Only these stores.
    #[arg(long, value_delimiter = ',')]
    store: Vec<Store>,
    /// How often everything is measured; the table shows medians.
    #[arg(long, default_value_t = 3)]
    repeat: u32,
    /// The `PostgreSQL` server: schemas of our own are made in this database and dropped again.
    #[arg(long, env = "PG_URL", default_value = "")]
    pg_url: String,
    /// Where `SQLite` files are made; it should be on a real disk.
    #[arg(long, default_value = "target")]
    dir: PathBuf,
    /// Drain over so many groups (with --backlog: every pair).
    #[arg(long, value_delimiter = ',')]
    groups: Vec<u64>,
    /// Drain so many jobs.
    #[arg(long, value_delimiter = ',')]
    backlog: Vec<u64>,
    /// Drain with so many slots.
    #[arg(long, default_value_t = 64)]
    slots: u32,
    /// Drain only with (`kept`) or without (`none`) history; both unless said.
    #[arg(long)]
    history: Option<History>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Scenario {
    Submit,
    Drain,
    Latency,
    Flood,
}

/// Whether ended jobs are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum History {
    None,
    Kept,
}

impl Args {
    fn stores(&self) -> Vec<Store> {
        if !self.store.is_empty() {
            return self.store.clone();
        }
        let mut stores = vec![Store::Sqlite];
        if self.pg_url.is_empty() {
            eprintln!("PG_URL is not set: PostgreSQL is left out (run this under `scripts/postgres run --fsync --`)");
        } else {
            stores.push(Store::Postgres);
        }
        stores
    }

    fn wants(&self, scenario: Scenario) -> bool {
        self.only.is_empty() || self.only.contains(&scenario)
    }

    /// The drains to measure: groups, backlog.
    fn drains(&self) -> Vec<(u64, u64)> {
        if !self.groups.is_empty() || !self.backlog.is_empty() {
            let or = |given: &[u64], usual: u64| if given.is_empty() { vec![usual] } else { given.to_vec() };
            let backlogs = or(&self.backlog, if self.quick { 10_000 } else { 100_000 });
            return or(&self.groups, 1_000)
                .into_iter()
                .flat_map(|groups| backlogs.iter().map(move |backlog| (groups, *backlog)))
                .collect();
        }
        if self.quick {
            return vec![(1, 10_000), (1_000, 10_000)];
        }
        vec![
            (1, 100_000),
            (100, 100_000),
            (1_000, 100_000),
            (10_000, 100_000),
            (1_000, 10_000),
            (1_000, 1_000_000),
        ]
    }

    fn histories(&self) -> Vec<History> {
        self.history.map_or(vec![History::None, History::Kept], |h| vec![h])
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    let mut report = Report::default();
    for repeat in 1..=args.repeat {
        for store in args.stores() {
            round(&args, store, repeat, &mut report).await?;
        }
    }
    report.table();
    Ok(())
}

/// Every wanted scenario once on one store.
async fn round(args: &Args, store: Store, repeat: u32, report: &mut Report) -> Result<()> {
    let place = Place::new(store, &args.pg_url, &args.dir);
    let small = |usual: u64, quick: u64| if args.quick { quick } else { usual };
    if args.wants(Scenario::Submit) {
        report.add(submit::bulk(&place, small(100_000, 10_000)).await?, repeat);
        report.add(submit::single(&place, small(8_000, 800)).await?, repeat);
    }
    if args.wants(Scenario::Drain) {
        for (groups, backlog) in args.drains() {
            for history in args.histories() {
                report.add(drain::run(&place, groups, backlog, args.slots, history).await?, repeat);
            }
        }
    }
    if args.wants(Scenario::Latency) {
        report.add(latency::run(&place, small(300, 100)).await?, repeat);
    }
    if args.wants(Scenario::Flood) {
        report.add(flood::run(&place, small(10_000, 1_000)).await?, repeat);
    }
    Ok(())
}
