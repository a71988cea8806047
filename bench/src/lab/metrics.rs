//! What a trace says about fairness: waits, slot time against what was due, lag between backlogged groups, use of slots.

mod lag;
mod shares;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use super::trace::{Run, Trace};
use super::workload::{Micros, Workload, as_seconds};
pub(super) use lag::{Unit, lag};
pub(super) use shares::{Shares, jain};

/// How long jobs waited, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Waits {
    pub(crate) count: usize,
    pub(crate) p50: f64,
    pub(crate) p95: f64,
    pub(crate) max: f64,
}

/// All numbers about one trace.
#[derive(Clone, Debug)]
pub(crate) struct Metrics {
    /// Of all groups.
    pub(crate) all: Waits,
    /// Of the quiet ones; of all if none is.
    pub(crate) quiet: Waits,
    /// Of each group.
    pub(crate) waits: Vec<Waits>,
    /// What each group had and what was due to it, in slot seconds.
    pub(crate) shares: Vec<Shares>,
    /// Jain's index over what groups had of what was due to them.
    pub(crate) jain: f64,
    /// The largest lag between two backlogged groups: in slot seconds, in items and in jobs, each per weight.
    pub(crate) lag: [f64; 3],
    /// How much of the slots that could be in use were.
    pub(crate) used: f64,
    /// When the last job ended.
    pub(crate) makespan: f64,
}

/// Measures a trace.
pub(crate) fn measure(workload: &Workload, trace: &Trace) -> Metrics {
    let of = |wanted: &dyn Fn(&Run) -> bool| waits(trace, wanted);
    let any_quiet = workload.groups.iter().any(|group| group.quiet);
    let shares = shares::shares(workload, trace);
    let used = shares.iter().map(|s| s.had).sum::<f64>() / shares.iter().map(|s| s.due).sum::<f64>();
    Metrics {
        all: of(&|_| true),
        quiet: of(&|run| !any_quiet || workload.groups[run.group].quiet),
        waits: (0..workload.groups.len()).map(|g| of(&|run| run.group == g)).collect(),
        jain: jain(shares.iter().filter_map(Shares::of_due)),
        shares,
        lag: [Unit::Time, Unit::Items, Unit::Jobs].map(|unit| lag(workload, trace, unit)),
        used,
        makespan: as_seconds(trace.last_end()),
    }
}

/// How long a run waited. One that had not begun at the end waited until then at least.
pub(super) fn wait(trace: &Trace, run: &Run) -> Micros {
    run.start.unwrap_or(trace.end).saturating_sub(run.ready)
}

fn waits(trace: &Trace, wanted: &dyn Fn(&Run) -> bool) -> Waits {
    let mut waits: Vec<Micros> = trace
        .runs
        .iter()
        .filter(|r| wanted(r))
        .map(|r| wait(trace, r))
        .collect();
    waits.sort_unstable();
    Waits {
        count: waits.len(),
        p50: as_seconds(percentile(&waits, 0.5)),
        p95: as_seconds(percentile(&waits, 0.95)),
        max: as_seconds(percentile(&waits, 1.0)),
    }
}

/// The lowest of these (in rising order) that so large a part of them does not exceed.
pub(super) fn percentile(sorted: &[Micros], part: f64) -> Micros {
    let rank = (sorted.len() as f64 * part).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or(0)
}

impl Waits {
    fn json(&self) -> Value {
        json!({"jobs": self.count, "p50": rounded(self.p50), "p95": rounded(self.p95), "max": rounded(self.max)})
    }
}

impl Metrics {
    pub(super) fn json(&self, workload: &Workload) -> Value {
        let groups: Vec<Value> = workload
            .groups
            .iter()
            .zip(self.waits.iter().zip(&self.shares))
            .map(|(group, (waits, shares))| {
                json!({
                    "group": group.name,
                    "wait_s": waits.json(),
                    "slot_s": rounded(shares.had),
                    "due_slot_s": rounded(shares.due),
                })
            })
            .collect();
        json!({
            "wait_s": self.all.json(),
            "quiet_wait_s": self.quiet.json(),
            "jain": rounded(self.jain),
            "lag": {
                "slot_s": rounded(self.lag[0]), "items": rounded(self.lag[1]), "jobs": rounded(self.lag[2]),
            },
            "slots_used": rounded(self.used),
            "makespan_s": rounded(self.makespan),
            "groups": groups,
        })
    }
}

fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
