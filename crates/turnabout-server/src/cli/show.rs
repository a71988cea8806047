//! `turnabout show`: everything about one job, and why it waits.

use std::process::ExitCode;

use jiff::Timestamp;
use serde::Serialize;
use turnabout::{Error, Job, JobId, State};

use super::global::{self, Global};
use super::print;

#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// The job
    id: JobId,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A job, and why it waits.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    job: Job,
    explanation: Option<String>,
}

pub(crate) async fn run(global: &Global, args: Show) -> anyhow::Result<ExitCode> {
    let jobs = global::open_existing(&global.read()?).await?;
    let job = jobs.get(args.id).await?;
    let explanation = match job.state {
        State::Waiting | State::Stuck => match jobs.explain(args.id).await {
            Ok(explanation) => Some(explanation.to_string()),
            // It was there a moment ago, and has ended and gone meanwhile.
            Err(Error::NotFound(_)) => None,
            Err(error) => return Err(error.into()),
        },
        _ => None,
    };
    let shown = Shown { job, explanation };
    print::out(&if args.json {
        print::json(&shown)?
    } else {
        describe(&shown)
    })?;
    Ok(ExitCode::SUCCESS)
}

fn describe(Shown { job, explanation }: &Shown) -> String {
    let moment = |moment: Option<Timestamp>| moment.map(|moment| format!("{moment:.3}"));
    let facts = [
        ("job", Some(job.id.to_string())),
        ("task", Some(job.task.clone())),
        ("args", Some(job.args.clone())),
        ("group", Some(job.group.clone())),
        ("owner", job.owner.clone()),
        ("queue", Some(job.queue.clone())),
        ("priority", Some(job.priority.to_string())),
        ("state", Some(print::standing(job))),
        ("submitted", moment(Some(job.submitted))),
        ("due", moment(job.due)),
        ("expires", moment(job.expires)),
        ("started", moment(job.started)),
        ("finished", moment(job.finished)),
        ("unique", job.unique.clone()),
        ("items", (job.items != 1).then(|| job.items.to_string())),
        ("meta", (!job.meta.is_empty()).then(|| format!("{:?}", job.meta))),
        ("parent", job.parent.map(|id| id.to_string())),
        ("result", job.result.clone()),
        ("why", explanation.clone()),
    ];
    let lines: Vec<String> = facts
        .into_iter()
        .filter_map(|(name, value)| value.map(|value| format!("{name:<10} {}", print::one_line(&value))))
        .collect();
    lines.join("\n")
}
