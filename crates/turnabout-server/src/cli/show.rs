//! `turnabout show`: everything about one job, why it waits, and what became of its attempts.

use std::process::ExitCode;

use jiff::Timestamp;
use serde::Serialize;
use turnabout::{JobId, State};

use super::client::Client;
use super::global::Global;
use super::print;
use crate::api::types::{AttemptView, JobView};

#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// The job
    id: JobId,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A job, why it waits, and what became of its attempts.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    job: JobView,
    explanation: Option<String>,
    history: Vec<AttemptView>,
}

pub(crate) async fn run(global: &Global, args: Show) -> anyhow::Result<ExitCode> {
    let client = global.client().await?;
    let job = client.job(args.id).await?;
    let shown = Shown {
        explanation: explanation(&client, &job).await,
        // It was there a moment ago; if it has gone meanwhile, this is what there was.
        history: client
            .attempts(args.id)
            .await
            .map(|all| all.attempts)
            .unwrap_or_default(),
        job,
    };
    print::out(&if args.json {
        print::json(&shown)?
    } else {
        describe(&shown)
    })?;
    Ok(ExitCode::SUCCESS)
}

async fn explanation(client: &Client, job: &JobView) -> Option<String> {
    if !matches!(job.state, State::Waiting | State::Stuck) {
        return None;
    }
    client.explain(job.id).await.ok().map(|explained| explained.text)
}

/// The executor that holds it or held it: its name, and which start of it.
fn executor(job: &JobView) -> Option<String> {
    let incarnation = job.executor?;
    Some(match &job.executor_name {
        Some(name) => format!("{name} ({incarnation})"),
        None => incarnation.to_string(),
    })
}

fn describe(shown: &Shown) -> String {
    let Shown {
        job,
        explanation,
        history,
    } = shown;
    let moment = |moment: Option<Timestamp>| moment.map(|moment| format!("{moment:.3}"));
    let facts = [
        ("job", Some(job.id.to_string())),
        ("task", Some(job.task.clone())),
        ("subject", job.subject.clone()),
        ("args", Some(job.args.get().to_owned())),
        ("group", Some(job.group.clone())),
        ("owner", job.owner.clone()),
        ("queue", Some(job.queue.clone())),
        ("priority", Some(job.priority.to_string())),
        ("state", Some(print::standing(job))),
        ("submitted", moment(Some(job.submitted))),
        ("due", moment(job.due)),
        ("expires", moment(job.expires)),
        ("executor", executor(job)),
        ("started", moment(job.started)),
        ("finished", moment(job.finished)),
        ("unique", job.unique.clone()),
        ("items", (job.items != 1).then(|| job.items.to_string())),
        ("meta", (!job.meta.is_empty()).then(|| format!("{:?}", job.meta))),
        ("parent", job.parent.map(|id| id.to_string())),
        (
            "message",
            job.error_message.clone().filter(|_| job.state != State::Success),
        ),
        ("result", job.result.as_ref().map(|result| result.get().to_owned())),
        ("why", explanation.clone()),
    ];
    let mut lines: Vec<String> = facts
        .into_iter()
        .filter_map(|(name, value)| value.map(|value| format!("{name:<10} {}", print::one_line(&value))))
        .collect();
    if history.len() > 1 {
        lines.push(String::new());
        let head = ["ATTEMPT", "EXECUTOR", "STARTED", "ENDED", "WHY", "ERROR"];
        let row = |attempt: &AttemptView| {
            [
                attempt.number.to_string(),
                attempt
                    .executor_name
                    .clone()
                    .unwrap_or_else(|| attempt.executor.to_string()),
                format!("{:.0}", attempt.started),
                attempt
                    .ended
                    .map_or_else(|| "-".to_owned(), |ended| format!("{ended:.0}")),
                attempt.reason.clone().unwrap_or_default(),
                attempt.error.clone().unwrap_or_default(),
            ]
        };
        lines.push(print::table(head, history.iter().map(row)));
    }
    lines.join("\n")
}
