//! `turnabout cancel`: ends a job that has not ended yet.

use std::process::ExitCode;

use turnabout::JobId;

use super::global::{self, Global};
use super::print;

#[derive(Debug, clap::Args)]
pub(crate) struct Cancel {
    /// The job
    id: JobId,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(global: &Global, args: Cancel) -> anyhow::Result<ExitCode> {
    let jobs = global::open_existing(&global.read()?).await?;
    let outcome = jobs.cancel(args.id).await?;
    print::out(&if args.json {
        print::json(&serde_json::json!({ "id": args.id, "outcome": outcome }))?
    } else {
        match outcome {
            turnabout::Cancel::Cancelled => "cancelled".to_owned(),
            turnabout::Cancel::Cancelling => "cancelling: it runs, and was told to stop".to_owned(),
        }
    })?;
    Ok(ExitCode::SUCCESS)
}
