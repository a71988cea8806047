//! A database for each test on `PostgreSQL`, dropped at its end.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio_postgres::NoTls;

/// The part of a URL that names the database, its slash included, and what may follow it.
fn with_database(url: &str, name: &str) -> String {
    let (address, options) = url
        .split_once('?')
        .map_or((url, ""), |(address, options)| (address, options));
    let server = address.rsplit_once('/').map_or(address, |(server, _)| server);
    let mark = if options.is_empty() { "" } else { "?" };
    format!("{server}/{name}{mark}{options}")
}

pub(crate) struct Database {
    server: String,
    name: String,
    pub(crate) url: String,
}

impl Database {
    pub(crate) fn new() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let server = std::env::var("TURNABOUT_TEST_POSTGRES").expect(
            "TURNABOUT_TEST_POSTGRES is not set: run scripts/test, which starts a PostgreSQL server for the tests",
        );
        let name = format!(
            "program_{}_{}",
            std::process::id(),
            MADE.fetch_add(1, Ordering::Relaxed)
        );
        let database = Self {
            url: with_database(&server, &name),
            server,
            name,
        };
        // One that a killed run has left behind, under a process id that has come round again, goes first.
        database.tell(&format!("drop database if exists {} with (force)", database.name));
        database.tell(&format!("create database {}", database.name));
        database
    }

    /// Has the server do something that concerns whole databases.
    fn tell(&self, command: &str) {
        let told = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime")
            .block_on(async {
                let (client, connection) = tokio_postgres::connect(&self.server, NoTls).await?;
                let connection = tokio::spawn(connection);
                client.batch_execute(command).await?;
                drop(client);
                // How the connection ended does not matter any more.
                let _ = connection.await;
                Ok::<_, tokio_postgres::Error>(())
            });
        if let Err(error) = told
            && !std::thread::panicking()
        {
            panic!("`{command}` failed on TURNABOUT_TEST_POSTGRES: {error:?}");
        }
    }
}

/// Someone else at a store, who does as they like with its tables, by SQL.
pub(crate) enum Stranger {
    Sqlite(rusqlite::Connection),
    Postgres(tokio::runtime::Runtime, tokio_postgres::Client),
}

impl Stranger {
    pub(crate) fn on_sqlite(file: &Path) -> Self {
        let connection = rusqlite::Connection::open(file).expect("a connection");
        connection.busy_timeout(crate::place::PATIENCE).expect("patience");
        Self::Sqlite(connection)
    }

    pub(crate) fn on_postgres(url: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let client = runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("a connection");
            tokio::spawn(connection);
            let path = "set search_path to turnabout";
            client.batch_execute(path).await.expect("the schema of our tables");
            client
        });
        Self::Postgres(runtime, client)
    }

    /// Does something that both databases understand.
    pub(crate) fn does(&self, sql: &str) {
        match self {
            Self::Sqlite(connection) => connection.execute_batch(sql).expect(sql),
            Self::Postgres(runtime, client) => runtime.block_on(client.batch_execute(sql)).expect(sql),
        }
    }

    /// Lets nobody write until they go.
    pub(crate) fn is_in_the_way(&self) {
        self.does(match self {
            Self::Sqlite(_) => "begin immediate",
            Self::Postgres(..) => "begin; lock table job in access exclusive mode",
        });
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.tell(&format!("drop database if exists {} with (force)", self.name));
    }
}
