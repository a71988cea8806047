//! The logger: stores what handlers have written to their jobs' logs, all jobs of the executor together.
//!
//! Lines are stored soon, sooner where a buffer fills, and in any case before the end of their attempt is written: who sees
//! that a job has ended sees its whole log.

use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Release};
use std::time::Duration;

use tokio::time::Instant;

use super::hand::Held;
use super::life::{Backoff, Life};
use crate::error::Result;
use crate::log::Taken;
use crate::store::LogLines;

/// Between two writes, unless a buffer fills.
const PERIOD: Duration = Duration::from_millis(250);
/// About so many lines are written at once.
const BATCH: usize = 2000;

/// When to write next.
pub(super) struct Logger {
    /// Unless a buffer fills.
    next: Instant,
    /// Not before this, since the store failed.
    pause: Instant,
    backoff: Backoff,
}

impl Logger {
    pub(super) fn new() -> Self {
        Self {
            next: Instant::now(),
            pause: Instant::now(),
            backoff: Backoff::for_store(),
        }
    }

    /// Stores what has gathered, if it is time and there is anything.
    pub(super) async fn look(&mut self, life: &Life) {
        let now = Instant::now();
        let news = &life.hand.news;
        let due = |soon: bool| soon || now >= self.next && news.lines.swap(false, AcqRel);
        if now < self.pause || !due(news.lines_soon.swap(false, AcqRel)) {
            return;
        }
        self.next = now + PERIOD;
        if write(life, &life.hand.all()).await.is_ok() {
            self.backoff.reset();
        } else {
            // Lines that wait are tried again, also if none is added.
            news.lines.store(true, Release);
            self.pause = now + self.backoff.step();
        }
    }
}

/// Stores what the handlers of these jobs, which have ended, wrote last. Waits out an outage: the end of the job comes
/// after its log.
pub(super) async fn finish(life: &Life, ended: impl Iterator<Item = &Arc<Held>>) {
    // Also those without lines now: theirs may be on their way, and come back if the store fails.
    let held: Vec<Arc<Held>> = ended.filter(|held| held.written().is_some()).map(Arc::clone).collect();
    if held.is_empty() {
        return;
    }
    let mut backoff = Backoff::for_store();
    while let Err(error) = write(life, &held).await {
        if !error.is_transient() {
            tracing::warn!(error = %error.chain(), "the last lines of some jobs could not be stored");
            life.fine("storing logs");
            return;
        }
        backoff.wait().await;
    }
}

/// Stores what has gathered. What could not be stored waits for the next time.
async fn write(life: &Life, held: &[Arc<Held>]) -> Result<()> {
    // One at a time: lines that are on their way must arrive before later ones are taken.
    let _turn = life.log_turn.lock().await;
    let mut waiting: Vec<&Arc<Held>> = held.iter().filter(|held| held.has_lines()).collect();
    if waiting.is_empty() {
        return Ok(());
    }
    let done = follow(life, &waiting).await;
    while done.is_ok() && !waiting.is_empty() {
        let mut taken: Vec<(&Arc<Held>, Taken)> = Vec::new();
        let mut lines = 0;
        while lines < BATCH
            && let Some(held) = waiting.pop()
        {
            if let Some(log) = held.written() {
                let portion = log.buffer().take();
                lines += portion.lines.len();
                taken.push((held, portion));
            }
        }
        if let Err(error) = store(life, &taken).await {
            for (held, portion) in taken {
                if let Some(log) = held.written() {
                    log.buffer().put_back(portion);
                }
            }
            life.trouble("storing logs", &error);
            return Err(error);
        }
    }
    match &done {
        Ok(()) => life.fine("storing logs"),
        Err(error) => life.trouble("storing logs", error),
    }
    done
}

async fn store(life: &Life, taken: &[(&Arc<Held>, Taken)]) -> Result<()> {
    let logs: Vec<LogLines> = taken
        .iter()
        .filter(|(_, portion)| !portion.lines.is_empty())
        .map(|(held, portion)| LogLines {
            id: held.job.id,
            number: held.job.number,
            lines: portion.lines.clone(),
        })
        .collect();
    if logs.is_empty() {
        return Ok(());
    }
    life.store.log(life.incarnation, logs).await
}

/// Asks what the logs hold already, of those that have not been written to by this attempt.
async fn follow(life: &Life, held: &[&Arc<Held>]) -> Result<()> {
    let new: Vec<_> = held
        .iter()
        .filter_map(|held| {
            held.written()
                .filter(|log| log.buffer().is_new())
                .map(|log| (held.job.id, log))
        })
        .collect();
    if new.is_empty() {
        return Ok(());
    }
    let ids: Vec<_> = new.iter().map(|(id, _)| *id).collect();
    let ends = life.store.log_ends(&ids).await?;
    for ((_, log), end) in new.iter().zip(ends) {
        log.buffer().follows(end.number, end.lines as usize);
    }
    Ok(())
}
