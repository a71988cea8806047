//! What operators set for groups and tasks: weights, caps, pauses. They act at once on jobs already waiting.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// What is set for a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupSettings {
    /// How many jobs the group gets for each one of a group of weight 1.
    pub weight: u32,
    /// At most so many of its jobs run at a time, over all executors.
    pub max_running: Option<u32>,
    /// Whether none of its jobs is taken.
    pub paused: bool,
}

impl GroupSettings {
    /// The heaviest weight: a visit of a group takes no more jobs than this.
    pub const MAX_WEIGHT: u32 = 1000;
}

impl Default for GroupSettings {
    fn default() -> Self {
        Self {
            weight: 1,
            max_running: None,
            paused: false,
        }
    }
}

/// What is set for a task, beside what its code says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskLimits {
    /// At most so many of its jobs run at a time, over all executors and groups.
    pub max_running: Option<u32>,
    /// Whether none of its jobs is taken.
    pub paused: bool,
}

/// All settings of a store, as of one version of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Grows with every change.
    pub version: i64,
    /// Groups for which something is set.
    pub groups: HashMap<String, GroupSettings>,
    /// Tasks for which something is set.
    pub tasks: HashMap<String, TaskLimits>,
}

impl Settings {
    /// What is set for a group, or the defaults.
    pub fn group(&self, name: &str) -> GroupSettings {
        self.groups.get(name).copied().unwrap_or_default()
    }

    /// What is set for a task, or the defaults.
    pub fn task(&self, name: &str) -> TaskLimits {
        self.tasks.get(name).copied().unwrap_or_default()
    }
}

/// Whose number of running jobs is limited. Ordered: claims lock caps in this order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cap {
    /// A group's.
    Group(String),
    /// A task's.
    Task(String),
}
