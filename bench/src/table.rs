//! Tables of medians, in Markdown: of our own results, and of a comparison with other job queues.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::Result;
use serde_json::Value;

use crate::options::Files;
use crate::report::{self, Line, median};
use crate::{goals, peer};

/// Values that come first in a table, in this order; the others follow by name.
const FIRST: [&str; 9] = [
    "per_s",
    "of_ceiling",
    "ceiling_per_s",
    "p50_ms",
    "p95_ms",
    "p99_ms",
    "max_ms",
    "span_s",
    "ideal_s",
];

/// Prints every table that these files have lines for.
pub(crate) fn run(files: &Files) -> Result<()> {
    let lines = report::read(&files.files)?;
    let ours = report::ours(&lines);
    for machine in lines.iter().filter(|line| line["scenario"] == "machine") {
        println!("Machine: `{machine}`\n");
    }
    print!("{}", of_lines(&ours));
    print!("{}", peer::table::of_lines(&lines));
    print!("{}", goals::of_lines(&ours, &lines));
    Ok(())
}

/// A table for each scenario.
pub(crate) fn of_lines(lines: &[Line]) -> String {
    let mut scenarios: Vec<&str> = Vec::new();
    for line in lines {
        if !scenarios.contains(&line.scenario.as_str()) {
            scenarios.push(&line.scenario);
        }
    }
    let mut text = String::new();
    for scenario in scenarios {
        let of: Vec<&Line> = lines.iter().filter(|line| line.scenario == scenario).collect();
        text.push_str(&of_scenario(scenario, &of));
    }
    text
}

/// Settings that all rows share stand above the table, the others are its first columns.
fn of_scenario(scenario: &str, lines: &[&Line]) -> String {
    let names: BTreeSet<&str> = lines
        .iter()
        .flat_map(|l| l.settings.keys().map(String::as_str))
        .collect();
    let (shared, varied): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| {
        lines
            .iter()
            .all(|l| l.settings.get(*name) == lines[0].settings.get(*name))
    });
    let mut values: Vec<&str> = lines.iter().flat_map(|l| l.values.keys().map(String::as_str)).collect();
    values.sort_by_key(|name| {
        (
            FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len()),
            *name,
        )
    });
    values.dedup();

    let mut rows = vec![
        ["store"]
            .into_iter()
            .chain(varied.iter().copied())
            .chain(values.iter().copied())
            .map(str::to_owned)
            .collect::<Vec<String>>(),
    ];
    let mut seen: Vec<Vec<String>> = Vec::new();
    for line in lines {
        let title = title(line, &varied);
        if seen.contains(&title) {
            continue;
        }
        let same: Vec<&&Line> = lines.iter().filter(|l| self::title(l, &varied) == title).collect();
        let cells = values.iter().map(|name| {
            let found: Vec<f64> = same.iter().filter_map(|l| l.values.get(*name)?.as_f64()).collect();
            cell(&found)
        });
        rows.push(title.iter().cloned().chain(cells).collect());
        seen.push(title);
    }
    let shared: Vec<String> = shared
        .iter()
        .map(|name| format!("{name}={}", plain(&lines[0].settings[*name])))
        .collect();
    format!(
        "\n**{scenario}** ({})\n\n{}",
        shared.join(", "),
        markdown(&rows, 1 + varied.len())
    )
}

/// What repeats of the same measurement have in common.
fn title(line: &Line, settings: &[&str]) -> Vec<String> {
    let settings = settings
        .iter()
        .map(|name| line.settings.get(*name).map_or_else(String::new, plain));
    std::iter::once(line.store.clone()).chain(settings).collect()
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.as_u64().map_or_else(|| number.to_string(), thousands),
        other => other.to_string(),
    }
}

/// The median, and half the range as a share of it.
pub(crate) fn cell(values: &[f64]) -> String {
    if values.is_empty() {
        return String::new();
    }
    let middle = median(values);
    let text = number(middle);
    if values.len() == 1 || middle == 0.0 {
        return text;
    }
    let highest = values.iter().copied().fold(f64::MIN, f64::max);
    let lowest = values.iter().copied().fold(f64::MAX, f64::min);
    format!("{text} ±{:.0}%", (highest - lowest) / 2.0 / middle * 100.0)
}

/// As many digits as mean something.
pub(crate) fn number(value: f64) -> String {
    if value >= 1000.0 {
        thousands(value.round() as u64)
    } else if value >= 100.0 {
        format!("{value:.0}")
    } else if value >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
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

/// A table whose first columns are names, and whose others are numbers.
pub(crate) fn markdown(rows: &[Vec<String>], names: usize) -> String {
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
            // Writing into a string cannot fail.
            let _ = if at < names {
                write!(text, "| {cell:<width$} ")
            } else {
                write!(text, "| {cell:>width$} ")
            };
        }
        text.push_str("|\n");
        if number == 0 {
            for (at, width) in widths.iter().enumerate() {
                let end = if at < names { '-' } else { ':' };
                let _ = write!(text, "|{}{end}", "-".repeat(width + 1));
            }
            text.push_str("|\n");
        }
    }
    text
}
