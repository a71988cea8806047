//! Whether one job may run a second time, where whoever submitted it has said so.

use super::{Claimed, Job, Meta};
use crate::lifecycle::Policy;

/// The entry of a job's meta that says it: `true` or `false`.
pub const RESTARTABLE: &str = "turnabout-restartable";

impl Job {
    /// Whether it may run a second time. None: as its task says.
    pub fn restartable(&self) -> Option<bool> {
        said(&self.meta)
    }

    /// When and whether it runs again, by what its task says of all its jobs.
    pub(crate) fn policy(&self, of_task: Policy) -> Policy {
        policy(&self.meta, of_task)
    }
}

impl Claimed {
    /// When and whether it runs again, by what its task says of all its jobs.
    pub(crate) fn policy(&self, of_task: Policy) -> Policy {
        policy(&self.meta, of_task)
    }
}

fn said(meta: &Meta) -> Option<bool> {
    // Anybody can write anything into a job's meta.
    meta.get(RESTARTABLE)?.parse().ok()
}

fn policy(meta: &Meta, of_task: Policy) -> Policy {
    Policy {
        restartable: said(meta).unwrap_or(of_task.restartable),
        ..of_task
    }
}
