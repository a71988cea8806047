//! A connection of the pool, and statements that are run on it: prepared once by name where a connection is a session of the
//! server's, and not at all behind a pooler that hands out sessions by the transaction.
//!
//! Behind such a pooler a name that was prepared in one transaction means nothing in the next one, or something else: another
//! process may have given it to a statement of its own. So nothing is given a name there. A statement is sent as text with
//! each call, together with the types of its parameters, which [`Describer`] asks for once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use deadpool_postgres::ClientWrapper;
use futures_util::future::join_all;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Config, CopyInSink, Error, Row};

use super::PostgresStore;
use super::connect::{failed, no_connection, refusal};
use super::sql::Sql;
use super::tls::Tls;

/// A connection of the pool.
pub(super) struct Object {
    inner: deadpool_postgres::Object,
    /// Where statements have no names: who knows their types.
    describer: Option<Arc<Describer>>,
}

/// A statement that can be run.
#[derive(Clone)]
pub(super) enum Statement {
    /// On the connection that it was prepared on.
    Named(tokio_postgres::Statement),
    /// On any.
    Unnamed {
        /// Its text.
        sql: Arc<str>,
        /// The types of its parameters.
        types: Arc<[Type]>,
    },
}

/// What can be run: a statement, or the text of one.
pub(super) trait Runnable: Sync {
    fn as_runnable(&self) -> Result<&Statement, &str>;
}

impl Runnable for Statement {
    fn as_runnable(&self) -> Result<&Statement, &str> {
        Ok(self)
    }
}

impl Runnable for str {
    fn as_runnable(&self) -> Result<&Statement, &str> {
        Err(self)
    }
}

impl Runnable for String {
    fn as_runnable(&self) -> Result<&Statement, &str> {
        Err(self)
    }
}

type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

impl Object {
    pub(super) fn new(inner: deadpool_postgres::Object, describer: Option<Arc<Describer>>) -> Self {
        Self { inner, describer }
    }

    /// The connection is no longer one of the pool's: closed when dropped.
    pub(super) fn take(this: Self) -> ClientWrapper {
        deadpool_postgres::Object::take(this.inner)
    }

    /// The pool's own.
    pub(super) fn into_inner(self) -> deadpool_postgres::Object {
        self.inner
    }

    pub(super) async fn prepare_cached(&self, sql: &str) -> Result<Statement, Error> {
        match &self.describer {
            None => self.inner.prepare_cached(sql).await.map(Statement::Named),
            Some(describer) => describer.describe(sql).await,
        }
    }

    async fn prepared<S: Runnable + ?Sized>(&self, runnable: &S) -> Result<Statement, Error> {
        match runnable.as_runnable() {
            Ok(statement) => Ok(statement.clone()),
            Err(sql) => match &self.describer {
                None => self.inner.prepare(sql).await.map(Statement::Named),
                Some(describer) => describer.describe(sql).await,
            },
        }
    }

    pub(super) async fn query<S: Runnable + ?Sized>(&self, sql: &S, params: Params<'_>) -> Result<Vec<Row>, Error> {
        match self.prepared(sql).await? {
            Statement::Named(statement) => self.inner.query(&statement, params).await,
            Statement::Unnamed { sql, types } => self.inner.query_typed(&sql, &typed(params, &types)).await,
        }
    }

    pub(super) async fn query_opt<S: Runnable + ?Sized>(
        &self,
        sql: &S,
        params: Params<'_>,
    ) -> Result<Option<Row>, Error> {
        match self.prepared(sql).await? {
            Statement::Named(statement) => self.inner.query_opt(&statement, params).await,
            Statement::Unnamed { sql, types } => self.inner.query_typed_opt(&sql, &typed(params, &types)).await,
        }
    }

    pub(super) async fn query_one<S: Runnable + ?Sized>(&self, sql: &S, params: Params<'_>) -> Result<Row, Error> {
        match self.prepared(sql).await? {
            Statement::Named(statement) => self.inner.query_one(&statement, params).await,
            Statement::Unnamed { sql, types } => self.inner.query_typed_one(&sql, &typed(params, &types)).await,
        }
    }

    pub(super) async fn execute<S: Runnable + ?Sized>(&self, sql: &S, params: Params<'_>) -> Result<u64, Error> {
        match self.prepared(sql).await? {
            Statement::Named(statement) => self.inner.execute(&statement, params).await,
            Statement::Unnamed { sql, types } => self.inner.execute_typed(&sql, &typed(params, &types)).await,
        }
    }

    /// Several commands at once, without parameters. Nothing is prepared for them.
    pub(super) async fn batch_execute(&self, sql: &str) -> Result<(), Error> {
        self.inner.batch_execute(sql).await
    }

    /// Begins to copy rows into a table, inside a transaction.
    pub(super) async fn copy_in<U>(&self, copy: &Statement) -> Result<CopyInSink<U>, Error>
    where
        U: bytes::Buf + 'static + Send,
    {
        match copy {
            Statement::Named(statement) => self.inner.copy_in(statement).await,
            // The driver knows no other way than by a name, which is gone again before the transaction ends.
            Statement::Unnamed { sql, .. } => self.inner.copy_in(&**sql).await,
        }
    }
}

impl PostgresStore {
    pub(super) async fn client(&self) -> crate::Result<Object> {
        match self.pool.get().await {
            Err(error) if refusal(&error).is_some() => self.make_do(error).await,
            got => got.map(|client| self.wrapped(client)).map_err(no_connection),
        }
    }

    /// A connection as the verbs use it.
    pub(super) fn wrapped(&self, client: deadpool_postgres::Object) -> Object {
        Object::new(client, self.describer.clone())
    }

    /// Whether a pooler that hands out sessions by the transaction stands before the server.
    pub(super) fn pooled(&self) -> bool {
        self.describer.is_some()
    }

    /// A second connection for one who holds one already: only if one is free, since two who wait for each other's
    /// would wait for long.
    pub(super) async fn spare_client(&self) -> Option<Object> {
        let mut timeouts = self.pool.timeouts();
        timeouts.wait = Some(Duration::ZERO);
        let client = self.pool.timeout_get(&timeouts).await.ok()?;
        Some(self.wrapped(client))
    }
}

/// Parameters with their types. What is missing is complained about by the server.
fn typed<'a>(params: Params<'a>, types: &[Type]) -> Vec<(&'a (dyn ToSql + Sync), Type)> {
    params.iter().copied().zip(types.iter().cloned()).collect()
}

/// Knows the types of statements' parameters. What it does not know it asks for, on a connection of its own and inside a
/// transaction: the name that the driver needs for that is gone again when the transaction ends.
pub(super) struct Describer {
    config: (Config, Tls),
    known: Mutex<HashMap<Arc<str>, Arc<[Type]>>>,
    /// Taken out while it is in use: one that is given up in the middle is not used again.
    client: tokio::sync::Mutex<Option<tokio_postgres::Client>>,
}

impl Describer {
    /// One that knows all our statements.
    pub(super) async fn of(sql: &Sql, config: &Config, tls: &Tls) -> crate::Result<Arc<Self>> {
        let describer = Self {
            config: (config.clone(), tls.clone()),
            known: Mutex::default(),
            client: tokio::sync::Mutex::default(),
        };
        let learnt = describer.learn(&sql.all()).await;
        learnt.map_err(failed("asking for the types of statements"))?;
        Ok(Arc::new(describer))
    }

    /// Asks for all of these at once. Later that may be too late: whoever holds the lock of a table and asks about a statement on
    /// it, over another connection, would wait for itself.
    async fn learn(&self, statements: &[&str]) -> Result<(), Error> {
        let client = self.connect().await?;
        client.batch_execute("begin").await?;
        let prepared = join_all(statements.iter().map(|sql| client.prepare(sql))).await;
        for (sql, statement) in statements.iter().zip(prepared) {
            self.keep((*sql).into(), statement?.params().into());
        }
        client.batch_execute("commit").await?;
        *self.client.lock().await = Some(client);
        Ok(())
    }

    fn keep(&self, sql: Arc<str>, types: Arc<[Type]>) -> Statement {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(Arc::clone(&sql), Arc::clone(&types));
        Statement::Unnamed { sql, types }
    }

    fn known(&self, sql: &str) -> Option<Statement> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (sql, types) = known.get_key_value(sql)?;
        Some(Statement::Unnamed {
            sql: Arc::clone(sql),
            types: Arc::clone(types),
        })
    }

    async fn describe(&self, sql: &str) -> Result<Statement, Error> {
        if let Some(known) = self.known(sql) {
            return Ok(known);
        }
        let mut idle = self.client.lock().await;
        if let Some(known) = self.known(sql) {
            return Ok(known);
        }
        let client = match idle.take().filter(|client| !client.is_closed()) {
            Some(client) => client,
            None => self.connect().await?,
        };
        client.batch_execute("begin").await?;
        let types: Arc<[Type]> = client.prepare(sql).await?.params().into();
        client.batch_execute("commit").await?;
        *idle = Some(client);
        Ok(self.keep(sql.into(), types))
    }

    async fn connect(&self) -> Result<tokio_postgres::Client, Error> {
        let (config, tls) = &self.config;
        let (client, connection) = config.connect(tls.clone()).await?;
        tokio::spawn(connection);
        Ok(client)
    }
}
