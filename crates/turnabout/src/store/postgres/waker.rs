//! Telling other processes that there is something to do: after the commit that made it so, never as part of it. `PostgreSQL`
//! lets transactions that notify commit one at a time, so submits would wait for each other's disk.
//!
//! Announcements are gathered, and a task sends them. Should the process die in between, the others find the jobs by
//! themselves a moment later: nothing depends on a message but speed.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use std::collections::HashSet;
use tokio::sync::Notify;
use uuid::Uuid;

use super::PostgresStore;
use super::connect::failed;
use super::timeouts::TIMEOUT;
use crate::error::Result;

/// So long after an announcement the next one is sent.
const PAUSE: Duration = Duration::from_millis(2);

/// What is to be announced.
#[derive(Default)]
pub(super) struct Waker {
    ready: AtomicBool,
    due: AtomicBool,
    news: Notify,
    /// Executors of this process that sleep.
    sleepers: Mutex<HashSet<Uuid>>,
}

impl Waker {
    /// Jobs are ready.
    pub(super) fn ready(&self) {
        self.ready.store(true, Relaxed);
        self.news.notify_one();
    }

    /// Jobs are due sooner than others would look.
    pub(super) fn due(&self) {
        self.due.store(true, Relaxed);
        self.news.notify_one();
    }

    /// An executor sleeps from now on, or does no longer. Says what has changed for the whole process.
    fn sleeps(&self, executor: Uuid, asleep: bool) -> Option<bool> {
        let mut sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        let before = sleepers.is_empty();
        if asleep {
            sleepers.insert(executor);
        } else {
            sleepers.remove(&executor);
        }
        (sleepers.is_empty() != before).then_some(asleep)
    }
}

/// Sends announcements until the store is dropped.
pub(super) async fn run(store: Weak<PostgresStore>, waker: Arc<Waker>) {
    loop {
        waker.news.notified().await;
        let Some(store) = store.upgrade() else { return };
        if let Err(error) = store.announce_all().await {
            tracing::debug!(error = %error.chain(), "other processes could not be woken");
        }
        drop(store);
        tokio::time::sleep(PAUSE).await;
    }
}

impl PostgresStore {
    async fn announce_all(&self) -> Result<()> {
        let failed = failed("waking others");
        let client = self.client().await?;
        if self.waker.ready.swap(false, Relaxed) {
            let statement = client.prepare_cached(&self.sql.wake).await.map_err(&failed)?;
            client
                .query(&statement, &[&self.listener.token()])
                .await
                .map_err(&failed)?;
        }
        if self.waker.due.swap(false, Relaxed) {
            let statement = client.prepare_cached(&self.sql.notify).await.map_err(&failed)?;
            client.query(&statement, &[&"due"]).await.map_err(&failed)?;
        }
        Ok(())
    }

    /// Notes whether an executor sleeps, so that others know whether anyone needs waking.
    pub(super) async fn note_sleep(&self, executor: Uuid, asleep: bool) -> Result<()> {
        if let Some(asleep) = self.waker.sleeps(executor, asleep) {
            self.listener.sleep(asleep, TIMEOUT).await;
        }
        Ok(())
    }
}
