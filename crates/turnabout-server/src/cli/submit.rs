//! `turnabout submit`: a job from the command line.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use serde_json::value::RawValue;
use turnabout::{Jobs, Priority, State, Submitted};

use super::global::{self, Global};
use super::print;

#[derive(Debug, clap::Args)]
pub(crate) struct Submit {
    /// The task that the job runs
    task: String,
    /// Its arguments, as JSON
    #[arg(value_name = "JSON", default_value = "{}")]
    args: String,
    /// Whose turn it takes
    #[arg(long)]
    group: Option<String>,
    /// Who, inside the group, submits it
    #[arg(long)]
    owner: Option<String>,
    /// How urgent it is inside its group: high, normal or low
    #[arg(long)]
    priority: Option<Priority>,
    /// How long it waits before it may start: `90s`, `5 minutes`
    #[arg(long, value_name = "DURATION", value_parser = crate::config::value::duration)]
    delay: Option<Duration>,
    /// While an unfinished job of the group and task has this key, that one is meant
    #[arg(long, value_name = "KEY")]
    unique: Option<String>,
    /// Which executors may take it
    #[arg(long)]
    queue: Option<String>,
    /// Wait until the job has ended; fail unless it succeeded
    #[arg(long)]
    wait: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(global: &Global, args: Submit) -> anyhow::Result<ExitCode> {
    let json = args.json;
    let wait = args.wait;
    // Kept as text: numbers of any size arrive as they were written.
    let payload: Box<RawValue> = serde_json::from_str(&args.args)
        .with_context(|| format!("the arguments `{}` are not JSON; quote them for the shell", args.args))?;
    let jobs = global::open(&global.read()?).await?;
    warn_of_unknown(&jobs, &args.task).await?;
    let submitted = submit(&jobs, args, &payload).await?;
    if !wait {
        print::out(&if json {
            print::json(&serde_json::json!({ "id": submitted.id, "new": submitted.new }))?
        } else {
            submitted.id.to_string()
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    if !json {
        print::out(&submitted.id.to_string())?;
    }
    follow(&jobs, submitted, json).await
}

async fn submit(jobs: &Jobs, args: Submit, payload: &RawValue) -> turnabout::Result<Submitted> {
    let mut job = jobs.submit_named(args.task, payload);
    if let Some(group) = args.group {
        job = job.group(group);
    }
    if let Some(owner) = args.owner {
        job = job.owner(owner);
    }
    if let Some(priority) = args.priority {
        job = job.priority(priority);
    }
    if let Some(delay) = args.delay {
        job = job.delay(delay);
    }
    if let Some(key) = args.unique {
        job = job.unique(key);
    }
    if let Some(queue) = args.queue {
        job = job.queue(queue);
    }
    job.await
}

/// A mistyped task would wait for ever, and say nothing.
async fn warn_of_unknown(jobs: &Jobs, task: &str) -> turnabout::Result<()> {
    let known: Vec<String> = jobs.tasks().await?.into_iter().map(|known| known.name).collect();
    if !known.iter().any(|name| name == task) {
        let known = if known.is_empty() {
            "none is".to_owned()
        } else {
            format!("known: {}", known.join(", "))
        };
        eprintln!("no executor has made the task `{task}` known ({known}); the job waits until one does");
    }
    Ok(())
}

/// Tells what the job becomes, to its end.
async fn follow(jobs: &Jobs, submitted: Submitted, json: bool) -> anyhow::Result<ExitCode> {
    let mut changes = jobs.watch(submitted.id);
    while let Some(job) = changes.next().await {
        let job = job?;
        if !json {
            print::out(&print::standing(&job))?;
        } else if job.state.is_final() {
            print::out(&print::json(&job)?)?;
        }
        if job.state.is_final() && job.state != State::Success {
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}
