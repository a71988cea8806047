//! What tasks show of their jobs: which arguments are public, and which HTTP status their errors have.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::config::{Config, Statuses};

/// What is known about the tasks of the configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown(BTreeMap<String, Task>);

#[derive(Clone, Debug)]
struct Task {
    public: Vec<String>,
    statuses: Statuses,
}

impl Shown {
    /// For the tasks of this configuration, whoever runs them.
    pub(crate) fn new(config: &Config) -> Self {
        let said = |task: &&crate::config::Task| !task.public.is_empty() || !task.statuses.0.is_empty();
        let tasks = config.tasks.iter().filter(|(_, task)| said(task));
        let shown = |task: &crate::config::Task| Task {
            public: task.public.clone(),
            statuses: task.statuses.clone(),
        };
        Self(tasks.map(|(name, task)| (name.clone(), shown(task))).collect())
    }

    /// Those of a job's arguments that everyone may know who sees the job.
    pub(crate) fn public(&self, task: &str, args: &Value) -> Option<Map<String, Value>> {
        let Task { public, .. } = self.0.get(task)?;
        let found = public
            .iter()
            .filter_map(|name| Some((name.clone(), args.get(name)?.clone())));
        Some(found.collect()).filter(|fields: &Map<_, _>| !fields.is_empty())
    }

    /// The HTTP status of a task's error.
    pub(crate) fn status(&self, task: &str, code: &str) -> Option<u16> {
        self.0.get(task)?.statuses.0.get(code).copied()
    }
}
