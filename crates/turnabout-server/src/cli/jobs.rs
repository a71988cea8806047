//! `turnabout jobs`: a list, newest first.

use std::process::ExitCode;

use turnabout::JobId;

use super::filter::Filter;
use super::global::Global;
use super::print;
use crate::api::types::{JobView, ListQuery};

/// So many jobs are listed unless said otherwise.
const USUAL: u32 = 20;

#[derive(Debug, clap::Args)]
pub(crate) struct ListJobs {
    /// These jobs, in this order
    ids: Vec<JobId>,
    #[command(flatten)]
    filter: Filter,
    /// Older than this job
    #[arg(long, value_name = "ID")]
    before: Option<JobId>,
    /// How many at the most [default: 20, or all that are named]
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Also say how many there are on all pages
    #[arg(long)]
    count: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(global: &Global, args: ListJobs) -> anyhow::Result<ExitCode> {
    let client = global.client().await?;
    let ids: Vec<String> = args.ids.iter().map(ToString::to_string).collect();
    let page = client
        .list(&ListQuery {
            ids: (!ids.is_empty()).then(|| ids.join(",")),
            before: args.before,
            limit: args.limit.or(ids.is_empty().then_some(USUAL)),
            count: args.count,
            // The table shows none of it.
            brief: args.json.then_some(false),
            ..args.filter.query()
        })
        .await?;
    if args.json {
        print::out(&print::json(&page)?)?;
    } else if page.jobs.is_empty() {
        crate::cli::note!("no jobs");
    } else {
        let head = ["ID", "TASK", "GROUP", "PRIORITY", "SUBMITTED", "EXECUTOR", "STATE"];
        print::out(&print::table(head, page.jobs.iter().map(row)))?;
    }
    if let Some(count) = page.count
        && !args.json
    {
        let more = if count.more { " at least" } else { "" };
        crate::cli::note!("{}{more} in all", count.jobs);
    }
    if let Some(next) = page.next {
        crate::cli::note!("there are more: --before {next}");
    }
    Ok(ExitCode::SUCCESS)
}

fn row(job: &JobView) -> [String; 7] {
    [
        job.id.to_string(),
        job.task.clone(),
        job.group.clone(),
        job.priority.to_string(),
        format!("{:.0}", job.submitted),
        job.executor_name.clone().unwrap_or_else(|| "-".to_owned()),
        print::standing(job),
    ]
}
