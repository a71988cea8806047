//! What each group had, and what was due to it.
//!
//! What is due at a moment: the slots, divided by weight among the groups that want them. Nobody is due more than it
//! wants (its jobs that run or could run, as far as its caps allow); what one does not want is divided among the others.
//! That is what a perfect scheduler would give if jobs could be cut into slices.

use crate::lab::trace::Trace;
use crate::lab::workload::{Micros, Workload, as_seconds};

/// What one group had, in slot seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Shares {
    pub(crate) had: f64,
    pub(crate) due: f64,
}

impl Shares {
    /// How much it had of what was due to it; none if nothing was. More than all counts as all: a job that could not be
    /// cut into slices was early, and others did not wait longer for that than for its turn.
    pub(super) fn of_due(&self) -> Option<f64> {
        (self.due > 1e-9).then(|| (self.had / self.due).min(1.0))
    }
}

/// Jain's index: 1 if all are equal, 1/n if one of n has everything.
pub(crate) fn jain(values: impl Iterator<Item = f64>) -> f64 {
    let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for value in values {
        n += 1.0;
        sum += value;
        squares += value * value;
    }
    if squares == 0.0 { 1.0 } else { sum * sum / (n * squares) }
}

/// What happens to a group's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    End,
    Ready,
    Start,
}

/// Every change of a trace, in order of time: when, what, whose, which run.
pub(super) fn steps(trace: &Trace) -> Vec<(Micros, Step, usize, usize)> {
    let mut steps = Vec::with_capacity(3 * trace.runs.len());
    for (at, run) in trace.runs.iter().enumerate() {
        steps.push((run.ready, Step::Ready, run.group, at));
        steps.extend(run.start.map(|start| (start, Step::Start, run.group, at)));
        steps.extend(run.end.map(|end| (end, Step::End, run.group, at)));
    }
    steps.sort_unstable();
    steps
}

/// How many jobs of a group wait and run.
#[derive(Clone, Copy, Debug, Default)]
struct Wants {
    waiting: u32,
    running: u32,
}

/// What every group had and was due from the beginning to the end.
pub(super) fn shares(workload: &Workload, trace: &Trace) -> Vec<Shares> {
    let mut shares = vec![Shares::default(); workload.groups.len()];
    let mut wants = vec![Wants::default(); workload.groups.len()];
    let mut active: Vec<usize> = Vec::new();
    let steps = steps(trace);
    let mut slots = trace.slots.iter().peekable();
    let (mut now, mut present) = (0, 0);
    let mut at = 0;
    loop {
        // Until when everything stays as it is.
        let next_step = steps.get(at).map(|step| step.0);
        let next_slots = slots.peek().map(|(from, _)| *from);
        let next = [next_step, next_slots].into_iter().flatten().min().unwrap_or(trace.end);
        let next = next.min(trace.end);
        if next > now {
            let seconds = as_seconds(next - now);
            for (group, due) in divide(workload, present, &active, &wants) {
                let share = &mut shares[group];
                share.had += seconds * f64::from(wants[group].running);
                share.due += seconds * due;
            }
            now = next;
        }
        if now >= trace.end {
            break;
        }
        while let Some((_, count)) = slots.next_if(|(from, _)| *from <= now) {
            present = *count;
        }
        while let Some((_, step, group, _)) = steps.get(at).filter(|step| step.0 <= now) {
            let want = &mut wants[*group];
            match step {
                Step::Ready => want.waiting += 1,
                Step::Start => {
                    want.waiting -= 1;
                    want.running += 1;
                }
                Step::End => want.running -= 1,
            }
            let is_active = want.waiting + want.running > 0;
            if is_active && !active.contains(group) {
                active.push(*group);
            } else if !is_active {
                active.retain(|g| g != group);
            }
            at += 1;
        }
    }
    shares
}

/// Divides the slots: everybody's share grows with its weight until it has what it wants, its task's limit is reached,
/// or the slots are all given away.
fn divide(workload: &Workload, slots: u32, active: &[usize], wants: &[Wants]) -> Vec<(usize, f64)> {
    // Executors that leave end what they run, beyond the slots that are left.
    let running: u32 = active.iter().map(|g| wants[*g].running).sum();
    let mut left = f64::from(slots.max(running));
    let mut limits: Vec<(&str, f64)> = workload.limits.iter().map(|(task, n)| (*task, f64::from(*n))).collect();
    let mut given: Vec<(usize, f64)> = active.iter().map(|g| (*g, 0.0)).collect();
    let wanted = |group: usize| {
        let all = wants[group].waiting + wants[group].running;
        f64::from(workload.groups[group].cap.map_or(all, |cap| all.min(cap)))
    };
    let weight = |group: usize| f64::from(workload.groups[group].weight);
    let mut open: Vec<usize> = (0..given.len()).collect();
    while left > 1e-9 && !open.is_empty() {
        // How far all can grow until the first of them is full.
        let total: f64 = open.iter().map(|at| weight(given[*at].0)).sum();
        let mut grow = left / total;
        for at in &open {
            let (group, has) = given[*at];
            grow = grow.min((wanted(group) - has) / weight(group));
        }
        for (task, limit) in &limits {
            let of_task = open
                .iter()
                .map(|at| given[*at].0)
                .filter(|g| workload.groups[*g].task == *task);
            let total: f64 = of_task.map(weight).sum();
            if total > 0.0 {
                grow = grow.min(limit / total);
            }
        }
        for at in &open {
            let (group, has) = &mut given[*at];
            let more = grow * weight(*group);
            *has += more;
            left -= more;
            if let Some((_, limit)) = limits
                .iter_mut()
                .find(|(task, _)| *task == workload.groups[*group].task)
            {
                *limit -= more;
            }
        }
        open.retain(|at| {
            let (group, has) = given[*at];
            let task = workload.groups[group].task;
            wanted(group) - has > 1e-9 && limits.iter().all(|(t, limit)| *t != task || *limit > 1e-9)
        });
    }
    given
}
