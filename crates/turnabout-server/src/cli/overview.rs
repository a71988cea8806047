//! `turnabout summary`, `groups`, `executors` and `drain`: how the whole is doing.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use turnabout::store::overview::Member;

use super::global::Global;
use super::print;
use crate::api::types::{DrainRequest, ExecutorView, GroupSummary, TaskSummary};

/// Groups in a page.
const PAGE: u32 = 1000;

#[derive(Debug, clap::Args)]
pub(crate) struct Overview {
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Drain {
    /// The executor: its name or its id
    executor: String,
    /// Have it take jobs again
    #[arg(long)]
    undo: bool,
    /// Have its process end when the jobs that it has in hand are done
    #[arg(long, conflicts_with = "undo")]
    exit: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn summary(global: &Global, args: Overview) -> anyhow::Result<ExitCode> {
    let summary = global.client().await?.summary().await?;
    if args.json {
        print::out(&print::json(&summary)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let head = [
        "TASK",
        "PRIORITY",
        "STATE",
        "JOBS",
        "ITEMS",
        "ITEMS/MIN",
        "FAILURES",
        "OLDEST",
    ];
    let row = |part: &TaskSummary| {
        [
            part.task.clone(),
            part.priority.to_string(),
            part.state.to_string(),
            part.jobs.to_string(),
            part.items.to_string(),
            part.items_per_minute
                .map_or_else(|| "-".to_owned(), |items| format!("{items:.1}")),
            part.failures.to_string(),
            print::ago(part.oldest),
        ]
    };
    print::out(&print::table(head, summary.tasks.iter().map(row)))?;
    if summary.left_out > 0 {
        print::out(&format!("and {} tasks with fewer jobs", summary.left_out))?;
    }
    let rate = &summary.rate;
    print::out(&format!(
        "\nfailed jobs are all that are kept, other ended ones those of the last hour; in the last {} s: {} submitted, {} succeeded, \
         {} failed, {} cancelled",
        rate.seconds, rate.submitted, rate.success, rate.failed, rate.cancelled
    ))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn groups(global: &Global, args: Overview) -> anyhow::Result<ExitCode> {
    let client = global.client().await?;
    let mut groups = Vec::new();
    let mut after = None;
    loop {
        let page = client.groups(after.as_deref(), PAGE).await?;
        groups.extend(page.groups);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    if args.json {
        print::out(&print::json(&serde_json::json!({ "groups": groups }))?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let head = [
        "GROUP",
        "READY",
        "PARKED",
        "HELD",
        "OLDEST",
        "WEIGHT",
        "MAX RUNNING",
        "MAX UNFINISHED",
        "PAUSED",
    ];
    // What is as it is for most groups is not worth a word.
    let limit = |jobs: Option<u32>| jobs.map_or_else(String::new, |jobs| jobs.to_string());
    let row = |group: &GroupSummary| {
        [
            group.group.clone(),
            group.ready.to_string(),
            group.parked.to_string(),
            group.held.to_string(),
            print::ago(group.oldest),
            if group.weight == 1 {
                String::new()
            } else {
                group.weight.to_string()
            },
            limit(group.max_running),
            limit(group.max_unfinished),
            if group.paused { "yes" } else { "" }.to_owned(),
        ]
    };
    print::out(&print::lean_table(head, 5, groups.iter().map(row)))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn executors(global: &Global, args: Overview) -> anyhow::Result<ExitCode> {
    let executors = global.client().await?.executors().await?;
    if args.json {
        print::out(&print::json(&executors)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if executors.executors.is_empty() {
        crate::cli::note!("no executors; start one with `turnabout serve`");
        return Ok(ExitCode::SUCCESS);
    }
    let head = ["NAME", "ID", "SLOTS", "HELD", "QUEUES", "TASKS", "VERSION", "SEEN", ""];
    let row = |executor: &ExecutorView| {
        [
            executor.name.clone(),
            executor.id.to_string(),
            executor.slots.to_string(),
            executor.held.to_string(),
            executor.queues.join(","),
            executor.tasks.join(","),
            executor.version.clone(),
            print::ago(Some(executor.seen)),
            condition(executor).to_owned(),
        ]
    };
    print::out(&print::table(head, executors.executors.iter().map(row)))?;
    Ok(ExitCode::SUCCESS)
}

/// What is to be said of an executor beside its numbers.
fn condition(executor: &ExecutorView) -> &'static str {
    let silent =
        Duration::try_from(jiff::Timestamp::now().duration_since(executor.seen)).unwrap_or_default() >= Member::SILENT;
    match (silent, executor.draining) {
        (true, _) => "silent: perhaps it is gone",
        (false, true) => "drains",
        (false, false) => "",
    }
}

pub(crate) async fn drain(global: &Global, args: Drain) -> anyhow::Result<ExitCode> {
    let client = global.client().await?;
    let executors = client.executors().await?.executors;
    let meant = |executor: &&ExecutorView| executor.name == args.executor || executor.id.to_string() == args.executor;
    let found: Vec<&ExecutorView> = executors.iter().filter(meant).collect();
    let id = match &found[..] {
        [executor] => executor.id.to_string(),
        [] => bail!(
            "there is no executor `{}`; `turnabout executors` lists them",
            args.executor
        ),
        _ => bail!("there are several executors `{}`; name one by its id", args.executor),
    };
    let wish = DrainRequest {
        drain: !args.undo,
        exit: args.exit,
    };
    let drained = client.drain(&id, wish).await?;
    print::out(&if args.json {
        print::json(&drained)?
    } else if args.undo {
        "it takes jobs again".to_owned()
    } else if args.exit {
        "draining: it takes no more jobs, finishes those that it has, and ends".to_owned()
    } else {
        "draining: it takes no more jobs, and finishes those that it has".to_owned()
    })?;
    Ok(ExitCode::SUCCESS)
}
