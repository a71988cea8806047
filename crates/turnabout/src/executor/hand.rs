//! What an executor has in hand: the jobs it claimed, from the claim until the store knows what became of them.
//!
//! The claimer deals jobs out, the slots draw them, the finisher puts them away. Locks are held for a batch or for
//! one queue operation, never across an await.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::Release};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use foldhash::HashMap;
use jiff::Timestamp;
use tokio::sync::{Notify, Semaphore, watch};
use tokio_util::sync::CancellationToken;

use super::news::News;
use super::start_mark::StartMark;
use crate::group::Cap;
use crate::job::{Claimed, JobId};
use crate::log::{Buffer, JobLog};
use crate::progress::{Progress, Shown};
use crate::store::Report;
use crate::turn::starts::Starts;

/// Why a handler is told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Someone cancelled the job.
    Cancel = 1,
    /// The executor shuts down.
    Shutdown = 2,
    /// The job is no longer ours: whatever becomes of the attempt counts for nothing.
    Lost = 3,
}

/// One job in hand.
pub(crate) struct Held {
    pub(crate) job: Claimed,
    /// Tells the handler to stop.
    pub(crate) token: CancellationToken,
    /// The weight of its group when it was claimed.
    pub(super) weight: u32,
    /// Whether its group or task had a cap then: its end frees a place.
    pub(super) capped: bool,
    stop: AtomicU8,
    /// When its handler began, on the life's watch, in nanoseconds and one more; zero: it has not.
    started: AtomicU64,
    /// The same by the store's clock.
    started_at: OnceLock<Timestamp>,
    /// Whether its handler has ended.
    ended: AtomicBool,
    /// Whether the store knows of its start.
    pub(super) marked: StartMark,
    /// What its group was charged for it so far (the bits of an `f64`).
    charged: AtomicU64,
    /// What its handler tells of itself, if it ever does.
    inside: OnceLock<Box<Inside>>,
    /// What its handler writes, if it ever does.
    log: OnceLock<JobLog>,
}

/// What the handler of a job in hand tells of itself.
struct Inside {
    progress: Progress,
    /// What the store was last told.
    told: Mutex<Option<Shown>>,
    /// Whether it was ever told anything.
    reported: AtomicBool,
}

impl Held {
    pub(super) fn new(job: Claimed, weight: u32, capped: bool) -> Self {
        Self {
            job,
            token: CancellationToken::new(),
            weight,
            capped,
            stop: AtomicU8::new(0),
            started: AtomicU64::new(0),
            started_at: OnceLock::new(),
            ended: AtomicBool::new(false),
            marked: StartMark::default(),
            charged: AtomicU64::new(0),
            inside: OnceLock::new(),
            log: OnceLock::new(),
        }
    }

    /// Its progress. From the first call on, `news` says when there is something to store.
    pub(crate) fn progress(&self, news: &Arc<News>) -> &Progress {
        let inside = self.inside.get_or_init(|| {
            let (token, news) = (self.token.clone(), Arc::clone(news));
            Box::new(Inside {
                progress: Progress::of_job(move || token.is_cancelled(), move || news.progress.store(true, Release)),
                told: Mutex::default(),
                reported: AtomicBool::new(false),
            })
        });
        &inside.progress
    }

    /// Its log.
    pub(crate) fn log(&self, news: &Arc<News>) -> &JobLog {
        self.log.get_or_init(|| {
            JobLog::new(Buffer::new(
                crate::lifecycle::next_attempt(self.job.attempts),
                news.clock.clone(),
                Arc::clone(news),
            ))
        })
    }

    /// Its log, if it has ever been written to.
    pub(super) fn written(&self) -> Option<&JobLog> {
        self.log.get()
    }

    /// Whether lines of its log wait to be stored.
    pub(super) fn has_lines(&self) -> bool {
        self.log.get().is_some_and(|log| !log.buffer().is_empty())
    }

    /// What there is to tell the store, if it has changed since it was last told.
    pub(super) fn report(&self) -> Option<Report> {
        let inside = self.inside.get()?;
        let shown = inside.progress.news()?;
        let mut told = inside.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.as_ref() == Some(&shown) {
            return None;
        }
        *told = Some(shown.clone());
        inside.reported.store(true, Relaxed);
        Some(Report {
            id: self.job.id,
            number: self.job.number,
            percent: shown.percent,
            step: shown.step,
        })
    }

    /// How far its handler came, if it has ever said so.
    pub(super) fn came(&self) -> Option<Shown> {
        self.inside.get().map(|inside| inside.progress.shown())
    }

    /// The store did not hear it.
    pub(super) fn report_again(&self) {
        if let Some(inside) = self.inside.get() {
            *inside.told.lock().unwrap_or_else(PoisonError::into_inner) = None;
            inside.progress.tell_again();
        }
    }

    /// Whether the store was ever told.
    pub(super) fn has_reported(&self) -> bool {
        self.inside.get().is_some_and(|inside| inside.reported.load(Relaxed))
    }

    /// Tells the handler to stop. The first reason stands, but nothing outweighs that the job is lost.
    pub(super) fn stop(&self, why: Stop) {
        if why == Stop::Lost {
            self.stop.store(why as u8, Relaxed);
        } else {
            let _ = self.stop.compare_exchange(0, why as u8, Relaxed, Relaxed);
        }
        self.token.cancel();
    }

    /// The store says that the job is being cancelled, which decides how it ends.
    pub(super) fn note_cancel(&self) {
        self.stop.store(Stop::Cancel as u8, Relaxed);
    }

    pub(super) fn stopped(&self) -> Option<Stop> {
        match self.stop.load(Relaxed) {
            1 => Some(Stop::Cancel),
            2 => Some(Stop::Shutdown),
            3 => Some(Stop::Lost),
            _ => None,
        }
    }

    pub(super) fn begin(&self, at: Duration, moment: Timestamp) {
        let _ = self.started_at.set(moment);
        self.started.store(at.as_nanos() as u64 + 1, Relaxed);
    }

    pub(super) fn started(&self) -> Option<Duration> {
        self.started.load(Relaxed).checked_sub(1).map(Duration::from_nanos)
    }

    /// When its handler began, by the store's clock.
    pub(crate) fn started_at(&self) -> Option<Timestamp> {
        self.started_at.get().copied()
    }

    pub(super) fn end(&self) {
        self.ended.store(true, Relaxed);
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Relaxed)
    }

    pub(super) fn charged(&self) -> f64 {
        f64::from_bits(self.charged.load(Relaxed))
    }

    pub(super) fn charge(&self, total: f64) {
        self.charged.store(total.to_bits(), Relaxed);
    }
}

/// All jobs in hand.
pub(super) struct Hand {
    /// By id, until the store has answered what became of them.
    held: Mutex<HashMap<JobId, Arc<Held>>>,
    /// Claimed and not started, in the order in which they should start.
    queue: Mutex<Starts<Arc<Held>>>,
    /// As many permits as jobs in the queue (or more, where some were taken out again).
    dealt: Semaphore,
    queued: AtomicUsize,
    running: AtomicUsize,
    /// Counts starts, for the rate.
    starts: AtomicU64,
    /// When the queue has become so short, the claimer wants to know.
    pub(super) low_water: AtomicUsize,
    /// A slot has become free, or the queue short.
    pub(super) room: Notify,
    /// A job has started whose start the store does not know.
    pub(super) unmarked: Notify,
    /// How many jobs are held: for those who wait until there are none.
    pub(super) size: watch::Sender<usize>,
    /// A handler has something to tell the store.
    pub(super) news: Arc<News>,
}

impl Hand {
    pub(super) fn new(news: News) -> Self {
        Self {
            held: Mutex::default(),
            queue: Mutex::default(),
            dealt: Semaphore::new(0),
            queued: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
            starts: AtomicU64::new(0),
            low_water: AtomicUsize::new(0),
            room: Notify::new(),
            unmarked: Notify::new(),
            size: watch::Sender::new(0),
            news: Arc::new(news),
        }
    }

    fn held(&self) -> MutexGuard<'_, HashMap<JobId, Arc<Held>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self) -> MutexGuard<'_, Starts<Arc<Held>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Jobs just claimed: they are ours from now on, and start as slots become free.
    pub(super) fn deal(&self, jobs: Vec<Arc<Held>>) {
        let count = jobs.len();
        {
            let mut held = self.held();
            for job in &jobs {
                held.insert(job.job.id, Arc::clone(job));
            }
            self.size.send_replace(held.len());
        }
        {
            let mut queue = self.queue();
            for job in jobs {
                queue.push(&*Arc::clone(&job).job.group, job.weight, job);
            }
        }
        self.queued.fetch_add(count, Relaxed);
        self.dealt.add_permits(count);
    }

    /// A job that does not wait for a slot: it is ours, and starts at once.
    pub(super) fn adopt(&self, job: &Arc<Held>) {
        let mut held = self.held();
        held.insert(job.job.id, Arc::clone(job));
        self.size.send_replace(held.len());
    }

    /// The next job to start; waits for one. `None`: there will be no more.
    pub(super) async fn draw(&self) -> Option<Arc<Held>> {
        loop {
            self.dealt.acquire().await.ok()?.forget();
            let drawn = self.queue().pop();
            if let Some(job) = drawn {
                // Running first, so that a job never seems to be in neither place.
                self.running.fetch_add(1, Relaxed);
                self.queued.fetch_sub(1, Relaxed);
                self.starts.fetch_add(1, Relaxed);
                // Slots that became free while this one still waited for us are not told of otherwise.
                self.tell_of_room();
                return Some(job);
            }
        }
    }

    /// A slot has become free.
    pub(super) fn drop_out(&self) {
        self.running.fetch_sub(1, Relaxed);
        self.tell_of_room();
    }

    fn tell_of_room(&self) {
        if self.queued() <= self.low_water.load(Relaxed) {
            self.room.notify_one();
        }
    }

    /// Takes jobs that have not started out of the queue again, beginning with the last, until `keep` are left.
    pub(super) fn give_back(&self, keep: usize) -> Vec<Arc<Held>> {
        let surplus = self.queue().take_back(keep);
        self.queued.fetch_sub(surplus.len(), Relaxed);
        surplus
    }

    /// Takes one job out of the queue again, if it has not started.
    pub(super) fn pull(&self, id: JobId) -> Option<Arc<Held>> {
        let pulled = self.queue().pull(|held| held.job.id == id)?;
        self.queued.fetch_sub(1, Relaxed);
        Some(pulled)
    }

    /// The slots draw no more.
    pub(super) fn close(&self) {
        self.dealt.close();
    }

    pub(super) fn get(&self, id: JobId) -> Option<Arc<Held>> {
        self.held().get(&id).cloned()
    }

    /// All jobs in hand.
    pub(super) fn all(&self) -> Vec<Arc<Held>> {
        self.held().values().cloned().collect()
    }

    /// How many jobs of a task are in hand and have not ended.
    pub(super) fn unended(&self, of: &Cap) -> u32 {
        let is_of = |held: &Held| match of {
            Cap::Group(group) => held.job.group == *group,
            Cap::Task(task) => held.job.task == *task,
        };
        let held = self.held();
        held.values().filter(|held| is_of(held) && !held.has_ended()).count() as u32
    }

    /// The store knows what became of these: they are no longer ours.
    pub(super) fn put_away<'a>(&self, jobs: impl IntoIterator<Item = &'a Arc<Held>>) {
        let mut held = self.held();
        for job in jobs {
            // The same job may have come back by a later claim.
            if held.get(&job.job.id).is_some_and(|h| h.job.number == job.job.number) {
                held.remove(&job.job.id);
            }
        }
        self.size.send_replace(held.len());
    }

    pub(super) fn queued(&self) -> usize {
        self.queued.load(Relaxed)
    }

    pub(super) fn running(&self) -> usize {
        self.running.load(Relaxed)
    }

    pub(super) fn starts(&self) -> u64 {
        self.starts.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Lane, Meta, Priority};

    fn held(task: &str) -> Arc<Held> {
        let job = Claimed {
            id: JobId::new(),
            number: 1,
            task: task.to_owned(),
            group: "acme".to_owned(),
            owner: None,
            priority: Priority::Normal,
            lane: Lane::Normal,
            seq: 1,
            args: "null".to_owned(),
            prepared: false,
            items: 1,
            meta: Meta::new(),
            parent: None,
            submitted: jiff::Timestamp::UNIX_EPOCH,
            attempts: 0,
            interruptions: 0,
            losses: 0,
        };
        Arc::new(Held::new(job, 1, false))
    }

    #[tokio::test]
    async fn jobs_are_drawn_in_the_order_dealt_and_the_surplus_goes_back() {
        let hand = Hand::new(News::default());
        let jobs: Vec<_> = (0..4).map(|_| held("mail")).collect();
        hand.deal(jobs.clone());
        let first = hand.draw().await.expect("there are jobs");
        assert_eq!(first.job.id, jobs[0].job.id);
        let back = hand.give_back(1);
        assert_eq!(
            back.iter().map(|h| h.job.id).collect::<Vec<_>>(),
            [jobs[2].job.id, jobs[3].job.id]
        );
        assert_eq!((hand.queued(), hand.running(), *hand.size.borrow()), (1, 1, 4));
        assert!(hand.pull(jobs[1].job.id).is_some());
        hand.put_away(&jobs);
        assert_eq!((hand.queued(), *hand.size.borrow()), (0, 0));
        hand.close();
        assert!(hand.draw().await.is_none());
    }

    #[test]
    fn a_lost_job_stays_lost() {
        let job = held("mail");
        job.stop(Stop::Shutdown);
        job.stop(Stop::Cancel);
        assert_eq!(job.stopped(), Some(Stop::Shutdown));
        job.stop(Stop::Lost);
        assert_eq!(job.stopped(), Some(Stop::Lost));
        assert!(job.token.is_cancelled());
    }
}
