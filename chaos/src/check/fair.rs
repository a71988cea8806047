//! How far backlogged groups are apart.

use std::collections::{BTreeMap, BTreeSet};

use turnabout::JobId;

use super::{Violation, jobs, violation};
use crate::history::History;
use crate::record::{Moment, Record};

/// Groups whose names begin like this are submitted as a backlog, for this measurement.
pub const BACKLOG: &str = "backlog-";

/// What was measured in one phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lag {
    /// The phase.
    pub phase: String,
    /// Whether everyone was left in peace.
    pub calm: bool,
    /// How many jobs began while all groups had a backlog.
    pub begun: usize,
    /// By how many jobs the group that had begun the most was ahead of the one that had begun the fewest, at the worst.
    pub most: usize,
    /// What is allowed in a calm phase.
    pub bound: usize,
}

/// The lag between backlogged groups in each phase.
pub fn lags(history: &History) -> Vec<Lag> {
    let mut phases: Vec<(&str, bool, Moment)> = Vec::new();
    for record in &history.records {
        if let Record::Phase { at, name, calm } = record {
            phases.push((name, *calm, *at));
        }
    }
    let ends = phases.iter().skip(1).map(|phase| phase.2).chain([Moment::MAX]);
    phases
        .iter()
        .zip(ends)
        .filter_map(|((name, calm, from), to)| lag(history, name, *calm, *from, to))
        .collect()
}

fn lag(history: &History, phase: &str, calm: bool, from: Moment, to: Moment) -> Option<Lag> {
    let jobs = jobs(history);
    // Those submitted in this phase: each group's whole backlog is there before the first of them begins.
    let mut waiting: BTreeMap<&str, usize> = BTreeMap::new();
    let mut groups: BTreeMap<JobId, &str> = BTreeMap::new();
    for (id, job) in &jobs {
        if job.group.starts_with(BACKLOG) && (from..to).contains(&job.from) {
            *waiting.entry(job.group).or_default() += 1;
            groups.insert(*id, job.group);
        }
    }
    if waiting.len() < 2 {
        return None;
    }
    let mut begun: BTreeMap<&str, usize> = waiting.keys().map(|group| (*group, 0)).collect();
    let mut known = BTreeSet::new();
    let mut at_work = BTreeSet::new();
    let (mut most, mut total) = (0, 0);
    for run in &history.runs {
        let Some(group) = groups.get(&run.job) else {
            continue;
        };
        if !known.insert(run.job) {
            continue;
        }
        at_work.insert(run.process);
        *begun.entry(group).or_default() += 1;
        total += 1;
        let (ahead, behind) = (begun.values().max()?, begun.values().min()?);
        most = most.max(ahead - behind);
        // From here on, one of them has no backlog.
        if begun[group] == waiting[group] {
            break;
        }
    }
    Some(Lag {
        phase: phase.to_owned(),
        calm,
        begun: total,
        most,
        bound: bound(history, &at_work),
    })
}

/// Visits differ by one at the most; what each executor has in hand may begin in any order relative to the others'.
fn bound(history: &History, at_work: &BTreeSet<u32>) -> usize {
    let slots: usize = history
        .records
        .iter()
        .filter_map(|record| match record {
            Record::Process { process, slots, .. } if at_work.contains(process) => Some(*slots),
            _ => None,
        })
        .sum();
    slots + 2 * at_work.len() + 1
}

/// While membership is stable, no group falls behind.
pub(super) fn the_lag_is_bounded(history: &History) -> Vec<Violation> {
    lags(history)
        .into_iter()
        .filter(|lag| lag.calm && lag.most > lag.bound)
        .map(|lag| {
            let what = format!(
                "in phase {} one group was {} jobs ahead of another, more than {}",
                lag.phase, lag.most, lag.bound
            );
            violation("the lag between groups is bounded", None, what)
        })
        .collect()
}
