//! The program's own log, on standard error: a server tells what it does, the other commands only what is wrong.
//! `RUST_LOG` overrides both.

use std::io::IsTerminal;

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use super::Command;
use crate::config::{Config, LogFormat};
use crate::traces::Sender;

/// For servers: what jobs write is kept with the jobs, and need not be here as well.
const SERVER: &str = "info,turnabout::log=off";

fn filter(usual: &str) -> EnvFilter {
    EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(usual))
}

/// For all commands but servers, which have to read their configuration first.
pub(crate) fn log(command: &Command) {
    if matches!(command, Command::Serve(_) | Command::Executor(_)) {
        return;
    }
    tracing_subscriber::fmt()
        .with_env_filter(filter("warn"))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
}

/// For servers. Returns what sends traces, if they are sent.
pub(super) fn log_server(config: &Config) -> anyhow::Result<Option<Sender>> {
    let sender = Sender::new(&config.traces)?;
    let traces = sender.as_ref().map(|sender| {
        let layer = tracing_opentelemetry::layer().with_tracer(sender.tracer());
        // The log of what is sent would be sent, and so on.
        layer.with_filter(tracing_subscriber::filter::Targets::new().with_target("turnabout", LevelFilter::INFO))
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
