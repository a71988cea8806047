//! Which store the commands work on.

use std::path::Path;

use anyhow::bail;
use turnabout::Jobs;

#[derive(Debug, clap::Args)]
pub(crate) struct Database {
    /// Where the jobs are: `sqlite://FILE` or `postgres://USER:PASSWORD@HOST/DATABASE`
    #[arg(
        long = "database",
        value_name = "URL",
        env = "TURNABOUT_DATABASE",
        hide_env_values = true,
        default_value = "sqlite://turnabout.db",
        global = true
    )]
    url: String,
}

impl Database {
    /// Opens the store; a file is made if it does not exist.
    pub(super) async fn open(&self) -> anyhow::Result<Jobs> {
        Ok(Jobs::open(&self.url).await?)
    }

    /// Opens the store for a command that looks for jobs: where no file is, none are, and making an empty one would
    /// hide that this is the wrong folder.
    pub(super) async fn open_existing(&self) -> anyhow::Result<Jobs> {
        if let Some(file) = self.url.strip_prefix("sqlite://")
            && !file.is_empty()
            && !Path::new(file).exists()
        {
            bail!("there is no file {file}; start `turnabout serve` here, or say where the jobs are with --database");
        }
        self.open().await
    }

    /// The store's name for people. Only a file is named: the rest of a URL may hold a password.
    pub(super) fn name(&self) -> &str {
        if self.url.starts_with("sqlite:") {
            &self.url
        } else {
            "a PostgreSQL database"
        }
    }
}
