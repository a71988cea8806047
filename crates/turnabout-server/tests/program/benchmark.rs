//! The benchmark works: every scenario, small. What it measures is nobody's business here.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::place::Place;

/// Every line of JSON that a command prints which must succeed, and what it says beside.
fn lines(place: &Place, args: &[&str]) -> (Vec<Value>, String) {
    let mut command = place.command(args);
    let sizes = [
        ("N", "300"),
        ("N_SINGLE", "40"),
        ("N_LAT", "5"),
        ("N_FAIR", "50"),
        ("N_MVCC", "200"),
    ];
    command.envs(sizes).env("SCRATCH", ".");
    match place.server() {
        Some(url) => command.env("PG_URL", url),
        None => command.env_remove("PG_URL"),
    };
    let output = command.output().expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {errors}");
    let text = String::from_utf8(output.stdout).expect("text");
    let lines = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"));
    (lines.collect(), errors)
}

fn store(place: &Place) -> &'static str {
    if place.server().is_some() { "postgres" } else { "sqlite" }
}

pub(crate) fn every_scenario_of_the_benchmark_gives_results_and_a_table(place: &Place) {
    let mut args = vec![
        "bench",
        "--quick",
        "--repeat",
        "1",
        "--store",
        store(place),
        "--dir",
        ".",
    ];
    args.extend([
        "--jobs",
        "60",
        "--groups",
        "10",
        "--backlog",
        "200",
        "--executors",
        "1,2",
        "--pinned",
    ]);
    args.extend(["--rate", "50", "--seconds", "1"]);
    let (lines, table) = lines(place, &args);
    assert_eq!(lines[0]["scenario"], "machine");
    let scenarios: BTreeSet<&str> = lines[1..]
        .iter()
        .map(|l| l["scenario"].as_str().expect("a name"))
        .collect();
    let mut expected: BTreeSet<&str> = [
        "submit-bulk",
        "submit-single",
        "drain",
        "steady",
        "latency",
        "flood",
        "telling",
        "unknown",
        "limited",
        "cost",
        "idle",
        "memory",
        "schedules",
    ]
    .into();
    if place.server().is_some() {
        expected.insert("submit-within");
    }
    assert_eq!(scenarios, expected);
    for line in &lines[1..] {
        let values = line["values"].as_object().expect("values");
        assert!(!values.is_empty() && values.values().all(Value::is_number), "{line}");
    }
    // With and without history, pinned and not, by one and by two.
    assert_eq!(lines.iter().filter(|line| line["scenario"] == "drain").count(), 8);
    for scenario in expected {
        assert!(table.contains(&format!("**{scenario}**")), "{table}");
    }

    let file = place.write("results.jsonl", &lines);
    let tables = place.ask(&["bench", "table", &file]);
    assert!(tables.contains("**goals**") && tables.contains("**drain**"), "{tables}");
    let ratios = place.ask(&["bench", "compare", &file, &file]);
    assert!(ratios.contains("1.00 - 1.00"), "{ratios}");
}

pub(crate) fn the_program_takes_part_in_a_comparison_with_other_queues(place: &Place) {
    let scenarios = [
        ("bulk_drain", "drain_per_s"),
        ("single", "single_insert_per_s"),
        ("latency", "p99_ms"),
        ("fair", "makespan_s"),
        ("fair_grouped", "max_ms"),
        ("mvcc", "drain_per_s"),
        ("mvcc_held", "drain_per_s"),
    ];
    let mut all = Vec::new();
    for (scenario, key) in scenarios {
        let (mut found, _) = lines(place, &["bench", "peer", "--store", store(place), scenario]);
        let line = found.remove(0);
        assert!(found.is_empty(), "{scenario} prints one line");
        assert_eq!(line["scenario"], scenario);
        assert!(line[key].is_number() && line["settings"].is_string(), "{line}");
        all.push(line);
    }
    let name = all[0]["peer"].as_str().expect("a name").to_owned();
    let file = place.write("peers.jsonl", &all);
    let table = place.ask(&["bench", "table", &file]);
    assert!(table.contains(&format!("| {name} ")), "{table}");
}
