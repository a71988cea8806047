//! `turnabout cancel`, `restart` and `delete`: of jobs by their ids, or of all that match; `priority` and `edit`.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::value::RawValue;
use turnabout::{JobId, Priority};

use super::client::Client;
use super::filter::Filter;
use super::global::Global;
use super::print;
use crate::api::types::{BulkOutcome, BulkRequest, BulkVerb, CancelOutcome, OperationState};

/// What goes on in the background is looked at so often.
const LOOK: Duration = Duration::from_millis(500);

#[derive(Debug, clap::Args)]
pub(crate) struct Change {
    /// The jobs
    ids: Vec<JobId>,
    #[command(flatten)]
    filter: Filter,
    /// All jobs, where no other flag says which
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// Only say how many jobs that would be
    #[arg(long, conflicts_with = "ids")]
    dry_run: bool,
    /// Why: for the audit log
    #[arg(long, conflicts_with = "ids")]
    note: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SetPriority {
    /// How urgent: high, normal or low
    priority: Priority,
    /// The jobs, which must be waiting
    #[arg(required = true)]
    ids: Vec<JobId>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(global: &Global, verb: BulkVerb, args: Change) -> anyhow::Result<ExitCode> {
    let filtered = args.filter.is_given() || args.all;
    match (args.ids.is_empty(), filtered) {
        (true, false) => bail!("say which jobs: by their ids, by flags such as --group, or --all"),
        (false, true) => bail!("say which jobs either by their ids or by flags, not both"),
        _ => {}
    }
    let client = global.client().await?;
    if filtered {
        return many(&client, verb, &args).await;
    }
    each(&args.ids, args.json, async |id| {
        Ok(match verb {
            BulkVerb::Cancel => match client.cancel(id).await?.outcome {
                CancelOutcome::Cancelled => ("cancelled", "cancelled"),
                CancelOutcome::Cancelling => ("cancelling", "cancelling: it runs, and was told to stop"),
            },
            BulkVerb::Restart => {
                client.restart(id).await?;
                ("restarted", "restarted")
            }
            BulkVerb::Delete => {
                client.delete(id).await?;
                ("deleted", "deleted")
            }
            _ => {
                client.retry(id).await?;
                ("retried", "retried")
            }
        })
    })
    .await
}

pub(crate) async fn set_priority(global: &Global, args: SetPriority) -> anyhow::Result<ExitCode> {
    let client = global.client().await?;
    let word = args.priority.as_str();
    each(&args.ids, args.json, async |id| {
        client.set_priority(id, args.priority).await?;
        Ok((word, word))
    })
    .await
}

/// Does something to each job and says what came of it, for programs and for people. One that cannot be changed does not
/// stop the others.
async fn each(
    ids: &[JobId],
    json: bool,
    change: impl AsyncFn(JobId) -> anyhow::Result<(&'static str, &'static str)>,
) -> anyhow::Result<ExitCode> {
    let single = ids.len() == 1;
    let mut code = ExitCode::SUCCESS;
    for &id in ids {
        match change(id).await {
            Ok((outcome, _)) if json => {
                print::out(&serde_json::json!({ "id": id, "outcome": outcome }).to_string())?;
            }
            Ok((_, words)) if single => print::out(words)?,
            Ok((_, words)) => print::out(&format!("{id}  {words}"))?,
            Err(error) if single => return Err(error),
            Err(error) => {
                crate::cli::note!("{id}: {error:#}");
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

/// Does something to all jobs that match.
async fn many(client: &Client, action: BulkVerb, args: &Change) -> anyhow::Result<ExitCode> {
    let request = BulkRequest {
        action,
        filter: args.filter.query(),
        all: args.all && !args.filter.is_given(),
        priority: None,
        delay: None,
        queue: None,
        args: None,
        background: false,
        pace: None,
        note: args.note.clone(),
        dry_run: args.dry_run,
    };
    let whole = send(client, request).await?;
    print::out(&if args.json {
        print::json(&whole)?
    } else {
        words(action, args.dry_run, &whole)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Sends it. What is too much for one call goes on in the background of the server, where it yields to others, and is waited for.
async fn send(client: &Client, mut request: BulkRequest) -> anyhow::Result<BulkOutcome> {
    let mut whole = client.bulk(&request).await?;
    let Some(next) = whole.next.take().filter(|_| !request.dry_run) else {
        return Ok(whole);
    };
    // It goes on where the call has stopped, so that no job is changed twice.
    request.filter.before = Some(next);
    request.background = true;
    let mut rest = client.begin_bulk(&request).await?;
    crate::cli::note!(
        "{} jobs were changed; the others follow in the background, as operation {}, which Ctrl-C does not stop",
        whole.changed,
        rest.id
    );
    while rest.state == OperationState::Running {
        tokio::time::sleep(LOOK).await;
        rest = client.operation(rest.id).await?;
    }
    whole.matched += rest.changed + rest.skipped;
    whole.changed += rest.changed;
    whole.skipped += rest.skipped;
    whole.more = false;
    if rest.state != OperationState::Done {
        let why = rest.error.unwrap_or_else(|| "it was stopped".to_owned());
        bail!("{} jobs were changed, others were not: {why}", whole.changed);
    }
    Ok(whole)
}

/// `turnabout edit`: what jobs that wait, or are stuck, are given.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub(crate) struct Edit {
    /// Start so long from now at the earliest
    #[arg(long, value_name = "TIME", group = "what")]
    delay: Option<String>,
    /// Another queue
    #[arg(long, value_name = "QUEUE", group = "what")]
    to_queue: Option<String>,
    /// Other arguments, as JSON. Needs --task
    #[arg(long, value_name = "JSON", group = "what")]
    args: Option<String>,
    /// More or less urgent: high, normal or low
    #[arg(long, value_name = "PRIORITY", group = "what")]
    to_priority: Option<Priority>,
    #[command(flatten)]
    which: Change,
}

pub(crate) async fn edit(global: &Global, args: Edit) -> anyhow::Result<ExitCode> {
    let which = &args.which;
    let filtered = which.filter.is_given() || which.all;
    if which.ids.is_empty() && !filtered {
        bail!("say which jobs: by their ids, by flags such as --group, or --all");
    }
    let given = args
        .args
        .as_deref()
        .map(serde_json::from_str::<Box<RawValue>>)
        .transpose();
    let ids: Vec<String> = which.ids.iter().map(ToString::to_string).collect();
    let action = match (&args.delay, &args.to_queue, &args.args) {
        (Some(_), ..) => BulkVerb::Delay,
        (_, Some(_), _) => BulkVerb::Queue,
        (.., Some(_)) => BulkVerb::Args,
        _ => BulkVerb::Priority,
    };
    let mut filter = which.filter.query();
    filter.ids = (!ids.is_empty()).then(|| ids.join(","));
    let request = BulkRequest {
        action,
        all: which.all && !which.filter.is_given(),
        filter,
        priority: args.to_priority,
        delay: args.delay.clone(),
        queue: args.to_queue.clone(),
        args: given.context("--args: the arguments are not JSON")?,
        background: false,
        pace: None,
        note: which.note.clone(),
        dry_run: which.dry_run,
    };
    let whole = send(&global.client().await?, request).await?;
    print::out(&if which.json {
        print::json(&whole)?
    } else {
        words(action, which.dry_run, &whole)
    })?;
    Ok(if whole.matched < which.ids.len() as u64 {
        crate::cli::note!("only jobs that exist, and wait or are stuck, can be changed");
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// What came of it, for people: `12 jobs were cancelled, 1 could not be`.
fn words(action: BulkVerb, dry_run: bool, whole: &BulkOutcome) -> String {
    let done = match action {
        BulkVerb::Cancel => "cancelled",
        BulkVerb::Restart => "restarted",
        BulkVerb::Delete => "deleted",
        BulkVerb::Retry => "retried",
        BulkVerb::Priority | BulkVerb::Delay | BulkVerb::Queue | BulkVerb::Args => "changed",
    };
    let count = if dry_run { whole.matched } else { whole.changed };
    let more = if whole.more { " or more" } else { "" };
    let jobs = if count == 1 { "job" } else { "jobs" };
    if dry_run {
        return format!("{count}{more} {jobs} would be {done}");
    }
    let were = if count == 1 { "was" } else { "were" };
    let told = if action == BulkVerb::Cancel && count > 0 {
        " (those that ran were told to stop)"
    } else {
        ""
    };
    let skipped = match whole.skipped {
        0 => String::new(),
        skipped => format!(", {skipped} could not be"),
    };
    format!("{count} {jobs} {were} {done}{told}{skipped}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_told_what_was_done_to_how_many() {
        let outcome = |matched, changed, skipped, more| BulkOutcome {
            matched,
            changed,
            skipped,
            more,
            next: None,
        };
        for (told, action, dry_run, outcome) in [
            (
                "1 job would be deleted",
                BulkVerb::Delete,
                true,
                outcome(1, 0, 0, false),
            ),
            (
                "10000 or more jobs would be restarted",
                BulkVerb::Restart,
                true,
                outcome(10_000, 0, 0, true),
            ),
            (
                "2 jobs were cancelled (those that ran were told to stop), 1 could not be",
                BulkVerb::Cancel,
                false,
                outcome(3, 2, 1, false),
            ),
            (
                "0 jobs were cancelled",
                BulkVerb::Cancel,
                false,
                outcome(0, 0, 0, false),
            ),
        ] {
            assert_eq!(words(action, dry_run, &outcome), told);
        }
    }
}
