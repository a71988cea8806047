//! Transactions that a store shares with handlers, or with callers.

use std::sync::Arc;

use async_trait::async_trait;
use uuid::Uuid;

use super::{Settle, Settled};
use crate::error::Result;
use crate::job::JobId;
use crate::task::Isolation;
use crate::transaction::Transaction;

/// What a store can do whose transactions others may use.
#[async_trait]
pub trait Transactions: Sync {
    /// Makes ready to give so many more handlers a transaction at a time.
    fn offer(&self, handlers: usize);

    /// Begins a transaction for the handler of a held job.
    async fn begin(&self, job: JobId, isolation: Isolation) -> Result<Arc<Transaction>>;

    /// Ends a held job well, inside its handler's transaction, and commits both. Unless the answer is [`Settled::Done`]
    /// everything is rolled back (or, after an error, will be; should it have been committed all the same, then a later
    /// [`settle`](super::Store::settle) by the same claim finds it done).
    async fn conclude(&self, executor: Uuid, settle: &Settle, transaction: &Transaction) -> Result<Settled>;
}
