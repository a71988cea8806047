//! `turnabout tasks` and `turnabout task`: what executors run, and what is set for it.

use std::process::ExitCode;

use jiff::SignedDuration;

use super::global::Global;
use super::group::{Pausing, limit, rate};
use super::keeping::{self, Keeping};
use super::overview::Overview;
use super::print;
use crate::api::types::{Limit, Published, RateLimit, TaskChange, TaskUse, TaskView};

#[derive(Debug, clap::Args)]
pub(crate) struct Task {
    /// The task
    name: String,
    /// At most so many of its jobs run at a time, over all executors and groups; `none`: as many as there are slots
    #[arg(long, value_name = "N|none", value_parser = limit)]
    max_running: Option<Limit>,
    /// At most so many of its jobs run at a time on one executor; `none`: as many as it has slots
    #[arg(long, value_name = "N|none", value_parser = limit)]
    max_running_each: Option<Limit>,
    /// How often its jobs may start, over all executors: 100/s, 10/m, '10/m burst 20'; `none`: as often as there are slots
    #[arg(long, value_name = "N/PERIOD|none", value_parser = rate)]
    rate: Option<RateLimit>,
    #[command(flatten)]
    pausing: Pausing,
    #[command(flatten)]
    keeping: Keeping,
    /// Why: for whoever finds it later
    #[arg(long)]
    note: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn list(global: &Global, args: Overview) -> anyhow::Result<ExitCode> {
    let tasks = global.client().await?.tasks().await?;
    if args.json {
        print::out(&print::json(&tasks)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if tasks.tasks.is_empty() {
        crate::cli::note!("no tasks yet; an executor makes them known, start one with `turnabout serve`");
        return Ok(ExitCode::SUCCESS);
    }
    let head = [
        "TASK",
        "QUEUE",
        "PRIORITY",
        "RETRIES",
        "TIME LIMIT",
        "WAITING",
        "STUCK",
        "HELD",
        "OLDEST",
        "MAX RUNNING",
        "ON EACH",
        "RATE",
        "PAUSED",
    ];
    let row = |task: &TaskView| {
        let said = |what: fn(&Published) -> String| task.published.as_ref().map_or_else(|| "-".to_owned(), what);
        [
            task.task.clone(),
            said(|task| task.queue.clone()),
            said(|task| task.priority.to_string()),
            said(|task| task.retries.to_string()),
            said(|task| time(task.time_limit_seconds)),
            task.waiting.to_string(),
            task.stuck.to_string(),
            task.held.to_string(),
            print::ago(task.oldest),
            used(task.held, task.max_running),
            most(task),
            task.rate.map_or_else(String::new, |rate| rate.to_string()),
            if task.paused { "yes" } else { "" }.to_owned(),
        ]
    };
    print::out(&print::lean_table(head, 9, tasks.tasks.iter().map(row)))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn run(global: &Global, args: Task) -> anyhow::Result<ExitCode> {
    let change = TaskChange {
        max_running: args.max_running,
        max_running_each: args.max_running_each,
        rate: args.rate,
        paused: args.pausing.paused(),
        retention: args.keeping.change(),
        note: None,
    };
    let client = global.client().await?;
    if change == TaskChange::default() {
        if args.note.is_some() {
            anyhow::bail!("a note says why something is changed; say what, too");
        }
        let task = client.task(&args.name).await?;
        print::out(&if args.json {
            print::json(&task)?
        } else {
            describe(&task)
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let change = TaskChange {
        note: args.note.clone(),
        ..change
    };
    let set = client.set_task(&args.name, &change).await?;
    print::out(&if args.json {
        print::json(&set)?
    } else {
        print::facts([
            ("task", set.task.clone()),
            ("max running", print::limit(set.max_running)),
            ("max running each", print::limit(set.max_running_each)),
            ("rate", print::rate(set.rate)),
            ("paused", print::paused(set.paused)),
            ("retention", keeping::words(&set.retention)),
        ])
    })?;
    if !set.published {
        crate::cli::note!(
            "no executor has made a task `{}` known yet; if that is a mistake, `turnabout tasks` lists those that are",
            print::one_line(&set.task)
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn describe(task: &TaskView) -> String {
    let mut facts = vec![
        ("task", task.task.clone()),
        ("waiting", task.waiting.to_string()),
        ("stuck", task.stuck.to_string()),
        ("held", task.held.to_string()),
        ("oldest", print::ago(task.oldest)),
        ("max running", print::limit(task.max_running)),
        ("max running each", print::limit(task.max_running_each)),
        ("rate", print::rate(task.rate)),
        ("can run now", task.effective.to_string()),
        ("on executors", on_executors(task)),
        ("paused", print::paused(task.paused)),
        ("retention", keeping::words(&task.retention)),
    ];
    match &task.published {
        None => facts.push(("published", "no: no executor has made it known yet".to_owned())),
        Some(said) => facts.extend([
            ("queue", said.queue.clone()),
            ("priority", said.priority.to_string()),
            ("retries", said.retries.to_string()),
            (
                "retry delay",
                format!(
                    "{}, at most {}{}",
                    time(Some(said.retry_delay_seconds)),
                    time(Some(said.retry_cap_seconds)),
                    if said.jitter { ", varied a little" } else { "" }
                ),
            ),
            (
                "restartable",
                if said.restartable {
                    "yes"
                } else {
                    "no: a job runs at most once"
                }
                .to_owned(),
            ),
            ("time limit", time(said.time_limit_seconds)),
            (
                "max unfinished",
                format!("{} for each owner", print::limit(said.max_unfinished)),
            ),
        ]),
    }
    print::facts(facts)
}

/// What is used of a limit: `2 of 3`.
fn used(held: u64, most: Option<u32>) -> String {
    most.map_or_else(String::new, |most| format!("{held} of {most}"))
}

/// What is used of the limit on one executor, where most is.
fn most(task: &TaskView) -> String {
    let held = task.executors.iter().map(|one| one.held).max().unwrap_or(0);
    used(held, task.max_running_each)
}

/// `joex1 2 of 8, joex2 0 of 8`.
fn on_executors(task: &TaskView) -> String {
    if task.executors.is_empty() {
        return "none".to_owned();
    }
    let one = |one: &TaskUse| format!("{} {} of {}", one.executor, one.held, one.most);
    task.executors.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// So many seconds, as people say it.
fn time(seconds: Option<f64>) -> String {
    let Some(seconds) = seconds else {
        return "none".to_owned();
    };
    match SignedDuration::try_from_secs_f64(seconds) {
        Ok(time) => format!("{time:#}"),
        Err(_) => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_as_people_say_them() {
        assert_eq!(time(None), "none");
        assert_eq!(time(Some(1800.0)), "30m");
        assert_eq!(time(Some(0.25)), "250ms");
    }
}
