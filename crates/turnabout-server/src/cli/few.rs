//! Small commands: `token`, `migrate` and `completions`.

use std::cmp::Ordering;
use std::fmt::Write as _;
use std::process::ExitCode;

use clap::CommandFactory;
use jiff::{SignedDuration, Timestamp, Unit};
use turnabout::Jobs;

use super::global::{self, Global};
use super::{Cli, print};
use crate::auth::{self, Rights, Role};
use crate::config::header;
use crate::config::value::{Written as _, duration, quoted};

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
    /// Only so much of what its role allows: `read`, `submit`, `cancel`, `operate`, `metrics`, `admin`; several with commas
    #[arg(long, value_name = "SCOPES", value_delimiter = ',')]
    scopes: Option<Vec<String>>,
    /// Only jobs of these tasks may be submitted or changed with it; a `*` at the end stands for any ending
    #[arg(long, value_name = "TASKS", value_delimiter = ',')]
    tasks: Option<Vec<String>>,
    /// Only to these queues
    #[arg(long, value_name = "QUEUES", value_delimiter = ',')]
    queues: Option<Vec<String>>,
    /// It is good until then: `2027-01-31T00:00:00Z`, or `90 days` from now [default: for ever]
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    expires: Option<Timestamp>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A moment to come, as it is typed: itself, or how long from now.
fn moment(text: &str) -> Result<Timestamp, String> {
    let now = Timestamp::now();
    let from_now = || {
        let moment = now.checked_add(SignedDuration::try_from(duration(text).ok()?).ok()?);
        moment.ok()?.round(Unit::Second).ok()
    };
    let moment = text.parse().ok().or_else(from_now).ok_or_else(|| {
        format!("`{text}` is neither a moment such as 2027-01-31T00:00:00Z nor a duration such as `90 days`")
    })?;
    if moment <= now {
        return Err(format!("{moment} has passed"));
    }
    Ok(moment)
}

/// `turnabout token`: makes one. It is shown once; what is kept is its hash, in the configuration.
pub(crate) fn token(args: &MakeToken) -> anyhow::Result<ExitCode> {
    let MakeToken {
        group,
        owner,
        scopes,
        tasks,
        queues,
        expires,
        ..
    } = args;
    let role = Role::from_parts(&args.role, group.clone(), owner.clone())?;
    Rights::configured(&role, scopes.as_deref(), tasks.as_ref(), queues.as_ref())?;
    let token = auth::make();
    let hash = auth::hash(&token);
    if args.json {
        let made = serde_json::json!({ "token": token, "hash": hash, "role": args.role, "group": group, "owner": owner,
            "scopes": scopes, "tasks": tasks, "queues": queues, "expires": expires });
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
    let said = [
        ("group", group.to_toml()),
        ("owner", owner.to_toml()),
        ("scopes", scopes.to_toml()),
        ("tasks", tasks.to_toml()),
        ("queues", queues.to_toml()),
        ("expires", expires.map(|expires| quoted(&expires.to_string()))),
    ];
    for (key, value) in said {
        if let Some(value) = value {
            let _ = write!(entry, "\n{key} = {value}");
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
