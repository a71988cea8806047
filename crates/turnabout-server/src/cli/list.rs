//! `turnabout list`: jobs, newest first.

use std::process::ExitCode;

use turnabout::{Job, JobId, State};

use super::global::{self, Global};
use super::print;

#[derive(Debug, clap::Args)]
pub(crate) struct List {
    /// In this state; may be given several times
    #[arg(long = "state")]
    states: Vec<State>,
    /// Of this task
    #[arg(long)]
    task: Option<String>,
    /// Of this group
    #[arg(long)]
    group: Option<String>,
    /// Of this owner
    #[arg(long)]
    owner: Option<String>,
    /// In this queue
    #[arg(long)]
    queue: Option<String>,
    /// Older than this job
    #[arg(long, value_name = "ID")]
    before: Option<JobId>,
    /// How many at the most
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(global: &Global, args: List) -> anyhow::Result<ExitCode> {
    let jobs = global::open_existing(&global.read()?).await?;
    let mut list = jobs.list().limit(args.limit);
    for state in args.states {
        list = list.state(state);
    }
    if let Some(task) = args.task {
        list = list.task(task);
    }
    if let Some(group) = args.group {
        list = list.group(group);
    }
    if let Some(owner) = args.owner {
        list = list.owner(owner);
    }
    if let Some(queue) = args.queue {
        list = list.queue(queue);
    }
    if let Some(before) = args.before {
        list = list.before(before);
    }
    let page = list.await?;
    if args.json {
        print::out(&print::json(&page)?)?;
    } else if page.jobs.is_empty() {
        eprintln!("no jobs");
    } else {
        let head = ["ID", "TASK", "GROUP", "PRIORITY", "SUBMITTED", "STATE"];
        print::out(&print::table(head, page.jobs.iter().map(row)))?;
    }
    if let Some(next) = page.next {
        eprintln!("there are more: --before {next}");
    }
    Ok(ExitCode::SUCCESS)
}

fn row(job: &Job) -> [String; 6] {
    [
        job.id.to_string(),
        job.task.clone(),
        job.group.clone(),
        job.priority.to_string(),
        format!("{:.0}", job.submitted),
        print::standing(job),
    ]
}
