//! The threads that run verbs: one that writes and one that reads, each with a connection and a bounded queue of calls.
//!
//! The writer takes whoever is waiting, runs them all in one transaction, commits once and then answers: the more
//! callers, the fewer commits. Each verb but the first stands in a savepoint, so that one's error (or panic) undoes only
//! itself; when the commit fails, everyone is told so and nothing has happened.
//!
//! Executors that found nothing leave their takes here (`standby.rs`). When a verb has made jobs ready, the writer runs those takes
//! in the same transaction: the job then starts after one commit, not two.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};
use tokio::sync::broadcast;

use super::calls::{Call, CallQueue, Message, call_queue};
use super::fault::Broken;
use super::feed::{self, Watching};
use super::outbox::Outbox;
use super::standby::IdleTakes;
use super::tx::Tx;
use crate::clock::Clock;
use crate::error::Result;
use crate::group::Settings;
use crate::store::Signal;

/// So many verbs share a commit at the most.
const BATCH: usize = 128;
/// The writer makes a checkpoint when nobody has anything to do and so many rows have changed. `SQLite` itself does that within a
/// commit, when the write-ahead log has become long. A disk flushes what overwrites a file sooner than what makes it longer.
const CHECKPOINT_AFTER: u64 = 300;

/// What a thread brings to its connection.
#[derive(Clone)]
pub(super) struct Runner {
    clock: Clock,
    retention: Duration,
    signals: broadcast::Sender<Signal>,
    known: Option<Arc<Settings>>,
    watching: Watching,
    /// How many rows had changed at the last checkpoint.
    checkpointed: u64,
}

impl Runner {
    pub(super) fn new(clock: Clock, retention: Duration, signals: broadcast::Sender<Signal>) -> Self {
        Self {
            clock,
            retention,
            signals,
            known: None,
            watching: Watching::default(),
            checkpointed: 0,
        }
    }

    /// A thread that writes: it takes the lock before it looks, so that what a verb reads stays true.
    pub(super) fn write(&self, connection: Connection) -> std::io::Result<CallQueue> {
        self.clone()
            .spawn("turnabout-write", connection, "BEGIN IMMEDIATE", BATCH)
    }

    /// A thread that reads: each verb sees one snapshot, and lets go of it at once so that checkpoints get through.
    pub(super) fn read(&self, connection: Connection) -> std::io::Result<CallQueue> {
        self.clone().spawn("turnabout-read", connection, "BEGIN", 1)
    }

    fn spawn(
        mut self,
        name: &str,
        connection: Connection,
        begin: &'static str,
        at_once: usize,
    ) -> std::io::Result<CallQueue> {
        let (queue, mut calls) = call_queue();
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            let mut received = Vec::with_capacity(at_once);
            let mut batch = Vec::with_capacity(at_once);
            let mut idle = IdleTakes::default();
            while calls.blocking_recv_many(&mut received, at_once) > 0 {
                for message in received.drain(..) {
                    match message {
                        Message::Call(call) => batch.push(call),
                        Message::StandBy(take) => idle.add(*take),
                        Message::Recall(number) => idle.recall(number),
                    }
                }
                if batch.is_empty() && !idle.any_new() {
                    continue;
                }
                let mut outbox = Outbox::default();
                let end = self.run(&connection, begin, &mut batch, &mut idle, &mut outbox);
                if let Err(broken) = &end {
                    tracing::warn!(
                        ?broken,
                        calls = batch.len(),
                        "a transaction failed; its callers are told"
                    );
                }
                let committed = end.is_ok();
                // First those for whom a job can start.
                idle.answer(&end);
                for call in batch.drain(..) {
                    call.answer(end.clone());
                }
                if committed {
                    outbox.send(&self.signals);
                }
                if calls.is_empty() && idle.all_wait() {
                    self.checkpoint(&connection);
                }
            }
        })?;
        Ok(queue)
    }

    /// Moves what is in the write-ahead log into the file, if that is worth it. Pages that someone reads stay for the next time.
    fn checkpoint(&mut self, connection: &Connection) {
        let changes = connection.total_changes();
        if changes.saturating_sub(self.checkpointed) < CHECKPOINT_AFTER {
            return;
        }
        self.checkpointed = changes;
        if let Err(error) = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
            tracing::debug!(%error, "no checkpoint for now");
        }
    }

    /// Runs a batch of calls in one transaction, and then the takes of idle executors who may find something now.
    fn run(
        &mut self,
        connection: &Connection,
        begin: &str,
        batch: &mut [Box<dyn Call>],
        idle: &mut IdleTakes,
        outbox: &mut Outbox,
    ) -> Result<(), Broken> {
        statement(connection, begin)?;
        let mut first = true;
        let verbs = batch.iter_mut().map(|call| |tx: &mut Tx<'_>| call.run(tx));
        let end = self
            .run_all(connection, begin, verbs, outbox, &mut first)
            .and_then(|()| {
                idle.wake(&outbox.ready);
                let woken = idle.woken().map(|take| |tx: &mut Tx<'_>| take.run(tx));
                self.run_all(connection, begin, woken, outbox, &mut first)
            })
            .and_then(|()| {
                if !outbox.told.is_empty() {
                    feed::write(connection, self.clock.now(), &mut outbox.told)?;
                }
                commit(connection)?;
                Ok(())
            });
        if end.is_err() {
            self.watching.forget();
            // What was read or set in a transaction that did not happen must not be believed.
            self.known = None;
            if !connection.is_autocommit() {
                statement(connection, "ROLLBACK")?;
            }
        }
        end
    }

    fn run_all(
        &mut self,
        connection: &Connection,
        begin: &str,
        verbs: impl Iterator<Item = impl FnOnce(&mut Tx<'_>) -> bool>,
        outbox: &mut Outbox,
        first: &mut bool,
    ) -> Result<(), Broken> {
        for verb in verbs {
            // The first verb needs no savepoint: its error undoes the transaction. (Under a savepoint SQLite keeps a
            // journal for each statement, which makes large batches slower by a tenth.)
            if !*first {
                statement(connection, "SAVEPOINT verb")?;
            }
            let mut tx = Tx {
                connection,
                now: self.clock.now(),
                retention: self.retention,
                known: &mut self.known,
                current: None,
                watched: self.signals.receiver_count() > 0,
                watching: &mut self.watching,
                outbox: Outbox::default(),
            };
            let kept = catch_unwind(AssertUnwindSafe(|| verb(&mut tx))).unwrap_or(false);
            let sent = tx.outbox;
            // Some errors (a full disk, for one) end the whole transaction, with what the others wrote.
            if connection.is_autocommit() {
                return Err(Broken::by_another());
            }
            if kept {
                outbox.add(sent);
            } else {
                self.known = None;
                self.watching.forget();
                statement(connection, if *first { "ROLLBACK" } else { "ROLLBACK TO verb" })?;
            }
            if !*first {
                statement(connection, "RELEASE verb")?;
            } else if kept {
                *first = false;
            } else {
                statement(connection, begin)?;
            }
        }
        Ok(())
    }
}

/// Commits. A commit whose flush failed is overwritten before anyone is told.
///
/// `SQLite` flushes the write-ahead log before it shows a commit. When the flush fails, the transaction is rolled back and nobody
/// sees it. But all its pages are in the log, with the mark of a commit, and whoever opens the file after a crash would take
/// them for good: a job would be there whose submit was answered with an error. The next commit is written in the same place of
/// the log. So a small one follows at once. What came after it in the log cannot be read any longer, even if its own
/// flush fails too.
fn commit(connection: &Connection) -> rusqlite::Result<()> {
    let committed = statement(connection, "COMMIT");
    if let Err(error) = &committed
        && error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure)
    {
        let overwritten = overwrite(connection);
        tracing::warn!(%error, ?overwritten, "the disk did not keep a commit, so it is undone");
    }
    committed
}

fn overwrite(connection: &Connection) -> rusqlite::Result<()> {
    if !connection.is_autocommit() {
        statement(connection, "ROLLBACK")?;
    }
    statement(connection, "BEGIN IMMEDIATE")?;
    // Any change will do. Numbers that nobody gets are nothing new: a submit that is refused leaves some, too.
    let changed = connection.prepare_cached(sql!("seq"))?.query_row([1], |_| Ok(()));
    let ended = statement(connection, if changed.is_ok() { "COMMIT" } else { "ROLLBACK" });
    changed.and(ended)
}

fn statement(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}
