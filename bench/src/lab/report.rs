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
        let saturated = self.workload.is_saturated();
        let classes = self.workload.classes();
        let mut head = vec!["rule".to_owned()];
        if places {
            head.push("place".to_owned());
        }
        if saturated {
            // Most jobs have not started at the end, so waits would say nothing.
            head.extend(classes.iter().map(|class| format!("slot time: {class}")));
        } else if quiet {
            head.extend(["quiet groups wait p50", "p95", "max"].map(str::to_owned));
        }
        if !saturated {
            head.extend(["all wait p50", "p95", "max"].map(str::to_owned));
        }
        head.extend(["Jain", "lag", "slots used"].map(str::to_owned));
        if self.workload.until.is_none() {
            head.push("makespan".to_owned());
        }
        let mut table = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(head.len()));
        for (rule, place, metrics) in &self.rows {
            let mut row = vec![rule.name().to_owned()];
            if places {
                row.push((*place).to_owned());
            }
            if saturated {
                let all: f64 = metrics.shares.iter().map(|s| s.had).sum();
                row.extend(classes.iter().map(|class| {
                    let groups = self.workload.groups.iter().zip(&metrics.shares);
                    let slot_time: f64 = groups.filter(|(g, _)| g.class == *class).map(|(_, s)| s.had).sum();
                    format!("{:.1} %", 100.0 * slot_time / all)
                }));
            } else if quiet {
                row.extend(waits(&metrics.quiet));
            }
            if !saturated {
                row.extend(waits(&metrics.all));
            }
            row.push(format!("{:.3}", metrics.jain));
            row.push(span(metrics.lag[0]));
            row.push(format!("{:.1} %", metrics.used * 100.0));
            if self.workload.until.is_none() {
                row.push(span(metrics.makespan));
            }
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
