//! The fairness laboratory: the same workloads under every rule, simulated and real.
//!
//! - `workload.rs` says what a workload is, `workloads.rs` has them all, `rule.rs` the rules
//! - `simulation.rs` runs one event by event on the real rules about turns, `real.rs` with real executors on a real store
//! - both leave a `trace.rs`, of which `metrics.rs` makes numbers, `report.rs` lines and tables, `charts.rs` charts
//!
//! What the workloads show is told in docs/fairness.md, whose charts and tables are made by `--charts`.

mod metrics;
mod report;
mod rule;
mod simulation;
mod trace;
mod workload;
mod workloads;

use anyhow::{Result, bail};

use report::Report;
use rule::Rule;
use workload::Workload;

/// The seed of the published charts.
pub(crate) const SEED: u64 = 1;

/// Shows how fair the rules are: one JSON line for each workload and rule on standard output, tables on standard error.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Only these workloads.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only these rules.
    #[arg(long, value_delimiter = ',')]
    rule: Vec<Rule>,
    /// Everything random follows from this number.
    #[arg(long, default_value_t = SEED)]
    seed: u64,
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
}

/// Runs the laboratory.
pub async fn run(args: Args) -> Result<()> {
    for workload in args.workloads()? {
        let mut report = Report::new(&workload, args.seed);
        for rule in args.rules() {
            let trace = simulation::run(&workload, rule, args.seed);
            println!("{}", report.add(rule, "simulation", &metrics::measure(&workload, &trace)));
        }
        eprintln!("{}", report.table());
    }
    Ok(())
}
