//! The lines of charts, made of traces.

use super::minutes;
use crate::lab::metrics::wait;
use crate::lab::trace::{Run, Trace};
use crate::lab::workload::{Micros, as_seconds};

/// So many points make a smooth line.
const POINTS: u64 = 90;

/// Slot time of some runs, in minutes, against time in minutes.
pub(super) fn cumulated(trace: &Trace, wanted: impl Fn(&Run) -> bool) -> Vec<(f64, f64)> {
    let spans: Vec<(Micros, Micros)> = trace
        .runs
        .iter()
        .filter(|run| wanted(run))
        .filter_map(|run| Some((run.start?, run.end.unwrap_or(trace.end))))
        .collect();
    (0..=POINTS)
        .map(|n| {
            let now = trace.end * n / POINTS;
            let had: Micros = spans.iter().map(|(from, to)| now.min(*to).saturating_sub(*from)).sum();
            (minutes(now), minutes(had))
        })
        .collect()
}

/// How many of some runs run on average, against time.
pub(super) fn average_running(trace: &Trace, wanted: impl Fn(&Run) -> bool) -> Vec<(f64, f64)> {
    let had = cumulated(trace, wanted);
    let mut steps = Vec::new();
    for pair in had.windows(2) {
        let ((from, before), (to, after)) = (pair[0], pair[1]);
        push_step(&mut steps, from, (after - before) / (to - from));
    }
    steps.extend(steps.last().map(|(_, y)| (minutes(trace.end), *y)));
    steps
}

/// How many of some runs run, against time: steps, at the most one for each point.
pub(super) fn running(trace: &Trace, wanted: impl Fn(&Run) -> bool) -> Vec<(f64, f64)> {
    let mut changes: Vec<(Micros, i32)> = Vec::new();
    for run in trace.runs.iter().filter(|run| wanted(run)) {
        changes.extend(run.start.map(|start| (start, 1)));
        changes.extend(run.end.map(|end| (end, -1)));
    }
    changes.sort_unstable();
    let mut changes = changes.into_iter().peekable();
    let mut steps = Vec::new();
    let mut now = 0;
    let points = 3 * POINTS;
    for n in 0..=points {
        let at = trace.end * n / points;
        while let Some((_, change)) = changes.next_if(|(when, _)| *when <= at) {
            now += change;
        }
        push_step(&mut steps, minutes(at), f64::from(now));
    }
    steps
}

/// How many slots were there, against time.
pub(super) fn there(trace: &Trace) -> Vec<(f64, f64)> {
    let mut steps = Vec::new();
    for (from, slots) in &trace.slots {
        push_step(&mut steps, minutes(*from), f64::from(*slots));
    }
    if let Some((_, slots)) = trace.slots.last() {
        push_step(&mut steps, minutes(trace.end), f64::from(*slots));
    }
    steps
}

/// Goes on to `x` at the same height, then up or down.
fn push_step(steps: &mut Vec<(f64, f64)>, x: f64, y: f64) {
    if let Some((_, before)) = steps.last().copied()
        && (before - y).abs() > 1e-9
    {
        steps.push((x, before));
    }
    steps.push((x, y));
}

/// How many of some runs, in a hundred, waited at most so many seconds; on a logarithmic axis that begins at `from`.
pub(super) fn distribution(trace: &Trace, from: f64, wanted: impl Fn(&Run) -> bool) -> Vec<(f64, f64)> {
    let mut waits: Vec<Micros> = trace
        .runs
        .iter()
        .filter(|r| wanted(r))
        .map(|r| wait(trace, r))
        .collect();
    waits.sort_unstable();
    let count = waits.len();
    let below = waits.partition_point(|wait| as_seconds(*wait) <= from);
    let mut points = vec![(from, 100.0 * below as f64 / count as f64)];
    for n in 1..=POINTS as usize {
        let at = below + (count - below) * n / POINTS as usize;
        if at > below {
            points.push((as_seconds(waits[at - 1]), 100.0 * at as f64 / count as f64));
        }
    }
    points
}

/// The longest wait among some runs, by when they became ready, in steps of so long: minutes against seconds.
pub(super) fn longest_waits(trace: &Trace, step: Micros, wanted: impl Fn(&Run) -> bool) -> Vec<(f64, f64)> {
    let mut longest = vec![0; trace.end.div_ceil(step) as usize];
    for run in trace.runs.iter().filter(|run| wanted(run)) {
        let at = &mut longest[(run.ready / step) as usize];
        *at = wait(trace, run).max(*at);
    }
    let points = longest.into_iter().enumerate();
    points
        .map(|(n, wait)| (minutes(n as Micros * step), as_seconds(wait)))
        .collect()
}
