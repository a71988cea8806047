//! Connections: the pool, transactions that cannot be forgotten, and what errors mean.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Pool, PoolError, QueueMode, RecyclingMethod, Runtime,
};
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Config, Row};

use super::client::{Object, Statement};
use super::pooler::Pooler;
use super::tls::{Tls, Wanted};
use crate::error::{Error, Result};

/// How long a caller waits for a connection: longer than any verb takes, short enough to say that something is wrong.
const WAIT: Duration = Duration::from_secs(10);
/// No statement of ours runs longer; what hangs is ended by the server.
const STATEMENT_TIMEOUT: &str = "30s";
/// A peek holds the place in the ring while it plans; a process that stops just then must not stop the others for long.
const PEEK_TIMEOUT: &str = "2s";
/// Others hold the rows of a few jobs.
const IDLE_TIMEOUT: &str = "10s";

/// Parses a URL. Never puts it into an error: it may hold a password.
pub(super) fn config(url: &str) -> Result<(Config, Tls, Pooler)> {
    let wrong = |hint: &str, cause| Error::Open {
        store: "the PostgreSQL store".to_owned(),
        hint: hint.to_owned(),
        cause,
    };
    let (pooler, url) = Pooler::of(url).map_err(|hint| wrong(&hint, None))?;
    let wanted = Wanted::of(&url).map_err(|hint| wrong(&hint, None))?;
    let mut config: Config = wanted.url.parse().map_err(|e: tokio_postgres::Error| {
        wrong(
            "the URL should look like postgres://user:password@host:5432/database",
            Some(Box::new(e)),
        )
    })?;
    let store = name(&config);
    let tls = wanted.apply(&mut config, &store)?;
    if config.get_application_name().is_none() {
        config.application_name("turnabout");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(Duration::from_secs(5));
    }
    // A server that is gone without a word is noticed soon, whether or not something was sent to it.
    config.keepalives_idle(Duration::from_secs(5));
    config.keepalives_interval(Duration::from_secs(2));
    config.keepalives_retries(3);
    config.tcp_user_timeout(Duration::from_secs(10));
    // Of several servers, only the one that writes is of use.
    if config.get_hosts().len() > 1 && config.get_target_session_attrs() == TargetSessionAttrs::Any {
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    }
    Ok((config, tls, pooler))
}

/// A database by host and name, for messages: no user, no password.
pub(super) fn name(config: &Config) -> String {
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .map(|host| match host {
            // A password with an unescaped `@` in it ends up here.
            tokio_postgres::config::Host::Tcp(name) => name.rsplit('@').next().unwrap_or_default().to_owned(),
            #[cfg(unix)]
            tokio_postgres::config::Host::Unix(path) => path.display().to_string(),
        })
        .collect();
    format!(
        "PostgreSQL database `{}` on {}",
        config.get_dbname().unwrap_or("(default)"),
        if hosts.is_empty() {
            "localhost".to_owned()
        } else {
            hosts.join(", ")
        }
    )
}

pub(super) fn pool(
    config: &Config,
    tls: &Tls,
    connections: usize,
    recycling_method: RecyclingMethod,
    warm_up: Option<Hook>,
) -> Result<Pool> {
    let manager = Manager::from_config(config.clone(), tls.clone(), ManagerConfig { recycling_method });
    let mut builder = Pool::builder(manager);
    if let Some(warm_up) = warm_up {
        builder = builder.post_create(warm_up);
    }
    builder
        .max_size(connections)
        // What was used last has its statements prepared and its tables at hand.
        .queue_mode(QueueMode::Lifo)
        .wait_timeout(Some(WAIT))
        .create_timeout(Some(WAIT))
        .runtime(Runtime::Tokio1)
        .build()
        .map_err(|e| Error::Store {
            doing: "making connections",
            cause: Box::new(e),
            transient: false,
        })
}

/// Plans what happens under the lock of a kind (`reserve`) when a connection is made, and not under the lock.
pub(super) fn warm_up(reserve: String) -> Hook {
    let reserve = Arc::new(reserve);
    Hook::async_fn(move |client, _| {
        let reserve = Arc::clone(&reserve);
        Box::pin(async move {
            let statement = client.prepare_cached(&reserve).await.map_err(HookError::Backend)?;
            let none: Vec<&str> = Vec::new();
            let nobody = None::<uuid::Uuid>;
            let params: [&(dyn ToSql + Sync); 7] = [&nobody, &0i32, &1i32, &true, &none, &none, &None::<&str>];
            let planned = client.query(&statement, &params).await;
            planned.map(drop).map_err(HookError::Backend)
        })
    })
}

/// What the store's own statements run under: plans that cannot flip to a scan of the whole table, or to one that has to be
/// sorted before its first row is known, however old the statistics are; and no compilation for statements that take a
/// millisecond.
pub(super) const HOT: &str = "set local enable_seqscan = off; set local enable_bitmapscan = off; \
     set local enable_hashjoin = off; set local enable_mergejoin = off; set local jit = off; \
     set local plan_cache_mode = force_generic_plan";

/// A connection with a transaction open on it. If it is dropped before its end (an error, a cancelled caller), the
/// connection is closed and not returned to the pool, so that no lock outlives its holder.
pub(super) struct Tx {
    client: Option<Object>,
}

/// What a transaction is for.
#[derive(Clone, Copy)]
pub(super) enum Mode {
    /// Durable when it has committed.
    Durable,
    /// A crash of the server may undo it: only for what may be done again, such as the place in the ring.
    Forgettable,
}

impl Tx {
    /// The command that begins a transaction. Sent together with the first statement, it costs no round trip.
    pub(super) fn begin(mode: Mode) -> String {
        let (idle, durability) = match mode {
            Mode::Durable => (IDLE_TIMEOUT, ""),
            Mode::Forgettable => (PEEK_TIMEOUT, "; set local synchronous_commit = off"),
        };
        format!(
            "begin; set local statement_timeout = '{STATEMENT_TIMEOUT}'; \
             set local idle_in_transaction_session_timeout = '{idle}'; {HOT}{durability}"
        )
    }

    pub(super) fn on(client: Object) -> Self {
        Self { client: Some(client) }
    }

    pub(super) fn client(&self) -> &Object {
        // Only `finish` and `drop` take it.
        self.client
            .as_ref()
            .expect("a transaction has its connection until it ends")
    }

    /// Begins, with statements to follow in the same round trip.
    pub(super) async fn open(&self, mode: Mode) -> Result<(), tokio_postgres::Error> {
        self.client().batch_execute(&Self::begin(mode)).await
    }

    pub(super) async fn prepare(&self, sql: &str) -> Result<Statement, tokio_postgres::Error> {
        self.client().prepare_cached(sql).await
    }

    pub(super) async fn query(
        &self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        let statement = self.prepare(sql).await?;
        self.client().query(&statement, params).await
    }

    pub(super) async fn execute(
        &self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, tokio_postgres::Error> {
        let statement = self.prepare(sql).await?;
        self.client().execute(&statement, params).await
    }

    /// The end, without the beginning of another one.
    pub(super) async fn commit(self) -> Result<(), tokio_postgres::Error> {
        self.client().batch_execute("commit").await?;
        self.finish();
        Ok(())
    }

    /// The transaction has ended by a command of the caller's: the connection may be used again.
    pub(super) fn finish(mut self) -> Option<Object> {
        self.client.take()
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            drop(Object::take(client));
        }
    }
}

/// Turns a driver's error into ours.
pub(super) fn failed(doing: &'static str) -> impl Fn(tokio_postgres::Error) -> Error {
    move |error| Error::Store {
        doing,
        transient: is_transient(&error),
        cause: Box::new(error),
    }
}

/// Turns a pool's error into ours.
pub(super) fn no_connection(error: PoolError) -> Error {
    let cause = match refusal(&error) {
        Some(refused) => format!(
            "the server accepts no more connections ({}); let each process have fewer (`connections`), or raise \
             max_connections there",
            crate::error::chain(refused)
        )
        .into(),
        None => Box::new(error).into(),
    };
    Error::Store {
        doing: "waiting for a connection",
        transient: true,
        cause,
    }
}

/// What to do about a server that cannot be reached.
pub(super) fn hint(error: &tokio_postgres::Error) -> &'static str {
    if is_refused(error) {
        return "the server accepts no more connections: let each process have fewer (`connections`), run fewer processes, or \
                raise max_connections there";
    }
    super::tls::hint(error)
}

/// The server's own words, if that is why a pool has no connection to give: the server accepts no more.
pub(super) fn refusal(error: &PoolError) -> Option<&tokio_postgres::Error> {
    let (PoolError::Backend(cause) | PoolError::PostCreateHook(HookError::Backend(cause))) = error else {
        return None;
    };
    is_refused(cause).then_some(cause)
}

/// Whether the server accepts no more connections.
pub(super) fn is_refused(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::TOO_MANY_CONNECTIONS)
}

/// Whether the same call may succeed later: the connection or the server went away, someone else was in the way.
pub(super) fn is_transient(error: &tokio_postgres::Error) -> bool {
    match error.code() {
        // The server did not say anything: has the connection broken, or did we send something wrong?
        None => {
            error.is_closed()
                || std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<std::io::Error>)
        }
        Some(code) => {
            [
                SqlState::T_R_SERIALIZATION_FAILURE,
                SqlState::T_R_DEADLOCK_DETECTED,
                SqlState::LOCK_NOT_AVAILABLE,
                SqlState::QUERY_CANCELED,
                SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
                SqlState::READ_ONLY_SQL_TRANSACTION,
            ]
            .contains(code)
                // Connection exceptions, insufficient resources, operator intervention, system errors.
                || ["08", "53", "57", "58"].iter().any(|class| code.code().starts_with(class))
        }
    }
}

/// Whether this transaction was ended because it and another one were in each other's way: once more may help.
pub(super) fn is_deadlock(error: &Error) -> bool {
    let collisions = [SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE];
    matches!(error, Error::Store { cause, .. } if cause
        .downcast_ref::<tokio_postgres::Error>()
        .and_then(tokio_postgres::Error::code)
        .is_some_and(|code| collisions.contains(code)))
}

/// The table in which some job's day has no partition yet, if that is what is wrong.
pub(super) fn missing_day(error: &tokio_postgres::Error) -> Option<&'static str> {
    let table = error
        .as_db_error()
        .filter(|e| e.code() == &SqlState::CHECK_VIOLATION)?
        .table()?;
    super::prune::KEPT.into_iter().find(|kept| *kept == table)
}
