//! The tasks that an executor knows: for each name its settings, its handler and its hooks, with all types erased.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::hooks::HookHandler;
use super::meter::Meter;
use crate::context::{Context, Core, HookContext};
use crate::error::{Error, Result, panic_message};
use crate::hook::{Hook, Hooks, LIMIT, guard};
use crate::job::{Described, Job};
use crate::jobs::Jobs;
use crate::submit::{Submitting, name};
use crate::task::{Args, BoxError, Failure, Isolation, Refused, Task, TaskError, TaskResult, TaskSettings};

/// A result is no longer, in bytes of JSON.
pub(super) const MAX_RESULT: usize = 1 << 20;

/// Runs one attempt: decodes the arguments, calls the handler, encodes its result. `None` stands for no result.
type Handler = Box<dyn Fn(Core) -> BoxFuture<'static, TaskResult<Option<String>>> + Send + Sync>;

/// Runs a hook.
type Run = Box<dyn Fn(Job, Jobs) -> BoxFuture<'static, TaskResult> + Send + Sync>;

type Describe = Box<dyn Fn(&Failure<'_>) -> Option<Described> + Send + Sync>;

/// A task that an executor can run.
pub(crate) struct Known {
    pub(super) settings: TaskSettings,
    pub(super) handler: Handler,
    /// Whether the handler blocks its thread, so that it cannot be dropped.
    pub(super) blocking: bool,
    /// Whether the handler is given a transaction.
    pub(super) transaction: Option<Isolation>,
    pub(super) meter: Meter,
    beside: Beside,
}

/// What was given for a task beside its handler, perhaps before it.
#[derive(Default)]
struct Beside {
    hooks: HashMap<Hook, Run>,
    describe: Option<Describe>,
}

impl Known {
    pub(super) fn hook(&self, hook: Hook) -> Option<&Run> {
        self.beside.hooks.get(&hook)
    }

    /// What people are told about a failure.
    pub(super) fn describe(&self, failure: &Failure<'_>) -> Described {
        let described = self.beside.describe.as_ref().and_then(|describe| {
            std::panic::catch_unwind(AssertUnwindSafe(|| describe(failure))).unwrap_or_else(|panic| {
                let why = panic_message(&*panic);
                tracing::error!(task = self.settings.name, why, "describe_error panicked");
                None
            })
        });
        described.unwrap_or_else(|| match failure {
            Failure::Error(_) => Described::default(),
            Failure::Panic(_) => Described::new("panicked", "Something went wrong."),
            Failure::TimedOut => Described::new("timed-out", "It took too long and was stopped."),
        })
    }
}

/// All tasks that an executor can run, by name.
#[derive(Default)]
pub(crate) struct Registry {
    tasks: HashMap<String, Known>,
    beside: HashMap<&'static str, Beside>,
    /// The tasks that have hooks, and which.
    hooked: Vec<(String, Hooks)>,
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
        let state = Arc::clone(state);
        let handler = Arc::new(handler);
        self.insert(
            TaskSettings::of::<T>(),
            T::TRANSACTION,
            Box::new(move |core| {
                let (state, handler) = (Arc::clone(&state), Arc::clone(&handler));
                // Everything that may panic happens inside the future, where the attempt catches it.
                Box::pin(async move {
                    let mut args = expected(&core, T::decode(&Args::stored(&core.held.job.args)))?;
                    if !core.held.job.prepared {
                        prepare(&core, &mut args).await?;
                    }
                    encode(&handler(Context::new(core, state), args).await?)
                })
            }),
        );
    }

    /// As [`Registry::add`], of a handler that blocks: it runs on a thread of its own.
    pub(super) fn add_blocking<S, T, O, F>(&mut self, state: &Arc<S>, handler: F)
    where
        S: Send + Sync + 'static,
        T: Task,
        O: Serialize,
        F: Fn(Context<S>, T) -> TaskResult<O> + Send + Sync + 'static,
    {
        let handler = Arc::new(handler);
        let blocking = move |cx: Context<S>, args: T| {
            let handler = Arc::clone(&handler);
            async move {
                // Encoded where it was made, since it need not be fit for travelling.
                let result = super::blocking::run(cx.seat(), move || encode(&handler(cx, args)?)).await?;
                Ok(Encoded(result))
            }
        };
        self.add(state, blocking);
        if let Some(known) = self.tasks.get_mut(T::NAME) {
            known.blocking = true;
        }
    }

    /// Adds a task known only by its settings; `T` is whatever its arguments decode to.
    pub(super) fn add_named<S, T, O, F, Fut>(&mut self, state: &Arc<S>, settings: TaskSettings, handler: F)
    where
        S: Send + Sync + 'static,
        T: DeserializeOwned + Send + 'static,
        O: Serialize,
        F: Fn(Context<S>, T) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = TaskResult<O>> + Send + 'static,
    {
        let state = Arc::clone(state);
        let handler = Arc::new(handler);
        self.insert(
            settings,
            None,
            Box::new(move |core| {
                let (state, handler) = (Arc::clone(&state), Arc::clone(&handler));
                Box::pin(async move {
                    let args = expected(&core, Args::stored(&core.held.job.args).to_json())?;
                    encode(&handler(Context::new(core, state), args).await?)
                })
            }),
        );
    }

    fn insert(&mut self, settings: TaskSettings, transaction: Option<Isolation>, handler: Handler) {
        let checked = name("task", &settings.name).and_then(|()| name("queue", &settings.queue));
        if let Err(error) = checked {
            self.mistaken(error);
        }
        let name = settings.name.clone();
        let known = Known {
            settings,
            handler,
            blocking: false,
            transaction,
            meter: Meter::default(),
            beside: Beside::default(),
        };
        if self.tasks.insert(name.clone(), known).is_some() {
            self.mistaken(Error::invalid(
                "task",
                format!("two handlers were given for `{name}`; each task has exactly one"),
            ));
        }
    }

    pub(super) fn add_hook<S, T>(&mut self, state: &Arc<S>, hook: Hook, handler: impl HookHandler<S>)
    where
        S: Send + Sync + 'static,
        T: Task,
    {
        let state = Arc::clone(state);
        let run: Run = Box::new(move |job, jobs| handler.call(HookContext::new(job, jobs, Arc::clone(&state))));
        let beside = self.beside.entry(T::NAME).or_default();
        if beside.hooks.insert(hook, run).is_some() {
            let why = format!("two were given for the same event of the task `{}`", T::NAME);
            self.mistaken(Error::invalid("hook", why));
        }
    }

    pub(super) fn add_description<T: Task>(
        &mut self,
        describe: impl Fn(&Failure<'_>) -> Option<Described> + Send + Sync + 'static,
    ) {
        let beside = self.beside.entry(T::NAME).or_default();
        if beside.describe.replace(Box::new(describe)).is_some() {
            let why = format!("two were given for the task `{}`", T::NAME);
            self.mistaken(Error::invalid("describe_error", why));
        }
    }

    fn mistaken(&mut self, error: Error) {
        self.mistake.get_or_insert(error);
    }

    /// Puts everything together, or says which mistake was made first.
    pub(super) fn check(&mut self) -> Result<()> {
        for (name, beside) in std::mem::take(&mut self.beside) {
            let hooks = beside.hooks.keys().fold(Hooks::NONE, |hooks, hook| hooks.with(*hook));
            match self.tasks.get_mut(name) {
                Some(known) => {
                    known.settings.hooks = hooks;
                    known.beside = beside;
                }
                None => self.mistaken(Error::invalid(
                    "hook",
                    format!("one was given for the task `{name}`, but no handler; give it one with `.task(handler)`"),
                )),
            }
        }
        let hooked = self.tasks.values().filter(|known| !known.settings.hooks.is_empty());
        self.hooked = hooked
            .map(|known| (known.settings.name.clone(), known.settings.hooks))
            .collect();
        match self.mistake.take() {
            Some(mistake) => Err(mistake),
            None if self.tasks.is_empty() => Err(Error::invalid(
                "executor",
                "it knows no task; give it at least one with `.task(handler)`",
            )),
            None => Ok(()),
        }
    }

    pub(super) fn get(&self, task: &str) -> Option<&Known> {
        self.tasks.get(task)
    }

    /// A task whose handlers are given transactions, if there is one.
    pub(super) fn transactional(&self) -> Option<&str> {
        let mut names = self.tasks.values().filter(|known| known.transaction.is_some());
        names.next().map(|known| known.settings.name.as_str())
    }

    /// The tasks that have hooks, and which.
    pub(super) fn hooked(&self) -> &[(String, Hooks)] {
        &self.hooked
    }

    /// The hooks that a task has.
    pub(super) fn hooks(&self, task: &str) -> Hooks {
        self.get(task).map_or(Hooks::NONE, |known| known.settings.hooks)
    }

    /// The settings of all tasks, in the order of their names.
    pub(super) fn settings(&self) -> Vec<TaskSettings> {
        let mut settings: Vec<_> = self.tasks.values().map(|known| known.settings.clone()).collect();
        settings.sort_by(|a, b| a.name.cmp(&b.name));
        settings
    }
}

/// Arguments that were decoded, or why the job can never run.
fn expected<T>(core: &Core, decoded: Result<T, BoxError>) -> TaskResult<T> {
    decoded.map_err(|e| {
        let task = &core.held.job.task;
        TaskError::permanent(format!("the arguments are not what the task `{task}` expects: {e}"))
    })
}

/// Prepares the arguments of a job that was submitted where the task's code was not.
async fn prepare<T: Task>(core: &Core, args: &mut T) -> TaskResult {
    let job = &core.held.job;
    let cx = Submitting {
        group: &job.group,
        owner: job.owner.as_deref(),
        meta: &job.meta,
        jobs: &core.jobs,
    };
    match guard(LIMIT, async { args.prepare(&cx).await }).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(Refused { described, .. })) => Err(TaskError {
            described: described.clone(),
            ..TaskError::permanent(described.message.unwrap_or_default())
        }),
        Err(why) => Err(TaskError::permanent(format!(
            "its arguments could not be prepared: the hook {why}"
        ))),
    }
}

/// A result that is encoded already.
struct Encoded(Option<String>);

impl Serialize for Encoded {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.0.as_deref().unwrap_or("null");
        let raw: &serde_json::value::RawValue = serde_json::from_str(text).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

pub(crate) fn encode<O: Serialize + ?Sized>(output: &O) -> TaskResult<Option<String>> {
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
