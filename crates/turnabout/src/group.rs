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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GroupSettings {
    /// How many jobs the group gets for each one of a group of weight 1: see [`GroupSettings::weight`].
    pub weight: Option<u32>,
    /// At most so many of its jobs run at a time, over all executors.
    pub max_running: Option<u32>,
    /// At most so many of a hundred slots of each executor may its jobs have. Wherever there is more than one slot, others find
    /// one, whatever the queue, and nobody has to count over all executors.
    #[serde(default)]
    pub max_share: Option<u32>,
    /// At most so many of its jobs may be unfinished: a submit past that is refused.
    pub max_unfinished: Option<u32>,
    /// So many tasks that nobody has published may its unfinished jobs have: see `GroupSettings::unknown_tasks`.
    #[serde(default)]
    pub max_unknown_tasks: Option<u32>,
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

    /// So many tasks that nobody has published may a group's unfinished jobs have, unless it is set.
    pub const MAX_UNKNOWN_TASKS: u32 = 1000;

    /// How many jobs the group gets for each one of a group of weight 1: 1 unless it is set.
    pub fn weight(&self) -> u32 {
        self.weight.unwrap_or(1).max(1)
    }

    /// How many slots its jobs may have of an executor that has so many: one at least.
    pub(crate) fn slots(&self, of: u32) -> Option<u32> {
        self.max_share.map(|percent| share(percent, of))
    }

    /// At most so many of its jobs may be unfinished. The largest number is no limit: so a group can have none although there is
    /// a default.
    #[cfg(any(feature = "sqlite", test))]
    pub(crate) fn quota(&self) -> Option<u32> {
        self.max_unfinished.filter(|limit| *limit < i32::MAX as u32)
    }

    /// So many different tasks that no executor has ever published may its unfinished jobs have: names cost something for as long
    /// as there are jobs of them, and are nobody's but the submitter's to make up.
    #[cfg(any(feature = "sqlite", test))]
    pub(crate) fn unknown_tasks(&self) -> u32 {
        self.max_unknown_tasks.unwrap_or(Self::MAX_UNKNOWN_TASKS)
    }

    /// These settings, and those of all groups where nothing is set. A share and a number are two ways to say one thing: whoever
    /// has one of them has neither of the defaults.
    #[must_use]
    pub fn or(self, defaults: &Self) -> Self {
        let own = self.max_running.is_some() || self.max_share.is_some();
        Self {
            weight: self.weight.or(defaults.weight),
            max_running: self.max_running.or(defaults.max_running.filter(|_| !own)),
            max_share: self.max_share.or(defaults.max_share.filter(|_| !own)),
            max_unfinished: self.max_unfinished.or(defaults.max_unfinished),
            max_unknown_tasks: self.max_unknown_tasks.or(defaults.max_unknown_tasks),
            rate: self.rate.or(defaults.rate),
            ..self
        }
    }
}

/// Such a share of so many slots, in percent: one at least.
pub(crate) fn share(percent: u32, slots: u32) -> u32 {
    let share = u64::from(slots) * u64::from(percent) / 100;
    u32::try_from(share).unwrap_or(slots).max(1)
}

/// What is set for a task, beside what its code says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
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
#[non_exhaustive]
pub struct QueueSettings {
    /// Whether none of its jobs is taken.
    pub paused: bool,
}

/// What is set for everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
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
#[non_exhaustive]
pub struct Settings {
    /// Grows with every change.
    pub version: i64,
    /// Groups for which something is set, and what is set for them alone. See [`Settings::group`].
    pub groups: HashMap<String, GroupSettings>,
    /// What holds for every group that has no setting of its own: weight, limits and rate.
    pub defaults: GroupSettings,
    /// Tasks for which something is set.
    pub tasks: HashMap<String, TaskLimits>,
    /// Queues for which something is set.
    pub queues: HashMap<String, QueueSettings>,
    /// What is set for everything.
    pub global: GlobalSettings,
}

impl Settings {
    /// What holds for a group: what is set for it, and the defaults of all groups where nothing is. Nobody else applies these
    /// defaults, but for statements of `PostgreSQL` that cannot ask.
    pub fn group(&self, name: &str) -> GroupSettings {
        self.own(name).or(&self.defaults)
    }

    /// What is set for a group alone. Without a name: the defaults of all groups.
    pub(crate) fn own(&self, name: &str) -> GroupSettings {
        match name {
            "" => self.defaults,
            _ => self.groups.get(name).copied().unwrap_or_default(),
        }
    }

    /// Keeps what was set for a group (as [`Settings::own`] tells it).
    pub(crate) fn keep(&mut self, name: String, settings: GroupSettings) {
        if name.is_empty() {
            self.defaults = settings;
        } else if settings == GroupSettings::default() {
            self.groups.remove(&name);
        } else {
            self.groups.insert(name, settings);
        }
    }

    /// What a cap allows at the most.
    pub(crate) fn limit(&self, cap: &Cap) -> Option<u32> {
        match cap {
            Cap::Group(group) => self.group(group).max_running,
            Cap::Task(task) => self.task(task).max_running,
        }
    }

    /// The caps that a job is subject to.
    pub(crate) fn caps(&self, group: &str, task: &str) -> impl Iterator<Item = Cap> {
        let all = [Cap::Group(group.to_owned()), Cap::Task(task.to_owned())];
        all.into_iter().filter(|cap| self.limit(cap).is_some())
    }

    /// Whether there is any cap at all.
    pub(crate) fn any_cap(&self) -> bool {
        self.defaults.max_running.is_some()
            || self.groups.values().any(|group| group.max_running.is_some())
            || self.tasks.values().any(|task| task.max_running.is_some())
    }

    /// Whether an executor may run no more jobs of this group or task beside those that it has.
    #[cfg(feature = "sqlite")]
    pub(crate) fn is_limited_here(&self, group: &str, task: &str) -> bool {
        self.group(group).max_share.is_some() || self.task(task).max_running_each.is_some()
    }

    /// Whether there is any such limit at all.
    #[cfg(feature = "sqlite")]
    pub(crate) fn any_limit_here(&self) -> bool {
        self.defaults.max_share.is_some()
            || self.groups.values().any(|group| group.max_share.is_some())
            || self.tasks.values().any(|task| task.max_running_each.is_some())
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

/// The error of a submit of one more task that nobody has published.
pub(crate) fn unknown_tasks(group: &str, task: &str, limit: u32) -> Error {
    Error::TooManyUnknownTasks {
        group: group.to_owned(),
        task: task.to_owned(),
        limit,
    }
}
