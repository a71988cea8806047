//! PURE: the accounts of the last minutes, in steps of time of which the oldest goes when a new one comes.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::MAX_GROUPS;
use super::waits::Waits;

/// What is known about a group in a step of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    /// Slot seconds that it used.
    pub(super) used: f64,
    /// Seconds, times the share that it was entitled to.
    pub(super) entitled: f64,
    /// Seconds in which others waited, times the share that it had beyond its own; less than none if it had less.
    pub(super) over: f64,
    /// Seconds in which it waited, times the share that it had, ..
    pub(super) got: f64,
    /// .. and times the share that it was entitled to.
    pub(super) due: f64,
    pub(super) waits: Waits,
}

impl Cell {
    pub(super) fn merge(&mut self, other: &Self) {
        self.used += other.used;
        self.entitled += other.entitled;
        self.over += other.over;
        self.got += other.got;
        self.due += other.due;
        self.waits.merge(&other.waits);
    }
}

/// What is known about all groups together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    /// Seconds that someone looked at.
    pub(super) seconds: f64,
    /// Of these, such in which a group had something to do.
    pub(super) active: f64,
    pub(super) slot_seconds: f64,
    pub(super) started: u64,
    pub(super) failed: u64,
}

#[derive(Debug, Default)]
struct Step {
    number: u64,
    totals: Totals,
    cells: HashMap<Arc<str>, Cell>,
    /// Groups beyond those that are told apart.
    rest: Cell,
}

/// The last minutes, in steps.
#[derive(Debug)]
pub(super) struct Window {
    step: Duration,
    steps: VecDeque<Step>,
    most: usize,
}

impl Window {
    pub(super) fn new(step: Duration, steps: usize) -> Self {
        Self {
            step,
            steps: VecDeque::from([Step::default()]),
            most: steps,
        }
    }

    /// How long it is.
    pub(super) fn length(&self) -> Duration {
        self.step * u32::try_from(self.most).unwrap_or(u32::MAX)
    }

    /// Time has moved on: steps that are too old go.
    pub(super) fn advance(&mut self, at: Duration) {
        let number = (at.as_secs_f64() / self.step.as_secs_f64()) as u64;
        if self.steps.back().is_none_or(|step| step.number < number) {
            self.steps.push_back(Step {
                number,
                ..Step::default()
            });
        }
        let oldest = (number + 1).saturating_sub(self.most as u64);
        while self.steps.len() > 1 && self.steps.front().is_some_and(|step| step.number < oldest) {
            self.steps.pop_front();
        }
    }

    fn now(&mut self) -> &mut Step {
        if self.steps.is_empty() {
            self.steps.push_back(Step::default());
        }
        let last = self.steps.len() - 1;
        &mut self.steps[last]
    }

    pub(super) fn totals(&mut self) -> &mut Totals {
        &mut self.now().totals
    }

    /// A group's cell in the present step, unless there are too many groups.
    pub(super) fn cell(&mut self, group: &Arc<str>) -> Option<&mut Cell> {
        let step = self.now();
        if !step.cells.contains_key(group) && step.cells.len() >= MAX_GROUPS {
            return None;
        }
        Some(step.cells.entry(Arc::clone(group)).or_default())
    }

    pub(super) fn cell_or_rest(&mut self, group: &Arc<str>) -> &mut Cell {
        let step = self.now();
        if !step.cells.contains_key(group) && step.cells.len() >= MAX_GROUPS {
            return &mut step.rest;
        }
        step.cells.entry(Arc::clone(group)).or_default()
    }

    /// How many groups are told apart, in the step that has most.
    pub(super) fn groups(&self) -> usize {
        self.steps.iter().map(|step| step.cells.len()).max().unwrap_or(0)
    }

    /// All steps together: everything, each group, and the rest.
    pub(super) fn sum(&self) -> (Totals, HashMap<Arc<str>, Cell>, Cell) {
        let (mut totals, mut cells, mut rest) = (Totals::default(), HashMap::new(), Cell::default());
        for step in &self.steps {
            totals.seconds += step.totals.seconds;
            totals.active += step.totals.active;
            totals.slot_seconds += step.totals.slot_seconds;
            totals.started += step.totals.started;
            totals.failed += step.totals.failed;
            rest.merge(&step.rest);
            for (group, cell) in &step.cells {
                let sum: &mut Cell = cells.entry(Arc::clone(group)).or_default();
                sum.merge(cell);
            }
        }
        (totals, cells, rest)
    }
}
