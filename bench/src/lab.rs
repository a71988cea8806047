//! The fairness laboratory: the same workloads under every rule, simulated and real.
//!
//! - `workload.rs` says what a workload is, `workloads.rs` has them all, `rule.rs` the rules
//! - `simulation.rs` runs one event by event on the real rules about turns, `real.rs` with real executors on a real store
//! - both leave a `trace.rs`, of which `metrics.rs` makes numbers, `report.rs` lines and tables, `charts.rs` charts
//!
//! What the workloads show is told in docs/fairness.md, whose charts and tables are made by `--charts`.

mod chart;
mod charts;
mod foretold;
mod metrics;
mod pages;
mod real;
mod report;
mod rule;
mod simulation;
mod svg;
#[cfg(test)]
mod tests;
mod trace;
mod workload;
mod workloads;

use std::path::PathBuf;

use anyhow::{Result, bail};

use charts::Results;
use report::Report;
use rule::Rule;
use workload::Workload;

use crate::place::{Place, Store};

/// What a simulation is called beside stores.
const SIMULATION: &str = "simulation";
/// The seed of the published charts.
pub(crate) const SEED: u64 = 1;

/// Shows how fair the rules are: one JSON line for each workload and rule on standard output, tables on standard error.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Only these workloads
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only these rules
    #[arg(long, value_delimiter = ',')]
    rule: Vec<Rule>,
    /// Everything random follows from this number
    #[arg(long, default_value_t = SEED)]
    seed: u64,
    /// Write charts into this folder, and tables into the page of the same name beside it (docs/fairness: docs/fairness.md)
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["rule", "real"])]
    charts: Option<PathBuf>,
    /// Run real executors too, faster than the workloads say, and the simulation as fast as that
    #[arg(long)]
    real: bool,
    /// Only run real executors, ask jobs that wait when they will start, and say how often that was true
    #[arg(long, requires = "real")]
    foretold: bool,
    /// Only these stores
    #[arg(long, value_delimiter = ',', requires = "real")]
    store: Vec<Store>,
    /// The `PostgreSQL` server: schemas of our own are made in this database and dropped again
    #[arg(long, env = "PG_URL", hide_env_values = true, default_value = "")]
    pg_url: String,
    /// Where `SQLite` files are made
    #[arg(long, default_value = "target")]
    dir: PathBuf,
}

impl Args {
    /// The workloads that are wanted.
    fn workloads(&self) -> Result<Vec<Workload>> {
        for name in &self.only {
            if !workloads::ALL.iter().any(|(known, _)| known == name) {
                let known: Vec<&str> = workloads::ALL.iter().map(|(known, _)| *known).collect();
                bail!("there is no workload `{name}`; there are {}", known.join(", "));
            }
        }
        let wanted = |name: &str| self.only.is_empty() || self.only.iter().any(|only| only == name);
        let recipes = workloads::ALL.iter().filter(|(name, _)| wanted(name));
        Ok(recipes.map(|(_, make)| make(self.seed)).collect())
    }

    fn rules(&self) -> Vec<Rule> {
        if self.rule.is_empty() {
            Rule::ALL.to_vec()
        } else {
            self.rule.clone()
        }
    }

    fn places(&self) -> Vec<Place> {
        let wanted = match (self.store.as_slice(), self.pg_url.as_str()) {
            ([], "") => vec![Store::Sqlite],
            ([], _) => vec![Store::Sqlite, Store::Postgres],
            (stores, _) => stores.to_vec(),
        };
        let place = |store| Place::new(store, &self.pg_url, &self.dir);
        wanted.into_iter().map(place).collect()
    }
}

/// Runs the laboratory.
pub(crate) async fn run(args: Args) -> Result<()> {
    if args.foretold {
        return foretell(&args).await;
    }
    for workload in args.workloads()? {
        let table = if args.real {
            compare(&args, &workload.hurried(workload.hurry)).await?
        } else {
            simulate(&args, &workload)?
        };
        eprintln!("{}:\n\n{table}", workload.name);
    }
    Ok(())
}

/// When jobs were said to start, and when they did.
async fn foretell(args: &Args) -> Result<()> {
    print!("{}", foretold::HEAD);
    for workload in args.workloads()? {
        let workload = workload.hurried(workload.hurry);
        for place in args.places() {
            let (trace, said) = real::foretell(&workload, Rule::Jobs, &place).await?;
            print!("{}", foretold::row(workload.name, place.store.name(), &trace, &said));
        }
    }
    Ok(())
}

/// A workload simulated, and shown in charts if that is wanted.
fn simulate(args: &Args, workload: &Workload) -> Result<String> {
    let mut report = Report::new(workload, args.seed);
    let mut traces = Vec::new();
    for rule in args.rules() {
        let trace = simulation::run(workload, rule, args.seed);
        println!("{}", report.add(rule, SIMULATION, &metrics::measure(workload, &trace)));
        traces.push((rule, trace));
    }
    let table = report.table();
    if let Some(folder) = &args.charts {
        let results = Results {
            workload,
            seed: args.seed,
            traces,
        };
        pages::write(folder, workload.name, &charts::chart(&results).svg(), &table)?;
    }
    Ok(table)
}

/// A workload simulated and run, side by side.
async fn compare(args: &Args, workload: &Workload) -> Result<String> {
    let mut report = Report::new(workload, args.seed);
    for rule in args.rules() {
        let trace = simulation::run(workload, rule, args.seed);
        println!("{}", report.add(rule, SIMULATION, &metrics::measure(workload, &trace)));
        for place in args.places() {
            let trace = real::run(workload, rule, &place).await?;
            println!(
                "{}",
                report.add(rule, place.store.name(), &metrics::measure(workload, &trace))
            );
        }
    }
    Ok(report.table())
}
