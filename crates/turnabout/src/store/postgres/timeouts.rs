//! Nothing hangs for ever: every verb has its time, and a connection that did not answer in time is not used again.

use std::sync::Weak;
use std::time::Duration;

use deadpool_postgres::Pool;
use tokio_postgres::error::SqlState;

use super::PostgresStore;
use super::connect::is_deadlock;
use crate::error::{Error, Result};

/// A verb that takes longer gets no answer any more: its connection is dead, or the server is.
pub(super) const TIMEOUT: Duration = Duration::from_secs(20);
/// Large batches, and what waits for others on purpose.
pub(super) const LONG_TIMEOUT: Duration = Duration::from_mins(5);

/// A connection that nobody has used for so long is closed.
const UNUSED: Duration = Duration::from_secs(30);

/// So often a verb is tried that collides with others.
const COLLISIONS: u64 = 10;

impl PostgresStore {
    /// Runs a verb for so long at the most.
    pub(super) async fn within<T>(
        &self,
        timeout: Duration,
        doing: &'static str,
        verb: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        // On the heap: what waits for it need not be as large.
        let verb = Box::pin(verb);
        let in_time = async {
            match tokio::time::timeout(timeout, verb).await {
                Ok(Err(error)) if is_read_only(&error) => {
                    // After a fail-over, old connections may lead to a server that only reads. New ones find the other.
                    self.close_idle();
                    Err(error)
                }
                Ok(answer) => answer,
                Err(_) => {
                    // The one that did not answer is back in the pool, among the idle ones.
                    self.close_idle();
                    Err(Error::Store {
                        doing,
                        cause: format!("the server did not answer within {timeout:?}").into(),
                        transient: true,
                    })
                }
            }
        };
        crate::meter::call(doing, in_time).await
    }

    /// Closes connections that nobody uses; they are made again when needed.
    pub(super) fn close_idle(&self) {
        close_idle(&self.pool);
    }

    /// Runs a verb, and runs it again if it and another waited for each other: the other has gone on meanwhile.
    pub(super) async fn again<T, Fut>(&self, doing: &'static str, verb: impl Fn() -> Fut + Send) -> Result<T>
    where
        Fut: Future<Output = Result<T>> + Send,
    {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.within(TIMEOUT, doing, verb()).await {
                Err(error) if is_deadlock(&error) && tries < COLLISIONS => {
                    // Apart, so that they do not meet again.
                    tokio::time::sleep(Duration::from_millis(fastrand::u64(0..10 * tries))).await;
                }
                answer => return answer,
            }
        }
    }
}

/// Closes connections that nobody has used for a while, but for two; and lets the pool grow again after the server refused
/// some.
pub(super) async fn trim(store: Weak<PostgresStore>) {
    loop {
        tokio::time::sleep(UNUSED / 3).await;
        let Some(store) = store.upgrade() else { return };
        let mut kept = 0;
        let _ = store.pool.retain(|_, metrics| {
            kept += 1;
            kept <= 2 || metrics.last_used() < UNUSED
        });
        store.pool.resize(store.quota.pooled());
    }
}

/// Closes connections that nobody uses; they are made again when needed.
pub(super) fn close_idle(pool: &Pool) {
    let _ = pool.retain(|_, _| false);
}

/// Closes idle connections if it is dropped before it is told that all is well: declared before a connection is taken, it
/// is dropped after that has gone back.
pub(super) struct Doubt<'a>(Option<&'a Pool>);

impl<'a> Doubt<'a> {
    pub(super) fn about(pool: &'a Pool) -> Self {
        Self(Some(pool))
    }

    pub(super) fn dispel(mut self) {
        self.0 = None;
    }
}

impl Drop for Doubt<'_> {
    fn drop(&mut self) {
        if let Some(pool) = self.0 {
            close_idle(pool);
        }
    }
}

fn is_read_only(error: &Error) -> bool {
    matches!(error, Error::Store { cause, .. } if cause
        .downcast_ref::<tokio_postgres::Error>()
        .is_some_and(|e| e.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION)))
}
