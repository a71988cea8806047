//! PURE: how far work has come. A tree of parts, each with a total of its own, whose sum is one exact ratio.
//!
//! Reporting is a few atomic operations, however often it happens; the percentage is worked out when somebody looks.
//! It is rounded down and never goes back. Inside a job, reporting also says when the handler should stop, and 100 is
//! kept for its success. Outside, a progress is just a number that grows.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use Ordering::Relaxed;

use crate::job::State;

mod observe;
mod ratio;
#[cfg(test)]
mod tests;
mod track;

pub use track::{Track, TrackStream};

use observe::Observers;
use ratio::Ratio;

/// The total of a job's own progress, until its handler says otherwise: parts are then shares of a hundred.
const WHOLE: u64 = 100;
/// The most that a running job shows.
const MOST_RUNNING: u8 = 99;
/// A step's text is no longer, in bytes.
const MAX_STEP: usize = 200;

/// How far some work has come. Cheap to clone; all clones are the same progress.
///
/// ```
/// use turnabout::Progress;
///
/// # fn main() -> Result<(), turnabout::progress::Cancelled> {
/// let progress = Progress::new(100);
/// let reading = progress.child(30, 3); // three pages, 30 of the 100
/// reading.increment(1)?;
/// assert_eq!(progress.percent(), 10);
/// for word in progress.track(70, ["to", "be", "or", "not"]) {
///     let _word = word?; // an error inside a job that has to stop
///     progress.step("counting words")?;
/// }
/// assert_eq!(progress.percent(), 80);
/// # Ok(()) }
/// ```
///
/// In a handler, [`Context::progress`](crate::Context::progress) is the job's own. Code that reports to a progress does not
/// need to know whether there is a job.
#[derive(Clone)]
pub struct Progress {
    node: Arc<Node>,
}

/// The handler should stop: its job is being cancelled, its time is up, or its executor shuts down. Handlers pass it on
/// with `?`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the handler was told to stop")]
pub struct Cancelled;

/// How far a job in this state is, if its handler has reported this much.
pub(crate) fn percent_of(state: State, reported: Option<u8>) -> u8 {
    match state {
        State::Success => 100,
        _ => reported.unwrap_or(0),
    }
}

/// What is shown of a progress.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Shown {
    /// How far it is: whole percent, rounded down.
    pub percent: u8,
    /// What is being done at present.
    pub step: Option<String>,
}

/// One part of the tree.
struct Node {
    total: AtomicU64,
    /// What was reported here, not counting the parts below.
    done: AtomicU64,
    below: Mutex<Below>,
    above: Option<Above>,
    whole: Arc<Whole>,
}

/// Where a part belongs.
struct Above {
    node: Arc<Node>,
    share: u64,
    key: u64,
}

/// The parts of a part: those that still grow, and what is left of those that do not.
#[derive(Default)]
struct Below {
    live: BTreeMap<u64, Weak<Node>>,
    settled: Ratio,
    next_key: u64,
}

/// What all parts of one tree share.
struct Whole {
    /// The highest percentage that anyone has seen.
    shown: AtomicU8,
    most: u8,
    step: Mutex<Option<String>>,
    /// Something has been reported since the last look of the executor.
    dirty: AtomicBool,
    observers: Observers,
    job: Option<Link>,
}

/// What a progress needs of its job.
struct Link {
    /// Whether the handler should stop.
    halted: Box<dyn Fn() -> bool + Send + Sync>,
    /// Something is to be stored.
    reported: Box<dyn Fn() + Send + Sync>,
}

impl Progress {
    /// A progress that is no job's, of work with so many parts.
    pub fn new(total: u64) -> Self {
        Self::root(total, 100, None)
    }

    /// A job's progress.
    pub(crate) fn of_job(
        halted: impl Fn() -> bool + Send + Sync + 'static,
        reported: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let link = Link {
            halted: Box::new(halted),
            reported: Box::new(reported),
        };
        Self::root(WHOLE, MOST_RUNNING, Some(link))
    }

    fn root(total: u64, most: u8, job: Option<Link>) -> Self {
        let whole = Whole {
            shown: AtomicU8::new(0),
            most,
            step: Mutex::default(),
            dirty: AtomicBool::new(false),
            observers: Observers::default(),
            job,
        };
        Self {
            node: Arc::new(Node::new(total, None, Arc::new(whole))),
        }
    }

    /// How much there is to do.
    pub fn total(&self) -> u64 {
        self.node.total.load(Relaxed)
    }

    /// Says how much there is to do, once that is known. What is shown does not go back even if it is more than
    /// expected.
    pub fn set_total(&self, total: u64) {
        self.node.total.store(total, Relaxed);
        self.touch();
    }

    /// So much more is done. What is past the total does not count.
    pub fn increment(&self, by: u64) -> Result<(), Cancelled> {
        let add = |done: u64| Some(done.saturating_add(by));
        let _ = self.node.done.fetch_update(Relaxed, Relaxed, add);
        self.touch();
        self.check()
    }

    /// So much is done, counted from the beginning and without the parts that children stand for. Less than before
    /// changes nothing.
    pub fn set(&self, done: u64) -> Result<(), Cancelled> {
        self.node.done.fetch_max(done, Relaxed);
        self.touch();
        self.check()
    }

    /// Says what is being done at present, in a few words for people.
    pub fn step(&self, text: impl Into<String>) -> Result<(), Cancelled> {
        let text = short(text.into());
        {
            let mut step = self.whole().step();
            if step.as_deref() == Some(text.as_str()) {
                return self.check();
            }
            *step = Some(text);
        }
        self.touch();
        self.check()
    }

    /// Whether the handler should stop. Never an error where there is no job.
    pub fn check(&self) -> Result<(), Cancelled> {
        match &self.whole().job {
            Some(link) if (link.halted)() => Err(Cancelled),
            _ => Ok(()),
        }
    }

    /// A part of this progress: it stands for `share` of this one's total, and has a total of its own. With a total of
    /// 0 there is nothing to do, and the share is done.
    pub fn child(&self, share: u64, total: u64) -> Self {
        let node = {
            let mut below = self.node.below();
            below.next_key += 1;
            let key = below.next_key;
            let above = Above {
                node: Arc::clone(&self.node),
                share,
                key,
            };
            let node = Arc::new(Node::new(total, Some(above), Arc::clone(&self.node.whole)));
            below.live.insert(key, Arc::downgrade(&node));
            node
        };
        let child = Self { node };
        if total == 0 {
            child.touch();
        }
        child
    }

    /// The same items, as `share` of this progress: each counts when the next one is asked for. An item is an error
    /// where the handler should stop.
    pub fn track<I>(&self, share: u64, items: I) -> Track<I::IntoIter>
    where
        I: IntoIterator,
        I::IntoIter: ExactSizeIterator,
    {
        let items = items.into_iter();
        Track::new(self.child(share, items.len() as u64), items)
    }

    /// As [`Progress::track`] for a stream of `total` items.
    pub fn track_stream<S>(&self, share: u64, total: u64, items: S) -> TrackStream<S> {
        TrackStream::new(self.child(share, total), items)
    }

    /// How far the whole is (and not only this part of it), in percent: rounded down, never less than before, and for a
    /// job that runs 99 at the most.
    pub fn percent(&self) -> u8 {
        let mut top = &self.node;
        while let Some(above) = &top.above {
            top = &above.node;
        }
        let whole = self.whole();
        let percent = top.part().percent().min(whole.most);
        whole.shown.fetch_max(percent, Relaxed).max(percent)
    }

    /// What is shown of the whole.
    pub fn shown(&self) -> Shown {
        Shown {
            percent: self.percent(),
            step: self.whole().step().clone(),
        }
    }

    /// Calls `observer` with what is shown, whenever that changes: from the thread that reports, one call after the
    /// other.
    pub fn observe(&self, observer: impl Fn(&Shown) + Send + Sync + 'static) {
        self.whole().observers.add(observer);
    }

    /// What is shown, if anything was reported since the last call.
    pub(crate) fn news(&self) -> Option<Shown> {
        self.whole().dirty.swap(false, Ordering::AcqRel).then(|| self.shown())
    }

    /// What was last seen is not known after all.
    pub(crate) fn tell_again(&self) {
        self.whole().dirty.store(false, Ordering::Release);
        self.touch();
    }

    fn whole(&self) -> &Whole {
        &self.node.whole
    }

    /// Tells those who want to know that something was reported.
    fn touch(&self) {
        let whole = self.whole();
        if let Some(link) = &whole.job
            && !whole.dirty.load(Relaxed)
            && !whole.dirty.swap(true, Ordering::AcqRel)
        {
            (link.reported)();
        }
        whole.observers.tell(|| self.shown());
    }
}

impl Node {
    fn new(total: u64, above: Option<Above>, whole: Arc<Whole>) -> Self {
        Self {
            total: AtomicU64::new(total),
            done: AtomicU64::new(0),
            below: Mutex::default(),
            above,
            whole,
        }
    }

    fn below(&self) -> MutexGuard<'_, Below> {
        self.below.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How much of this part is done: from 0 to 1, exactly.
    fn part(&self) -> Ratio {
        let total = self.total.load(Relaxed);
        if total == 0 {
            return Ratio::ONE;
        }
        let (settled, live) = {
            let below = self.below();
            let live: Vec<Arc<Self>> = below.live.values().filter_map(Weak::upgrade).collect();
            (below.settled, live)
        };
        // Without the lock: one of these may have become the last handle on its part, which then settles here.
        let own = Ratio::whole(self.done.load(Relaxed));
        live.iter()
            .fold(own.plus(settled), |sum, node| sum.plus(node.worth()))
            .over(total)
    }

    /// What this part is worth to the one above.
    fn worth(&self) -> Ratio {
        let share = self.above.as_ref().map_or(0, |above| above.share);
        self.part().times(share)
    }
}

/// A part that nobody can report to any longer stays at what it is.
impl Drop for Node {
    fn drop(&mut self) {
        let worth = self.worth();
        if let Some(above) = &self.above {
            let mut below = above.node.below();
            below.live.remove(&above.key);
            below.settled = below.settled.plus(worth);
        }
    }
}

impl Whole {
    fn step(&self) -> MutexGuard<'_, Option<String>> {
        self.step.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A text that every store and every list of jobs has room for.
fn short(mut text: String) -> String {
    if text.len() > MAX_STEP {
        text.truncate(text.floor_char_boundary(MAX_STEP));
    }
    if text.contains('\0') {
        text = text.replace('\0', "\u{fffd}");
    }
    text
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress")
            .field("total", &self.total())
            .field("shown", &self.shown())
            .finish_non_exhaustive()
    }
}
