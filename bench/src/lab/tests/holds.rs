//! What must hold whatever the workload and the rule are.

use super::super::metrics::Metrics;
use super::super::rule::Rule;
use super::super::trace::{Run, Trace};
use super::super::workload::{Workload, as_seconds};

/// Checks one simulation.
pub(super) fn check(workload: &Workload, rule: Rule, trace: &Trace, metrics: &Metrics) {
    println!("{} by {}, seed {}", workload.name, rule.name(), super::SEED);
    every_job_runs_as_often_as_it_should(workload, trace);
    let at_once = |wanted: &dyn Fn(&Run) -> bool| most_at_once(trace, wanted);
    assert!(at_once(&|_| true) <= workload.most_slots(), "a slot has two jobs");
    if rule != Rule::Fifo {
        for (number, group) in workload.groups.iter().enumerate() {
            if let Some(cap) = group.cap {
                assert!(
                    at_once(&|run| run.group == number) <= cap,
                    "{} beyond its cap",
                    group.name
                );
            }
        }
    }
    for (task, limit) in &workload.limits {
        let most = at_once(&|run| workload.groups[run.group].task == *task);
        assert!(most <= *limit, "{task} beyond its limit");
    }
    // What one executor holds ahead for a moment is not there for another; nothing else may keep a slot idle.
    assert!(metrics.used > 0.998, "only {} of the slots were used", metrics.used);
    let lag = match rule {
        Rule::Time => metrics.lag[0],
        Rule::Items => metrics.lag[1],
        Rule::Fifo | Rule::Jobs => return,
    };
    let bound = bound(workload, rule);
    assert!(lag <= bound, "{lag} apart, {bound} allowed");
}

/// How far two backlogged groups may get apart: slots times the dearest job, and what executors had not told each other
/// yet, since they do so once a second.
fn bound(workload: &Workload, rule: Rule) -> f64 {
    let dearest = workload.jobs.iter().map(|job| match rule {
        Rule::Time => as_seconds(job.lasts) + 1.0,
        _ => f64::from(job.items) * (1.0 + 1.0 / as_seconds(job.lasts)),
    });
    f64::from(workload.most_slots()) * dearest.fold(0.0, f64::max)
}

fn every_job_runs_as_often_as_it_should(workload: &Workload, trace: &Trace) {
    let mut attempts = vec![0; workload.jobs.len()];
    for run in &trace.runs {
        attempts[run.job] += 1;
        assert!(
            run.start.is_none_or(|start| start >= run.ready),
            "{run:?} began before it could"
        );
        if let (Some(start), Some(end)) = (run.start, run.end) {
            assert_eq!(end - start, workload.jobs[run.job].lasts, "{run:?}");
        }
    }
    for (job, attempts) in workload.jobs.iter().zip(attempts) {
        let wanted = job.failures + 1;
        let cut = workload.until.is_some() && attempts < wanted;
        assert!(attempts == wanted || cut, "{attempts} attempts of {job:?}");
    }
}

/// How many of some runs ran at the same moment.
fn most_at_once(trace: &Trace, wanted: &dyn Fn(&Run) -> bool) -> u32 {
    let mut steps: Vec<(u64, i32)> = Vec::new();
    for run in trace.runs.iter().filter(|run| wanted(run)) {
        steps.extend(run.start.map(|at| (at, 1)));
        steps.extend(run.end.map(|at| (at, -1)));
    }
    steps.sort_unstable();
    let sums = steps.iter().scan(0, |now, (_, step)| {
        *now += step;
        Some(*now)
    });
    sums.max().unwrap_or(0).unsigned_abs()
}
