//! Which arguments cannot be right, told where the tasks are known: a job that could only fail need not be stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::command::Program;
use super::sleep::Sleep;
use crate::config::Config;

/// What is known about the arguments of tasks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checks(BTreeMap<String, Check>);

#[derive(Clone, Debug)]
enum Check {
    Sleep,
    Program(Arc<Program>),
}

impl Checks {
    /// For the tasks of an executor with this configuration.
    pub(crate) fn new(config: &Config) -> anyhow::Result<Self> {
        let mut checks = BTreeMap::new();
        if config.has_sleep() {
            checks.insert("sleep".to_owned(), Check::Sleep);
        }
        for (name, task) in &config.tasks {
            if let Some(command) = &task.command {
                let program = Program::new(command, task, &config.executor).map_err(anyhow::Error::msg)?;
                checks.insert(name.clone(), Check::Program(Arc::new(program)));
            } else if task.url.is_some() {
                // What it takes, only whoever answers there knows.
                checks.remove(name);
            }
        }
        Ok(Self(checks))
    }

    /// Why a task refuses these arguments, as JSON. One that is not known here refuses nothing.
    pub(crate) fn check(&self, task: &str, args: &str) -> Result<(), String> {
        match self.0.get(task) {
            None => Ok(()),
            Some(Check::Sleep) => {
                let sleep: Sleep = serde_json::from_str(args).map_err(|error| error.to_string())?;
                sleep.time().map(drop)
            }
            Some(Check::Program(program)) => program.takes(args),
        }
    }
}
