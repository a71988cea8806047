//! PURE: how many jobs are so few that a round takes all of them, whosever they are.
//!
//! Where that is known beforehand, a store may take them without a look at whose turn it is: afterwards the same [`Round`]
//! as ever is told what there was, and what was taken.
//!
//! [`Round`]: super::Round

use super::{Fairness, Turns};
use crate::group::Settings;

impl Turns {
    /// Of so many ready jobs of tasks that the executor knows, a round leaves none behind. Zero: nobody can say.
    pub fn whole(&self, want: u32, settings: &Settings) -> u32 {
        let holds_back = settings.groups.values().any(|s| s.paused || s.max_running.is_some())
            || settings.tasks.values().any(|s| s.paused || s.max_running.is_some());
        if holds_back || !self.benched.is_empty() {
            return 0;
        }
        // A single group gets as many turns as there are.
        let alike = self.fairness == Fairness::Jobs && settings.groups.values().all(|s| s.weight <= 1);
        if want < 2 || !alike {
            return want.min(1);
        }
        // Of n jobs, some groups have one each, and one group has the rest: it gets what it needs if every group gets as
        // many. That is most when about half of them are in one group.
        let mut jobs = 1;
        while (jobs / 2 + 1) * (jobs + 1 - jobs / 2) <= want {
            jobs += 1;
        }
        jobs
    }
}
