//! A fresh store for each measurement, gone afterwards: a file in a folder of its own, or a schema of its own.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::ValueEnum;
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};
use turnabout::Jobs;

use crate::History;

/// Which store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Store {
    Sqlite,
    Postgres,
}

impl Store {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

/// Where stores are made.
pub(crate) struct Place {
    pub(crate) store: Store,
    url: String,
    dir: PathBuf,
}

/// A store that is open.
pub(crate) struct Open {
    pub(crate) jobs: Jobs,
    /// What has to be removed: a schema, or a folder.
    schema: Option<(Client, String)>,
    _folder: Option<TempDir>,
}

impl Place {
    pub(crate) fn new(store: Store, url: &str, dir: &std::path::Path) -> Self {
        Self {
            store,
            url: url.to_owned(),
            dir: dir.to_owned(),
        }
    }

    /// A new, empty store.
    pub(crate) async fn open(&self, history: History) -> Result<Open> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let retention = match history {
            History::None => Duration::ZERO,
            History::Kept => Duration::from_hours(30 * 24),
        };
        match self.store {
            Store::Sqlite => {
                let folder = self.folder()?;
                let url = format!("sqlite://{}", folder.path().join("jobs.db").display());
                Ok(Open {
                    jobs: Jobs::open(url).retention(retention).await?,
                    schema: None,
                    _folder: Some(folder),
                })
            }
            Store::Postgres => {
                let number = COUNT.fetch_add(1, Ordering::Relaxed);
                let schema = format!("bench_{}_{number}", std::process::id());
                let client = self.connect().await?;
                // What earlier measurements left to be written is not ours to pay for.
                client.batch_execute("checkpoint").await?;
                let jobs = Jobs::open(&self.url).retention(retention).schema(&schema).await?;
                Ok(Open {
                    jobs,
                    schema: Some((client, schema)),
                    _folder: None,
                })
            }
        }
    }

    /// A new folder for a file of ours.
    pub(crate) fn folder(&self) -> Result<TempDir> {
        std::fs::create_dir_all(&self.dir).context("making the folder for SQLite files")?;
        let dir = self.dir.canonicalize()?;
        tempfile::Builder::new()
            .prefix("bench-")
            .tempdir_in(dir)
            .context("making a folder for a SQLite file")
    }

    /// A connection of our own.
    pub(crate) async fn connect(&self) -> Result<Client> {
        let (client, connection) = tokio_postgres::connect(&self.url, NoTls)
            .await
            .context("connecting to the PostgreSQL server of --pg-url or PG_URL")?;
        tokio::spawn(connection);
        Ok(client)
    }
}

impl Open {
    /// As the server would do by itself, were it given a minute.
    pub(crate) async fn analyze(&self) -> Result<()> {
        if let Some((client, schema)) = &self.schema {
            client.batch_execute(&format!("analyze {schema}.job")).await?;
        }
        Ok(())
    }

    /// How many jobs have not ended, by the store.
    pub(crate) async fn unfinished(&self) -> Result<u64> {
        let counts = self.jobs.counts().await?;
        Ok(counts.ready + counts.parked + counts.held)
    }

    /// Removes the store.
    pub(crate) async fn close(self) -> Result<()> {
        drop(self.jobs);
        if let Some((client, schema)) = self.schema {
            client.batch_execute("set client_min_messages = warning").await?;
            client.batch_execute(&format!("drop schema {schema} cascade")).await?;
        }
        Ok(())
    }
}
