//! What operators set for groups, tasks, queues and everything: weights, caps, pauses, how long ended jobs are kept. It acts at
//! once on jobs already there.

mod key;
mod rate;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::retention::Retention;

pub(crate) use key::Admissions;
pub use key::KeyRate;
pub use rate::Rate;

/// What is set for a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupSettings {
    /// How many jobs the group gets for each one of a group of weight 1.
    pub weight: u32,
    /// At most so many of its jobs run at a time, over all executors.
    pub max_running: Option<u32>,
    /// At most so many of its jobs may be unfinished: a submit past that is refused.
    pub max_unfinished: Option<u32>,
    /// Whether none of its jobs is taken.
    pub paused: bool,
    /// How often its jobs may start, over all executors.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// How long its ended jobs are kept.
    #[serde(default)]
    pub retention: Retention,
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
            max_unfinished: None,
            paused: false,
            rate: None,
            retention: Retention::default(),
        }
    }
}

/// What is set for a task, beside what its code says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskLimits {
    /// At most so many of its jobs run at a time, over all executors and groups.
    pub max_running: Option<u32>,
    /// At most so many of its jobs run at a time on one executor.
    #[serde(default)]
    pub max_running_each: Option<u32>,
    /// How often its jobs may start, over all executors and groups.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// Whether none of its jobs is taken.
    pub paused: bool,
    /// How long its ended jobs are kept, in groups that say nothing themselves.
    #[serde(default)]
    pub retention: Retention,
}

impl TaskLimits {
    /// Whether there are times at which its jobs may not be taken, although it is not paused.
    pub(crate) fn is_limited(&self) -> bool {
        self.max_running.is_some() || self.max_running_each.is_some() || self.rate.is_some()
    }
}

/// What is set for a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueSettings {
    /// Whether none of its jobs is taken.
    pub paused: bool,
}

/// What is set for everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GlobalSettings {
    /// Whether no job is taken at all.
    #[serde(default)]
    pub paused: bool,
    /// How long ended jobs are kept of which neither group nor task says anything.
    #[serde(default)]
    pub retention: Retention,
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
    /// Queues for which something is set.
    pub queues: HashMap<String, QueueSettings>,
    /// What is set for everything.
    pub global: GlobalSettings,
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

    /// How often jobs of a group or a task may start, if that is set.
    pub(crate) fn rate(&self, of: &Cap) -> Option<Rate> {
        match of {
            Cap::Group(group) => self.group(group).rate,
            Cap::Task(task) => self.task(task).rate,
        }
    }

    /// The rates that a job is subject to.
    pub(crate) fn rates(&self, group: &str, task: &str) -> impl Iterator<Item = (Cap, Rate)> {
        let group = self.group(group).rate.map(|rate| (Cap::Group(group.to_owned()), rate));
        let task = self.task(task).rate.map(|rate| (Cap::Task(task.to_owned()), rate));
        group.into_iter().chain(task)
    }

    /// What is set for a queue, or the defaults.
    pub fn queue(&self, name: &str) -> QueueSettings {
        self.queues.get(name).copied().unwrap_or_default()
    }

    /// Whether jobs of this queue, group and task are not taken, because one of them is paused, or everything.
    pub fn is_paused(&self, queue: &str, group: &str, task: &str) -> bool {
        self.global.paused || self.queue(queue).paused || self.group(group).paused || self.task(task).paused
    }
}

/// Whose number of running jobs, or rate of starts, is limited. Ordered: claims lock caps in this order, and rates after them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Cap {
    /// A group's.
    Group(String),
    /// A task's.
    Task(String),
}

/// Whose number of unfinished jobs is limited. Ordered: submits pass in this order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Quota {
    pub(crate) group: String,
    /// A task and an owner inside the group; empty: all of the group's jobs. An empty owner stands for none.
    pub(crate) task: String,
    pub(crate) owner: String,
}

impl Quota {
    /// All jobs of a group.
    pub(crate) fn group(group: &str) -> Self {
        Self {
            group: group.to_owned(),
            task: String::new(),
            owner: String::new(),
        }
    }

    /// Jobs of one task and owner inside a group.
    pub(crate) fn owner(group: &str, task: &str, owner: Option<&str>) -> Self {
        Self {
            group: group.to_owned(),
            task: task.to_owned(),
            owner: owner.unwrap_or_default().to_owned(),
        }
    }

    /// The error of a submit past the limit.
    pub(crate) fn exceeded(&self, limit: u32) -> Error {
        let what = match (self.task.as_str(), self.owner.as_str()) {
            ("", _) => format!("the group `{}`", self.group),
            (task, "") => format!("the group `{}` without an owner, of the task `{task}`,", self.group),
            (task, owner) => format!("the owner `{owner}`, of the task `{task}`,"),
        };
        Error::TooMany { what, limit }
    }
}
