//! What must hold in every simulation, what the workloads show, and that the documentation shows it as it is.

mod holds;
mod published;
mod shows;

use super::metrics::{Metrics, measure};
use super::rule::Rule;
use super::trace::Trace;
use super::workload::{Workload, as_seconds};
use super::{SEED, simulation, workloads};

fn workload(name: &str) -> Workload {
    let (_, make) = workloads::ALL
        .iter()
        .find(|(n, _)| *n == name)
        .expect("there is such a workload");
    make(SEED)
}

fn simulate(name: &str, rule: Rule) -> (Workload, Trace, Metrics) {
    let workload = workload(name);
    let trace = simulation::run(&workload, rule, SEED);
    let metrics = measure(&workload, &trace);
    (workload, trace, metrics)
}

/// By turns, whatever the unit.
const TURNS: [Rule; 3] = [Rule::Jobs, Rule::Items, Rule::Time];
