//! Lines of JSON for programs, tables for people. The tables are Markdown, as docs/fairness.md has them.

use std::fmt::Write as _;

use serde_json::json;

use super::metrics::{Metrics, Waits};
use super::rule::Rule;
use super::workload::Workload;

/// What came of one workload.
pub(super) struct Report<'a> {
    workload: &'a Workload,
    seed: u64,
    rows: Vec<(Rule, &'static str, Metrics)>,
}

impl<'a> Report<'a> {
    pub(super) fn new(workload: &'a Workload, seed: u64) -> Self {
        Self {
            workload,
            seed,
            rows: Vec::new(),
        }
    }

    /// Keeps a result for the table; the line of JSON for it.
    pub(super) fn add(&mut self, rule: Rule, place: &'static str, metrics: &Metrics) -> String {
        let mut line = json!({
            "workload": self.workload.name,
            "rule": rule.name(),
            "place": place,
            "seed": self.seed,
            "executors": self.workload.crew.len(),
            "slots": self.workload.most_slots(),
        });
        if let (Some(line), serde_json::Value::Object(values)) = (line.as_object_mut(), metrics.json(self.workload)) {
            line.extend(values);
        }
        self.rows.push((rule, place, metrics.clone()));
        line.to_string()
    }

    /// A table: a row for each rule.
    pub(super) fn table(&self) -> String {
        let places = self.rows.iter().any(|(_, place, _)| *place != self.rows[0].1);
        let quiet = self.workload.groups.iter().any(|group| group.quiet);
        let mut head = vec!["rule"];
        if places {
            head.push("place");
        }
        if quiet {
            head.extend(["quiet groups wait p50", "p95", "max"]);
        }
        head.extend(["all wait p50", "p95", "max", "Jain", "lag", "slots used", "makespan"]);
        let mut table = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(head.len()));
        for (rule, place, metrics) in &self.rows {
            let mut row = vec![rule.name().to_owned()];
            if places {
                row.push((*place).to_owned());
            }
            if quiet {
                row.extend(waits(&metrics.quiet));
            }
            row.extend(waits(&metrics.all));
            row.push(format!("{:.3}", metrics.jain));
            row.push(span(metrics.lag[0]));
            row.push(format!("{:.1} %", metrics.used * 100.0));
            row.push(span(metrics.makespan));
            let _ = writeln!(table, "| {} |", row.join(" | "));
        }
        table
    }
}

fn waits(waits: &Waits) -> [String; 3] {
    [waits.p50, waits.p95, waits.max].map(span)
}

/// A number of seconds, with as many digits as mean something.
pub(super) fn span(seconds: f64) -> String {
    match seconds {
        s if s < 0.0005 => "0 s".to_owned(),
        s if s < 0.9995 => format!("{:.0} ms", s * 1e3),
        s if s < 99.95 => format!("{s:.1} s"),
        s => format!("{s:.0} s"),
    }
}
