//! Following one job: states, not a log. Changes that come in quick succession may be seen as one; the last is never
//! missed.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream::{self, BoxStream, Stream, StreamExt};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::scope::Scope;
use crate::error::{Error, Result};
use crate::job::{Job, JobId, State};
use crate::store::{Signal, Store};

/// Signals of other processes may not reach us, so we look as well: soon at first, then less often.
const FIRST_LOOK: Duration = Duration::from_millis(100);
const LATER_LOOKS: Duration = Duration::from_secs(1);
/// How far a job is, other processes do not announce at all.
const LOOKS_AT_PROGRESS: Duration = Duration::from_millis(250);

/// What a job becomes, from what it is now to its end. Ends after the job's final state, or after an error.
pub struct Watch {
    changes: BoxStream<'static, Result<Job>>,
}

impl Watch {
    pub(super) fn new(store: Arc<dyn Store>, id: JobId, scope: Option<Arc<Scope>>) -> Self {
        // Listening begins before the first look, so that no change falls between the two.
        let signals = store.signals();
        let watcher = Watcher {
            store,
            id,
            scope,
            signals: Some(signals),
            last: None,
            near: false,
            ended: false,
        };
        Self {
            changes: stream::unfold(watcher, Watcher::next).boxed(),
        }
    }

    /// The next change.
    pub async fn next(&mut self) -> Option<Result<Job>> {
        self.changes.next().await
    }

    /// Waits for the job's end.
    pub async fn ended(mut self) -> Result<Job> {
        loop {
            match self.next().await {
                Some(Ok(job)) if job.state.is_final() => return Ok(job),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error),
                None => {
                    return Err(Error::Store {
                        doing: "watching a job",
                        cause: "the changes ended before the job did".into(),
                        transient: false,
                    });
                }
            }
        }
    }
}

impl Stream for Watch {
    type Item = Result<Job>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.changes.poll_next_unpin(cx)
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

struct Watcher {
    store: Arc<dyn Store>,
    id: JobId,
    /// Whose jobs are seen.
    scope: Option<Arc<Scope>>,
    signals: Option<Receiver<Signal>>,
    last: Option<Job>,
    /// Whether we hear of the job: its executor is in this process.
    near: bool,
    ended: bool,
}

impl Watcher {
    async fn next(mut self) -> Option<(Result<Job>, Self)> {
        if self.ended {
            return None;
        }
        let mut timeout = FIRST_LOOK;
        let mut heard = self.last.is_some() && self.wait(timeout).await;
        loop {
            let found = self.store.get(&[self.id]).await.map(|mut jobs| jobs.pop());
            match found.map(|job| job.filter(|job| self.scope.as_ref().is_none_or(|scope| scope.holds(job)))) {
                Ok(Some(job)) if self.last.as_ref() == Some(&job) => {}
                Ok(Some(job)) => {
                    self.ended = job.state.is_final();
                    self.near = (self.near || heard && !job.cancelling) && job.state == State::Running;
                    self.last = Some(job.clone());
                    return Some((Ok(job), self));
                }
                // A store that is out of reach for a while is no reason to stop watching.
                Err(error) if error.is_transient() => {}
                Ok(None) => return Some((Err(Error::NotFound(self.id)), self.over())),
                Err(error) => return Some((Err(error), self.over())),
            }
            heard = self.wait(timeout).await;
            let far = !self.near && self.last.as_ref().is_some_and(|job| job.state == State::Running);
            let most = if far { LOOKS_AT_PROGRESS } else { LATER_LOOKS };
            timeout = (timeout * 2).min(most);
        }
    }

    fn over(mut self) -> Self {
        self.ended = true;
        self
    }

    /// Until the job may have changed. Says whether we heard so.
    async fn wait(&mut self, timeout: Duration) -> bool {
        let heard = async {
            while let Some(signals) = &mut self.signals {
                match signals.recv().await {
                    Ok(Signal::Changed(id)) if id == self.id => return true,
                    Ok(_) => {}
                    // Ours may have been among those that were missed.
                    Err(RecvError::Lagged(_)) => return false,
                    Err(RecvError::Closed) => self.signals = None,
                }
            }
            std::future::pending().await
        };
        // Not hearing in time is what looking is for.
        tokio::time::timeout(timeout, heard).await.unwrap_or(false)
    }
}
