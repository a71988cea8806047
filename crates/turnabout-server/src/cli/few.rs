//! Small commands: `migrate` and `completions`.

use std::process::ExitCode;

use clap::CommandFactory;

use super::global::{self, Global};
use super::{Cli, print};

#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// For which shell
    shell: clap_complete::Shell,
}

/// `turnabout migrate`: brings the tables up to date, as every start does; here before the rest of an update.
pub(crate) async fn migrate(global: &Global) -> anyhow::Result<ExitCode> {
    global.no_server("migrate")?;
    let config = global.read()?;
    drop(global::open(&config).await?);
    print::out(&format!("the tables in {} are up to date", config.store.database.shown()))?;
    Ok(ExitCode::SUCCESS)
}

/// `turnabout completions`: what a shell needs to complete our commands.
pub(crate) fn completions(args: &Completions) -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "turnabout", &mut text);
    print::out(String::from_utf8(text)?.trim_end())?;
    Ok(ExitCode::SUCCESS)
}
