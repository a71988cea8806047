//! `turnabout config`: what is in force and where it came from, or the reference of all settings.

use std::process::ExitCode;

use super::global::Global;
use super::print;
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

pub(crate) fn run(global: &Global, args: &ShowConfig) -> anyhow::Result<ExitCode> {
    print::out(
        if args.reference {
            reference()
        } else {
            let config = global.sources(&args.flags).read()?;
            if args.json {
                print::json(&show_json(&config))?
            } else {
                show(&config)
            }
        }
        .trim_end(),
    )?;
    Ok(ExitCode::SUCCESS)
}
