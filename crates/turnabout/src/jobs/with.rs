//! What an application puts into a handle: its state, and the types of tasks that are submitted by their names.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

use super::Jobs;
use crate::submit::Known;
use crate::task::Task;

/// What the application has put in, by type.
pub(super) type States = HashMap<TypeId, Arc<dyn Any + Send + Sync>>;

/// Tasks whose types are known here, by name.
pub(super) type KnownTasks = HashMap<&'static str, Known>;

impl Jobs {
    /// This handle with something of the application's in it, for [`Task::prepare`] and [`Task::after_submit`]: a
    /// database pool, a configuration. One value of each type; clones made earlier do not have it.
    ///
    /// ```
    /// # async fn example(jobs: turnabout::Jobs) {
    /// struct Quota { pages: u32 }
    /// let jobs = jobs.with_state(Quota { pages: 100 });
    /// assert_eq!(jobs.state::<Quota>().map(|quota| quota.pages), Some(100));
    /// # }
    /// ```
    pub fn with_state<S: Send + Sync + 'static>(&self, state: S) -> Self {
        let mut states = States::clone(&self.states);
        states.insert(TypeId::of::<S>(), Arc::new(state));
        Self {
            states: Arc::new(states),
            ..self.clone()
        }
    }

    /// This handle with a task in it that jobs may be submitted of by its name: what the task says of its jobs then holds for
    /// those, too, and [`Task::prepare`] runs when they are submitted, not when they are executed. For handles that callers
    /// use who do not have the type: a web API. Clones made earlier do not have the task.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize)] struct Mail { to: String }
    /// # impl turnabout::Task for Mail { const NAME: &'static str = "mail"; }
    /// # async fn example(jobs: turnabout::Jobs) -> turnabout::Result<()> {
    /// let jobs = jobs.with_task::<Mail>();
    /// // Arguments that are no mail are an error now, and nothing is stored.
    /// let refused = jobs.submit_named("mail", serde_json::json!({ "two": "ada@example.org" })).await;
    /// assert!(matches!(refused, Err(turnabout::Error::Refused { .. })));
    /// # Ok(()) }
    /// ```
    pub fn with_task<T: Task>(&self) -> Self {
        let mut tasks = KnownTasks::clone(&self.tasks);
        tasks.insert(T::NAME, Known::of::<T>());
        Self {
            tasks: Arc::new(tasks),
            ..self.clone()
        }
    }

    /// What [`Jobs::with_state`] put in.
    pub fn state<S: Send + Sync + 'static>(&self) -> Option<&S> {
        self.states.get(&TypeId::of::<S>())?.downcast_ref()
    }
}
