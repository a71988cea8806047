//! `turnabout top`: who gets which share of the slots, live.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::Duration;

use super::client::Client;
use super::global::Global;
use super::print;
use crate::api::types::{ShareView, SharesView};

/// How often it is drawn anew.
const PACE: Duration = Duration::from_secs(1);

#[derive(Debug, clap::Args)]
pub(crate) struct Top {
    /// Over the last 1, 10 or 60 minutes
    #[arg(long, value_name = "1|10|60", default_value_t = 1)]
    minutes: u32,
    /// How many groups at the most [default: as many as fit, or 20]
    #[arg(long)]
    limit: Option<u32>,
    /// In which order: used, over, wait, waiting, oldest, running, group
    #[arg(long, default_value = "used")]
    sort: String,
    /// Only groups whose name contains this text
    #[arg(long)]
    search: Option<String>,
    /// Look for a second, print once and end
    #[arg(long)]
    once: bool,
    /// Print JSON, once
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(global: &Global, args: Top) -> anyhow::Result<ExitCode> {
    let client = global.client().await?;
    let live = !args.once && !args.json && std::io::stdout().is_terminal();
    let mut view = look(&client, &args).await?;
    if !live {
        // A share is one of a time: who has just begun to look has seen none yet.
        if view.observed_seconds < 1.0 {
            tokio::time::sleep(PACE).await;
            view = look(&client, &args).await?;
        }
        let text = if args.json { print::json(&view)? } else { draw(&view) };
        print::out(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        let verdict = client
            .doctor()
            .await
            .map(|diagnosis| diagnosis.verdict)
            .unwrap_or_default();
        // From the top, line by line, and nothing below: that does not flicker.
        let text = format!("{}\n\n{}", print::one_line(&verdict), draw(&view));
        let lines: String = text.lines().fold(String::new(), |mut all, line| {
            let _ = writeln!(all, "{line}\x1b[K");
            all
        });
        print::out(&format!("\x1b[H{lines}\x1b[J"))?;
        tokio::select! {
            () = tokio::time::sleep(PACE) => {}
            _ = tokio::signal::ctrl_c() => return Ok(ExitCode::SUCCESS),
        }
        view = look(&client, &args).await?;
    }
}

async fn look(client: &Client, args: &Top) -> anyhow::Result<SharesView> {
    let limit = args.limit.unwrap_or_else(|| {
        let rows = rustix::termios::tcgetwinsize(std::io::stdout()).map_or(0, |size| size.ws_row);
        if rows > 10 { u32::from(rows) - 6 } else { 20 }
    });
    client
        .shares(args.minutes, limit, &args.sort, args.search.as_deref())
        .await
}

fn draw(view: &SharesView) -> String {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let millis = |millis: Option<u64>| millis.map_or_else(|| "-".to_owned(), span);
    let mut head = format!("last {} min", view.minutes);
    if let (Some(slots), Some(busy), Some(jain)) = (view.slots, view.busy, view.jain) {
        let _ = write!(head, "   slots {slots}, {busy:.1} in use   Jain {jain:.3}");
    }
    let _ = write!(head, "   one rotation {}", millis(view.rotation_ms));
    let row = |share: &ShareView| {
        let more = if share.ready_more { "+" } else { "" };
        let mut marks = Vec::new();
        for (so, word) in [
            (share.noisy, "noisy"),
            (share.harmed, "harmed"),
            (share.paused, "paused"),
        ] {
            if so {
                marks.push(word.to_owned());
            }
        }
        marks.extend(share.max_running.map(|most| format!("at most {most}")));
        [
            share.group.clone(),
            share.weight.to_string(),
            percent(share.entitled),
            percent(share.used),
            share.running.to_string(),
            format!("{}{more}", share.ready),
            millis(share.waiting_ms),
            millis(share.wait_p50_ms),
            millis(share.wait_p95_ms),
            marks.join(", "),
        ]
    };
    let columns = [
        "GROUP", "WEIGHT", "ENTITLED", "USED", "RUNNING", "READY", "WAITING", "P50", "P95", "",
    ];
    let mut text = format!("{head}\n\n{}", print::table(columns, view.groups.iter().map(row)));
    if view.rest.groups > 0 {
        let _ = write!(
            text,
            "\nand {} more groups with {}",
            view.rest.groups,
            percent(view.rest.used)
        );
    }
    text
}

fn span(millis: u64) -> String {
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{:.1} s", millis as f64 / 1000.0),
        60_000..3_600_000 => format!("{} min", millis / 60_000),
        _ => format!("{} h", millis / 3_600_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::types::Rest;

    #[test]
    fn a_line_tells_all_of_a_group() {
        let share = ShareView {
            group: "big".to_owned(),
            weight: 2,
            entitled: 0.25,
            used: 0.5,
            slot_seconds: 60.0,
            ready: 500,
            ready_more: true,
            running: 4,
            oldest_ready_ms: Some(90_000),
            waiting_ms: None,
            wait_p50_ms: Some(250),
            wait_p95_ms: Some(61_000),
            noisy: true,
            harmed: false,
            paused: false,
            max_running: Some(4),
            set: None,
        };
        let view = SharesView {
            minutes: 1,
            observed_seconds: 60.0,
            slots: Some(8),
            busy: Some(7.5),
            jain: Some(0.9),
            rotation_ms: Some(1_500),
            groups: vec![share],
            rest: Rest { groups: 3, used: 0.5 },
            oldest: None,
        };
        let text = draw(&view);
        for part in [
            "slots 8, 7.5 in use",
            "Jain 0.900",
            "rotation 1.5 s",
            "25.0 %",
            "500+",
            "250 ms",
            "1 min",
            "noisy, at most 4",
            "and 3 more groups with 50.0 %",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
