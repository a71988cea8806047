//! PURE: what an executor has here and now, as far as takes have to know it: how many jobs of a task or a group it runs, for limits
//! on one executor; and how many slots are free, since jobs under a rate are never taken ahead of one.

use std::fmt;
use std::sync::Arc;

use crate::group::Cap;

/// Counts the jobs of a task or a group that an executor has taken and that have not ended.
type Count = dyn Fn(&Cap) -> u32 + Send + Sync;

/// What an executor has here and now. By default nothing, and any number of free slots.
#[derive(Clone, Default)]
pub struct Here {
    held: Option<Arc<Count>>,
    free: Option<u32>,
    slots: Option<u32>,
    late: bool,
}

impl Here {
    /// `held` counts jobs when that is asked for: only where a task or a group has a limit on one executor. So many of the slots
    /// are free.
    pub fn new(held: impl Fn(&Cap) -> u32 + Send + Sync + 'static, free: u32, slots: u32) -> Self {
        Self {
            held: Some(Arc::new(held)),
            free: Some(free),
            slots: Some(slots),
            late: false,
        }
    }

    /// Jobs start here a while after they were taken.
    pub fn late(self, late: bool) -> Self {
        Self { late, ..self }
    }

    pub(super) fn is_late(&self) -> bool {
        self.late
    }

    pub(super) fn held(&self, of: &Cap) -> u32 {
        self.held.as_ref().map_or(0, |held| held(of))
    }

    /// How many slots are free.
    pub(super) fn free(&self) -> u32 {
        self.free.unwrap_or(u32::MAX)
    }

    /// How many slots there are.
    pub(super) fn slots(&self) -> u32 {
        self.slots.unwrap_or(u32::MAX)
    }
}

impl fmt::Debug for Here {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Here")
            .field("free", &self.free)
            .field("slots", &self.slots)
            .finish_non_exhaustive()
    }
}
