//! A job's log: by page, and followed live.

use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, Stream, StreamExt};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::Jobs;
use super::scope::Scope;
use crate::error::{Error, Result};
use crate::job::JobId;
use crate::log::Line;
use crate::store::{Signal, Store};

/// A page holds no more lines.
const MAX_PAGE: u32 = 10_000;
/// So many lines are read at once while following.
const PORTION: u32 = 500;
/// Other processes do not announce new lines, so we look as well.
const LOOK: Duration = Duration::from_millis(250);

/// Which lines of a job's log to read. Awaited, it gives one page.
#[derive(Clone, Debug)]
#[must_use = "nothing is read until it is awaited"]
pub struct Logs {
    jobs: Jobs,
    job: JobId,
    scope: Option<Arc<Scope>>,
    after: i64,
    limit: u32,
}

/// One page of a job's log.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct LogPage {
    /// The lines, oldest first.
    pub lines: Vec<Line>,
    /// Give this to [`Logs::after`] for the next page. None: there are no more, for now.
    pub next: Option<i64>,
}

impl Logs {
    pub(super) fn new(jobs: Jobs, job: JobId, scope: Option<Arc<Scope>>) -> Self {
        Self {
            jobs,
            job,
            scope,
            after: 0,
            limit: 1000,
        }
    }

    /// Only lines after this number: [`LogPage::next`] of the page before, or the number of the last line seen.
    pub fn after(mut self, number: i64) -> Self {
        self.after = number;
        self
    }

    /// How many lines a page has at the most: from 1 to 10,000, 1000 unless said otherwise.
    pub fn limit(mut self, limit: u32) -> Self {
        self.limit = limit;
        self
    }

    async fn page(self) -> Result<LogPage> {
        if !(1..=MAX_PAGE).contains(&self.limit) {
            return Err(Error::invalid(
                "page size",
                format!("{} is not from 1 to {MAX_PAGE}", self.limit),
            ));
        }
        let store = self.jobs.store();
        look(store, self.job, self.scope.as_deref()).await?;
        // One more than asked for tells whether there is a next page.
        let mut lines = store.lines(self.job, self.after, self.limit + 1).await?;
        let more = lines.len() > self.limit as usize;
        lines.truncate(self.limit as usize);
        let next = lines.last().filter(|_| more).map(|line| line.number);
        Ok(LogPage { lines, next })
    }
}

/// Whether the job has ended; an error if there is none for this caller.
async fn look(store: &Arc<dyn Store>, id: JobId, scope: Option<&Scope>) -> Result<bool> {
    let job = store.get(&[id]).await?.pop();
    let job = job.filter(|job| scope.is_none_or(|scope| scope.holds(job)));
    job.map(|job| job.state.is_final()).ok_or(Error::NotFound(id))
}

impl IntoFuture for Logs {
    type Output = Result<LogPage>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.page())
    }
}

/// The lines of a job's log as they are stored, from the first to the job's end. Ends after an error.
pub struct FollowLogs {
    lines: BoxStream<'static, Result<Line>>,
}

impl FollowLogs {
    pub(super) fn new(store: Arc<dyn Store>, job: JobId, scope: Option<Arc<Scope>>) -> Self {
        // Listening begins before the first look, so that no line falls between the two.
        let signals = store.signals();
        let follower = Follower {
            store,
            job,
            scope,
            signals: Some(signals),
            after: 0,
            seen: false,
            over: false,
        };
        let portions = stream::unfold(follower, Follower::next);
        Self {
            lines: portions.flat_map(stream::iter).boxed(),
        }
    }

    /// The next line.
    pub async fn next(&mut self) -> Option<Result<Line>> {
        self.lines.next().await
    }
}

impl Stream for FollowLogs {
    type Item = Result<Line>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.lines.poll_next_unpin(cx)
    }
}

impl std::fmt::Debug for FollowLogs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FollowLogs").finish_non_exhaustive()
    }
}

struct Follower {
    store: Arc<dyn Store>,
    job: JobId,
    scope: Option<Arc<Scope>>,
    signals: Option<Receiver<Signal>>,
    after: i64,
    /// Whether the job was ever there.
    seen: bool,
    over: bool,
}

impl Follower {
    async fn next(mut self) -> Option<(Vec<Result<Line>>, Self)> {
        if self.over {
            return None;
        }
        loop {
            match self.look().await {
                // All lines are stored before the end is.
                Ok((lines, true)) if lines.is_empty() => return None,
                Ok((lines, _)) if !lines.is_empty() => return Some((lines.into_iter().map(Ok).collect(), self)),
                // It has ended and was forgotten at once.
                Err(Error::NotFound(_)) if self.seen => return None,
                // A store that is out of reach for a while is no reason to stop.
                Err(error) if !error.is_transient() => {
                    self.over = true;
                    return Some((vec![Err(error)], self));
                }
                _ => self.wait().await,
            }
        }
    }

    /// The next lines, and whether there will be no others.
    async fn look(&mut self) -> Result<(Vec<Line>, bool)> {
        // First whether it has ended, then its lines: in between it may write some.
        let ended = look(&self.store, self.job, self.scope.as_deref()).await?;
        self.seen = true;
        let lines = self.store.lines(self.job, self.after, PORTION).await?;
        self.after = lines.last().map_or(self.after, |line| line.number);
        Ok((lines, ended))
    }

    /// Until there may be new lines.
    async fn wait(&mut self) {
        let heard = async {
            while let Some(signals) = &mut self.signals {
                match signals.recv().await {
                    Ok(Signal::Logged(id) | Signal::Changed(id)) if id == self.job => return,
                    Ok(_) => {}
                    // Ours may have been among those that were missed.
                    Err(RecvError::Lagged(_)) => return,
                    Err(RecvError::Closed) => self.signals = None,
                }
            }
            std::future::pending::<()>().await;
        };
        // Not hearing in time is what looking is for.
        let _ = tokio::time::timeout(LOOK, heard).await;
    }
}
