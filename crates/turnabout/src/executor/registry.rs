//! The tasks that an executor knows: for each name its settings and its handler, with all types erased.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Serialize;

use crate::context::{Context, Core};
use crate::error::{Error, Result};
use crate::submit::name;
use crate::task::{Task, TaskError, TaskResult, TaskSettings};

/// A result is no longer, in bytes of JSON.
pub(super) const MAX_RESULT: usize = 1 << 20;

/// Runs one attempt: decodes the arguments, calls the handler, encodes its result. `None` stands for no result.
type Handler = Box<dyn Fn(Core) -> BoxFuture<'static, TaskResult<Option<String>>> + Send + Sync>;

/// A task that an executor can run.
pub(crate) struct Known {
    pub(super) settings: TaskSettings,
    pub(super) handler: Handler,
}

/// All tasks that an executor can run, by name.
#[derive(Default)]
pub(crate) struct Registry {
    tasks: HashMap<String, Known>,
    /// The first mistake that was made, told when the executor starts.
    mistake: Option<Error>,
}

impl Registry {
    /// Adds a task whose arguments are of type `T`.
    pub(super) fn add<S, T, O, F, Fut>(&mut self, state: &Arc<S>, handler: F)
    where
        S: Send + Sync + 'static,
        T: Task,
        O: Serialize,
        F: Fn(Context<S>, T) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = TaskResult<O>> + Send + 'static,
    {
        self.add_named(state, TaskSettings::of::<T>(), handler);
    }

    /// Adds a task known only by its settings; `T` is whatever its arguments decode to.
    pub(super) fn add_named<S, T, O, F, Fut>(&mut self, state: &Arc<S>, settings: TaskSettings, handler: F)
    where
        S: Send + Sync + 'static,
        T: serde::de::DeserializeOwned + Send + 'static,
        O: Serialize,
        F: Fn(Context<S>, T) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = TaskResult<O>> + Send + 'static,
    {
        let state = Arc::clone(state);
        let handler = Arc::new(handler);
        let erased: Handler = Box::new(move |core| {
            let state = Arc::clone(&state);
            let handler = Arc::clone(&handler);
            // Everything that may panic happens inside the future, where the attempt catches it.
            Box::pin(async move {
                let args = decode(&core)?;
                let output = handler(Context::new(core, state), args).await?;
                encode(&output)
            })
        });
        let checked = name("task", &settings.name).and_then(|()| name("queue", &settings.queue));
        if let Err(error) = checked {
            self.mistake.get_or_insert(error);
        }
        let name = settings.name.clone();
        let known = Known {
            settings,
            handler: erased,
        };
        if self.tasks.insert(name.clone(), known).is_some() {
            self.mistake.get_or_insert_with(|| {
                Error::invalid(
                    "task",
                    format!("two handlers were given for `{name}`; each task has exactly one"),
                )
            });
        }
    }

    /// Nothing, or the first mistake that was made.
    pub(super) fn check(&mut self) -> Result<()> {
        match self.mistake.take() {
            Some(mistake) => Err(mistake),
            None if self.tasks.is_empty() => Err(Error::invalid(
                "executor",
                "it knows no task; give it at least one with `.task(handler)`",
            )),
            None => Ok(()),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    pub(super) fn get(&self, task: &str) -> Option<&Known> {
        self.tasks.get(task)
    }

    /// The settings of all tasks, in the order of their names.
    pub(super) fn settings(&self) -> Vec<TaskSettings> {
        let mut settings: Vec<_> = self.tasks.values().map(|known| known.settings.clone()).collect();
        settings.sort_by(|a, b| a.name.cmp(&b.name));
        settings
    }
}

fn decode<T: serde::de::DeserializeOwned>(core: &Core) -> TaskResult<T> {
    let job = &core.held.job;
    serde_json::from_str(&job.args).map_err(|e| {
        TaskError::permanent(format!(
            "the arguments are not what the task `{}` expects: {e}",
            job.task
        ))
    })
}

fn encode<O: Serialize>(output: &O) -> TaskResult<Option<String>> {
    let text = serde_json::to_string(output)
        .map_err(|e| TaskError::permanent(format!("the result cannot be written as JSON: {e}")))?;
    if text.len() > MAX_RESULT {
        return Err(TaskError::permanent(format!(
            "the result takes {} bytes as JSON, over the limit of {MAX_RESULT}; store large results elsewhere and \
             return a reference",
            text.len()
        )));
    }
    Ok(Some(text).filter(|text| text != "null"))
}
