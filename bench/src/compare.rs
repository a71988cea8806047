//! Two programs by their results: ratios of medians, and how far single repeats are apart.

use anyhow::{Result, bail};

use crate::options::Files;
use crate::report::{self, Line, median};
use crate::table;

/// Whether a value says something about the program, and does not just follow from others.
fn is_own(name: &str) -> bool {
    !name.starts_with("ceiling_") && !["of_ceiling", "ideal_s"].contains(&name)
}

/// Prints a row for each value that both have: the base's median, the other's, and their ratio. The range is that of
/// the ratios of single repeats, each held against the one that was measured beside it.
pub(crate) fn run(files: &Files) -> Result<()> {
    let [base, present] = files.files.as_slice() else {
        bail!("two files are needed: the base's results, then those of the program in question");
    };
    let base = report::ours(&report::read(&[base])?);
    let present = report::ours(&report::read(&[present])?);
    let mut rows = vec![
        ["what", "value", "base", "present", "ratio", "range"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let mut seen: Vec<(String, String)> = Vec::new();
    for line in &present {
        for name in line.values.keys().filter(|name| is_own(name)) {
            let key = (title(line), name.clone());
            if seen.contains(&key) {
                continue;
            }
            if let Some(row) = row(&key, &values(&base, &key), &values(&present, &key)) {
                rows.push(row);
            }
            seen.push(key);
        }
    }
    if rows.len() == 1 {
        bail!("the two files have no measurement in common");
    }
    print!("{}", table::markdown(&rows, 2));
    println!(
        "\nRatios are present / base, medians; the range is that of repeats measured side by side. Differences below 20 % mean"
    );
    println!("nothing unless every repeat shows them. More is better for values per second, less for all others.");
    Ok(())
}

fn row(key: &(String, String), base: &[f64], present: &[f64]) -> Option<Vec<String>> {
    if base.is_empty() || present.is_empty() || median(base) == 0.0 {
        return None;
    }
    let ratios: Vec<f64> = base
        .iter()
        .zip(present)
        .filter(|(b, _)| **b != 0.0)
        .map(|(b, p)| p / b)
        .collect();
    let lowest = ratios.iter().copied().fold(f64::MAX, f64::min);
    let highest = ratios.iter().copied().fold(f64::MIN, f64::max);
    Some(vec![
        key.0.clone(),
        key.1.clone(),
        table::number(median(base)),
        table::number(median(present)),
        format!("{:.2}", median(present) / median(base)),
        format!("{lowest:.2} - {highest:.2}"),
    ])
}

fn title(line: &Line) -> String {
    let settings: Vec<String> = line
        .settings
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    format!("{} {} {}", line.store, line.scenario, settings.join(" "))
}

fn values(lines: &[Line], (wanted, name): &(String, String)) -> Vec<f64> {
    lines
        .iter()
        .filter(|line| title(line) == *wanted)
        .filter_map(|line| line.values.get(name)?.as_f64())
        .collect()
}
