//! PURE: what an executor has here and now, as far as takes have to know it: how many jobs of a task it runs, for limits on one
//! executor; and how many slots are free, since jobs under a rate are never taken ahead of one.

use std::fmt;
use std::sync::Arc;

/// Counts the jobs of a task that an executor has taken and that have not ended.
type Count = dyn Fn(&str) -> u32 + Send + Sync;

/// What an executor has here and now. By default nothing, and any number of free slots.
#[derive(Clone, Default)]
pub struct Here {
    held: Option<Arc<Count>>,
    slots: Option<u32>,
}

impl Here {
    /// `held` counts the jobs of a task when that is asked for: only where a task has a limit on one executor.
    pub fn new(held: impl Fn(&str) -> u32 + Send + Sync + 'static, slots: u32) -> Self {
        Self {
            held: Some(Arc::new(held)),
            slots: Some(slots),
        }
    }

    pub(super) fn held(&self, task: &str) -> u32 {
        self.held.as_ref().map_or(0, |held| held(task))
    }

    pub(super) fn slots(&self) -> u32 {
        self.slots.unwrap_or(u32::MAX)
    }
}

impl fmt::Debug for Here {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Here")
            .field("slots", &self.slots)
            .finish_non_exhaustive()
    }
}
