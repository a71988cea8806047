//! Looks at the store now and then, and remembers: the last hour as points, and who had which share of the slots.
//!
//! While somebody asks, once a second; otherwise every ten seconds. A look that takes long is not repeated soon: looking
//! costs the store at most one part in fifty of its time. Nothing that a look asks for depends on the length of a backlog.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::Mutex;
use turnabout::job::Lane;
use turnabout::shares::{Look, Shares};
use turnabout::store::insight::Head;
use turnabout::store::overview::{Member, Whose};
use turnabout::{Jobs, State};

use super::state::App;
use super::types::Point;

/// A point of the last hour.
pub(super) const STEP: Duration = Duration::from_secs(10);
const POINTS: usize = 360;
/// How often to look while somebody asks, ..
const PACE: Duration = Duration::from_secs(1);
/// .. which is so long after the last question.
const ASKING: Duration = Duration::from_secs(30);
/// A look that took long is followed by so many times as long in which nobody looks, but no longer than a point lasts.
const SPARING: u32 = 50;
/// So many streams of ready jobs are looked at.
const HEADS: u32 = 10_000;
/// So many of the jobs that have ended tell how long they waited.
const ENDED: u32 = 2_000;
/// Ready jobs are counted up to here.
pub(super) const COUNTED: u32 = 10_000;
/// What ends is committed a moment later.
const LAG: Duration = Duration::from_millis(250);
/// The first look goes back so far.
const FIRST: Duration = Duration::from_mins(1);

/// What was seen.
pub(super) struct Sampler {
    begun: Instant,
    seen: Mutex<Seen>,
    asked: std::sync::Mutex<Option<Instant>>,
}

/// Queue, group, lane and task.
type Stream = (String, String, Lane, String);

fn stream(head: &Head) -> Stream {
    (head.queue.clone(), head.group.clone(), head.lane, head.task.clone())
}

/// What was seen.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) shares: Shares,
    pub(super) points: VecDeque<Point>,
    /// The streams of ready jobs at the last look.
    pub(super) heads: Vec<Head>,
    pub(super) executors: Vec<Member>,
    /// Before when a stream that holds ready jobs was last seen without any. Not: it never was.
    empty: HashMap<Stream, Timestamp>,
    /// Which queues hold ready jobs of a group.
    pub(super) queues: HashMap<String, Vec<String>>,
    /// Up to when it is known what has ended.
    until: Option<Timestamp>,
    /// When someone last looked, and how long that took.
    last: Option<(Instant, Duration)>,
    pointed: Option<Instant>,
    held: u64,
    started: u64,
    ended: u64,
    failed: u64,
}

impl Default for Sampler {
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            seen: Mutex::default(),
            asked: std::sync::Mutex::default(),
        }
    }
}

fn sparing(took: Duration) -> Duration {
    (took * SPARING).min(STEP)
}

impl Sampler {
    /// What is known now, for somebody who asks: not older than a second, unless looking takes long.
    pub(super) async fn now(&self, jobs: &Jobs) -> turnabout::Result<tokio::sync::MutexGuard<'_, Seen>> {
        if let Ok(mut asked) = self.asked.lock() {
            *asked = Some(Instant::now());
        }
        let mut seen = self.seen.lock().await;
        if seen
            .last
            .is_none_or(|(at, took)| at.elapsed() >= PACE.max(sparing(took)))
        {
            seen.look(jobs, self.begun.elapsed()).await?;
        }
        Ok(seen)
    }

    /// What was seen at the last look, which was not long ago. Does not look more often because of that.
    pub(super) async fn lately(&self, jobs: &Jobs) -> turnabout::Result<tokio::sync::MutexGuard<'_, Seen>> {
        let mut seen = self.seen.lock().await;
        if seen.last.is_none_or(|(at, _)| at.elapsed() >= STEP * 2) {
            seen.look(jobs, self.begun.elapsed()).await?;
        }
        Ok(seen)
    }

    /// Whether no executor knew a task when someone last looked. Not, if nobody has looked yet, or if somebody does just now.
    pub(super) fn is_unknown(&self, task: &str) -> bool {
        let Ok(seen) = self.seen.try_lock() else { return false };
        let knows = |member: &Member| member.info.tasks.iter().any(|known| known == task);
        seen.last.is_some() && !seen.executors.is_empty() && !seen.executors.iter().any(knows)
    }

    /// For as long as the server runs.
    pub(super) async fn run(app: App) {
        let mut troubled = false;
        loop {
            let wait = match app.sampler.look(&app.jobs).await {
                Ok(took) => {
                    troubled = false;
                    app.sampler.pace().max(sparing(took))
                }
                Err(error) => {
                    if !troubled {
                        tracing::warn!(error = %error.chain(), "cannot look at the shares of groups");
                    }
                    troubled = true;
                    STEP
                }
            };
            tokio::select! {
                () = app.ending.cancelled() => return,
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    async fn look(&self, jobs: &Jobs) -> turnabout::Result<Duration> {
        let mut seen = self.seen.lock().await;
        seen.look(jobs, self.begun.elapsed()).await?;
        Ok(seen.last.map(|(_, took)| took).unwrap_or_default())
    }

    fn pace(&self) -> Duration {
        let asked = self.asked.lock().ok().and_then(|asked| *asked);
        if asked.is_some_and(|asked| asked.elapsed() < ASKING) {
            PACE
        } else {
            STEP
        }
    }
}

impl Seen {
    async fn look(&mut self, jobs: &Jobs, at: Duration) -> turnabout::Result<()> {
        let begin = Instant::now();
        let insight = jobs.insight();
        let now = insight.moment();
        let until = now.checked_sub(LAG).unwrap_or(now);
        let first = self.until.is_none();
        let from = self.until.or_else(|| until.checked_sub(FIRST).ok()).unwrap_or(until);
        let (mut executors, mut held, mut heads, mut ended, settings) = tokio::try_join!(
            jobs.executors(),
            insight.held(),
            insight.heads(HEADS),
            insight.ended(from, until.max(from), ENDED),
            jobs.settings(),
        )?;
        // Messages of webhooks have slots of their own, which are nobody's share.
        let full = ended.len() >= ENDED as usize;
        executors.retain(|member| !member.info.queues.iter().all(|queue| is_own(queue)));
        held.retain(|held| !is_own(&held.queue));
        heads.retain(|head| !is_own(&head.queue));
        ended.retain(|job| !is_own(&job.task));
        let mut ended_jobs = ended.len() as u64;
        let mut failed = ended.iter().filter(|job| job.state == State::Failed).count() as u64;
        if full {
            let window = Duration::try_from(now.duration_since(from)).unwrap_or_default();
            let tally = jobs.tally(&Whose::default(), window).await?;
            ended_jobs = tally.success + tally.failed + tally.cancelled;
            failed = tally.failed;
        }
        if first {
            // That was before anyone looked.
            (ended_jobs, failed) = (0, 0);
        }
        self.shares.observe(&Look {
            at,
            executors: &executors,
            held: &held,
            heads: &heads,
            ended: &ended,
            ended_jobs,
            settings: &settings,
            now,
        });
        let running: u64 = held.iter().map(|held| held.jobs).sum();
        let before = if first { running } else { self.held };
        self.started += (ended_jobs + running).saturating_sub(before);
        self.ended += ended_jobs;
        self.failed += failed;
        self.held = running;
        self.until = Some(until.max(from));
        self.note_empty(&heads, from);
        self.queues.clear();
        for head in &heads {
            let queues = self.queues.entry(head.group.clone()).or_default();
            if queues.last() != Some(&head.queue) {
                queues.push(head.queue.clone());
            }
        }
        self.heads = heads;
        self.executors = executors;
        if self.pointed.is_none_or(|pointed| pointed.elapsed() + PACE / 2 >= STEP) {
            self.point(jobs, now).await?;
        }
        // The first look pays for connections and plans: it says nothing about what the next will cost.
        let took = if first { Duration::ZERO } else { begin.elapsed() };
        self.last = Some((Instant::now(), took));
        Ok(())
    }

    /// Remembers which streams had no ready jobs at the look before, which was then.
    fn note_empty(&mut self, heads: &[Head], then: Timestamp) {
        if self.last.is_none() {
            return;
        }
        let before: HashSet<Stream> = self.heads.iter().map(stream).collect();
        let mut empty = HashMap::new();
        for head in heads {
            let stream = stream(head);
            let since = if before.contains(&stream) {
                self.empty.get(&stream).copied()
            } else {
                Some(then)
            };
            empty.extend(since.map(|since| (stream, since)));
        }
        self.empty = empty;
    }

    /// For how long the first job of a stream has been ready, at the most: not since before its submit, and not since the
    /// stream was seen to be empty. (One that was delayed became ready later than it was submitted.)
    pub(super) fn ready_for(&self, head: &Head) -> Duration {
        let since = self
            .empty
            .get(&stream(head))
            .map_or(head.submitted, |empty| head.submitted.max(*empty));
        let now = self.until.unwrap_or(since);
        Duration::try_from(now.duration_since(since)).unwrap_or_default()
    }

    /// Adds a point to the last hour.
    async fn point(&mut self, jobs: &Jobs, at: Timestamp) -> turnabout::Result<()> {
        let backlog = jobs.insight().backlog(COUNTED).await?;
        self.points.push_back(Point {
            at,
            ready: backlog.ready,
            running: self.held,
            slots: self.shares.report(1).slots.into(),
            started: std::mem::take(&mut self.started),
            ended: std::mem::take(&mut self.ended),
            failed: std::mem::take(&mut self.failed),
        });
        while self.points.len() > POINTS {
            self.points.pop_front();
        }
        self.pointed = Some(Instant::now());
        Ok(())
    }
}

/// Whether a queue is one of the server's own, for its webhooks; and whether a task is.
pub(super) fn is_own(queue: &str) -> bool {
    queue.starts_with(super::WEBHOOK_TASK)
}

/// Begins to look.
pub(super) fn start(app: &App) {
    tokio::spawn(Sampler::run(Arc::clone(app)));
}
