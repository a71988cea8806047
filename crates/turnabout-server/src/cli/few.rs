//! Small commands: `token`, `migrate` and `completions`.

use std::cmp::Ordering;
use std::fmt::Write as _;
use std::process::ExitCode;

use clap::CommandFactory;
use turnabout::Jobs;

use super::global::{self, Global};
use super::{Cli, print};
use crate::auth::{self, Role};
use crate::config::header;
use crate::config::value::quoted;

#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// For which shell
    shell: clap_complete::Shell,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Migrate {
    /// Only say which version the tables have; the exit code is 1 if they are not up to date
    #[arg(long)]
    status: bool,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct MakeToken {
    /// What it is called in the configuration and in logs
    #[arg(default_value = "NAME")]
    name: String,
    /// What it allows: `admin` (everything), `operator` (everything but tokens and ending the server), `viewer` (to see
    /// everything), `group` (the jobs of one group) or `owner` (those of one owner in it)
    #[arg(long, default_value = "admin")]
    role: String,
    /// The group that it is for
    #[arg(long)]
    group: Option<String>,
    /// The owner that it is for
    #[arg(long)]
    owner: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// `turnabout token`: makes one. It is shown once; what is kept is its hash, in the configuration.
pub(crate) fn token(args: &MakeToken) -> anyhow::Result<ExitCode> {
    Role::from_parts(&args.role, args.group.clone(), args.owner.clone())?;
    let token = auth::make();
    let hash = auth::hash(&token);
    if args.json {
        let MakeToken { role, group, owner, .. } = args;
        let made = serde_json::json!({ "token": token, "hash": hash, "role": role, "group": group, "owner": owner });
        print::out(&print::json(&made)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    print::out(&token)?;
    let mut entry = format!(
        "[{}]\nhash = {}\nrole = {}",
        header(&format!("tokens.{}", args.name)),
        quoted(&hash),
        quoted(&args.role)
    );
    for (key, value) in [("group", &args.group), ("owner", &args.owner)] {
        if let Some(value) = value {
            let _ = write!(entry, "\n{key} = {}", quoted(value));
        }
    }
    crate::cli::note!(
        "\nThat is the token; it is not shown again. Put this into the server's configuration:\n\n{entry}"
    );
    Ok(ExitCode::SUCCESS)
}

/// `turnabout migrate`: brings the tables up to date, as every start does; here before the rest of an update.
pub(crate) async fn migrate(global: &Global, args: &Migrate) -> anyhow::Result<ExitCode> {
    global.no_server("migrate")?;
    let config = global.read()?;
    let place = config.store.database.shown();
    let status = async || {
        Jobs::open(&config.store.database.0)
            .schema(&config.store.schema)
            .status()
            .await
    };
    let before = status().await?;
    let words = |version: i64| match version {
        0 => "no tables".to_owned(),
        version => format!("tables of version {version}"),
    };
    if args.status || args.dry_run {
        let what = match before.found.cmp(&before.known) {
            Ordering::Greater => format!("; this program knows versions up to {}: use a newer one", before.known),
            Ordering::Equal => ", which are up to date".to_owned(),
            Ordering::Less => format!("; `turnabout migrate` brings them to version {}", before.known),
        };
        print::out(&format!("{place} has {}{what}", words(before.found)))?;
        // A script can ask whether there is something to do.
        let done = before.found == before.known || args.dry_run;
        return Ok(if done { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    drop(global::open(&config, true).await?);
    let after = status().await?;
    print::out(&if before.found == after.found {
        format!("{place} has {}, which are up to date", words(after.found))
    } else {
        format!(
            "{place} had {}, and has {} now, which are up to date",
            words(before.found),
            words(after.found)
        )
    })?;
    Ok(ExitCode::SUCCESS)
}

/// `turnabout completions`: what a shell needs to complete our commands.
pub(crate) fn completions(args: &Completions) -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "turnabout", &mut text);
    print::out(String::from_utf8(text)?.trim_end())?;
    Ok(ExitCode::SUCCESS)
}
