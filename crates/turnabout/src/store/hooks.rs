//! Hooks that are owed: noted with the change that they are about, run later by whoever knows the task.

use std::time::Duration;

use async_trait::async_trait;

use crate::error::Result;
use crate::hook::{Hooks, Owed};

/// The list of hooks that have not run yet.
#[async_trait]
pub trait OwedHooks {
    /// Hooks that are owed for jobs of these tasks, of each task only those that it has here, up to `limit`, the longest
    /// owed first. They are not given out again for so long: whoever got them should have struck them off by then.
    async fn owed(&self, tasks: &[(String, Hooks)], limit: u32, again: Duration) -> Result<Vec<Owed>>;

    /// Strikes off hooks that ran, or will not be tried again.
    async fn strike(&self, owed: Vec<i64>) -> Result<()>;
}
