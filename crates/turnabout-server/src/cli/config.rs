//! `turnabout config`: what is in force and where it came from, or the reference of all settings.

use std::process::ExitCode;

use anyhow::Context as _;

use super::global::Global;
use super::{print, serve};
use crate::config::{Flags, reference, show, show_json};

#[derive(Debug, clap::Args)]
pub(crate) struct ShowConfig {
    /// Print a file with every setting, its default and what it does
    #[arg(long)]
    reference: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: Flags,
}

pub(crate) async fn run(global: &Global, args: &ShowConfig) -> anyhow::Result<ExitCode> {
    if args.reference {
        print::out(reference().trim_end())?;
        return Ok(ExitCode::SUCCESS);
    }
    let config = global.sources(&args.flags).read()?;
    let shown = if args.json {
        print::json(&show_json(&config))?
    } else {
        show(&config)
    };
    print::out(shown.trim_end())?;
    serve::check(&config)
        .await
        .context("a server would not start with this configuration")?;
    Ok(ExitCode::SUCCESS)
}
