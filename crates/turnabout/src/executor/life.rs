//! One life of an executor: from a registration in the store until it shuts down or its lease ends. What belongs to
//! a claim belongs to a life; when a life is over all of it is dropped, and the next one begins with nothing.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use jiff::Timestamp;
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::Plan;
use super::finisher::Ending;
use super::hand::{Hand, Held};
use super::health::{Reports, Troubles};
use super::news::News;
use super::numbers::Numbers;
use crate::clock::Clock;
use crate::group::Cap;
use crate::store::Store;
use crate::turn::Here;

/// So many endings wait for the finisher at the most; then slots wait too.
const ENDINGS: usize = 2048;

/// What the loops of one life share.
pub(super) struct Life {
    pub(super) plan: Arc<Plan>,
    pub(super) store: Arc<dyn Store>,
    /// Random, and never used again.
    pub(super) incarnation: Uuid,
    pub(super) hand: Hand,
    /// How many of its slots have a seat.
    pub(super) seated: AtomicUsize,
    /// Held by whoever asks whether a job may start by the rate of its key.
    pub(super) admitting: tokio::sync::Mutex<()>,
    /// Held by whoever stores lines of logs.
    pub(super) log_turn: tokio::sync::Mutex<()>,
    /// The lease has ended, or is about to: everything stops, and nothing counts any longer.
    pub(super) lost: CancellationToken,
    /// Nothing more is taken.
    pub(super) closing: CancellationToken,
    /// Nothing more is taken for now: an operator wants it so.
    pub(super) draining: AtomicBool,
    /// The numbers of our claims.
    pub(super) numbers: Numbers,
    /// The last heartbeat number that was sent.
    pub(super) beat: AtomicI64,
    /// Something may have become ready.
    pub(super) ready: Notify,
    /// A schedule is due.
    pub(super) schedules: Notify,
    /// A hook may be owed.
    pub(super) owed: Notify,
    /// Held by whoever runs hooks.
    pub(super) paying: tokio::sync::Mutex<()>,
    /// A heartbeat is wanted now, to learn who is being cancelled.
    pub(super) beat_now: Notify,
    /// When the next parked job or schedule is due, on this life's watch, in nanoseconds.
    due: AtomicU64,
    pub(super) due_changed: Notify,
    /// Counts how often the claimer found nothing while nothing was in hand.
    pub(super) quiet: watch::Sender<u64>,
    /// Whether the last look found nothing to do.
    pub(super) asleep: AtomicBool,
    /// A job under a cap has ended here: groups that were left out may have their turn again.
    pub(super) cap_freed: AtomicBool,
    /// What slots owe or are owed, until the claimer has the accounts at hand again.
    pub(super) bills: Mutex<Vec<Bill>>,
    endings: mpsc::Sender<Ending>,
    /// Outlives a panic of the finisher.
    pub(super) arrived: tokio::sync::Mutex<mpsc::Receiver<Ending>>,
    /// The store is back: what waits to be written should be tried again at once.
    pub(super) hurry: Notify,
    /// The finisher's task, which outlives this life until its last writes are done.
    writing: Mutex<Option<super::shutdown::AbortOnDrop>>,
    /// What all lives of an executor have in common.
    pub(super) health: Arc<Mutex<Troubles>>,
    /// What the loops of this life say about themselves.
    pub(super) reports: Mutex<Reports>,
    born: (Instant, Timestamp),
}

/// What a job really cost, under fairness by items or time.
pub(super) struct Bill {
    pub(super) held: Arc<Held>,
    /// `None`: it never started.
    pub(super) cost: Option<f64>,
}

impl Life {
    pub(super) fn new(plan: Arc<Plan>, health: Arc<Mutex<Troubles>>) -> Arc<Self> {
        let store = Arc::clone(plan.jobs.store());
        let (endings, arrived) = mpsc::channel(ENDINGS);
        let born = (Instant::now(), store.clock().now());
        let news = News {
            limits: plan.log_limits,
            clock: store.clock().clone(),
            ..News::default()
        };
        Arc::new(Self {
            plan,
            store,
            incarnation: Uuid::new_v4(),
            hand: Hand::new(news),
            seated: AtomicUsize::new(0),
            admitting: tokio::sync::Mutex::default(),
            log_turn: tokio::sync::Mutex::default(),
            lost: CancellationToken::new(),
            closing: CancellationToken::new(),
            draining: AtomicBool::new(false),
            numbers: Numbers::default(),
            beat: AtomicI64::new(0),
            ready: Notify::new(),
            schedules: Notify::new(),
            owed: Notify::new(),
            paying: tokio::sync::Mutex::new(()),
            beat_now: Notify::new(),
            due: AtomicU64::new(u64::MAX),
            due_changed: Notify::new(),
            quiet: watch::Sender::new(0),
            asleep: AtomicBool::new(false),
            cap_freed: AtomicBool::new(false),
            bills: Mutex::default(),
            endings,
            arrived: tokio::sync::Mutex::new(arrived),
            hurry: Notify::new(),
            writing: Mutex::default(),
            health,
            reports: Mutex::default(),
            born,
        })
    }

    /// What takes have to know of the jobs and slots here.
    pub(super) fn here(self: &Arc<Self>) -> Here {
        let slots = self.seated.load(Relaxed);
        let free = slots.saturating_sub(self.hand.running() + self.hand.queued());
        let life = Arc::downgrade(self);
        let held = move |of: &Cap| life.upgrade().map_or(0, |life| life.hand.unended(of));
        let [free, slots] = [free, slots].map(|slots| u32::try_from(slots).unwrap_or(u32::MAX));
        // Where the clock stands still, so does the disk.
        Here::new(held, free, slots).late(matches!(self.store.clock(), Clock::System))
    }

    /// How long this life has lasted, by the clock that counts.
    pub(super) fn watch(&self) -> Duration {
        match self.store.clock() {
            Clock::System => self.born.0.elapsed(),
            Clock::Manual(clock) => crate::clock::until(self.born.1, clock.now()),
        }
    }

    /// Waits until this life has lasted so long.
    pub(super) async fn sleep_until(&self, at: Duration) {
        match self.store.clock() {
            Clock::System => tokio::time::sleep(at.saturating_sub(self.watch())).await,
            // Not by way of a duration: the clock may be moved in between.
            Clock::Manual(clock) => clock.sleep_until(crate::clock::after(self.born.1, at)).await,
        }
    }

    /// A job or a schedule will be due so long from now.
    pub(super) fn due_in(&self, delay: Duration) {
        let at = u64::try_from((self.watch() + delay).as_nanos()).unwrap_or(u64::MAX);
        if self.due.fetch_min(at, Relaxed) > at {
            self.due_changed.notify_one();
        }
    }

    /// Forgets when the next job is due: the caller is about to look.
    pub(super) fn forget_due(&self) {
        self.due.store(u64::MAX, Relaxed);
    }

    /// How long until the next job is due, as far as known.
    pub(super) fn until_due(&self) -> Option<Duration> {
        let at = self.due.load(Relaxed);
        (at != u64::MAX).then(|| Duration::from_nanos(at).saturating_sub(self.watch()))
    }

    /// The finisher goes on after this life has ended, for as long as anyone remembers it.
    pub(super) fn keep_writing(&self, task: tokio::task::JoinHandle<()>) {
        *self.writing.lock().unwrap_or_else(PoisonError::into_inner) = Some(super::shutdown::AbortOnDrop(task));
    }

    /// Nothing more is written, or will ever be.
    pub(super) fn stop_writing(&self) {
        drop(self.writing.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// How many outcomes wait to be written.
    pub(super) fn unwritten(&self) -> usize {
        self.endings.max_capacity() - self.endings.capacity()
    }

    /// Hands what became of a job to the finisher; waits while that is behind.
    pub(super) async fn finish(&self, ending: Ending) {
        ending.held.end();
        // The receiver lives in `self`, so sending cannot fail.
        let _ = self.endings.send(ending).await;
    }

    pub(super) fn bill(&self, bill: Bill) {
        self.bills.lock().unwrap_or_else(PoisonError::into_inner).push(bill);
    }

    /// Runs a loop until it returns. One that panics is begun anew: nothing dies silently.
    pub(super) async fn supervise<F, Fut>(self: Arc<Self>, what: &'static str, run: F)
    where
        F: Fn(Arc<Self>) -> Fut,
        Fut: Future<Output = ()>,
    {
        let mut backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(5));
        while let Err(panic) = AssertUnwindSafe(run(Arc::clone(&self))).catch_unwind().await {
            let message = crate::error::panic_message(&*panic);
            tracing::error!(executor = %self.plan.name, loop_ = what, message, "a loop panicked and is begun anew");
            self.health.lock().unwrap_or_else(PoisonError::into_inner).restarts += 1;
            backoff.wait().await;
        }
    }
}

impl std::fmt::Debug for Life {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Life")
            .field("incarnation", &self.incarnation)
            .finish_non_exhaustive()
    }
}

/// Waits that grow, up to a bound.
pub(super) struct Backoff {
    first: Duration,
    max: Duration,
    next: Duration,
}

impl Backoff {
    pub(super) fn new(first: Duration, max: Duration) -> Self {
        Self {
            first,
            max,
            next: first,
        }
    }

    /// For a store that does not answer.
    pub(super) fn for_store() -> Self {
        Self::new(Duration::from_millis(50), Duration::from_secs(5))
    }

    pub(super) fn reset(&mut self) {
        self.next = self.first;
    }

    /// The next wait; later ones are longer.
    pub(super) fn step(&mut self) -> Duration {
        let step = self.next;
        self.next = (step * 2).min(self.max);
        step
    }

    pub(super) async fn wait(&mut self) {
        tokio::time::sleep(self.step()).await;
    }
}
