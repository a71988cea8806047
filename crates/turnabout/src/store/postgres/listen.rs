//! Listening for what other processes announce, on a connection of its own; it also holds the locks on executors' ids.
//!
//! Whether listening works is never taken for granted: a pooler may accept the command and deliver nothing, a connection
//! may be dead without a word. Each heartbeat sends a message by another connection, and the listener counts which arrived.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::stream::poll_fn;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::{Notify, broadcast, mpsc, oneshot, watch};
use tokio_postgres::tls::TlsStream;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, Socket};
use uuid::Uuid;

use super::ids::Ids;
use super::sql::Sql;
use super::tls::Tls;
use crate::job::JobId;
use crate::store::Signal;

/// A message to ourselves that takes longer does not arrive.
const LATE: Duration = Duration::from_secs(2);
/// Ids that others hold are asked for again so often.
const AGAIN: Duration = Duration::from_secs(1);
/// Should this process vanish without a word, the server notices soon, and lets go of our locks.
const KEEPALIVE: &str = "set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3";

/// What the connection is asked to do.
pub(super) enum Command {
    /// Take possession of an executor's id, and say whether that worked.
    Lock(String, oneshot::Sender<bool>),
    /// Let go of it.
    Unlock(String),
    /// Let others know whether someone in this process sleeps, and say when that is done.
    Sleep(oneshot::Sender<()>),
    /// Connect anew: nothing is heard by the present connection.
    Renew,
}

impl std::fmt::Debug for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Command")
    }
}

/// The way to the connection.
pub(super) type Commands = mpsc::Sender<Command>;

/// The connection that listens, seen from the store. Ends when it is dropped.
#[derive(Debug)]
pub(super) struct Listener {
    commands: Commands,
    hearing: Arc<Hearing>,
    /// `None`: there is no connection, and there will be none.
    task: Option<tokio::task::AbortHandle>,
}

/// What is known about what is heard.
#[derive(Debug)]
struct Hearing {
    /// Marks what we send ourselves.
    mark: Uuid,
    sent: AtomicU64,
    heard: watch::Sender<u64>,
    /// Whether the connection is there.
    there: watch::Sender<bool>,
    /// The first message to ourselves that has not arrived, and when it was sent.
    missing: Mutex<Option<(u64, Instant)>>,
    /// Whether one did not arrive in time.
    deaf: AtomicBool,
    /// Whether someone in this process sleeps.
    asleep: AtomicBool,
    /// Somebody has begun to watch jobs.
    watched: Arc<Notify>,
    ids: Ids,
}

impl Hearing {
    fn new(watched: Arc<Notify>, deaf: bool) -> Self {
        Self {
            mark: Uuid::new_v4(),
            sent: AtomicU64::new(0),
            heard: watch::Sender::new(0),
            there: watch::Sender::new(false),
            missing: Mutex::default(),
            deaf: AtomicBool::new(deaf),
            asleep: AtomicBool::new(false),
            watched,
            ids: Ids::default(),
        }
    }

    fn missing(&self) -> MutexGuard<'_, Option<(u64, Instant)>> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A message to ourselves has arrived. It is no longer missed by the time anyone learns of it.
    fn heard(&self, number: u64) {
        self.missing().take_if(|(missing, _)| *missing <= number);
        self.heard.send_modify(|heard| *heard = number.max(*heard));
    }
}

impl Listener {
    /// Begins to listen. `watched` is told whenever somebody has begun to watch jobs, or may have.
    pub(super) fn open(
        config: (Config, Tls),
        schema: &str,
        signals: broadcast::Sender<Signal>,
        watched: Arc<Notify>,
    ) -> Self {
        let (commands, received) = mpsc::channel(64);
        let hearing = Arc::new(Hearing::new(watched, false));
        let listener = ListenTask {
            config,
            channel: schema.to_owned(),
            sql: Sql::new(schema),
            signals,
            hearing: Arc::clone(&hearing),
        };
        let task = tokio::spawn(async move {
            let mut received = received;
            // One that panics is begun anew: nothing dies silently.
            while AssertUnwindSafe(listener.listen(&mut received))
                .catch_unwind()
                .await
                .is_err()
            {
                tracing::error!("the connection that listens panicked and is made anew");
                tokio::time::sleep(AGAIN).await;
            }
        });
        let task = Some(task.abort_handle());
        Self {
            commands,
            hearing,
            task,
        }
    }

    /// Does not listen at all: a pooler would deliver nothing, and keep our locks for others.
    pub(super) fn none(watched: Arc<Notify>) -> Self {
        Self {
            commands: mpsc::channel(1).0,
            hearing: Arc::new(Hearing::new(watched, true)),
            task: None,
        }
    }

    pub(super) fn ids(&self) -> &Ids {
        &self.hearing.ids
    }

    pub(super) fn commands(&self) -> Commands {
        self.commands.clone()
    }

    /// What this process adds to its announcements: it does not listen to its own.
    pub(super) fn token(&self) -> String {
        self.hearing.mark.to_string()
    }

    /// Lets others know whether someone in this process sleeps. Without a connection that is done when there is one: until
    /// then nothing would be heard anyway.
    pub(super) async fn sleep(&self, asleep: bool, timeout: Duration) {
        self.hearing.asleep.store(asleep, Relaxed);
        if *self.hearing.there.borrow() {
            let (done, reply) = oneshot::channel();
            if self.commands.send(Command::Sleep(done)).await.is_ok() {
                let _ = tokio::time::timeout(timeout, reply).await;
            }
        }
    }

    /// Waits for the connection; says whether it is there.
    pub(super) async fn is_there(&self, timeout: Duration) -> bool {
        if self.task.is_none() {
            return false;
        }
        let mut there = self.hearing.there.subscribe();
        tokio::time::timeout(timeout, there.wait_for(|there| *there))
            .await
            .is_ok()
    }

    /// A message to ourselves, and its number.
    pub(super) fn next_echo(&self) -> (u64, String) {
        let number = self.hearing.sent.fetch_add(1, Relaxed) + 1;
        self.hearing.missing().get_or_insert((number, Instant::now()));
        (number, format!("echo {} {number}", self.hearing.mark))
    }

    /// Waits for a message to ourselves; says whether it arrived.
    pub(super) async fn has_heard(&self, number: u64, timeout: Duration) -> bool {
        let mut heard = self.hearing.heard.subscribe();
        tokio::time::timeout(timeout, heard.wait_for(|heard| *heard >= number))
            .await
            .is_ok()
    }

    /// The message for a heartbeat, if anyone listens. If the last one has not arrived by now, none does, and another
    /// connection is tried.
    pub(super) fn beat(&self) -> Option<String> {
        self.task.as_ref()?;
        let deaf = self.hearing.missing().is_some_and(|(_, since)| since.elapsed() > LATE);
        let before = self.hearing.deaf.swap(deaf, Relaxed);
        match (before, deaf) {
            (false, true) => {
                tracing::warn!("what other processes announce is not heard; the store is asked more often instead");
            }
            (true, false) => tracing::info!("what other processes announce is heard again"),
            // Where it has worked before it may again. Full: it is at it already.
            (true, true) if *self.hearing.heard.borrow() > 0 => drop(self.commands.try_send(Command::Renew)),
            _ => {}
        }
        Some(self.next_echo().1)
    }

    /// Whether what others announce is heard.
    pub(super) fn hears(&self) -> bool {
        !self.hearing.deaf.load(Relaxed)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

struct ListenTask {
    config: (Config, Tls),
    channel: String,
    sql: Sql,
    signals: broadcast::Sender<Signal>,
    hearing: Arc<Hearing>,
}

impl ListenTask {
    /// Listens until the store is dropped. A connection that is lost is made again; what was announced meanwhile is lost
    /// too, so everyone is told to look.
    async fn listen(&self, commands: &mut mpsc::Receiver<Command>) {
        let mut pause = Duration::from_millis(100);
        loop {
            let ended = self.listen_once(commands).await;
            if self.hearing.there.send_replace(false) {
                pause = Duration::from_millis(100);
            }
            match ended {
                Ok(()) => {}
                Err(error) => {
                    tracing::warn!(error = %crate::error::chain(&error), "cannot listen; trying again");
                    pause = (pause * 2).min(Duration::from_secs(2));
                }
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Connects, listens, and does what is received, until the connection ends.
    async fn listen_once(&self, commands: &mut mpsc::Receiver<Command>) -> Result<(), tokio_postgres::Error> {
        let (client, connection) = {
            let (config, tls) = &self.config;
            config.connect(tls.clone()).await?
        };
        let hears = hear(connection, self.signals.clone(), Arc::clone(&self.hearing));
        let mut hears = AbortOnDrop(tokio::spawn(hears));
        client
            .batch_execute(&format!("{KEEPALIVE}; listen {}", self.channel))
            .await?;
        // No receiver: nobody waits.
        let _ = self.signals.send(Signal::Ready);
        self.hearing.watched.notify_one();
        // What was sent before cannot arrive.
        *self.hearing.missing() = None;
        let mut asleep = false;
        self.sleep(&client, &mut asleep).await?;
        self.hearing.there.send_replace(true);
        let mut missing = Vec::new();
        let ids = self.hearing.ids.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for id in ids {
            // Before anyone takes us for dead.
            let _ = self.signals.send(Signal::Who(id.clone()));
            if !self.lock(&client, &id).await? {
                missing.push(id);
            }
        }
        loop {
            tokio::select! {
                ended = &mut hears.0 => return ended.unwrap_or(Ok(())),
                command = commands.recv() => match command {
                    None | Some(Command::Renew) => return Ok(()),
                    Some(Command::Lock(id, reply)) => {
                        let ours = self.lock(&client, &id).await?;
                        if reply.send(ours).is_err() && ours {
                            self.unlock(&client, &id).await?;
                        }
                    }
                    Some(Command::Sleep(done)) => {
                        self.sleep(&client, &mut asleep).await?;
                        let _ = done.send(());
                    }
                    Some(Command::Unlock(id)) => {
                        missing.retain(|other| *other != id);
                        self.unlock(&client, &id).await?;
                    }
                },
                () = tokio::time::sleep(AGAIN), if !missing.is_empty() => {
                    let mut still = Vec::new();
                    for id in missing {
                        if !self.lock(&client, &id).await? {
                            still.push(id);
                        }
                    }
                    missing = still;
                }
            }
        }
    }

    async fn lock(&self, client: &Client, id: &str) -> Result<bool, tokio_postgres::Error> {
        Ok(client.query_one(&self.sql.lock_id, &[&id]).await?.get(0))
    }

    /// Holds the lock of those who sleep while someone does. `held`: whether it is held now.
    async fn sleep(&self, client: &Client, held: &mut bool) -> Result<(), tokio_postgres::Error> {
        let wanted = self.hearing.asleep.load(Relaxed);
        if wanted && !*held {
            // Not to be had only while someone looks whether anyone sleeps, which takes microseconds.
            while !client.query_one(&self.sql.sleep, &[]).await?.get::<_, bool>(0) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        } else if !wanted && *held {
            client.query(&self.sql.rouse, &[]).await?;
        }
        *held = wanted;
        Ok(())
    }

    async fn unlock(&self, client: &Client, id: &str) -> Result<(), tokio_postgres::Error> {
        client.query(&self.sql.unlock_id, &[&id]).await.map(drop)
    }
}

/// Passes on what comes, until the connection ends.
async fn hear(
    mut connection: Connection<Socket, impl TlsStream + Unpin>,
    signals: broadcast::Sender<Signal>,
    hearing: Arc<Hearing>,
) -> Result<(), tokio_postgres::Error> {
    let token = hearing.mark.to_string();
    let mut messages = poll_fn(move |cx| connection.poll_message(cx));
    while let Some(message) = messages.next().await {
        if let AsyncMessage::Notification(note) = message? {
            if let Some(echo) = note.payload().strip_prefix("echo ") {
                if let Some(number) = own(echo, &hearing) {
                    hearing.heard(number);
                }
            } else if note.payload() == "watched" {
                hearing.watched.notify_one();
            } else if note.payload().strip_prefix("ready ") == Some(&token) {
                // Our own.
            } else if let Some(signal) = parse(note.payload()) {
                let _ = signals.send(signal);
            }
        }
    }
    Ok(())
}

/// The number of a message to ourselves, if it is ours.
fn own(echo: &str, hearing: &Hearing) -> Option<u64> {
    let (mark, number) = echo.split_once(' ')?;
    let own = mark.parse::<Uuid>() == Ok(hearing.mark);
    number.parse().ok().filter(|_| own)
}

/// An announcement as a signal.
fn parse(payload: &str) -> Option<Signal> {
    match payload.split_once(' ') {
        None if payload == "ready" => Some(Signal::Ready),
        Some(("ready", _)) => Some(Signal::Ready),
        // How long is asked of the store: its clock counts.
        None if payload == "due" => Some(Signal::Due(Duration::ZERO)),
        None if payload == "schedules" => Some(Signal::Schedules),
        None if payload == "owed" => Some(Signal::Owed),
        Some(("cancel", id)) => id.parse::<JobId>().ok().map(Signal::Cancel),
        Some(("who", id)) => Some(Signal::Who(id.to_owned())),
        _ => None,
    }
}

/// A task that does not outlive its handle.
struct AbortOnDrop(tokio::task::JoinHandle<Result<(), tokio_postgres::Error>>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
