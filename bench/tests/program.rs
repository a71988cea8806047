//! The benchmark works: every scenario, small. What it measures is nobody's business here.
//!
//! It makes schemas and files of its own and removes them, so that the tests share one database.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A folder for files, and one of the stores.
struct Place {
    folder: TempDir,
    store: &'static str,
}

impl Place {
    fn on(store: &'static str) -> Self {
        let folder = TempDir::new().expect("a folder");
        Self { folder, store }
    }

    /// The program, which must succeed: what it prints, and what it says beside.
    fn ask(&self, args: &[&str]) -> (String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_turnabout-bench"));
        command.args(args).current_dir(self.folder.path());
        let sizes = [
            ("N", "300"),
            ("N_SINGLE", "40"),
            ("N_LAT", "5"),
            ("N_FAIR", "50"),
            ("N_MVCC", "200"),
        ];
        command.envs(sizes).env("SCRATCH", ".").env_remove("PG_URL");
        if self.store == "postgres" {
            let url = std::env::var("TURNABOUT_TEST_POSTGRES").expect(
                "TURNABOUT_TEST_POSTGRES is not set: run scripts/test, which starts a PostgreSQL server for the tests",
            );
            command.env("PG_URL", url);
        }
        let output = command.output().expect("the program starts");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {errors}");
        (String::from_utf8(output.stdout).expect("text"), errors)
    }

    /// A file in the folder with a line of JSON for each value; its name.
    fn write(&self, name: &str, lines: &[Value]) -> String {
        let text: Vec<String> = lines.iter().map(Value::to_string).collect();
        std::fs::write(self.folder.path().join(name), text.join("\n")).expect("a file is written");
        name.to_owned()
    }
}

/// Every line of JSON that a command prints which must succeed, and what it says beside.
fn lines(place: &Place, args: &[&str]) -> (Vec<Value>, String) {
    let (text, errors) = place.ask(args);
    let lines = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"));
    (lines.collect(), errors)
}

fn every_scenario_of_the_benchmark_gives_results_and_a_table(place: &Place) {
    let mut args = vec!["--quick", "--repeat", "1", "--store", place.store, "--dir", "."];
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
    if place.store == "postgres" {
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
    let (tables, _) = place.ask(&["table", &file]);
    assert!(tables.contains("**goals**") && tables.contains("**drain**"), "{tables}");
    let (ratios, _) = place.ask(&["compare", &file, &file]);
    assert!(ratios.contains("1.00 - 1.00"), "{ratios}");
}

#[test]
fn the_program_takes_part_in_a_comparison_that_lasts_until_it_is_told_to_end() {
    let place = Place::on("sqlite");
    let mut peer = Command::new(env!("CARGO_BIN_EXE_turnabout-bench"))
        .arg("steady-peer")
        .current_dir(place.folder.path())
        .env("DATABASE_URL", "sqlite://jobs.db")
        .envs([("PRODUCER_RATE", "200"), ("SAMPLE_EVERY_S", "1"), ("WORKER_COUNT", "4")])
        .envs([("TURNABOUT_GROUPS", "5"), ("SCENARIO", "long_horizon")])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut lines = BufReader::new(peer.stdout.take().expect("its output")).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().expect("a line").expect("text")).expect("JSON") };
    let told = next();
    assert_eq!(
        (&told["kind"], &told["system"]),
        (&"descriptor".into(), &"turnabout".into()),
        "{told}"
    );
    let manifest: Value = serde_json::from_str(include_str!("../adapter/adapter.json")).expect("JSON");
    assert_eq!(
        told["event_tables"], manifest["event_tables"],
        "what the harness reads before is what is told"
    );
    // Until a sample says that jobs came and went.
    let mut seen = BTreeSet::new();
    loop {
        let sample = next();
        let metric = sample["metric"].as_str().expect("a name").to_owned();
        let some = sample["value"].as_f64().expect("a number") > 0.0;
        let over = metric == "completion_rate" && some;
        seen.insert(metric);
        if over {
            break;
        }
    }
    while !seen.contains("queue_depth") {
        seen.insert(next()["metric"].as_str().expect("a name").to_owned());
    }
    for metric in [
        "claim_p50_ms",
        "claim_p95_ms",
        "claim_p99_ms",
        "enqueue_rate",
        "completion_rate",
        "queue_depth",
    ] {
        assert!(seen.contains(metric), "{metric}: {seen:?}");
    }
    let pid = peer.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .expect("kill runs")
            .success()
    );
    assert!(peer.wait().expect("it ends").success(), "it ends by itself");
}

fn the_program_takes_part_in_a_comparison_with_other_queues(place: &Place) {
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
        let (mut found, _) = lines(place, &["peer", "--store", place.store, scenario]);
        let line = found.remove(0);
        assert!(found.is_empty(), "{scenario} prints one line");
        assert_eq!(line["scenario"], scenario);
        assert!(line[key].is_number() && line["settings"].is_string(), "{line}");
        all.push(line);
    }
    let name = all[0]["peer"].as_str().expect("a name").to_owned();
    let file = place.write("peers.jsonl", &all);
    let (table, _) = place.ask(&["table", &file]);
    assert!(table.contains(&format!("| {name} ")), "{table}");
}

#[test]
fn every_scenario_works_on_sqlite() {
    every_scenario_of_the_benchmark_gives_results_and_a_table(&Place::on("sqlite"));
}

#[test]
fn every_scenario_works_on_postgres() {
    every_scenario_of_the_benchmark_gives_results_and_a_table(&Place::on("postgres"));
}

#[test]
fn the_comparison_works_on_sqlite() {
    the_program_takes_part_in_a_comparison_with_other_queues(&Place::on("sqlite"));
}

#[test]
fn the_comparison_works_on_postgres() {
    the_program_takes_part_in_a_comparison_with_other_queues(&Place::on("postgres"));
}

#[test]
fn the_laboratory_shows_every_rule_of_a_workload() {
    let (lines, tables) = lines(&Place::on("sqlite"), &["lab", "--only", "flood"]);
    let rules: BTreeSet<&str> = lines.iter().filter_map(|line| line["rule"].as_str()).collect();
    assert_eq!(rules, BTreeSet::from(["fifo", "items", "jobs", "time"]), "{tables}");
}
