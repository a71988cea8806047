//! What all commands have in common: which configuration, and which store.

use std::path::{Path, PathBuf};

use anyhow::bail;
use turnabout::Jobs;

use crate::config::{Config, Flags, Sources, StoreUrl};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Global {
    /// The configuration file [default: turnabout.toml in this folder, if it exists]
    #[arg(long, value_name = "FILE", env = "TURNABOUT_CONFIG", global = true)]
    config: Option<PathBuf>,
    /// Where the jobs are: `sqlite://FILE` or `postgres://USER:PASSWORD@HOST/DATABASE` [default: sqlite://turnabout.db]
    #[arg(long, value_name = "URL", global = true)]
    database: Option<String>,
}

impl Global {
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
}

/// Opens the store; a file is made if it does not exist.
pub(crate) async fn open(config: &Config) -> anyhow::Result<Jobs> {
    let store = &config.store;
    let max_args = usize::try_from(store.max_arguments.0).unwrap_or(usize::MAX);
    Ok(Jobs::open(&store.database.0)
        .retention(store.retention)
        .schema(&store.schema)
        .connections(store.connections)
        .max_args(max_args)
        .await?)
}

/// Opens the store for a command that looks for jobs: where no file is, none are, and making an empty one would hide that
/// this is the wrong folder.
pub(crate) async fn open_existing(config: &Config) -> anyhow::Result<Jobs> {
    let StoreUrl(url) = &config.store.database;
    if let Some(file) = url.strip_prefix("sqlite://")
        && !file.is_empty()
        && !Path::new(file).exists()
    {
        bail!("there is no file {file}; start `turnabout serve` here, or say where the jobs are with --database");
    }
    open(config).await
}
