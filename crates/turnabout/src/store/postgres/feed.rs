//! Hints of what changed, for those who watch: written after the change, off everyone's path, and only while someone does.
//!
//! Whether someone watches is learnt when the store is opened, by a message when watching begins, and with each heartbeat.
//! A process that dies between a change and its hint leaves one out: whoever buries its executor tells once more what that
//! has ended lately, or that something was missed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use foldhash::HashSet;
use jiff::Timestamp;
use tokio::sync::{Notify, mpsc};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::PostgresStore;
use super::connect::{Mode, Tx, failed};
use crate::error::Result;
use crate::job::{Brief, JobId};
use crate::lifecycle::Location;
use crate::store::{Changed, HINTS_KEPT, Hint, Hints, Settle, Signal, Submitted, Watched};

#[async_trait]
impl Hints for PostgresStore {
    async fn watch(&self, hold: Duration) -> Result<Watched> {
        self.begin_watching(hold).await
    }

    async fn hints(&self, after: i64, limit: u32) -> Result<Vec<Hint>> {
        self.read_hints(after, limit).await
    }
}

/// So many hints wait to be written; beyond that they are lost, and those who watch are told to look anew.
const WAITING: usize = 100_000;
/// So many are written at once.
const BATCH: usize = 1000;
/// So many jobs of a dead executor are told once more.
const ONCE_MORE: usize = 1000;
/// Whoever leaves waits for so long until all its hints are written.
const LEAVING: Duration = Duration::from_secs(2);
/// Hints gather for so long.
const GATHER: Duration = Duration::from_millis(20);

type Told = (JobId, Option<Box<Brief>>);

/// Whether someone watches, and the hints on their way.
pub(super) struct Feed {
    /// In microseconds since 1970, by the server's clock.
    until: AtomicI64,
    sender: mpsc::Sender<Told>,
    lost: AtomicBool,
    /// How many hints are on their way.
    pending: AtomicUsize,
    /// Some have arrived.
    written: Notify,
}

impl Feed {
    pub(super) fn new() -> (Self, mpsc::Receiver<Told>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        let feed = Self {
            until: AtomicI64::new(i64::MIN),
            sender,
            lost: AtomicBool::new(false),
            pending: AtomicUsize::new(0),
            written: Notify::new(),
        };
        (feed, receiver)
    }

    fn set(&self, until: Option<Timestamp>) {
        let micros = until.map_or(i64::MIN, Timestamp::as_microsecond);
        self.until.store(micros, Ordering::Relaxed);
    }

    fn tell(&self, told: Told) {
        self.pending.fetch_add(1, Ordering::Relaxed);
        if self.sender.try_send(told).is_err() {
            self.lost.store(true, Ordering::Relaxed);
            self.arrived(1);
        }
    }

    fn arrived(&self, hints: usize) {
        self.pending.fetch_sub(hints, Ordering::Relaxed);
        self.written.notify_waiters();
    }

    /// Waits until nothing is on its way, but not for long.
    pub(super) async fn catch_up(&self) {
        let caught_up = async {
            loop {
                let written = self.written.notified();
                if self.pending.load(Ordering::Relaxed) == 0 {
                    return;
                }
                written.await;
            }
        };
        if tokio::time::timeout(LEAVING, caught_up).await.is_err() {
            tracing::warn!("those who watch may miss what was changed last");
        }
    }
}

/// Writes hints, and hears who watches, until the store is dropped.
pub(super) async fn write(store: Weak<PostgresStore>, mut hints: mpsc::Receiver<Told>, watched: Arc<Notify>) {
    let mut batch = Vec::new();
    loop {
        tokio::select! {
            count = hints.recv_many(&mut batch, BATCH) => if count == 0 { return },
            () = watched.notified() => {
                let Some(store) = store.upgrade() else { return };
                if let Err(error) = store.look_for_watchers().await {
                    tracing::debug!(error = %error.chain(), "who watches is looked up with the next heartbeat");
                }
                continue;
            }
        }
        tokio::time::sleep(GATHER).await;
        while batch.len() < BATCH
            && let Ok(told) = hints.try_recv()
        {
            batch.push(told);
        }
        let Some(store) = store.upgrade() else { return };
        let hints = batch.len();
        store.write_hints(std::mem::take(&mut batch)).await;
        store.feed.arrived(hints);
    }
}

impl PostgresStore {
    /// Tells those who wait in this process, and those who watch.
    pub(super) fn signal_changed(&self, ids: impl IntoIterator<Item = JobId> + Clone) {
        if self.signals.receiver_count() > 0 {
            for id in ids.clone() {
                self.signal(Signal::Changed(id));
            }
        }
        if self.is_watched() {
            self.hint(ids);
        }
    }

    /// Whether hints are wanted.
    pub(super) fn is_watched(&self) -> bool {
        let until = self.feed.until.load(Ordering::Relaxed);
        until > i64::MIN && until >= self.now().as_microsecond()
    }

    /// Jobs have changed.
    pub(super) fn hint(&self, ids: impl IntoIterator<Item = JobId>) {
        for id in ids {
            self.feed.tell((id, None));
        }
    }

    /// Jobs are new.
    pub(super) fn hint_new(&self, outcomes: &[Result<Submitted>]) {
        if self.is_watched() {
            let new = outcomes.iter().flatten().filter(|submitted| submitted.new);
            self.hint(new.map(|submitted| submitted.id));
        }
    }

    /// Whether ended jobs are not kept, and someone wants to know what became of them.
    fn tells_last(&self) -> bool {
        self.keeps_nothing() && self.is_watched()
    }

    /// What those jobs are at their end that are about to be forgotten. Asked for before that is committed, and told after.
    pub(super) async fn last_of(&self, jobs: &[Settle]) -> Vec<Brief> {
        if !self.tells_last() {
            return Vec::new();
        }
        let ending = jobs.iter().filter(|job| job.change.place == Location::History);
        let ids: Vec<JobId> = ending.map(|job| job.id).collect();
        // Without an answer nothing is told but that they are gone.
        let found = self.read(&ids, true).await.unwrap_or_default();
        let settled: HashMap<JobId, &Settle> = jobs.iter().map(|job| (job.id, job)).collect();
        found
            .into_iter()
            .filter_map(|mut job| {
                let settle = settled.get(&job.id)?;
                if settle.error.is_some() {
                    job.error.clone_from(&settle.error);
                    job.error_message.clone_from(&settle.described.message);
                    job.error_code.clone_from(&settle.described.code);
                }
                let came = settle.kept_progress().cloned().unwrap_or_default();
                (job.progress, job.step) = (came.percent, came.step);
                Some(Brief::ended(&job, &settle.change, self.now()))
            })
            .collect()
    }

    /// Jobs have ended and are not kept.
    pub(super) fn hint_last(&self, last: Vec<Brief>, written: &HashSet<JobId>) {
        for brief in last.into_iter().filter(|brief| written.contains(&brief.id)) {
            self.feed.tell((brief.id, Some(Box::new(brief))));
        }
    }

    /// As above, for jobs that nobody held.
    pub(super) fn hint_ended(&self, changed: &[Changed]) {
        if self.tells_last() {
            let ended = changed.iter().filter_map(|c| Some((&c.job, c.outcome.ok()?)));
            for (job, change) in ended.filter(|(_, change)| change.place == Location::History) {
                let last = Brief::ended(job, &change, self.now());
                self.feed.tell((job.id, Some(Box::new(last))));
            }
        }
    }

    async fn write_hints(self: &Arc<Self>, batch: Vec<Told>) {
        let lost = self.feed.lost.swap(false, Ordering::Relaxed);
        let done = async {
            if lost {
                self.run("giving up hints", &self.sql.lost_hints, &[]).await?;
            }
            self.try_write_hints(&batch).await
        };
        if let Err(error) = done.await {
            tracing::warn!(error = %error.chain(), "those who watch are told later that they missed something");
            self.feed.lost.store(true, Ordering::Relaxed);
        }
    }

    async fn try_write_hints(&self, batch: &[Told]) -> Result<()> {
        let failed = failed("noting changes");
        let mut changed: Vec<Uuid> = batch
            .iter()
            .filter(|(_, last)| last.is_none())
            .map(|(id, _)| id.0)
            .collect();
        changed.sort_unstable();
        changed.dedup();
        let last: Vec<&Brief> = batch.iter().filter_map(|(_, last)| last.as_deref()).collect();
        let ids: Vec<Uuid> = last.iter().map(|brief| brief.id.0).collect();
        let groups: Vec<&str> = last.iter().map(|brief| brief.group.as_str()).collect();
        let owners: Vec<Option<&str>> = last.iter().map(|brief| brief.owner.as_deref()).collect();
        let texts: Vec<String> = last
            .iter()
            .filter_map(|brief| serde_json::to_string(brief).ok())
            .collect();
        let tx = Tx::on(self.client().await?);
        tx.open(Mode::Forgettable).await.map_err(&failed)?;
        tx.query(&self.sql.lock_hints, &[]).await.map_err(&failed)?;
        let now = self.options.clock.manual();
        tx.execute(&self.sql.tell, &[&now, &changed, &ids, &groups, &owners, &texts])
            .await
            .map_err(&failed)?;
        tx.commit().await.map_err(&failed)
    }

    /// Tells of jobs that an executor which was buried has ended since it was last heard of: it may have died before it told.
    /// Where those are many, or were not kept, it is told that something was missed.
    pub(super) async fn hint_once_more(&self, executor: Uuid, heard: Timestamp) -> Result<()> {
        if !self.is_watched() {
            return Ok(());
        }
        if !self.keeps_nothing() {
            let params: [&(dyn ToSql + Sync); 3] = [&executor, &heard, &(ONCE_MORE as i64 + 1)];
            let ended = self
                .look("looking for what was not told", &self.sql.ended_by, &params)
                .await?;
            if ended.len() <= ONCE_MORE {
                self.hint(ended.iter().map(|row| JobId(row.get(0))));
                return Ok(());
            }
        }
        self.run("giving up hints", &self.sql.lost_hints, &[]).await
    }

    /// Looks whether someone watches.
    pub(super) async fn look_for_watchers(&self) -> Result<()> {
        let rows = self.look("looking for watchers", &self.sql.feed, &[]).await?;
        self.watched_until(rows.first().and_then(|row| row.try_get(0).ok()));
        Ok(())
    }

    /// Someone watches until then. Infinite at first, which is no time: nobody ever watched.
    pub(super) fn watched_until(&self, until: Option<Timestamp>) {
        self.feed.set(until);
    }

    pub(super) async fn begin_watching(&self, hold: Duration) -> Result<Watched> {
        let now = self.options.clock.manual();
        let (hold, kept) = (hold.as_secs_f64(), HINTS_KEPT.as_secs_f64());
        let rows = self
            .look("watching jobs", &self.sql.watch, &[&now, &hold, &kept])
            .await?;
        let Some(row) = rows.first() else {
            return Ok(Watched::default());
        };
        self.feed.set(row.try_get(1).ok());
        Ok(Watched {
            epoch: row.get(0),
            forgotten: row.get(2),
            newest: row.get::<_, Option<i64>>(3).unwrap_or(0),
        })
    }

    pub(super) async fn read_hints(&self, after: i64, limit: u32) -> Result<Vec<Hint>> {
        let failed = failed("looking for changes");
        let client = self.client().await?;
        let statement = client.prepare_cached(&self.sql.hints).await.map_err(&failed)?;
        let rows = client
            .query(&statement, &[&after, &i64::from(limit)])
            .await
            .map_err(&failed)?;
        let hint = |row: &tokio_postgres::Row| Hint {
            number: row.get(0),
            job: JobId(row.get(1)),
            group: row.get(2),
            owner: row.get(3),
            // Written by a newer program, perhaps: then only that it changed is known.
            last: row
                .get::<_, Option<&str>>(4)
                .and_then(|text| serde_json::from_str(text).ok()),
        };
        Ok(rows.iter().map(hint).collect())
    }
}
