//! When and where handlers run.

use std::collections::{BTreeMap, HashMap};

use turnabout::JobId;

use super::{Violation, jobs, violation};
use crate::history::History;
use crate::record::{Moment, Record};

/// A job that is not restartable begins at most once, lease or not.
pub(super) fn once_means_once(history: &History) -> Vec<Violation> {
    let jobs = jobs(history);
    history
        .by_job()
        .into_iter()
        .filter(|(job, runs)| jobs.get(job).is_some_and(|job| !job.kind.restartable()) && runs.len() > 1)
        .map(|(job, runs)| violation("once means once", job, format!("it began {} times", runs.len())))
        .collect()
}

/// Nobody whose lease is valid begins a job that was seen to have ended.
pub(super) fn nothing_runs_after_its_end(history: &History) -> Vec<Violation> {
    let mut ended: HashMap<JobId, Moment> = HashMap::new();
    for record in &history.records {
        if let Record::Seen { at, job, state } = record
            && state.is_final()
        {
            ended.entry(*job).or_insert(*at);
        }
    }
    history
        .runs
        .iter()
        .filter(|run| ended.get(&run.job).is_some_and(|at| *at < run.from))
        .filter(|run| history.is_valid(run.incarnation, run.from))
        .map(|run| {
            let what = format!(
                "it began again in process {} after it was seen to have ended",
                run.process
            );
            violation("nothing runs after its end", run.job, what)
        })
        .collect()
}

/// No job runs twice at a time by valid leases.
pub(super) fn never_two_at_a_time(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    for (job, runs) in history.by_job() {
        let valid: Vec<_> = runs.iter().map(|run| history.valid(run)).collect();
        for (n, first) in runs.iter().enumerate() {
            for (second, later) in runs.iter().zip(&valid).skip(n + 1) {
                let overlap = valid[n]
                    .iter()
                    .flat_map(|a| later.iter().map(move |b| (a.0.max(b.0), a.1.min(b.1))))
                    .find(|(from, to)| from < to);
                if let Some((from, to)) = overlap {
                    let what = format!(
                        "it ran in processes {} and {} at the same time, for {:.3} s",
                        first.process,
                        second.process,
                        (to - from) as f64 / 1e9
                    );
                    found.push(violation("never two at a time", job, what));
                }
            }
        }
    }
    found
}

/// No process runs more handlers than it has slots, lease or not; and no more jobs run by valid leases than caps allow.
pub(super) fn never_more_than_slots_or_caps(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut by_process: BTreeMap<u32, Vec<(Moment, Moment)>> = BTreeMap::new();
    for run in &history.runs {
        by_process.entry(run.process).or_default().push((run.from, run.to));
    }
    for record in &history.records {
        match record {
            Record::Process {
                process, slots, name, ..
            } => {
                let spans = by_process.remove(process).unwrap_or_default();
                let most = at_a_time(spans);
                if most > *slots {
                    let what = format!("process {process} ({name}) ran {most} jobs at a time on {slots} slots");
                    found.push(violation("never more than slots", None, what));
                }
            }
            Record::Run {
                group_caps, task_caps, ..
            } => {
                let jobs = jobs(history);
                let under = |belongs: &dyn Fn(&super::Submitted<'_>) -> bool| -> Vec<(Moment, Moment)> {
                    let runs = history.runs.iter();
                    runs.filter(|run| jobs.get(&run.job).is_some_and(belongs))
                        .flat_map(|run| history.valid(run))
                        .collect()
                };
                for (group, cap) in group_caps {
                    let most = at_a_time(under(&|job| job.group == group));
                    if most > *cap {
                        let what = format!("{most} jobs of group {group} ran at a time, its cap is {cap}");
                        found.push(violation("never more than a cap", None, what));
                    }
                }
                for (task, cap) in task_caps {
                    let most = at_a_time(under(&|job| job.kind.task() == task));
                    if most > *cap {
                        let what = format!("{most} jobs of task {task} ran at a time, its cap is {cap}");
                        found.push(violation("never more than a cap", None, what));
                    }
                }
            }
            _ => {}
        }
    }
    found
}

/// How many of these overlap at the most.
fn at_a_time(spans: Vec<(Moment, Moment)>) -> usize {
    // An end at the moment of a beginning comes first.
    let mut steps: Vec<(Moment, i32)> = spans.into_iter().flat_map(|(from, to)| [(from, 1), (to, -1)]).collect();
    steps.sort_unstable();
    let mut present = 0;
    let mut most = 0;
    for (_, step) in steps {
        present += step;
        most = most.max(present);
    }
    usize::try_from(most).unwrap_or_default()
}

/// A delayed job does not begin before its time.
pub(super) fn never_too_early(history: &History) -> Vec<Violation> {
    // The store counts from when it stores the job, which is later than when it was sent.
    let jobs = jobs(history);
    history
        .runs
        .iter()
        .filter_map(|run| {
            let job = jobs.get(&run.job)?;
            let due = job.from + job.delay;
            (run.from < due && job.delay > 0).then(|| {
                let early = (due - run.from) as f64 / 1e9;
                violation(
                    "never too early",
                    run.job,
                    format!("it began {early:.3} s before it was due"),
                )
            })
        })
        .collect()
}
