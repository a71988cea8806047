//! The tasks that the program knows: those of the configuration, and `sleep`.

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use serde_json::value::RawValue;
use tracing::Instrument as _;
use turnabout::task::TaskSettings;
use turnabout::{Context, Executor, TaskResult};

mod checks;
mod circuit;
mod command;
mod shown;
mod signature;
mod sleep;
pub(crate) mod template;
mod url;

pub(crate) use checks::Checks;
pub(crate) use circuit::{Circuit, Resting};
pub(crate) use command::{REAPER, end_programs, kill_all};
pub(crate) use shown::Shown;

use crate::api::WEBHOOK_TASK;
use crate::config::{Config, Task, Webhook};
use crate::traces;
use command::Program;
use url::Endpoint;

/// Tasks that need no configuration, and may have one nevertheless.
pub(crate) const BUILT_IN: [&str; 1] = ["sleep"];

/// No connection takes so long to be made.
const CONNECT: Duration = Duration::from_secs(10);

/// Gives an executor all tasks but those of webhooks, which have executors of their own.
pub(crate) fn add_all(mut executor: Executor, config: &Config) -> anyhow::Result<Executor> {
    let client = client()?;
    let plain = Task::default();
    let mut sleep = settings("sleep", config.tasks.get("sleep").unwrap_or(&plain), config);
    if config
        .tasks
        .get("sleep")
        .is_none_or(|task| task.retry_delay == crate::config::value::Inherit::Inherited)
    {
        sleep.policy.retry_delay = sleep::RETRY_DELAY;
    }
    anyhow::ensure!(
        config.has_sleep() || !config.tasks.is_empty(),
        "there is no task to run: describe one in [tasks.NAME], or leave out `sleep = false`"
    );
    if config.has_sleep() {
        executor = executor.task_named(sleep, |cx: Context, task: sleep::Sleep| async move {
            traced(&cx.clone(), sleep::sleep(cx, task)).await
        });
    }
    for (name, task) in &config.tasks {
        let settings = settings(name, task, config);
        let wrong = |error: String| anyhow!("the task `{name}`: {error}");
        if let Some(command) = &task.command {
            let program = Arc::new(Program::new(command, task, &config.executor).map_err(wrong)?);
            executor = executor.task_named(settings, move |cx: Context, args: Box<RawValue>| {
                let program = Arc::clone(&program);
                async move { traced(&cx.clone(), program.run(cx, args)).await }
            });
        } else if let Some(url) = &task.url {
            let endpoint = Arc::new(Endpoint::new(&client, url, task).map_err(wrong)?);
            executor = executor.task_named(settings, move |cx: Context, args: Box<RawValue>| {
                let endpoint = Arc::clone(&endpoint);
                async move { traced(&cx.clone(), endpoint.call(cx, args)).await }
            });
        }
    }
    Ok(executor)
}

/// Gives an executor the task that sends what a webhook is told, and notes how that goes.
pub(crate) fn add_webhook(
    executor: Executor,
    config: &Config,
    (name, hook): (&str, &Webhook),
    circuit: &Arc<Circuit>,
) -> anyhow::Result<Executor> {
    let task = Task {
        secret: hook.secret.clone(),
        secret_file: hook.secret_file.clone(),
        ..Task::default()
    };
    let endpoint = Endpoint::new(&client()?, &hook.url, &task).map_err(|e| anyhow!("the webhook `{name}`: {e}"))?;
    let mut settings = settings(&format!("{WEBHOOK_TASK}{name}"), &task, config);
    settings.queue.clone_from(&settings.name);
    settings.time_limit = Some(hook.time_limit);
    let circuit = Arc::clone(circuit);
    Ok(executor.task_named(settings, move |cx: Context, args: Box<RawValue>| {
        let (endpoint, circuit) = (endpoint.clone(), Arc::clone(&circuit));
        async move {
            let outcome = endpoint.call(cx, args).await;
            circuit.note(&outcome);
            outcome
        }
    }))
}

fn client() -> anyhow::Result<reqwest::Client> {
    crate::auth::crypto::ready();
    Ok(reqwest::Client::builder()
        .user_agent(concat!("turnabout/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        // Whoever answers elsewhere was not meant to be sent the arguments, nor their signature.
        .redirect(reqwest::redirect::Policy::none())
        .build()?)
}

/// A task's settings as the library knows them.
fn settings(name: &str, task: &Task, config: &Config) -> TaskSettings {
    let all = &config.executor;
    let mut settings = TaskSettings::named(name);
    settings.queue.clone_from(&task.queue);
    settings.priority = task.priority;
    settings.policy.retries = task.retries.over(all.retries);
    settings.policy.retry_delay = task.retry_delay.over(all.retry_delay);
    settings.policy.retry_cap = task.retry_cap.over(all.retry_cap);
    settings.policy.jitter = task.jitter;
    settings.policy.restartable = task.restartable;
    settings.time_limit = task.time_limit.over(all.time_limit);
    settings.max_unfinished = task.max_unfinished;
    settings
}

/// What to tell those who work for a job about the trace that it belongs to.
fn traceparent(cx: &Context) -> Option<String> {
    traces::current().or_else(|| cx.meta().get(traces::PARENT).cloned())
}

/// A run as a part of the trace in which its job was submitted.
async fn traced<T>(cx: &Context, run: impl Future<Output = TaskResult<T>>) -> TaskResult<T> {
    let span = tracing::info_span!(
        target: "turnabout",
        parent: None,
        "run",
        otel.name = format!("run {}", cx.task()),
        otel.kind = "consumer",
        job = %cx.job(),
        task = cx.task(),
        group = cx.group(),
        attempt = cx.attempt(),
        otel.status_code = tracing::field::Empty,
    );
    let span = traces::belongs(span, cx.meta().get(traces::PARENT).map(String::as_str));
    async {
        let done = run.await;
        if done.is_err() {
            tracing::Span::current().record("otel.status_code", "ERROR");
        }
        done
    }
    .instrument(span)
    .await
}
