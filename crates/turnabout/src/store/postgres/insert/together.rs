//! Small submits share commits: those that arrive in the same moment, or while another is being stored, are stored together
//! by the next commit. A lone caller waits for nobody.
//!
//! Whoever stores holds the *lead*, and tells the executors of this process before anyone else (`plain.rs`). A caller who
//! finds it free, and is alone, stores its own jobs with it, and nothing but those; should it be dropped, a task sees that
//! through. Otherwise the lead goes to a task which belongs to no caller, so that no caller's end touches another. There
//! is one lead: with two, half as many callers shared each commit, and fewer jobs were stored a second.

use std::collections::{HashSet, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{self, Poll};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use uuid::Uuid;

use super::super::PostgresStore;
use crate::error::{Error, Result};
use crate::store::NewJob;

/// So many callers wait for the next commits; more than that wait for a place.
const WAITING: usize = 1000;
/// So many jobs share a commit at the most ..
const JOBS: usize = 500;
/// .. and about so many bytes of arguments.
const BYTES: usize = 256 << 10;

/// Submits on their way.
pub(in crate::store::postgres) struct Together {
    state: Mutex<State>,
    room: Arc<Semaphore>,
}

#[derive(Default)]
struct State {
    /// Whether someone holds the lead.
    taken: bool,
    waiting: VecDeque<Waiting>,
}

/// If some were left out: a caller's jobs, and which of all were stored.
type Answer = Option<(Vec<NewJob>, Arc<HashSet<Uuid>>)>;

/// What a caller wants stored, all or none (but for those that come under limits).
struct Waiting {
    jobs: Vec<NewJob>,
    answer: oneshot::Sender<Result<Answer>>,
    _room: OwnedSemaphorePermit,
}

impl Default for Together {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            room: Arc::new(Semaphore::new(WAITING)),
        }
    }
}

impl Together {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many callers wait.
    #[cfg(test)]
    pub(in crate::store::postgres) fn waiting(&self) -> usize {
        self.state().waiting.len()
    }

    fn anyone(&self) -> bool {
        !self.state().waiting.is_empty()
    }

    /// A caller waits from now on. Says whether the lead was free, and is now the caller's to pass on.
    fn line_up(&self, jobs: Vec<NewJob>, room: OwnedSemaphorePermit) -> (oneshot::Receiver<Result<Answer>>, bool) {
        let (sender, answer) = oneshot::channel();
        let mut state = self.state();
        state.waiting.push_back(Waiting {
            jobs,
            answer: sender,
            _room: room,
        });
        (answer, !std::mem::replace(&mut state.taken, true))
    }

    /// Those who are stored by the next commit. Whoever waits no longer is left out.
    fn next(&self) -> Vec<Waiting> {
        let mut state = self.state();
        let mut next: Vec<Waiting> = Vec::new();
        let (mut jobs, mut bytes) = (0, 0);
        while let Some(first) = state.waiting.front() {
            jobs += first.jobs.len();
            bytes += size(&first.jobs);
            if !next.is_empty() && (jobs > JOBS || bytes > BYTES) {
                break;
            }
            next.extend(state.waiting.pop_front().filter(|w| !w.answer.is_closed()));
        }
        next
    }
}

/// Bytes of arguments.
fn size(jobs: &[NewJob]) -> usize {
    jobs.iter().map(|job| job.args.len()).sum()
}

/// Whether these are few enough to share a commit with others.
pub(super) fn are_few(jobs: &[NewJob]) -> bool {
    jobs.len() <= JOBS / 10 && size(jobs) <= BYTES / 4
}

/// The right to store. Passed on when dropped.
struct Lead {
    store: Arc<PostgresStore>,
    /// Whether whoever was given it has begun.
    begun: bool,
}

impl Lead {
    /// Takes it, if nobody has it.
    fn take(store: Arc<PostgresStore>) -> Option<Self> {
        let taken = std::mem::replace(&mut store.together.state().taken, true);
        // Not made in vain: it is passed on when dropped.
        (!taken).then(|| Self { store, begun: true })
    }

    /// Gives it to a new task. A runtime that shuts down drops that, and the lead, at once.
    fn pass(store: Arc<PostgresStore>) {
        let lead = Self { store, begun: false };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(store_waiting(lead));
        }
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        let mut state = self.store.together.state();
        if self.begun && !state.waiting.is_empty() {
            drop(state);
            Self::pass(Arc::clone(&self.store));
        } else {
            state.taken = false;
            // If there are any, there is nobody to store them: they are told so.
            state.waiting.clear();
        }
    }
}

/// Something that cannot be recalled once it is sent. If its caller is dropped, it is seen through by a task, unless the
/// runtime shuts down.
struct SeenThrough<F: Future<Output: Send> + Send + 'static>(Option<Pin<Box<F>>>);

impl<F: Future<Output: Send> + Send + 'static> Future for SeenThrough<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<F::Output> {
        let Some(future) = &mut self.0 else {
            return Poll::Pending; // It has ended: nobody asks.
        };
        let end = future.as_mut().poll(cx);
        if end.is_ready() {
            self.0 = None;
        }
        end
    }
}

impl<F: Future<Output: Send> + Send + 'static> Drop for SeenThrough<F> {
    fn drop(&mut self) {
        if let (Some(future), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(future);
        }
    }
}

impl PostgresStore {
    /// Stores a few plain jobs, all or none, but for those that come under a limit.
    pub(super) async fn insert_together(&self, jobs: Vec<NewJob>) -> Result<Answer> {
        let answer = if let Some(lead) = self.me.upgrade().and_then(Lead::take) {
            // Whoever calls in the same moment shares this commit, instead of waiting for it and then for another.
            tokio::task::yield_now().await;
            // Not awaited: those who have all the room wait for the lead.
            let room = Arc::clone(&self.together.room).try_acquire_owned();
            let Some(room) = room.ok().filter(|_| self.together.anyone()) else {
                let storing = async move {
                    let stored = lead.store.insert_plain(&[&jobs]).await?;
                    Ok(stored.map(|stored| (jobs, Arc::new(stored))))
                };
                return SeenThrough(Some(Box::pin(storing))).await;
            };
            // Dropped after that, the lead goes to a task that finds us there.
            self.together.line_up(jobs, room).0
        } else {
            let room = Arc::clone(&self.together.room).acquire_owned().await;
            // It is never closed.
            let room = room.map_err(|_| unanswered())?;
            let (answer, free) = self.together.line_up(jobs, room);
            if free && let Some(store) = self.me.upgrade() {
                Lead::pass(store);
            }
            answer
        };
        answer.await.unwrap_or_else(|_| Err(unanswered()))
    }
}

/// Stores those who wait, until nobody does.
async fn store_waiting(mut lead: Lead) {
    lead.begun = true;
    loop {
        let waiting = lead.store.together.next();
        if waiting.is_empty() {
            return;
        }
        store(&lead.store, waiting).await;
        // Those who have just been answered may have more: let them come in first.
        tokio::task::yield_now().await;
    }
}

async fn store(store: &PostgresStore, waiting: Vec<Waiting>) {
    let calls: Vec<&[NewJob]> = waiting.iter().map(|w| w.jobs.as_slice()).collect();
    match store.insert_plain(&calls).await {
        Ok(stored) => {
            let stored = stored.map(Arc::new);
            for w in waiting {
                answer(w, Ok(stored.clone()));
            }
        }
        // Something about one of them; the others must not suffer for it.
        Err(error) if waiting.len() > 1 && !error.is_transient() => {
            for w in waiting {
                let alone = store.insert_plain(&[&w.jobs]).await;
                answer(w, alone.map(|stored| stored.map(Arc::new)));
            }
        }
        Err(error) => {
            let error = Arc::new(error);
            for w in waiting {
                answer(w, Err(Error::shared("submitting", &error)));
            }
        }
    }
}

fn answer(waiting: Waiting, stored: Result<Option<Arc<HashSet<Uuid>>>>) {
    let concerned = |stored: &Arc<HashSet<Uuid>>| waiting.jobs.iter().any(|job| !stored.contains(&job.id.0));
    let stored = stored.map(|stored| stored.filter(concerned));
    // A caller that waits no longer has lost its answer, as with any other call.
    let _ = waiting
        .answer
        .send(stored.map(|stored| stored.map(|stored| (waiting.jobs, stored))));
}

fn unanswered() -> Error {
    Error::Store {
        doing: "submitting",
        cause: "the program is shutting down; the job may have been stored nevertheless".into(),
        transient: true,
    }
}
