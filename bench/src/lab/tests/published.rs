//! The charts and tables in docs/ are what the command writes: `turnabout lab --charts docs/fairness`.

use std::fs;
use std::path::Path;

use super::super::charts::{Results, chart};
use super::super::pages::{chart_file, with_table};
use super::super::report::Report;
use super::*;

fn is_published(name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/fairness");
    let workload = workload(name);
    let mut report = Report::new(&workload, SEED);
    let mut traces = Vec::new();
    for rule in Rule::ALL {
        let trace = simulation::run(&workload, rule, SEED);
        report.add(rule, super::super::SIMULATION, &measure(&workload, &trace));
        traces.push((rule, trace));
    }
    let results = Results {
        workload: &workload,
        seed: SEED,
        traces,
    };
    let again = "write it again with `turnabout lab --charts docs/fairness`";
    let published = fs::read_to_string(chart_file(&folder, name)).expect("there is a chart");
    assert!(
        published == chart(&results).svg(),
        "the chart of {name} is out of date; {again}"
    );
    let page = fs::read_to_string(folder.with_extension("md")).expect("there is a page");
    let new = with_table(&page, name, &report.table()).expect("the page has a table of it");
    assert!(page == new, "the table of {name} is out of date; {again}");
}

/// One test for each workload, since tests run side by side.
macro_rules! published {
    ($($test:ident = $name:literal),+ $(,)?) => {
        $(#[test] fn $test() { is_published($name); })+

        #[test]
        fn every_workload_is_published() {
            let names: Vec<&str> = workloads::ALL.iter().map(|(name, _)| *name).collect();
            assert_eq!(names, [$($name),+]);
        }
    };
}

published! {
    the_flood_is_as_published = "flood",
    long_and_short_are_as_published = "long-short",
    the_surprise_is_as_published = "surprise",
    the_sybil_is_as_published = "sybil",
    bursts_are_as_published = "bursty",
    heavy_tails_are_as_published = "heavy-tailed",
    weights_are_as_published = "weights",
    caps_are_as_published = "caps",
    the_storm_is_as_published = "storm",
    joining_is_as_published = "joining",
}
