//! The command line: one file for each command.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

pub(crate) mod cancel;
mod database;
pub(crate) mod list;
mod print;
pub(crate) mod serve;
pub(crate) mod show;
mod signals;
pub(crate) mod submit;

use database::Database;

/// Runs background jobs, and is fair to all groups.
#[derive(Debug, clap::Parser)]
#[command(name = "turnabout", version)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) database: Database,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Run jobs, until SIGTERM or Ctrl-C
    Serve(serve::Serve),
    /// Submit a job
    Submit(submit::Submit),
    /// List jobs, newest first
    List(list::List),
    /// Show a job, and why it waits
    Show(show::Show),
    /// Cancel a job
    Cancel(cancel::Cancel),
    /// Measure how fast jobs are submitted, run and shared out on this machine
    Bench(turnabout_bench::Bench),
    /// Show how fair each rule is, with simulated and real executors
    Lab(turnabout_bench::lab::Args),
}

/// The log goes to standard error: a server tells what it does, the other commands only what is wrong. `RUST_LOG`
/// overrides both.
pub(crate) fn log_to_stderr(command: &Command) {
    let level = match command {
        Command::Serve(_) => "info",
        _ => "warn",
    };
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level)))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
}

/// A duration as people write it: `90s`, `5 minutes`, `1 day 2h`.
pub(crate) fn duration(text: &str) -> Result<std::time::Duration, String> {
    let span: jiff::Span = text
        .parse()
        .map_err(|_| "write it with units, such as `90s`, `5 minutes` or `1 day`".to_owned())?;
    let duration = span
        .to_duration(jiff::SpanRelativeTo::days_are_24_hours())
        .map_err(|_| "years and months differ in length; say it in days".to_owned())?;
    duration.try_into().map_err(|_| "it is negative".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_command_line_is_consistent() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn durations_are_written_as_people_do() {
        for (text, seconds) in [("90s", 90), ("5 minutes", 300), ("1 day 2h", 93_600), ("0s", 0)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for bad in ["90", "-5s", "1 month", "soon", ""] {
            duration(bad).expect_err(bad);
        }
    }
}
