//! `turnabout token`: tokens for the configuration, tokens for browsers, and the end of the latter.

use std::process::ExitCode;

use turnabout::JobId;

use super::global::Global;
use super::{few, print};
use crate::api::types::MintRequest;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Token {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    make: few::MakeToken,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Mint a short-lived token for a browser: for jobs, for a group, or for an owner of a group
    Mint(Mint),
    /// Revoke all minted tokens, by replacing the keys that they were signed with
    Rotate,
}

#[derive(Debug, clap::Args)]
struct Mint {
    /// The jobs that it is for
    #[arg(value_name = "JOB")]
    jobs: Vec<JobId>,
    /// The group whose jobs it is for
    #[arg(long)]
    group: Option<String>,
    /// The owner, inside the group, whose jobs it is for
    #[arg(long)]
    owner: Option<String>,
    /// It allows cancelling, too
    #[arg(long)]
    cancel: bool,
    /// How long it lives, up to a day: `15 minutes`, `1 hour` [default: 15 minutes]
    #[arg(long, value_name = "DURATION")]
    lifetime: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(global: &Global, args: Token) -> anyhow::Result<ExitCode> {
    match args.command {
        None => few::token(&args.make),
        Some(Command::Mint(args)) => mint(global, args).await,
        Some(Command::Rotate) => {
            global.client_that_signs().await?.rotate_tokens().await?;
            print::out("no token that was minted before is valid any longer")?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn mint(global: &Global, args: Mint) -> anyhow::Result<ExitCode> {
    let request = MintRequest {
        jobs: args.jobs,
        group: args.group,
        owner: args.owner,
        cancel: args.cancel,
        lifetime: args.lifetime,
    };
    let minted = global.client_that_signs().await?.mint_token(&request).await?;
    if args.json {
        print::out(&print::json(&minted)?)?;
    } else {
        print::out(&minted.token)?;
        crate::cli::note!("It is valid until {}.", minted.expires);
    }
    Ok(ExitCode::SUCCESS)
}
