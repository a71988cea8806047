//! Who runs verbs: a thread for each connection, with a bounded line of callers in front of it.
//!
//! The writer takes whoever is waiting, runs them all in one transaction, commits once and then answers: the more
//! callers, the fewer commits. Each verb but the first stands in a savepoint, so that one's error (or panic) undoes only
//! itself; when the commit fails, everyone is told so and nothing has happened.
//!
//! When a verb has made jobs ready while an executor here sleeps, that is woken before the commit and gets a moment to
//! take them in the same transaction (`sleepers.rs`): the job then starts after one commit, not two.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::Connection;
use tokio::sync::{broadcast, mpsc, oneshot};

use super::fault::{Broken, Fault};
use super::feed::{self, Told, Watching};
use super::settings;
use super::sleepers::Sleepers;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::group::Settings;
use crate::job::{Brief, JobId};
use crate::store::Signal;

/// So many callers may stand in line; further ones wait before they get in.
const LINE: usize = 1024;
/// So many verbs share a commit at the most.
const BATCH: usize = 128;

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
    outbox: Outbox,
}

impl Tx<'_> {
    /// The settings in force. Read again only when their version has changed.
    pub(super) fn settings(&mut self) -> Result<Arc<Settings>, Fault> {
        if let Some(current) = &self.current {
            return Ok(current.clone());
        }
        let current = self.read_settings()?;
        self.current = Some(current.clone());
        Ok(current)
    }

    fn read_settings(&mut self) -> Result<Arc<Settings>, Fault> {
        let version = settings::version(self.connection)?;
        if let Some(known) = self.known.as_ref().filter(|known| known.version == version) {
            return Ok(known.clone());
        }
        let read = Arc::new(settings::read(self.connection, version)?);
        *self.known = Some(read.clone());
        Ok(read)
    }

    /// Someone may find something to do now.
    pub(super) fn ready(&mut self) {
        self.outbox.ready = true;
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
    ready: bool,
    owed: bool,
    due: Option<Duration>,
    jobs: Vec<Signal>,
    told: Vec<Told>,
}

impl Outbox {
    fn add(&mut self, mut other: Self) {
        self.ready |= other.ready;
        self.owed |= other.owed;
        self.due = self.due.into_iter().chain(other.due).min();
        self.jobs.append(&mut other.jobs);
        self.told.append(&mut other.told);
    }

    /// Nobody listening is no error.
    fn send(self, signals: &broadcast::Sender<Signal>) {
        let due = self.due.map(Signal::Due);
        let ready = self.ready.then_some(Signal::Ready);
        let owed = self.owed.then_some(Signal::Owed);
        for signal in self.jobs.into_iter().chain(owed).chain(due).chain(ready) {
            let _ = signals.send(signal);
        }
    }
}

/// A verb on its way through the line.
trait Verb: Send {
    /// Runs it; says whether what it wrote is to be kept.
    fn run(&mut self, tx: &mut Tx<'_>) -> bool;
    /// Tells the caller, once it is known what became of the transaction.
    fn answer(self: Box<Self>, end: Result<(), Broken>);
}

struct Call<T, F> {
    doing: &'static str,
    verb: Option<F>,
    outcome: Option<Result<T, Fault>>,
    reply: oneshot::Sender<Result<T>>,
}

impl<T, F> Verb for Call<T, F>
where
    T: Send,
    F: FnOnce(&mut Tx<'_>) -> Result<T, Fault> + Send,
{
    fn run(&mut self, tx: &mut Tx<'_>) -> bool {
        self.outcome = self.verb.take().map(|verb| verb(tx));
        matches!(self.outcome, Some(Ok(_)))
    }

    fn answer(self: Box<Self>, end: Result<(), Broken>) {
        let answer = match (self.outcome, end) {
            (Some(Err(fault)), _) => Err(fault.told(self.doing)),
            (_, Err(broken)) => Err(broken.told(self.doing)),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (None, Ok(())) => Err(Error::Store {
                doing: self.doing,
                cause: "it panicked, which is a fault in this program; see its log".into(),
                transient: false,
            }),
        };
        // A caller who no longer waits does not want to know.
        let _ = self.reply.send(answer);
    }
}

/// The way to a thread. It ends when all of these are gone.
#[derive(Clone)]
pub(super) struct Line {
    sender: mpsc::Sender<Box<dyn Verb>>,
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Line")
    }
}

impl Line {
    /// Runs a verb on the thread and waits for its answer.
    pub(super) async fn call<T, F>(&self, doing: &'static str, verb: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> Result<T, Fault> + Send + 'static,
    {
        let (call, answer) = Self::prepare(doing, verb);
        let gone = || Broken::closed().told(doing);
        self.sender.send(call).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// As [`Line::call`], for a thread that may block.
    pub(super) fn call_blocking<T, F>(&self, doing: &'static str, verb: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> Result<T, Fault> + Send + 'static,
    {
        let (call, answer) = Self::prepare(doing, verb);
        let gone = || Broken::closed().told(doing);
        self.sender.blocking_send(call).map_err(|_| gone())?;
        answer.blocking_recv().map_err(|_| gone())?
    }

    /// How many verbs stand in line.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.sender.max_capacity() - self.sender.capacity()
    }

    fn prepare<T, F>(doing: &'static str, verb: F) -> (Box<dyn Verb>, oneshot::Receiver<Result<T>>)
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> Result<T, Fault> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let call = Call {
            doing,
            verb: Some(verb),
            outcome: None,
            reply,
        };
        (Box::new(call), answer)
    }
}

/// What a thread brings to its connection.
#[derive(Clone)]
pub(super) struct Desk {
    clock: Clock,
    retention: Duration,
    signals: broadcast::Sender<Signal>,
    sleepers: Sleepers,
    known: Option<Arc<Settings>>,
    watching: Watching,
}

impl Desk {
    pub(super) fn new(
        clock: Clock,
        retention: Duration,
        signals: broadcast::Sender<Signal>,
        sleepers: Sleepers,
    ) -> Self {
        Self {
            clock,
            retention,
            signals,
            sleepers,
            known: None,
            watching: Watching::default(),
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
        let (sender, mut line) = mpsc::channel::<Box<dyn Verb>>(LINE);
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            let mut batch = Vec::with_capacity(at_once);
            while line.blocking_recv_many(&mut batch, at_once) > 0 {
                let mut outbox = Outbox::default();
                let end = self.run(&connection, begin, &mut line, &mut batch, &mut outbox);
                if let Err(broken) = &end {
                    tracing::warn!(
                        ?broken,
                        verbs = batch.len(),
                        "a transaction failed; its callers are told"
                    );
                }
                let committed = end.is_ok();
                for verb in batch.drain(..) {
                    verb.answer(end.clone());
                }
                if committed {
                    outbox.send(&self.signals);
                }
            }
        })?;
        Ok(Line { sender })
    }

    /// Runs a batch in one transaction, with whoever comes to join it.
    fn run(
        &mut self,
        connection: &Connection,
        begin: &str,
        line: &mut mpsc::Receiver<Box<dyn Verb>>,
        batch: &mut Vec<Box<dyn Verb>>,
        outbox: &mut Outbox,
    ) -> Result<(), Broken> {
        statement(connection, begin)?;
        let end = self.run_all(connection, begin, batch, outbox, true).and_then(|()| {
            if outbox.ready && batch.len() < BATCH && self.sleepers.any() {
                // Signals may come too often, so this one may come too early.
                outbox.ready = false;
                let _ = self.signals.send(Signal::Ready);
                if let Some(verb) = self.sleepers.wait(line) {
                    batch.push(verb);
                    let last = batch.len() - 1;
                    self.run_all(connection, begin, &mut batch[last..], outbox, false)?;
                }
            }
            if !outbox.told.is_empty() {
                feed::write(connection, self.clock.now(), &mut outbox.told)?;
            }
            statement(connection, "COMMIT")?;
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
        batch: &mut [Box<dyn Verb>],
        outbox: &mut Outbox,
        mut first: bool,
    ) -> Result<(), Broken> {
        for verb in batch {
            // The first verb needs no savepoint: its error undoes the transaction. (Under a savepoint SQLite keeps a
            // journal for each statement, which makes large batches slower by a tenth.)
            if !first {
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
            let kept = catch_unwind(AssertUnwindSafe(|| verb.run(&mut tx))).unwrap_or(false);
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
                statement(connection, if first { "ROLLBACK" } else { "ROLLBACK TO verb" })?;
            }
            if !first {
                statement(connection, "RELEASE verb")?;
            } else if kept {
                first = false;
            } else {
                statement(connection, begin)?;
            }
        }
        Ok(())
    }
}

fn statement(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}
