//! `turnabout logs`: what the handler of a job has written.

use std::process::ExitCode;
use std::time::Duration;

use turnabout::JobId;

use super::client::Client;
use super::global::Global;
use super::print;
use crate::api::types::LineView;

/// Lines in a page.
const PAGE: u32 = 1000;
/// How often a log is looked at that cannot be followed.
const LOOKS: Duration = Duration::from_secs(1);

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
    let mut reader = Reader {
        client,
        after: args.after,
        args,
    };
    loop {
        if reader.args.follow && reader.follow().await? {
            return Ok(ExitCode::SUCCESS);
        }
        // Asked before the lines are read: those of a job that has ended are all there.
        let ended = reader.client.job(reader.args.id).await?.state.is_final();
        reader.pages().await?;
        if ended || !reader.args.follow {
            return Ok(ExitCode::SUCCESS);
        }
        tokio::time::sleep(LOOKS).await;
    }
}

/// Someone who reads a log.
struct Reader {
    client: Client,
    args: Logs,
    /// The last line that was printed.
    after: i64,
}

impl Reader {
    /// Prints lines as they are written, to the end of the job. False: the stream broke off before.
    async fn follow(&mut self) -> anyhow::Result<bool> {
        let path = format!("/api/v1/jobs/{}/logs?follow=true&after={}", self.args.id, self.after);
        let Ok(mut events) = self.client.events(&path).await else {
            return Ok(false);
        };
        while let Ok(Some(event)) = events.next().await {
            match event.name.as_str() {
                "line" => self.print(&event.read()?)?,
                "end" => return Ok(true),
                "problem" => return Ok(false),
                _ => {}
            }
        }
        Ok(false)
    }

    /// Prints what is there.
    async fn pages(&mut self) -> anyhow::Result<()> {
        loop {
            let page = self.client.logs(self.args.id, self.after, PAGE).await?;
            for line in &page.lines {
                self.print(line)?;
            }
            if page.next.is_none() || page.lines.is_empty() {
                return Ok(());
            }
        }
    }

    fn print(&mut self, line: &LineView) -> anyhow::Result<()> {
        self.after = self.after.max(line.number);
        print::out(&text(line, self.args.json)?)
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
