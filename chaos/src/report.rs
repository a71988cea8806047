//! What came of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::time::Duration;

use turnabout::State;

use crate::check::{Violation, jobs, lags};
use crate::history::History;
use crate::record::{How, Record};
use crate::run::Plan;

/// A violation is shown with its job's history; of very many, the first.
const SHOWN: usize = 5;

/// What came of a run.
#[derive(Debug)]
pub struct Report {
    seed: u64,
    store: String,
    folder: String,
    storm: Duration,
    healing: Duration,
    unstoppable: usize,
    history: History,
    /// Promises that were not kept.
    pub violations: Vec<Violation>,
}

impl Report {
    /// Of a run that is over.
    pub fn new(
        plan: &Plan,
        history: History,
        violations: Vec<Violation>,
        healing: Duration,
        unstoppable: usize,
    ) -> Self {
        Self {
            seed: plan.seed,
            store: format!("{:?}", plan.target).to_lowercase(),
            folder: plan.folder.display().to_string(),
            storm: plan.storm,
            healing,
            unstoppable,
            history,
            violations,
        }
    }

    /// Whether every promise was kept, and every worker stopped when it was told to.
    pub fn is_good(&self) -> bool {
        self.violations.is_empty() && self.unstoppable == 0
    }

    fn counts(&self) -> (BTreeMap<&str, usize>, BTreeMap<String, usize>, usize) {
        let (mut faults, mut ends, mut losses) = (BTreeMap::new(), BTreeMap::new(), 0);
        for record in &self.history.records {
            match record {
                Record::Fault { kind, .. } => *faults.entry(kind.as_str()).or_default() += 1,
                Record::Final {
                    state,
                    losses: lost,
                    reason,
                    ..
                } => {
                    let end = match (state, reason) {
                        (State::Failed, Some(reason)) => format!("{state} ({reason})"),
                        _ => state.to_string(),
                    };
                    *ends.entry(end).or_default() += 1;
                    losses += *lost as usize;
                }
                _ => {}
            }
        }
        (faults, ends, losses)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (faults, ends, losses) = self.counts();
        let runs = &self.history.runs;
        let of = |how: Option<How>| runs.iter().filter(|run| run.how == how).count();
        let processes: BTreeSet<u32> = runs.iter().map(|run| run.process).collect();
        writeln!(
            f,
            "chaos on {}, seed {}: {:.0} s of storm, healed after {:.1} s",
            self.store,
            self.seed,
            self.storm.as_secs_f64(),
            self.healing.as_secs_f64()
        )?;
        writeln!(f, "  faults: {}", list(&faults))?;
        let jobs = jobs(&self.history);
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        for job in jobs.values() {
            *kinds.entry(job.kind.task()).or_default() += 1;
        }
        writeln!(f, "  jobs: {} ({})", jobs.len(), list(&kinds))?;
        writeln!(f, "  ended: {}; lost with their executor: {losses} times", list(&ends))?;
        writeln!(
            f,
            "  runs: {} in {} processes (done {}, failed {}, panicked {}, dropped {}, gone with their process {})",
            runs.len(),
            processes.len(),
            of(Some(How::Done)),
            of(Some(How::Failed)),
            of(Some(How::Panicking)),
            of(Some(How::Dropped)),
            of(None),
        )?;
        let mut times: BTreeMap<&str, usize> = BTreeMap::new();
        for record in &self.history.records {
            if let Record::Fired { became, count, .. } = record {
                *times.entry(became.as_str()).or_default() += *count as usize;
            }
        }
        writeln!(f, "  times of schedules: {}", list(&times))?;
        for lag in lags(&self.history) {
            let bound = if lag.calm {
                format!("bound {}", lag.bound)
            } else {
                "no bound".to_owned()
            };
            writeln!(
                f,
                "  lag between backlogged groups, {}: {} jobs at the worst, over {} jobs ({bound})",
                lag.phase, lag.most, lag.begun
            )?;
        }
        for record in &self.history.records {
            if let Record::Recovered { deed, took, .. } = record {
                let seconds = *took as f64 / 1e9;
                writeln!(f, "  all well {seconds:.1} s after {deed}")?;
            }
        }
        if self.unstoppable > 0 {
            writeln!(f, "  {} workers did not stop when told to", self.unstoppable)?;
        }
        writeln!(f, "  violations: {}", self.violations.len())?;
        for violation in self.violations.iter().take(SHOWN) {
            writeln!(
                f,
                "\nVIOLATION (seed {}, files in {}) {violation}",
                self.seed, self.folder
            )?;
            for line in violation.job.map(|job| self.history.of_job(job)).unwrap_or_default() {
                writeln!(f, "  {line}")?;
            }
        }
        for violation in self.violations.iter().skip(SHOWN) {
            writeln!(f, "VIOLATION {violation}")?;
        }
        Ok(())
    }
}

fn list<K: fmt::Display>(counts: &BTreeMap<K, usize>) -> String {
    let mut text = String::new();
    for (what, count) in counts {
        let comma = if text.is_empty() { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}{what} {count}");
    }
    text
}
