//! `turnabout serve` and `turnabout executor`: the API and an executor in the foreground, until they are told to stop.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use turnabout::log::LogLimits;
use turnabout::{Executor, ExecutorHandle, Jobs};

use super::files;
use super::global::{self, Global};
use super::logging;
use super::reload::{self, Reloader};
use super::signals::{Hangups, Signals};
use super::webhooks::Webhooks;
use crate::api::{ApiSettings, Bound, Exit, Server, Wait};
use crate::config::{Config, Flags, Migrate};
use crate::tasks::{self, Checks};

/// The exit code by which shells know that a program was interrupted.
const INTERRUPTED: i32 = 130;
/// Programs are killed after the grace period; then their handlers have so long to see it.
const REAPING: Duration = Duration::from_secs(5);
/// What is on its way to webhooks is waited for so long; the rest is sent by others.
const WEBHOOKS: Duration = Duration::from_secs(30);

#[derive(Debug, clap::Args)]
pub(crate) struct Serve {
    /// Run no jobs: others do
    #[arg(long, conflicts_with = "no_api")]
    no_executor: bool,
    /// Answer no requests: others do
    #[arg(long)]
    no_api: bool,
    #[command(flatten)]
    flags: Flags,
}

/// `turnabout executor`: the same without the API.
#[derive(Debug, clap::Args)]
pub(crate) struct RunExecutor {
    #[command(flatten)]
    flags: Flags,
}

impl From<RunExecutor> for Serve {
    fn from(args: RunExecutor) -> Self {
        Self {
            no_executor: false,
            no_api: true,
            flags: args.flags,
        }
    }
}

/// What serves.
struct Parts {
    jobs: Jobs,
    executor: Option<Arc<ExecutorHandle>>,
    /// The executors of webhooks beside it.
    webhooks: Webhooks,
    api: Option<Bound>,
    /// Asked by a caller of the API who wants the program to end.
    exit: Exit,
}

pub(crate) async fn run(global: &Global, args: Serve) -> anyhow::Result<ExitCode> {
    // First of all, so that no signal finds the program half started.
    let mut signals = Signals::listen()?;
    let hangups = Hangups::listen()?;
    let sources = global.sources(&args.flags);
    let seen = Reloader::seen(&sources);
    let config = sources.read()?;
    let traces = logging::log_server(&config)?;
    let parts = tokio::select! {
        parts = start(&config, &args) => parts?,
        // Nothing was taken yet. Returning would wait for a connection, perhaps for long.
        () = signals.next() => std::process::exit(INTERRUPTED),
    };
    let Parts {
        jobs,
        executor,
        webhooks,
        api,
        exit,
    } = parts;
    let status = if args.no_api { ", and telling how it is" } else { "" };
    let place = api
        .as_ref()
        .map_or_else(String::new, |api| format!("{status} on {}", api.url()));
    tracing::info!(
        "serving the jobs in {}{place}; Ctrl-C stops",
        config.store.database.shown()
    );
    let control = api.as_ref().map(Bound::control);
    let over = CancellationToken::new();
    let mut api = tokio::spawn({
        let over = over.clone();
        async move {
            if let Some(api) = api {
                api.run(over).await
            } else {
                over.cancelled().await;
                Ok(())
            }
        }
    });

    let reloader = Reloader {
        sources,
        config: config.clone(),
        jobs,
        executor: executor.clone(),
        webhooks: webhooks.clone(),
        control,
        hangups,
        exit: exit.clone(),
    };
    let reloading = tokio::spawn(reloader.run(seen));

    let mut requests = exit.requests();
    let (deadline, mut by_signal) = tokio::select! {
        () = signals.next() => (config.executor.shutdown_deadline, true),
        wait = requests.next() => (asked(&config, wait), false),
        () = dismissed(executor.as_ref()) => (config.executor.exit_deadline, false),
        ended = &mut api => anyhow::bail!("the API ended unexpectedly: {ended:?}"),
    };
    // Whoever looks after the process hears that it is about to end.
    exit.ask(Wait::For(deadline));
    let most = deadline.map_or_else(
        || "as long as they take".to_owned(),
        |most| format!("for {most:?} at the most"),
    );
    let signal = if by_signal { "a second signal" } else { "two signals" };
    tracing::info!("shutting down; running jobs go on {most}; {signal} ends the program at once");
    reloading.abort();
    let shutdown = async {
        if let Some(executor) = &executor {
            let webhooks = webhooks.shutdown(deadline.unwrap_or(WEBHOOKS).min(WEBHOOKS));
            tokio::join!(executor.shutdown(deadline), webhooks);
        }
        // Until now it could be asked what still runs.
        over.cancel();
        api.await
    };
    let mut shutdown = std::pin::pin!(shutdown);
    // Our own request.
    requests.next().await;
    loop {
        let sooner = tokio::select! {
            _ = &mut shutdown => {
                if let Some(traces) = traces {
                    traces.end().await;
                }
                return Ok(ExitCode::SUCCESS);
            }
            wait = requests.next() => asked(&config, wait),
            () = signals.next() => {
                if by_signal {
                    tracing::warn!("ended at once; other executors take the running jobs over when the lease ends");
                    tasks::kill_all();
                    // Returning would wait for whatever blocks a thread.
                    std::process::exit(INTERRUPTED)
                }
                by_signal = true;
                config.executor.shutdown_deadline
            }
        };
        if let Some((executor, sooner)) = executor.clone().zip(sooner) {
            tracing::info!("running jobs go on for {sooner:?} at the most");
            tokio::spawn(async move { executor.shutdown(sooner).await });
        }
    }
}

/// How long running jobs may go on, for a caller of the API.
fn asked(config: &Config, wait: Wait) -> Option<Duration> {
    match wait {
        Wait::AsConfigured => config.executor.exit_deadline,
        Wait::For(deadline) => deadline,
    }
}

/// Waits until an operator wants the executor to end.
async fn dismissed(executor: Option<&Arc<ExecutorHandle>>) {
    match executor {
        Some(executor) => executor.dismissed().await,
        None => std::future::pending().await,
    }
}

async fn start(config: &Config, args: &Serve) -> anyhow::Result<Parts> {
    let jobs = global::open(config, config.store.migrate == Migrate::Auto).await?;
    let exit = Exit::default();
    // First what can be refused, so that nothing is registered in vain.
    let mut settings = api_settings(config, !args.no_executor)?;
    // The rest is for the store, and for programs.
    settings.connections = settings.connections.min(files::raise_limit() / 2);
    let mut settings = Some(settings);
    if args.no_api {
        settings = settings
            .zip(config.executor.status_address)
            .map(|(settings, address)| ApiSettings {
                address,
                status_only: true,
                ..settings
            });
    }
    let webhooks = Webhooks::default();
    let mut api = match settings {
        Some(settings) => {
            let server = Server::new(&jobs, settings).exit(&exit);
            Some(server.resting(&webhooks.resting).bind().await?)
        }
        None => None,
    };
    // Nothing could be refused any more: an address that is in use, for example.
    reload::apply(&jobs, config, &Config::default()).await?;
    let mut handle = None;
    if !args.no_executor {
        let executor = Arc::new(executor(&jobs, config)?.start().await?);
        webhooks.serve(&jobs, config, &executor.health().name).await?;
        api = api.map(|api| api.executor(&executor));
        handle = Some(executor);
    }
    Ok(Parts {
        jobs,
        executor: handle,
        webhooks,
        api,
        exit,
    })
}

/// Whether a server could be started with this configuration, as far as that can be told without its database.
pub(super) async fn check(config: &Config) -> anyhow::Result<()> {
    Jobs::open(&config.store.database.0).check()?;
    let jobs = Jobs::open("sqlite::memory:").await?;
    drop(Server::new(&jobs, api_settings(config, true)?).inside()?);
    Webhooks::check(&jobs, config)?;
    let executor = executor(&jobs, config)?.start().await?;
    executor.shutdown(Duration::ZERO).await;
    Ok(())
}

/// What the API is told. With an executor beside it, it knows the tasks, and refuses what they would not take.
pub(super) fn api_settings(config: &Config, executor: bool) -> anyhow::Result<ApiSettings> {
    let mut settings = config.api_settings()?;
    if executor {
        settings.checks = Checks::new(config)?;
    }
    Ok(settings)
}

/// An executor with what the configuration says of all of them.
pub(super) fn plain(jobs: &Jobs, config: &Config) -> Executor {
    let settings = &config.executor;
    Executor::new(jobs)
        .lease(settings.heartbeat, settings.lease)
        .grace(settings.grace + REAPING)
}

/// An executor as the configuration says.
fn executor(jobs: &Jobs, config: &Config) -> anyhow::Result<Executor> {
    let settings = &config.executor;
    let mut limits = LogLimits::default();
    limits.buffer = settings.log_buffer_size as usize;
    limits.line = settings.log_line_length as usize;
    limits.job = settings.log_lines as usize;
    let mut executor = plain(jobs, config)
        .queues(&settings.queues)
        .scheme(&settings.counting_scheme.0)
        .fairness(settings.fairness)
        .log_limits(limits);
    if let Some(slots) = settings.pool_size {
        executor = executor.slots(slots);
    }
    if let Some(name) = &settings.name {
        executor = executor.name(name);
    }
    tasks::add_all(executor, config)
}
