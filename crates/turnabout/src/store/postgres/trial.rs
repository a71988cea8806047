//! For tests: ways that are seldom taken are taken always, and counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Ways that would not be taken otherwise, and whether they were.
#[derive(Default)]
pub(crate) struct Trial {
    /// Every peek goes by the marks, as far as there are any.
    pub(super) by_marks: AtomicBool,
    /// Every take tries to have all that is ready at once.
    pub(super) whole: AtomicBool,
    /// All streams are said to be short.
    pub(super) short: AtomicBool,
    /// How many takes had all that was ready (be it nothing) at once.
    pub(crate) taken_whole: Arc<AtomicUsize>,
    /// How often short streams were read as a whole.
    pub(crate) read_short: Arc<AtomicUsize>,
}

impl Trial {
    pub(crate) fn say(&self, by_marks: bool, whole: bool, short: bool) {
        self.by_marks.store(by_marks, Ordering::Relaxed);
        self.whole.store(whole, Ordering::Relaxed);
        self.short.store(short, Ordering::Relaxed);
    }

    /// How many jobs every group is said to have.
    pub(super) fn length(&self) -> Option<usize> {
        self.short.load(Ordering::Relaxed).then_some(1000)
    }
}
