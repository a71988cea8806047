//! Opening a store: the only place that names a concrete one.

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::Jobs;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::store::{SchemaStatus, Store, StoreOptions};
use crate::submit::Expiry;

/// Arguments of a job are no longer, in bytes of JSON, unless said otherwise.
pub(super) const MAX_ARGS: usize = 1 << 20;

/// A store about to be opened: say more about it, then await it.
#[must_use = "nothing is opened until it is awaited"]
pub struct Open {
    url: String,
    options: StoreOptions,
    max_args: usize,
    expiry: Expiry,
}

impl Open {
    pub(super) fn new(url: String) -> Self {
        Self {
            url,
            options: StoreOptions::default(),
            max_args: MAX_ARGS,
            expiry: Expiry::default(),
        }
    }

    /// How long ended jobs are kept (30 days unless said otherwise). Zero: they are deleted at once.
    pub fn retention(mut self, retention: Duration) -> Self {
        self.options.retention = retention;
        self
    }

    /// How long the audit log is kept (a year unless said otherwise).
    pub fn audit_retention(mut self, retention: Duration) -> Self {
        self.options.audit_retention = retention;
        self
    }

    /// Whether tables are made and brought up to date, if they are not (true unless said otherwise). With false it is an error
    /// to open a store whose tables are older than this program.
    pub fn migrate(mut self, migrate: bool) -> Self {
        self.options.migrate = migrate;
        self
    }

    /// Whether this is the address of a store, as far as that can be told without opening it.
    pub fn check(&self) -> Result<()> {
        Place::of(&self.url).map(drop)
    }

    /// How the tables of the store are, without opening it or changing anything.
    pub async fn status(self) -> Result<SchemaStatus> {
        match Place::of(&self.url)? {
            Place::Sqlite(path) => sqlite_status(path).await,
            Place::Postgres => postgres_status(&self.url, &self.options.schema).await,
        }
    }

    /// The schema that the tables are in (`PostgreSQL` only; `turnabout` unless said otherwise).
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.options.schema = schema.into();
        self
    }

    /// How many connections to `PostgreSQL` are open at the most, 4 or more: one listens, one is for heartbeats, the rest for
    /// everything else. While nothing happens there are 4. Handlers that run in a transaction have one more each.
    pub fn connections(mut self, connections: u32) -> Self {
        self.options.connections = connections;
        self
    }

    /// Where to listen for messages from other processes (`PostgreSQL` only): a way to the server itself, past a pooler like
    /// `PgBouncer` that hands out connections by the transaction and delivers no messages. Without it, executors behind such a
    /// pooler look for jobs every second.
    pub fn listen_url(mut self, url: impl Into<String>) -> Self {
        self.options.listen_at(url);
        self
    }

    /// Where time comes from: for tests.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.options.clock = clock;
        self
    }

    /// How long the arguments of a job may be, in bytes of JSON (1 MiB unless said otherwise).
    pub fn max_args(mut self, bytes: usize) -> Self {
        self.max_args = bytes;
        self
    }

    /// How long jobs that are submitted here may wait until someone starts them, where neither their submit nor their task says
    /// so; then they fail, as expired. For ever unless said.
    pub fn expires(mut self, time: Duration) -> Self {
        self.expiry.usual = Some(time);
        self
    }

    /// The same for one task, known by its name. `None`: for ever.
    pub fn task_expires(mut self, task: impl Into<String>, time: Option<Duration>) -> Self {
        self.expiry.tasks.insert(task.into(), time);
        self
    }

    async fn open(self) -> Result<Jobs> {
        if self.options.connections < 4 {
            return Err(Error::invalid("connections", "at least 4 are needed"));
        }
        let store: Arc<dyn Store> = match Place::of(&self.url)? {
            Place::Sqlite(path) => sqlite(path, self.options).await?,
            Place::Postgres => postgres(&self.url, self.options).await?,
        };
        Ok(Jobs::with(store, self.max_args, self.expiry))
    }
}

impl IntoFuture for Open {
    type Output = Result<Jobs>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.open())
    }
}

/// Never prints the URL, which may hold a password.
impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Open")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// Which store a URL means.
#[derive(Debug, PartialEq)]
enum Place<'a> {
    Sqlite(&'a str),
    Postgres,
}

/// What to write instead.
const FORMS: &str = "write `sqlite://jobs.db`, `sqlite:///absolute/path/jobs.db`, `sqlite::memory:` or \
                     `postgres://user:password@host/database`";

impl<'a> Place<'a> {
    /// The errors name the scheme at most: the rest of a URL may hold a password.
    fn of(url: &'a str) -> Result<Self> {
        if url == "sqlite::memory:" {
            return Ok(Self::Sqlite(":memory:"));
        }
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(Error::invalid("store URL", format!("it has no scheme; {FORMS}")));
        };
        match scheme {
            "sqlite" if rest.is_empty() => Err(Error::invalid("store URL", format!("it names no file; {FORMS}"))),
            "sqlite" if rest.contains('\0') => Err(Error::invalid("store URL", "the path contains a NUL byte")),
            "sqlite" => Ok(Self::Sqlite(rest)),
            "postgres" | "postgresql" => Ok(Self::Postgres),
            other => Err(Error::invalid(
                "store URL",
                format!("the scheme `{}` is not known; {FORMS}", other.escape_debug()),
            )),
        }
    }
}

#[cfg(feature = "sqlite")]
async fn sqlite(path: &str, options: StoreOptions) -> Result<Arc<dyn Store>> {
    Ok(crate::store::sqlite::SqliteStore::open(path, options).await?)
}

#[cfg(not(feature = "sqlite"))]
#[expect(clippy::unused_async, reason = "the same signature as with the feature")]
async fn sqlite(_: &str, _: StoreOptions) -> Result<Arc<dyn Store>> {
    Err(switched_off("an SQLite store", "sqlite"))
}

#[cfg(feature = "postgres")]
async fn postgres(url: &str, options: StoreOptions) -> Result<Arc<dyn Store>> {
    Ok(crate::store::postgres::PostgresStore::open(url, options).await?)
}

#[cfg(not(feature = "postgres"))]
#[expect(clippy::unused_async, reason = "the same signature as with the feature")]
async fn postgres(_: &str, _: StoreOptions) -> Result<Arc<dyn Store>> {
    Err(switched_off("a PostgreSQL store", "postgres"))
}

#[cfg(feature = "sqlite")]
async fn sqlite_status(path: &str) -> Result<SchemaStatus> {
    crate::store::sqlite::SqliteStore::status(path).await
}

#[cfg(not(feature = "sqlite"))]
#[expect(clippy::unused_async, reason = "the same signature as with the feature")]
async fn sqlite_status(_: &str) -> Result<SchemaStatus> {
    Err(switched_off("an SQLite store", "sqlite"))
}

#[cfg(feature = "postgres")]
async fn postgres_status(url: &str, schema: &str) -> Result<SchemaStatus> {
    crate::store::postgres::PostgresStore::status(url, schema).await
}

#[cfg(not(feature = "postgres"))]
#[expect(clippy::unused_async, reason = "the same signature as with the feature")]
async fn postgres_status(_: &str, _: &str) -> Result<SchemaStatus> {
    Err(switched_off("a PostgreSQL store", "postgres"))
}

#[cfg(not(all(feature = "sqlite", feature = "postgres")))]
fn switched_off(store: &str, feature: &str) -> Error {
    Error::Open {
        store: store.to_owned(),
        hint: format!("this program was built without the feature `{feature}` of the crate `turnabout`"),
        cause: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_store() {
        assert_eq!(
            Place::of("sqlite://jobs.db").expect("relative"),
            Place::Sqlite("jobs.db")
        );
        assert_eq!(
            Place::of("sqlite:///var/jobs.db").expect("absolute"),
            Place::Sqlite("/var/jobs.db")
        );
        assert_eq!(Place::of("sqlite::memory:").expect("memory"), Place::Sqlite(":memory:"));
        assert_eq!(Place::of("postgres://localhost/app").expect("server"), Place::Postgres);
        assert_eq!(
            Place::of("postgresql://localhost/app").expect("server"),
            Place::Postgres
        );
    }

    #[test]
    fn a_url_that_means_nothing_is_refused_with_what_would_be_right_and_without_its_password() {
        for bad in [
            "",
            "jobs.db",
            "mysql://ada:secret@host/db",
            "ada:secret@host",
            "sqlite://",
        ] {
            let error = Place::of(bad).expect_err(bad).to_string();
            assert!(
                error.contains("sqlite://jobs.db") && error.contains("postgres://"),
                "{error}"
            );
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
