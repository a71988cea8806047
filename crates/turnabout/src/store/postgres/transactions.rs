//! Handlers' transactions: begun on connections of their own, and ended together with the job.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use uuid::Uuid;

use super::PostgresStore;
use super::connect::{HOT, Tx, failed, no_connection};
use super::timeouts::TIMEOUT;
use crate::clock;
use crate::error::{Error, Result};
use crate::job::JobId;
use crate::store::{ID_PAST, Settle, Settled, Signal, Transactions};
use crate::task::Isolation;
use crate::transaction::Transaction;

#[async_trait]
impl Transactions for PostgresStore {
    fn offer(&self, handlers: usize) {
        self.handlers.resize(self.handlers.status().max_size + handlers);
    }

    async fn begin(&self, job: JobId, isolation: Isolation) -> Result<Arc<Transaction>> {
        self.within(TIMEOUT, "beginning a transaction", self.begin_for(job, isolation))
            .await
    }

    async fn conclude(&self, executor: Uuid, settle: &Settle, transaction: &Transaction) -> Result<Settled> {
        self.end_within(executor, settle, transaction).await
    }
}

impl PostgresStore {
    pub(super) async fn begin_for(&self, job: JobId, isolation: Isolation) -> Result<Arc<Transaction>> {
        let failed = failed("beginning a handler's transaction");
        // The day of an old job may be missing, and cannot be made inside the transaction without locking others out.
        let oldest = clock::before(self.now(), ID_PAST.saturating_sub(Duration::from_hours(24)));
        if job.time().is_none_or(|made: Timestamp| made < oldest) {
            self.ensure_days_in_table("job_history", std::iter::once(job)).await?;
        }
        let level = match isolation {
            Isolation::ReadCommitted => "read committed",
            Isolation::RepeatableRead => "repeatable read",
            Isolation::Serializable => "serializable",
        };
        let client = self.wrapped(self.handlers.get().await.map_err(no_connection)?);
        // Begun by hand, since it outlives this call. The mark goes with the transaction: at its end we see whether it is
        // still the same one. A machine that vanishes must not hold its locks for hours.
        let begin = format!(
            "begin isolation level {level}; set local turnabout.job = '{job}'; \
             set local tcp_keepalives_idle = 10; set local tcp_keepalives_interval = 5; \
             set local tcp_keepalives_count = 3"
        );
        let tx = Tx::on(client);
        tx.client().batch_execute(&begin).await.map_err(&failed)?;
        let client = tx.finish().ok_or(Error::LeaseLost)?;
        Ok(Transaction::begun(client.into_inner(), self.tls.clone()))
    }

    pub(super) async fn end_within(
        &self,
        executor: Uuid,
        settle: &Settle,
        transaction: &Transaction,
    ) -> Result<Settled> {
        let failed = failed("committing a handler's transaction");
        // Dropped before its end, it closes the connection, which rolls everything back.
        let tx = Tx::on(self.wrapped(transaction.take().await?));
        tx.client()
            .batch_execute(&format!("set local statement_timeout = '30s'; {HOT}"))
            .await
            .map_err(&failed)?;
        let mark = tx.query("select current_setting('turnabout.job', true)", &[]).await;
        let mark = mark.map_err(&failed)?;
        let mark: Option<&str> = mark.first().and_then(|row| row.get(0));
        if mark != Some(settle.id.to_string().as_str()) {
            return Err(Error::invalid(
                "transaction",
                "the handler has ended it; leave commit and rollback to the executor, and use savepoints",
            ));
        }
        let before = self.look_before(&tx, std::slice::from_ref(settle)).await?;
        let now = self.options.clock.manual();
        let ended = tx
            .query(
                &self.sql.end_within,
                &[
                    &settle.id.0,
                    &executor,
                    &settle.number,
                    &settle.change.state.code(),
                    &(settle.change.attempts as i32),
                    &settle.result,
                    &settle.started,
                    &now,
                    &!self.keeps_nothing(),
                ],
            )
            .await
            .map_err(&failed)?;
        if !ended.first().is_some_and(|row| row.get(0)) {
            tx.client().batch_execute("rollback").await.map_err(&failed)?;
            drop(tx.finish());
            let why = self.why_refused(executor, &[(settle.id, settle.number)]).await?;
            return Ok(why.first().map_or(Settled::Lost, |(_, why)| *why));
        }
        let last = self.last_of(std::slice::from_ref(settle)).await;
        let written = std::iter::once(settle.id).collect();
        let owed = self
            .note_settled(&tx, &before, std::slice::from_ref(settle), &written)
            .await?;
        tx.commit().await.map_err(&failed)?;
        self.tidy_after(executor, settle).await;
        self.announce(std::slice::from_ref(settle), &written, false);
        self.hint_last(last, &written);
        if owed {
            self.signal(Signal::Owed);
        }
        Ok(Settled::Done)
    }

    /// What could not be part of the transaction, since others write it too. Should it not get done here, then by prune.
    async fn tidy_after(&self, executor: Uuid, settle: &Settle) {
        let mut outcome = Ok(());
        if settle.reported {
            let ids = [settle.id.0];
            let forget = &self.sql.forget_reports;
            outcome = self
                .run("forgetting progress", forget, &[&Some(executor), &ids.as_slice()])
                .await;
        }
        if self.has_caps() {
            outcome = outcome.and(self.run("giving back places", &self.sql.fold_freed, &[]).await);
            self.signal(Signal::Ready);
        }
        if let Err(error) = outcome {
            tracing::warn!(error = %error.chain(), "could not tidy up after a handler's transaction; it is done later");
        }
    }
}
