//! A handler's own transaction (`PostgreSQL`): what the handler writes and the job's success are committed together, or
//! not at all.
//!
//! The executor begins it, and the executor ends it: when the handler has returned, its job is ended inside it and both
//! are committed; an error, a panic, a cancel, a time-out or a lost lease rolls both back. Progress, logs and cancels go
//! their own way meanwhile, on other connections.

use std::io::Cursor;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use deadpool_postgres::Object;
use tokio::sync::RwLock;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{CancelToken, CopyInSink, CopyOutStream, Row, Statement, ToStatement};

use crate::error::{Error, Result};
pub(crate) use crate::statement::is_collision;
use crate::store::postgres::tls::Tls;

/// How long the end of a transaction waits for a statement that is still under way.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The transaction of a handler whose task [declares one](crate::Task::TRANSACTION), see
/// [`Context::transaction`](crate::Context::transaction).
///
/// It has what one needs of a `tokio_postgres` transaction but its end, which is not the handler's business: a `commit`
/// sent as a statement is noticed, and fails the job for good.
pub struct Transaction {
    /// `None`: it has ended. Statements hold the lock for reading, the end for writing.
    client: RwLock<Option<Object>>,
    closed: AtomicBool,
    /// Statements that were sent and not answered, also those that nobody waits for any longer.
    under_way: AtomicUsize,
    cancel: CancelToken,
    tls: Tls,
    savepoints: AtomicU32,
    /// Savepoints that were dropped: undone before anything else.
    dropped: Mutex<Vec<u32>>,
}

/// Sends a statement, after what has to be undone.
macro_rules! send {
    ($this:ident, $client:ident => $statement:expr) => {{
        let guard = $this.client.read().await;
        let $client = guard
            .as_ref()
            .filter(|_| !$this.closed.load(Relaxed))
            .ok_or_else(ended)?;
        // Not taken back if this is dropped before the answer has come: the server is still at it.
        $this.under_way.fetch_add(1, Relaxed);
        let answer = match $this.undo_dropped($client).await {
            Ok(()) => $statement.await,
            Err(error) => Err(error),
        };
        $this.under_way.fetch_sub(1, Relaxed);
        answer.map_err(failed)
    }};
}

impl Transaction {
    /// A transaction that was begun on this connection.
    pub(crate) fn begun(client: Object, tls: Tls) -> Arc<Self> {
        Arc::new(Self {
            cancel: client.cancel_token(),
            tls,
            client: RwLock::new(Some(client)),
            closed: AtomicBool::new(false),
            under_way: AtomicUsize::new(0),
            savepoints: AtomicU32::new(0),
            dropped: Mutex::default(),
        })
    }

    /// Runs a statement and returns its rows.
    pub async fn query<T>(&self, statement: &T, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>>
    where
        T: ?Sized + ToStatement + Sync,
    {
        send!(self, client => client.query(statement, params))
    }

    /// Runs a statement that returns exactly one row.
    pub async fn query_one<T>(&self, statement: &T, params: &[&(dyn ToSql + Sync)]) -> Result<Row>
    where
        T: ?Sized + ToStatement + Sync,
    {
        send!(self, client => client.query_one(statement, params))
    }

    /// As [`Transaction::query_one`], in one round trip, since the server need not be asked for the parameters' types.
    pub async fn query_typed_one(&self, statement: &str, params: &[(&(dyn ToSql + Sync), Type)]) -> Result<Row> {
        send!(self, client => client.query_typed_one(statement, params))
    }

    /// Runs a statement that returns one row or none.
    pub async fn query_opt<T>(&self, statement: &T, params: &[&(dyn ToSql + Sync)]) -> Result<Option<Row>>
    where
        T: ?Sized + ToStatement + Sync,
    {
        send!(self, client => client.query_opt(statement, params))
    }

    /// Runs a statement and returns how many rows it changed.
    pub async fn execute<T>(&self, statement: &T, params: &[&(dyn ToSql + Sync)]) -> Result<u64>
    where
        T: ?Sized + ToStatement + Sync,
    {
        send!(self, client => client.execute(statement, params))
    }

    /// Runs several statements without parameters.
    pub async fn batch_execute(&self, statements: &str) -> Result<()> {
        send!(self, client => client.batch_execute(statements))
    }

    /// Prepares a statement.
    pub async fn prepare(&self, statement: &str) -> Result<Statement> {
        send!(self, client => client.prepare(statement))
    }

    /// Begins to copy rows into a table.
    pub async fn copy_in<T>(&self, statement: &T) -> Result<CopyInSink<Cursor<Vec<u8>>>>
    where
        T: ?Sized + ToStatement + Sync,
    {
        send!(self, client => client.copy_in(statement))
    }

    /// Begins to copy rows out of a table.
    pub async fn copy_out<T>(&self, statement: &T) -> Result<CopyOutStream>
    where
        T: ?Sized + ToStatement + Sync,
    {
        send!(self, client => client.copy_out(statement))
    }

    /// A point to come back to: what follows is undone if the savepoint is dropped, and kept if it is
    /// [released](Savepoint::release).
    pub async fn savepoint(&self) -> Result<Savepoint<'_>> {
        let number = self.savepoints.fetch_add(1, Relaxed);
        self.batch_execute(&format!("savepoint turnabout_{number}")).await?;
        Ok(Savepoint {
            transaction: self,
            number: Some(number),
        })
    }

    async fn undo_dropped(&self, client: &Object) -> Result<(), tokio_postgres::Error> {
        let dropped = std::mem::take(&mut *self.dropped.lock().unwrap_or_else(PoisonError::into_inner));
        // With the oldest go all that are younger.
        if let Some(number) = dropped.into_iter().min() {
            client
                .batch_execute(&format!(
                    "rollback to savepoint turnabout_{number}; release savepoint turnabout_{number}"
                ))
                .await?;
        }
        Ok(())
    }

    /// The handler has returned: from now on the connection is the caller's, with the transaction still open on it.
    pub(crate) async fn take(&self) -> Result<Object> {
        self.closed.store(true, Relaxed);
        // What the handler has left running elsewhere is waited for, but not for long.
        let mut guard = tokio::time::timeout(TIMEOUT, self.client.write()).await.map_err(|_| {
            Error::invalid(
                "transaction",
                "the handler returned while a statement of its transaction was under way",
            )
        })?;
        let client = guard.take().ok_or_else(ended)?;
        match self.undo_dropped(&client).await {
            Ok(()) => Ok(client),
            Err(error) => {
                drop(Object::take(client));
                Err(failed(error))
            }
        }
    }

    /// Undoes everything. When this returns the server has done so, or will as soon as it notices.
    pub(crate) async fn roll_back(&self) {
        self.closed.store(true, Relaxed);
        if self.under_way.load(Relaxed) > 0 {
            // Locks should not outlive the handler.
            let _ = tokio::time::timeout(TIMEOUT, self.cancel.cancel_query(self.tls.clone())).await;
        }
        let Ok(mut guard) = tokio::time::timeout(TIMEOUT, self.client.write()).await else {
            // Someone holds on to it; it is closed with the last reference.
            return;
        };
        let Some(client) = guard.take() else { return };
        let undone = tokio::time::timeout(TIMEOUT, client.batch_execute("rollback")).await;
        if !matches!(undone, Ok(Ok(()))) {
            drop(Object::take(client));
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        // An open transaction must not go back into the pool.
        if let Some(client) = self.client.get_mut().take() {
            drop(Object::take(client));
        }
    }
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction")
            .field("ended", &self.closed)
            .finish_non_exhaustive()
    }
}

/// A part of a handler's transaction that can be undone by itself.
#[must_use = "what follows a savepoint is undone when it is dropped"]
pub struct Savepoint<'a> {
    transaction: &'a Transaction,
    /// `None`: released.
    number: Option<u32>,
}

impl Savepoint<'_> {
    /// Keeps what was done since.
    pub async fn release(mut self) -> Result<()> {
        match self.number.take() {
            Some(number) => {
                let release = format!("release savepoint turnabout_{number}");
                self.transaction.batch_execute(&release).await
            }
            None => Ok(()),
        }
    }
}

impl Drop for Savepoint<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let mut dropped = self.transaction.dropped.lock().unwrap_or_else(PoisonError::into_inner);
            dropped.push(number);
        }
    }
}

impl std::fmt::Debug for Savepoint<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Savepoint").field("number", &self.number).finish()
    }
}

/// A handler's transaction in the hands of the executor: undone unless it is taken.
pub(crate) struct Open(pub(crate) Option<Arc<Transaction>>);

impl Drop for Open {
    fn drop(&mut self) {
        let (Some(transaction), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        runtime.spawn(async move { transaction.roll_back().await });
    }
}

fn ended() -> Error {
    Error::invalid(
        "transaction",
        "it has ended, and so has its job; use it while the handler runs",
    )
}

fn failed(error: tokio_postgres::Error) -> Error {
    Error::Store {
        doing: "running a statement of the handler's transaction",
        transient: is_collision(&error) || error.is_closed(),
        cause: Box::new(error),
    }
}
