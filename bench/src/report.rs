//! What was measured: a line of JSON for each result.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::place::Store;

/// One result.
pub(crate) struct Measured(Line);

/// One result, as it is printed and read again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) scenario: String,
    pub(crate) store: String,
    pub(crate) settings: Map<String, Value>,
    pub(crate) repeat: u32,
    pub(crate) values: Map<String, Value>,
}

impl Measured {
    pub(crate) fn new(scenario: &str, store: Store) -> Self {
        Self(Line {
            scenario: scenario.to_owned(),
            store: store.name().to_owned(),
            settings: Map::new(),
            repeat: 0,
            values: Map::new(),
        })
    }

    pub(crate) fn setting(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.settings.insert(name.to_owned(), value.into());
        self
    }

    /// To three decimal places.
    pub(crate) fn value(mut self, name: &str, value: f64) -> Self {
        let value = json!((value * 1000.0).round() / 1000.0);
        self.0.values.insert(name.to_owned(), value);
        self
    }

    /// Where the system does not tell, there is no value.
    pub(crate) fn maybe(self, name: &str, value: Option<f64>) -> Self {
        match value {
            Some(value) => self.value(name, value),
            None => self,
        }
    }

    pub(crate) fn values(self, values: impl IntoIterator<Item = (&'static str, f64)>) -> Self {
        values
            .into_iter()
            .fold(self, |all, (name, value)| all.value(name, value))
    }

    /// Jobs in so much time, beside what the bare storage engine does in a second.
    pub(crate) fn rate(self, jobs: u64, time: Duration, ceiling: f64) -> Self {
        let rate = jobs as f64 / time.as_secs_f64();
        self.value("per_s", rate)
            .value("ceiling_per_s", ceiling)
            .value("of_ceiling", rate / ceiling)
    }
}

/// All results.
#[derive(Default)]
pub(crate) struct Report {
    lines: Vec<Line>,
}

impl Report {
    /// Prints a result at once, and keeps it for the table.
    pub(crate) fn add(&mut self, measured: Measured, repeat: u32) -> Result<()> {
        let line = Line { repeat, ..measured.0 };
        println!("{}", serde_json::to_string(&line)?);
        self.lines.push(line);
        Ok(())
    }

    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines
    }
}

/// Every line of JSON in these files; what else is in them is passed over.
pub(crate) fn read(files: &[impl AsRef<Path>]) -> Result<Vec<Value>> {
    let mut lines = Vec::new();
    for file in files {
        let path = file.as_ref();
        let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        lines.extend(text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()));
    }
    Ok(lines.into_iter().filter(Value::is_object).collect())
}

/// Those of them that are results of ours.
pub(crate) fn ours(lines: &[Value]) -> Vec<Line> {
    lines
        .iter()
        .filter_map(|line| serde_json::from_value(line.clone()).ok())
        .collect()
}

pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// The value below which a share of all lie; zero if there are none.
pub(crate) fn percentile(values: &[Duration], share: f64) -> Duration {
    let mut sorted = values.to_vec();
    sorted.sort();
    let at = (sorted.len().saturating_sub(1) as f64 * share).round() as usize;
    sorted.get(at).copied().unwrap_or_default()
}

/// The middle of several values, which there must be.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
}
