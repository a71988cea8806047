//! What was measured: a line of JSON for each result, and tables of medians at the end.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::place::Store;

/// One result.
pub(crate) struct Measured {
    scenario: &'static str,
    store: Store,
    settings: Vec<(&'static str, Value)>,
    values: Vec<(&'static str, f64)>,
}

impl Measured {
    pub(crate) fn new(scenario: &'static str, store: Store) -> Self {
        Self {
            scenario,
            store,
            settings: Vec::new(),
            values: Vec::new(),
        }
    }

    pub(crate) fn setting(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.settings.push((name, value.into()));
        self
    }

    pub(crate) fn value(mut self, name: &'static str, value: f64) -> Self {
        self.values.push((name, value));
        self
    }

    /// What repeats of the same measurement have in common.
    fn title(&self) -> String {
        let settings: Vec<String> = self
            .settings
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        format!("{} {}", self.store.name(), settings.join(" "))
    }
}

/// All results.
#[derive(Default)]
pub(crate) struct Report {
    results: Vec<Measured>,
}

impl Report {
    /// Prints a result at once, and keeps it for the table.
    pub(crate) fn add(&mut self, measured: Measured, repeat: u32) {
        let values: Map<String, Value> = measured
            .values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!((value * 1000.0).round() / 1000.0)))
            .collect();
        let settings: Map<String, Value> = measured
            .settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        let line = json!({
            "scenario": measured.scenario,
            "store": measured.store.name(),
            "settings": settings,
            "repeat": repeat,
            "values": values,
        });
        println!("{line}");
        self.results.push(measured);
    }

    /// A table for each scenario: medians, and half the range between repeats.
    pub(crate) fn table(&self) {
        let mut scenarios: Vec<&str> = self.results.iter().map(|r| r.scenario).collect();
        scenarios.dedup();
        let mut seen = Vec::new();
        for scenario in scenarios {
            if !seen.contains(&scenario) {
                seen.push(scenario);
                self.table_of(scenario);
            }
        }
    }

    fn table_of(&self, scenario: &str) {
        let results: Vec<&Measured> = self.results.iter().filter(|r| r.scenario == scenario).collect();
        let Some(first) = results.first() else {
            return;
        };
        let mut rows = vec![vec![scenario.to_owned()]];
        rows[0].extend(first.values.iter().map(|(name, _)| (*name).to_owned()));
        let mut titles: Vec<String> = Vec::new();
        for title in results.iter().map(|r| r.title()) {
            if !titles.contains(&title) {
                titles.push(title);
            }
        }
        for title in titles {
            let same: Vec<&&Measured> = results.iter().filter(|r| r.title() == title).collect();
            let cells = (0..first.values.len()).map(|at| cell(same.iter().map(|r| r.values[at].1).collect()));
            rows.push(std::iter::once(title.clone()).chain(cells).collect());
        }
        print(&rows);
    }
}

/// The median, and half the range as a share of it.
fn cell(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    let median = f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2]);
    let text = if median >= 1000.0 {
        thousands(median.round() as u64)
    } else {
        format!("{median:.2}")
    };
    if values.len() == 1 || median == 0.0 {
        return text;
    }
    let spread = (values[values.len() - 1] - values[0]) / 2.0 / median * 100.0;
    format!("{text} ±{spread:.0}%")
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn print(rows: &[Vec<String>]) {
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    eprintln!();
    for (number, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(at, (cell, width))| {
                if at == 0 {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                }
            })
            .collect();
        eprintln!("| {} |", cells.join(" | "));
        if number == 0 {
            let lines: Vec<String> = widths.iter().map(|width| "-".repeat(width + 2)).collect();
            eprintln!("|{}|", lines.join("|"));
        }
    }
}

pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// The value below which a share of all lie.
pub(crate) fn percentile(values: &[Duration], share: f64) -> Duration {
    let mut sorted = values.to_vec();
    sorted.sort();
    let at = ((sorted.len() - 1) as f64 * share).round() as usize;
    sorted[at]
}

/// The processor time that this process has used, where the system tells it. Other programs disturb it far less than
/// rates.
#[derive(Clone, Copy)]
pub(crate) struct Cpu(Option<Duration>);

impl Cpu {
    pub(crate) fn now() -> Self {
        // The name stands in parentheses and may hold anything; after it, the times are the 12th and 13th field, in
        // ticks of 10 ms.
        let ticks = std::fs::read_to_string("/proc/self/stat").ok().and_then(|stat| {
            let fields = stat.rsplit_once(')')?.1.split_whitespace();
            fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().ok()).sum()
        });
        Self(ticks.map(|ticks: u64| Duration::from_millis(ticks * 10)))
    }

    /// What has been used since; zero where the system does not tell.
    pub(crate) fn since(self) -> Duration {
        match (self.0, Self::now().0) {
            (Some(then), Some(now)) => now.saturating_sub(then),
            _ => Duration::ZERO,
        }
    }
}
