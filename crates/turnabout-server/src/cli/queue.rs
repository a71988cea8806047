//! `turnabout queues` and `turnabout queue`: who serves which queue, and pauses; `turnabout pause` and `resume`: everything.

use std::process::ExitCode;

use super::global::Global;
use super::group::Pausing;
use super::overview::Overview;
use super::print;
use crate::api::types::{GlobalChange, QueueChange, QueueView};

#[derive(Debug, clap::Args)]
pub(crate) struct Queue {
    /// The queue
    name: String,
    #[command(flatten)]
    pausing: Pausing,
    /// Why: for whoever finds it later
    #[arg(long)]
    note: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Everything {
    /// Why: for whoever finds it later
    #[arg(long)]
    note: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn list(global: &Global, args: Overview) -> anyhow::Result<ExitCode> {
    let queues = global.client().await?.queues().await?;
    if args.json {
        print::out(&print::json(&queues)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if queues.queues.is_empty() {
        crate::cli::note!(
            "no queues yet; an executor makes those known that it serves, start one with `turnabout serve`"
        );
        return Ok(ExitCode::SUCCESS);
    }
    let head = ["QUEUE", "EXECUTORS", "SLOTS", "HELD", "TASKS", "PAUSED"];
    let row = |queue: &QueueView| {
        [
            queue.queue.clone(),
            queue.executors.to_string(),
            queue.slots.to_string(),
            queue.held.to_string(),
            queue.tasks.join(", "),
            if queue.paused { "yes" } else { "" }.to_owned(),
        ]
    };
    print::out(&print::lean_table(head, 5, queues.queues.iter().map(row)))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn run(global: &Global, args: Queue) -> anyhow::Result<ExitCode> {
    let client = global.client().await?;
    let Some(paused) = args.pausing.paused() else {
        if args.note.is_some() {
            anyhow::bail!("a note says why something is changed; say what, too");
        }
        let queue = client.queue(&args.name).await?;
        print::out(&if args.json {
            print::json(&queue)?
        } else {
            describe(&queue)
        })?;
        return Ok(ExitCode::SUCCESS);
    };
    let change = QueueChange {
        paused: Some(paused),
        note: args.note,
    };
    let set = client.set_queue(&args.name, &change).await?;
    print::out(&if args.json {
        print::json(&set)?
    } else {
        print::facts([("queue", set.queue.clone()), ("paused", print::paused(set.paused))])
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Pauses everything, or lets it go on.
pub(crate) async fn everything(global: &Global, args: Everything, paused: bool) -> anyhow::Result<ExitCode> {
    let change = GlobalChange {
        paused: Some(paused),
        note: args.note,
        ..GlobalChange::default()
    };
    let settings = global.client().await?.set_settings(&change).await?;
    print::out(&if args.json {
        print::json(&settings)?
    } else {
        print::facts([("everything paused", print::paused(settings.paused))])
    })?;
    Ok(ExitCode::SUCCESS)
}

fn describe(queue: &QueueView) -> String {
    let facts = [
        ("queue", queue.queue.clone()),
        ("executors", queue.executors.to_string()),
        ("slots", queue.slots.to_string()),
        ("held", queue.held.to_string()),
        ("tasks", queue.tasks.join(", ")),
        ("paused", print::paused(queue.paused)),
    ];
    let by = queue.set.as_ref().map(|by| ("set by", print::set_by(by)));
    print::facts(facts.into_iter().chain(by))
}
