//! Who runs verbs: a thread for each connection, with a bounded line of callers in front of it.
//!
//! The writer takes whoever is waiting, runs them all in one transaction, commits once and then answers: the more
//! callers, the fewer commits. Each verb but the first stands in a savepoint, so that one's error (or panic) undoes only
//! itself; when the commit fails, everyone is told so and nothing has happened.
//!
//! Executors that found nothing stand by (`orders.rs`). When a verb has made jobs ready, the writer takes them for those in
//! the same transaction: the job then starts after one commit, not two.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, ErrorCode};
use tokio::sync::broadcast;

use super::fault::{Broken, Fault};
use super::feed::{self, Told, Watching};
use super::line::{Line, Sent, Verb, line};
use super::orders::{Order, Orders, Ready};
use super::settings;
use crate::clock::Clock;
use crate::error::Result;
use crate::group::Settings;
use crate::job::{Brief, JobId};
use crate::store::Signal;

/// So many verbs share a commit at the most.
const BATCH: usize = 128;
/// When nobody has anything to do, and so many rows have changed, the log goes into the file and begins anew. `SQLite` itself
/// does that within a commit, when the log has become long. A disk keeps what overwrites a file sooner than what makes it
/// longer.
const CHANGES: u64 = 300;

/// What a verb works with: an open transaction, its moment, and what to tell others once it has committed.
pub(super) struct Tx<'a> {
    pub(super) connection: &'a Connection,
    pub(super) now: Timestamp,
    /// How long ended jobs are kept.
    pub(super) retention: Duration,
    known: &'a mut Option<Arc<Settings>>,
    /// The settings, once this verb has asked for them: nobody can change them before it ends.
    current: Option<Arc<Settings>>,
    watched: bool,
    pub(super) watching: &'a mut Watching,
    /// Who stands by, if this verb is the only one in its transaction.
    orders: Option<&'a mut Orders>,
    outbox: Outbox,
}

impl<'a> Tx<'a> {
    /// The settings in force. Read again only when their version has changed.
    pub(super) fn settings(&mut self) -> Result<Arc<Settings>, Fault> {
        match &self.current {
            Some(current) => Ok(current.clone()),
            None => self.settings_of(settings::version(self.connection)?),
        }
    }

    /// The settings, whose version was read in this verb.
    pub(super) fn settings_of(&mut self, version: i64) -> Result<Arc<Settings>, Fault> {
        let current = self.read_settings(version)?;
        self.current = Some(current.clone());
        Ok(current)
    }

    fn read_settings(&mut self, version: i64) -> Result<Arc<Settings>, Fault> {
        if let Some(known) = self.known.as_ref().filter(|known| known.version == version) {
            return Ok(known.clone());
        }
        let read = Arc::new(settings::read(self.connection, version)?);
        *self.known = Some(read.clone());
        Ok(read)
    }

    /// Those who know this task may find something to do now.
    pub(super) fn ready(&mut self, task: &str) {
        self.outbox.ready.note(task);
    }

    /// Anyone may find something to do now.
    pub(super) fn all_ready(&mut self) {
        self.outbox.ready = Ready::All;
    }

    /// An executor that stands by and may be given a new job of this kind. A verb can ask for that once.
    pub(super) fn standing(&mut self, queue: &str, task: &str) -> Option<&'a mut Order> {
        self.orders.take()?.standing(queue, task)
    }

    /// A new job went straight to it.
    pub(super) fn served(&mut self) {
        self.outbox.served = true;
    }

    /// A job was parked.
    pub(super) fn parked(&mut self, delay: Duration) {
        self.outbox.due = Some(self.outbox.due.map_or(delay, |due| due.min(delay)));
    }

    pub(super) fn cancel(&mut self, id: JobId) {
        self.outbox.jobs.push(Signal::Cancel(id));
    }

    /// A hook is owed.
    pub(super) fn owed(&mut self) {
        self.outbox.owed = true;
    }

    pub(super) fn logged(&mut self, id: JobId) {
        if self.watched {
            self.outbox.jobs.push(Signal::Logged(id));
        }
    }

    pub(super) fn changed(&mut self, id: JobId) {
        if self.watched {
            self.outbox.jobs.push(Signal::Changed(id));
        }
        self.hint(id);
    }

    /// Whether hints of what changed are wanted.
    pub(super) fn is_watched(&mut self) -> bool {
        self.watching.is_on(self.connection, self.now)
    }

    /// A job has changed, or is new.
    pub(super) fn hint(&mut self, id: JobId) {
        if self.is_watched() {
            self.outbox.told.push((id, None));
        }
    }

    /// A job has ended and is not kept.
    pub(super) fn hint_last(&mut self, last: Brief) {
        self.outbox.told.push((last.id, Some(Box::new(last))));
    }
}

/// Signals that wait for a commit: one `Ready` and the nearest `Due`, however many jobs there were.
#[derive(Default)]
struct Outbox {
    ready: Ready,
    /// A job was ready for someone, and has been taken.
    served: bool,
    owed: bool,
    due: Option<Duration>,
    jobs: Vec<Signal>,
    told: Vec<Told>,
}

impl Outbox {
    fn add(&mut self, mut other: Self) {
        self.ready.add(other.ready);
        self.served |= other.served;
        self.owed |= other.owed;
        self.due = self.due.into_iter().chain(other.due).min();
        self.jobs.append(&mut other.jobs);
        self.told.append(&mut other.told);
    }

    /// Nobody listening is no error.
    fn send(self, signals: &broadcast::Sender<Signal>) {
        let due = self.due.map(Signal::Due);
        let ready = (self.ready.any() || self.served).then_some(Signal::Ready);
        let owed = self.owed.then_some(Signal::Owed);
        for signal in self.jobs.into_iter().chain(owed).chain(due).chain(ready) {
            let _ = signals.send(signal);
        }
    }
}

/// What a thread brings to its connection.
#[derive(Clone)]
pub(super) struct Desk {
    clock: Clock,
    retention: Duration,
    signals: broadcast::Sender<Signal>,
    known: Option<Arc<Settings>>,
    watching: Watching,
    /// How many rows had changed when the log last went into the file.
    kept: u64,
}

impl Desk {
    pub(super) fn new(clock: Clock, retention: Duration, signals: broadcast::Sender<Signal>) -> Self {
        Self {
            clock,
            retention,
            signals,
            known: None,
            watching: Watching::default(),
            kept: 0,
        }
    }

    /// A thread that writes: it takes the lock before it looks, so that what a verb reads stays true.
    pub(super) fn write(&self, connection: Connection) -> std::io::Result<Line> {
        self.clone()
            .spawn("turnabout-write", connection, "BEGIN IMMEDIATE", BATCH)
    }

    /// A thread that reads: each verb sees one snapshot, and lets go of it at once so that checkpoints get through.
    pub(super) fn read(&self, connection: Connection) -> std::io::Result<Line> {
        self.clone().spawn("turnabout-read", connection, "BEGIN", 1)
    }

    fn spawn(
        mut self,
        name: &str,
        connection: Connection,
        begin: &'static str,
        at_once: usize,
    ) -> std::io::Result<Line> {
        let (to, mut line) = line();
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            let mut sent = Vec::with_capacity(at_once);
            let mut batch = Vec::with_capacity(at_once);
            let mut orders = Orders::default();
            while line.blocking_recv_many(&mut sent, at_once) > 0 {
                for what in sent.drain(..) {
                    match what {
                        Sent::Verb(verb) => batch.push(verb),
                        Sent::Order(order) => orders.add(*order),
                        Sent::Recall(number) => orders.recall(number),
                    }
                }
                if batch.is_empty() && !orders.wait() {
                    continue;
                }
                let mut outbox = Outbox::default();
                let end = self.run(&connection, begin, &mut batch, &mut orders, &mut outbox);
                if let Err(broken) = &end {
                    tracing::warn!(
                        ?broken,
                        verbs = batch.len(),
                        "a transaction failed; its callers are told"
                    );
                }
                let committed = end.is_ok();
                // First those for whom a job can start.
                orders.answer(&end);
                for verb in batch.drain(..) {
                    verb.answer(end.clone());
                }
                if committed {
                    outbox.send(&self.signals);
                }
                if line.is_empty() && orders.stand() {
                    self.keep(&connection);
                }
            }
        })?;
        Ok(to)
    }

    /// Puts what is in the log into the file, if that is worth it. Readers who are at it leave some for the next time.
    fn keep(&mut self, connection: &Connection) {
        let changes = connection.total_changes();
        if changes.saturating_sub(self.kept) < CHANGES {
            return;
        }
        self.kept = changes;
        if let Err(error) = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
            tracing::debug!(%error, "the log stays as it is for now");
        }
    }

    /// Runs a batch in one transaction, and then the orders of those who may find something now.
    fn run(
        &mut self,
        connection: &Connection,
        begin: &str,
        batch: &mut [Box<dyn Verb>],
        orders: &mut Orders,
        outbox: &mut Outbox,
    ) -> Result<(), Broken> {
        statement(connection, begin)?;
        let mut first = true;
        // Where several verbs come together, what is ready in the end decides who gets what.
        let alone = (batch.len() == 1).then_some(&mut *orders);
        let verbs = batch.iter_mut().map(|verb| |tx: &mut Tx<'_>| verb.run(tx));
        let end = self
            .run_all(connection, begin, verbs, alone, outbox, &mut first)
            .and_then(|()| {
                if !outbox.served {
                    orders.disappoint();
                }
                orders.wake(&outbox.ready);
                let woken = orders.woken().map(|order| |tx: &mut Tx<'_>| order.run(tx));
                self.run_all(connection, begin, woken, None, outbox, &mut first)
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
        mut orders: Option<&mut Orders>,
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
                orders: orders.take(),
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
