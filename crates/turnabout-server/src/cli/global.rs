//! What all commands have in common: which configuration, and which store or server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use turnabout::Jobs;

use super::client::Client;
use crate::api::{ApiSettings, Server};
use crate::auth::SigningSettings;
use crate::config::{Config, Flags, Sources, StoreUrl, access};
use crate::tasks::{Checks, Shown};

#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Where")]
pub(crate) struct Global {
    /// The configuration file [default: turnabout.toml in this folder, if it exists]
    #[arg(long, value_name = "FILE", env = "TURNABOUT_CONFIG", global = true)]
    config: Option<PathBuf>,
    /// Where the jobs are: `sqlite://FILE` or `postgres://USER:PASSWORD@HOST/DATABASE` [default: `sqlite://turnabout.db`]
    #[arg(long, value_name = "URL", global = true, conflicts_with = "server")]
    database: Option<String>,
    /// Ask a server instead of a database: `http://HOST:7878` [env: `TURNABOUT_SERVER`, unless `--database` is given]
    #[arg(long, value_name = "URL", global = true)]
    server: Option<String>,
    /// A file that holds the token for the server; `TURNABOUT_TOKEN` may hold the token itself
    #[arg(long, value_name = "FILE", env = "TURNABOUT_TOKEN_FILE", global = true)]
    token_file: Option<PathBuf>,
}

impl Global {
    /// The server to ask, if one is. A flag goes before the environment, also where it names a database.
    fn server(&self) -> Option<String> {
        let said = || std::env::var("TURNABOUT_SERVER").ok().filter(|url| !url.is_empty());
        let said = || said().filter(|_| self.database.is_none());
        self.server.clone().or_else(said)
    }

    /// Where the configuration comes from.
    pub(crate) fn sources(&self, flags: &Flags) -> Sources {
        let mut given = flags.given.clone();
        if let Some(url) = &self.database {
            given.push(("database".to_owned(), "--database".to_owned(), url.clone()));
        }
        Sources::new(self.config.as_deref(), given)
    }

    /// What is in force.
    pub(crate) fn read(&self) -> anyhow::Result<Config> {
        self.sources(&Flags::default()).read()
    }

    /// Whoever answers for a command that looks for jobs: where there is no file, there are none, and making an empty one
    /// would hide that this is the wrong folder.
    pub(crate) async fn client(&self) -> anyhow::Result<Client> {
        if let Some(server) = self.server() {
            return self.remote(&server);
        }
        let config = self.read()?;
        local(&open_existing(&config).await?, Shown::new(&config), None)
    }

    /// Whoever answers for a command that hands out tokens. Others need not be able to read the keys.
    pub(crate) async fn client_that_signs(&self) -> anyhow::Result<Client> {
        if let Some(server) = self.server() {
            return self.remote(&server);
        }
        let config = self.read()?;
        let signing = access::signing(&config.api)?;
        local(&open_existing(&config).await?, Shown::new(&config), signing)
    }

    /// Whoever answers for a command that makes jobs: a file is made if it does not exist.
    pub(crate) async fn client_or_new(&self) -> anyhow::Result<Client> {
        if let Some(server) = self.server() {
            return self.remote(&server);
        }
        let config = self.read()?;
        let new = is_new_file(&config);
        let jobs = open(&config, new).await?;
        let settings = ApiSettings {
            // What a server with this configuration would refuse is refused here too.
            checks: Checks::new(&config)?,
            ..settings(Shown::new(&config), None)
        };
        Ok(Client::Local(Server::new(&jobs, settings).inside()?))
    }

    /// For commands that work on a database only.
    pub(crate) fn no_server(&self, command: &str) -> anyhow::Result<()> {
        if self.server().is_some() {
            bail!("`turnabout {command}` works on a database, not on a server: give --database and no --server");
        }
        Ok(())
    }

    fn remote(&self, server: &str) -> anyhow::Result<Client> {
        let base: reqwest::Url = server
            .parse()
            .ok()
            .filter(|url: &reqwest::Url| matches!(url.scheme(), "http" | "https"))
            .context("--server is not an address such as http://127.0.0.1:7878")?;
        let token = match (&self.token_file, std::env::var("TURNABOUT_TOKEN")) {
            (Some(file), _) => {
                let text = std::fs::read_to_string(file)
                    .with_context(|| format!("cannot read the token in {}", file.display()))?;
                Some(text.trim().to_owned())
            }
            (None, Ok(token)) if !token.is_empty() => Some(token),
            (None, _) => None,
        };
        crate::auth::crypto::ready();
        let http = reqwest::Client::builder()
            .user_agent(concat!("turnabout/", env!("CARGO_PKG_VERSION")))
            // A token is for the server that was named.
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        Ok(Client::Remote { http, base, token })
    }
}

/// Who runs this command, for the audit log.
fn user() -> String {
    let name = ["SUDO_USER", "USER", "LOGNAME"]
        .iter()
        .find_map(|name| std::env::var(name).ok());
    let name = name.filter(|name| !name.is_empty() && !name.contains('\0'));
    format!("{} on the command line", name.as_deref().unwrap_or("someone"))
}

/// The API on these jobs, without a socket.
fn local(jobs: &Jobs, shown: Shown, signing: Option<SigningSettings>) -> anyhow::Result<Client> {
    Ok(Client::Local(Server::new(jobs, settings(shown, signing)).inside()?))
}

fn settings(shown: Shown, signing: Option<SigningSettings>) -> ApiSettings {
    ApiSettings {
        shown,
        signing,
        max_body: usize::MAX,
        // Whoever waits can stop waiting.
        timeout: Duration::from_hours(24),
        nobody: user(),
        ..ApiSettings::default()
    }
}

/// Opens the store; a file is made if it does not exist, and tables are, if that is allowed.
pub(crate) async fn open(config: &Config, migrate: bool) -> anyhow::Result<Jobs> {
    let store = &config.store;
    let max_args = usize::try_from(store.max_arguments.0).unwrap_or(usize::MAX);
    let mut open = Jobs::open(&store.database.0);
    if let Some(url) = &store.listen_url {
        open = open.listen_url(&url.0);
    }
    if let Some(time) = store.expires {
        open = open.expires(time);
    }
    for (name, task) in &config.tasks {
        open = open.task_expires(name, task.expires.over(store.expires));
    }
    Ok(open
        .retention(store.retention)
        .audit_retention(store.audit_retention)
        .migrate(migrate)
        .schema(&store.schema)
        .connections(store.connections)
        .max_args(max_args)
        .await?)
}

/// Whether the jobs are in a file that does not exist yet. Making it hides nothing: it would be made by whoever comes first.
fn is_new_file(config: &Config) -> bool {
    let StoreUrl(url) = &config.store.database;
    let file = url.strip_prefix("sqlite://");
    url == "sqlite::memory:" || file.is_some_and(|file| !Path::new(file).exists())
}

/// Opens the store, if it exists. Tables are left as they are: whoever only looks, or changes a job, migrates nothing.
async fn open_existing(config: &Config) -> anyhow::Result<Jobs> {
    let StoreUrl(url) = &config.store.database;
    if let Some(file) = url.strip_prefix("sqlite://")
        && !file.is_empty()
        && !Path::new(file).exists()
    {
        bail!(
            "there is no file {file}; start `turnabout serve` here, or say where the jobs are with --database or --server"
        );
    }
    open(config, false).await
}
