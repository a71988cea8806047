//! The charts and tables in docs/ are what the command writes.

use std::fs;
use std::path::Path;

use super::super::charts::{Results, chart};
use super::super::metrics::Metrics;
use super::super::pages::{chart_file, with_table};
use super::super::report::Report;
use super::super::rule::Rule;

/// Checks that a workload is published as it was simulated.
pub(super) fn check(results: &Results<'_>, metrics: &[(Rule, Metrics)]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/fairness");
    let name = results.workload.name;
    let mut report = Report::new(results.workload, results.seed);
    for (rule, metrics) in metrics {
        report.add(*rule, super::super::SIMULATION, metrics);
    }
    let again = "write it again with `turnabout-bench lab --charts docs/fairness`";
    let published = fs::read_to_string(chart_file(&folder, name)).unwrap_or_default();
    assert!(
        published == chart(results).svg(),
        "the chart of {name} is out of date; {again}"
    );
    let page = fs::read_to_string(folder.with_extension("md")).unwrap_or_default();
    let new = with_table(&page, name, &report.table());
    assert!(
        new.as_ref() == Some(&page),
        "the table of {name} is out of date; {again}"
    );
}
