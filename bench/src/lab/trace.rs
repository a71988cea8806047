//! What happened, simulated or real: when each attempt could have run, when it did, and how many slots there were. All
//! numbers and charts are made of this and nothing else, so that a simulation and a real run are measured alike.

use super::workload::{Job, Micros, Workload};

/// One attempt of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Which job of the workload.
    pub(crate) job: usize,
    /// Which group of the workload.
    pub(crate) group: usize,
    /// When it could have run: when the job was submitted, or was due again.
    pub(crate) ready: Micros,
    /// When it began. `None`: it had not when the observation ended.
    pub(crate) start: Option<Micros>,
    /// When it ended. `None`: it had not when the observation ended.
    pub(crate) end: Option<Micros>,
}

/// All that happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trace {
    /// All attempts, in the order in which they became ready.
    pub(crate) runs: Vec<Run>,
    /// How many slots there were from when on.
    pub(crate) slots: Vec<(Micros, u32)>,
    /// When the observation ended.
    pub(crate) end: Micros,
}

impl Trace {
    /// What is known before anything has happened: nothing but who is there.
    pub(super) fn new(workload: &Workload) -> Self {
        let mut changes: Vec<(Micros, i64)> = Vec::new();
        for shift in &workload.crew {
            changes.push((shift.from, i64::from(shift.slots)));
            changes.extend(shift.until.map(|until| (until, -i64::from(shift.slots))));
        }
        changes.sort_unstable();
        let mut slots = Vec::new();
        let mut now = 0;
        for (at, change) in changes {
            now += change;
            if slots.last().is_some_and(|(last, _)| *last == at) {
                slots.pop();
            }
            slots.push((at, u32::try_from(now).unwrap_or(0)));
        }
        Self {
            runs: Vec::new(),
            slots,
            end: 0,
        }
    }

    /// A job, or its next attempt, can run; says which run that is.
    pub(super) fn ready(&mut self, number: usize, job: &Job, at: Micros) -> usize {
        self.runs.push(Run {
            job: number,
            group: job.group,
            ready: at,
            start: None,
            end: None,
        });
        self.runs.len() - 1
    }

    /// Forgets what happened after the end.
    pub(super) fn cut(&mut self, end: Micros) {
        self.end = end;
        self.runs.retain(|run| run.ready < end);
        for run in &mut self.runs {
            run.start = run.start.filter(|start| *start < end);
            run.end = run.end.filter(|ended| *ended <= end);
        }
        self.slots.retain(|(from, _)| *from < end);
    }

    /// When the last attempt ended.
    pub(super) fn last_end(&self) -> Micros {
        self.runs.iter().filter_map(|run| run.end).max().unwrap_or(0)
    }
}
