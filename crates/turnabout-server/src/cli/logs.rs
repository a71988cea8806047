//! `turnabout logs`: what the handler of a job has written.

use std::process::ExitCode;
use std::time::Duration;

use turnabout::JobId;

use super::global::Global;
use super::print;
use crate::api::types::LineView;

/// Lines in a page.
const PAGE: u32 = 1000;
/// How often there may be news.
const LOOKS: Duration = Duration::from_millis(300);

#[derive(Debug, clap::Args)]
pub(crate) struct Logs {
    /// The job
    id: JobId,
    /// Go on until the job has ended
    #[arg(long, short)]
    follow: bool,
    /// Only lines after this number
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    after: i64,
    /// Print a JSON object for each line
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(global: &Global, args: Logs) -> anyhow::Result<ExitCode> {
    let client = global.client().await?;
    let mut after = args.after;
    loop {
        // Asked before the lines are read: those of a job that has ended are all there.
        let ended = client.job(args.id).await?.state.is_final();
        loop {
            let page = client.logs(args.id, after, PAGE).await?;
            for line in &page.lines {
                after = after.max(line.number);
                print::out(&text(line, args.json)?)?;
            }
            if page.next.is_none() || page.lines.is_empty() {
                break;
            }
        }
        if ended || !args.follow {
            return Ok(ExitCode::SUCCESS);
        }
        tokio::time::sleep(LOOKS).await;
    }
}

fn text(line: &LineView, json: bool) -> anyhow::Result<String> {
    if json {
        return Ok(serde_json::to_string(line)?);
    }
    Ok(format!(
        "{:.3}  {:<5}  {}",
        line.time,
        line.level,
        print::one_line(&line.message)
    ))
}
