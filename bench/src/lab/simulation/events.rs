//! What is going to happen, in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::lab::workload::Micros;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// A job is submitted, or due again.
    Ready(usize),
    /// A handler returns.
    End { executor: usize, job: usize },
    /// An executor begins.
    Join(usize),
    /// An executor takes no more jobs.
    Leave(usize),
    /// A second has passed for an executor.
    Second(usize),
    /// If an executor has started no further job by then, what it holds ahead goes back.
    Stale { executor: usize, starts: u64 },
}

/// What is going to happen. At one moment: in the order in which it was added.
#[derive(Default)]
pub(super) struct Events {
    heap: BinaryHeap<Reverse<(Micros, u64, What)>>,
    added: u64,
}

impl Events {
    pub(super) fn add(&mut self, at: Micros, what: What) {
        self.added += 1;
        self.heap.push(Reverse((at, self.added, what)));
    }

    pub(super) fn next_moment(&self) -> Option<Micros> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// What happens next, if it happens at this moment.
    pub(super) fn pop(&mut self, now: Micros) -> Option<What> {
        if self.next_moment()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse((.., what))| what)
    }
}
