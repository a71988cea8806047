//! The command line: one file for each command.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

pub(crate) mod cancel;
pub(crate) mod config;
pub(crate) mod global;
pub(crate) mod list;
mod print;
pub(crate) mod serve;
pub(crate) mod show;
mod signals;
pub(crate) mod submit;

use global::Global;

/// Runs background jobs, and is fair to all groups.
#[derive(Debug, clap::Parser)]
#[command(name = "turnabout", version)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
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
    /// Show the settings in force, and where each came from
    Config(config::ShowConfig),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}
