//! The program's own log, on standard error: a server tells what it does, the other commands only what is wrong.
//! `RUST_LOG` overrides both.

use std::io::IsTerminal;

use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::Command;
use crate::config::{Config, LogFormat};
use crate::traces::Sender;

/// For servers: what jobs write is kept with the jobs, and need not be here as well.
const SERVER: &str = "info,turnabout::log=off";

/// By target and level (`info,turnabout=debug`); by spans and fields would take an engine for regular expressions.
fn filter(usual: &str) -> Targets {
    let said = std::env::var("RUST_LOG").ok().filter(|said| !said.is_empty());
    let said = said.and_then(|said| said.parse().ok());
    said.or_else(|| usual.parse().ok()).unwrap_or_default()
}

/// For all commands but servers, which have to read their configuration first.
pub(crate) fn log(command: &Command) {
    if matches!(command, Command::Serve(_) | Command::Executor(_)) {
        return;
    }
    let text = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    tracing_subscriber::registry()
        .with(text.with_filter(filter("warn")))
        .init();
}

/// For servers. Returns what sends traces, if they are sent.
pub(super) fn log_server(config: &Config) -> anyhow::Result<Option<Sender>> {
    let sender = Sender::new(&config.traces)?;
    let traces = sender.as_ref().map(|sender| {
        // The log of what is sent would be sent, and so on.
        sender
            .layer()
            .with_filter(Targets::new().with_target("turnabout", LevelFilter::INFO))
    });
    let text = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let text = match config.log.format {
        LogFormat::Text => text
            .with_ansi(std::io::stderr().is_terminal())
            .with_filter(filter(SERVER))
            .boxed(),
        LogFormat::Json => text.json().with_filter(filter(SERVER)).boxed(),
    };
    tracing_subscriber::registry().with(traces).with(text).init();
    Ok(sender)
}
