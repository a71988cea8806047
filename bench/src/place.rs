//! A fresh store for each measurement, gone afterwards: a file in a folder of its own, or a schema of its own.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::ValueEnum;
use tempfile::TempDir;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, NoTls};
use turnabout::Jobs;

use crate::work::publish;

/// So often a schema is dropped again after a deadlock.
const TRIES: u32 = 5;

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

/// Whether ended jobs are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum History {
    None,
    Kept,
}

impl History {
    fn retention(self) -> Duration {
        match self {
            Self::None => Duration::ZERO,
            Self::Kept => Duration::from_hours(30 * 24),
        }
    }
}

/// Where stores are made.
pub(crate) struct Place {
    pub(crate) store: Store,
    url: String,
    dir: PathBuf,
}

/// How another process opens the same store.
pub(crate) struct Address {
    pub(crate) url: String,
    pub(crate) schema: String,
    pub(crate) retention: Duration,
}

impl Address {
    pub(crate) async fn open(&self) -> Result<Jobs> {
        let open = Jobs::open(&self.url).retention(self.retention).schema(&self.schema);
        Ok(open.await?)
    }
}

/// A store that is open.
pub(crate) struct Open {
    pub(crate) jobs: Jobs,
    pub(crate) address: Address,
    /// A connection of our own to the server.
    pub(crate) client: Option<Client>,
    folder: Option<TempDir>,
}

impl Place {
    pub(crate) fn new(store: Store, url: &str, dir: &Path) -> Self {
        Self {
            store,
            url: url.to_owned(),
            dir: dir.to_owned(),
        }
    }

    /// The server's address.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// A new, empty store.
    pub(crate) async fn open(&self, history: History) -> Result<Open> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        // Also the name by which the server knows our connections.
        let schema = format!("bench_{}_{number}", std::process::id());
        let (url, client, folder) = match self.store {
            Store::Sqlite => {
                let folder = self.folder()?;
                let url = format!("sqlite://{}", folder.path().join("jobs.db").display());
                (url, None, Some(folder))
            }
            Store::Postgres => {
                let client = self.connect().await?;
                // What earlier measurements left to be written is not ours to pay for.
                client
                    .batch_execute("set client_min_messages = warning; checkpoint")
                    .await?;
                (named(&self.url, &schema), Some(client), None)
            }
        };
        let retention = history.retention();
        let address = Address { url, schema, retention };
        let jobs = address.open().await?;
        publish(&jobs).await?;
        Ok(Open {
            jobs,
            address,
            client,
            folder,
        })
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
        connect(&self.url).await
    }
}

pub(crate) async fn connect(url: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls)
        .await
        .context("connecting to the PostgreSQL server of --pg-url or PG_URL")?;
    tokio::spawn(connection);
    Ok(client)
}

/// A URL whose connections have this name.
fn named(url: &str, name: &str) -> String {
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}application_name={name}")
}

impl Open {
    /// A second handle, with connections of its own, as another process would have.
    pub(crate) async fn another(&self) -> Result<Jobs> {
        self.address.open().await
    }

    /// As the server would do by itself, were it given a minute.
    pub(crate) async fn analyze(&self) -> Result<()> {
        if let Some(client) = &self.client {
            client
                .batch_execute(&format!("analyze {}.job", self.address.schema))
                .await?;
        }
        Ok(())
    }

    /// How many jobs have not ended, by the store.
    pub(crate) async fn unfinished(&self) -> Result<u64> {
        let counts = self.jobs.counts().await?;
        Ok(counts.ready + counts.parked + counts.held)
    }

    /// Holds a snapshot open until it is dropped, as a long report or a forgotten session would.
    pub(crate) async fn pin(&self) -> Result<Pin> {
        if self.folder.is_some() {
            let path = self.address.url.trim_start_matches("sqlite://").to_owned();
            let file = rusqlite::Connection::open(path)?;
            file.execute_batch("begin")?;
            file.query_row("select count(*) from sqlite_master", [], |_| Ok(()))?;
            return Ok(Pin {
                _file: Some(file),
                _client: None,
            });
        }
        let client = connect(&self.address.url).await?;
        client
            .batch_execute("begin isolation level repeatable read; select count(*) from pg_class")
            .await?;
        Ok(Pin {
            _file: None,
            _client: Some(client),
        })
    }

    /// Removes the store.
    pub(crate) async fn close(self) -> Result<()> {
        drop(self.jobs);
        let Some(client) = self.client else { return Ok(()) };
        let drop = format!("drop schema {} cascade", self.address.schema);
        let mut tries = 0;
        loop {
            match client.batch_execute(&drop).await {
                // A statement of someone who has gone may still be under way; it takes locks in another order.
                Err(error) if error.code() == Some(&SqlState::T_R_DEADLOCK_DETECTED) && tries < TRIES => tries += 1,
                dropped => return Ok(dropped?),
            }
        }
    }
}

/// A snapshot that is held open.
pub(crate) struct Pin {
    _file: Option<rusqlite::Connection>,
    _client: Option<Client>,
}
