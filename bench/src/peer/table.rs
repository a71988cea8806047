//! All peers of a comparison in one table, and the ceilings in another.

use serde_json::Value;

use crate::report::median;
use crate::table::{cell, markdown, number};

/// A column: its title, the scenario, the key in its lines.
const COLUMNS: [(&str, &str, &str); 13] = [
    ("bulk/s", "bulk_drain", "bulk_insert_per_s"),
    ("drain/s", "bulk_drain", "drain_per_s"),
    ("single/s", "single", "single_insert_per_s"),
    ("latency p50", "latency", "p50_ms"),
    ("latency p99", "latency", "p99_ms"),
    ("fair p50", "fair", "p50_ms"),
    ("fair max", "fair", "max_ms"),
    ("span s", "fair", "makespan_s"),
    ("grouped p50", "fair_grouped", "p50_ms"),
    ("grouped max", "fair_grouped", "max_ms"),
    ("span s", "fair_grouped", "makespan_s"),
    ("mvcc/s", "mvcc", "drain_per_s"),
    ("held/s", "mvcc_held", "drain_per_s"),
];
/// A flood of fewer is not done.
const FLOOD: u64 = 10_000;

/// The two tables; nothing if no line is a peer's.
pub(crate) fn of_lines(lines: &[Value]) -> String {
    let mut peers: Vec<&str> = Vec::new();
    let mut ceilings: Vec<&str> = Vec::new();
    for line in lines {
        let (Some(peer), Some(scenario)) = (line["peer"].as_str(), line["scenario"].as_str()) else {
            continue;
        };
        let (list, name) = if peer == "ceiling" {
            (&mut ceilings, scenario)
        } else {
            (&mut peers, peer)
        };
        if !list.contains(&name) {
            list.push(name);
        }
    }
    let mut text = String::new();
    if !peers.is_empty() {
        let mut rows = vec![vec!["peer".to_owned()]];
        rows[0].extend(COLUMNS.iter().map(|(title, ..)| (*title).to_owned()));
        rows[0].extend(["held/free", "runs"].map(str::to_owned));
        rows.extend(peers.into_iter().map(|peer| row(lines, peer)));
        text.push_str("\n**peers** (times in ms, spans in s)\n\n");
        text.push_str(&markdown(&rows, 1));
    }
    if !ceilings.is_empty() {
        let mut rows = vec![vec!["ceiling".to_owned(), "per s".to_owned()]];
        for scenario in ceilings {
            let of = lines
                .iter()
                .filter(|l| l["peer"] == "ceiling" && l["scenario"] == scenario);
            let found: Vec<f64> = of.filter_map(|line| line["per_s"].as_f64()).collect();
            rows.push(vec![scenario.to_owned(), cell(&found)]);
        }
        text.push_str("\n**ceilings of the same run**\n\n");
        text.push_str(&markdown(&rows, 1));
    }
    text
}

fn row(lines: &[Value], peer: &str) -> Vec<String> {
    let mut row = vec![peer.to_owned()];
    let mut runs = 0;
    for (title, scenario, key) in COLUMNS {
        let of: Vec<&Value> = lines
            .iter()
            .filter(|l| l["peer"] == peer && l["scenario"] == scenario)
            .collect();
        runs = runs.max(of.len());
        // A wait that did not end is infinite.
        let found: Vec<f64> = of
            .iter()
            .map(|line| line[key].as_f64().unwrap_or(f64::INFINITY))
            .collect();
        let mut text = match found.as_slice() {
            [] => "-".to_owned(),
            found if median(found).is_infinite() => "never".to_owned(),
            found if title.ends_with("/s") => cell(found),
            found => number(median(found)),
        };
        let unfinished = of
            .iter()
            .filter(|line| line["done"].as_u64().is_some_and(|done| done < FLOOD))
            .count();
        if key == "makespan_s" && unfinished * 2 > of.len() {
            text.insert(0, '>');
        }
        row.push(text);
    }
    let rate = |scenario: &str| {
        let of = lines.iter().filter(|l| l["peer"] == peer && l["scenario"] == scenario);
        let found: Vec<f64> = of.filter_map(|line| line["drain_per_s"].as_f64()).collect();
        (!found.is_empty()).then(|| median(&found))
    };
    row.push(match (rate("mvcc_held"), rate("mvcc")) {
        (Some(held), Some(free)) if free > 0.0 => format!("{:.2}", held / free),
        _ => "-".to_owned(),
    });
    row.push(runs.to_string());
    row
}
