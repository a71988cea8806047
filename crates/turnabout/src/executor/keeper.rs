//! The keeper: keeps the lease alive, compares what the store sees in our hands with what we have, and notices who
//! of the others has fallen silent. It also hears the store's signals and passes them on.
//!
//! It beats on a thread of its own. Everything that may wait for the executor's other loops, or for connections that they
//! share, is done at home, on their runtime: should that be kept busy by handlers that never yield, the lease is kept
//! nevertheless.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;
use uuid::Uuid;

use super::hand::{Held, Stop};
use super::life::{Backoff, Life};
use super::numbers::Answered;
use super::shutdown::AbortOnDrop;
use crate::error::{Error, Result};
use crate::job::{Claim, Job, JobId};
use crate::lifecycle::{Event, Policy, decide, words};
use crate::progress::Shown;
use crate::store::{Beat, Settle, Signal};

/// Heartbeats out of turn (for a cancel, say) come no faster than this.
const SOONEST: Duration = Duration::from_millis(20);

/// Beats until the life is over. Returns when the lease could not be kept. `home` is the runtime of the other loops.
pub(super) async fn run(life: Arc<Life>, home: Handle) {
    let plan = &life.plan;
    // As of the registration; or, should this loop have been begun anew, as of the last beat.
    let mut renewed = last_renewal(&life);
    let mut sent = renewed;
    let silence = Arc::new(tokio::sync::Mutex::new(Silence::default()));
    let mut backoff = Backoff::new(Duration::from_millis(100), plan.heartbeat);
    let mut pause = plan.heartbeat;
    loop {
        // Handlers need time to stop before others may have our jobs.
        let stop_at = renewed + plan.lease * 2 / 3;
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = life.beat_now.notified() => tokio::time::sleep_until(sent + SOONEST).await,
        }
        sent = Instant::now();
        let answered = life.numbers.so_far();
        let number = life.beat.fetch_add(1, Relaxed) + 1;
        // One that hangs is given up in time for another by another connection.
        let give_up_at = stop_at.min(sent + plan.lease / 4);
        let beat = {
            let _at_work = life.at_work("keeper");
            tokio::time::timeout_at(give_up_at, life.store.heartbeat(life.incarnation, number)).await
        };
        pause = plan.heartbeat;
        match beat {
            Ok(Ok(beat)) if beat.alive => {
                renewed = sent;
                backoff.reset();
                note_renewal(&life, sent);
                life.fine("heartbeat");
                if beat.dismissed && !plan.dismissed.send_replace(true) {
                    tracing::info!(executor = %plan.name, "an operator wants it to end");
                }
                if life.draining.swap(beat.draining, Relaxed) != beat.draining && !life.closing.is_cancelled() {
                    tracing::info!(executor = %plan.name, draining = beat.draining, "an operator said so");
                    life.hand.room.notify_one();
                    life.ready.notify_one();
                }
                // Whatever the store is busy with, the next beat must not come too late: the rest is done then.
                let noticed = compare(&life, &beat, &answered);
                let mut looked = AbortOnDrop(home.spawn({
                    let (life, silence) = (Arc::clone(&life), Arc::clone(&silence));
                    async move {
                        noticed.attend_to(&life).await;
                        silence.lock().await.observe(&life, &beat.peers, sent).await;
                    }
                }));
                if tokio::time::timeout_at(sent + plan.lease / 3, &mut looked.0)
                    .await
                    .is_err()
                {
                    tracing::warn!(executor = %plan.name, "the store takes long; what others hold is looked at later");
                }
            }
            Ok(Ok(_) | Err(Error::LeaseLost)) => {
                tracing::warn!(executor = %plan.name, "the lease has ended; the jobs in hand are given up");
                life.lost.cancel();
                return;
            }
            Ok(Err(error)) => {
                life.trouble("heartbeat", &error);
                pause = backoff.step();
            }
            Err(_) => {
                let cause = "no answer came in time".into();
                let (doing, transient) = ("keeping the lease", true);
                life.trouble(
                    "heartbeat",
                    &Error::Store {
                        doing,
                        cause,
                        transient,
                    },
                );
                pause = Duration::from_millis(10);
            }
        }
        if Instant::now() >= renewed + plan.lease * 2 / 3 {
            tracing::warn!(executor = %plan.name, "the lease could not be renewed; the jobs in hand are given up");
            life.lost.cancel();
            return;
        }
    }
}

fn last_renewal(life: &Life) -> Instant {
    let troubles = life.health.lock().unwrap_or_else(PoisonError::into_inner);
    troubles.renewed.map_or_else(Instant::now, Instant::from_std)
}

fn note_renewal(life: &Life, at: Instant) {
    let mut troubles = life.health.lock().unwrap_or_else(PoisonError::into_inner);
    troubles.renewed = Some(at.into_std());
}

/// What the store sees in our hands, against what we have. `answered` are the claims that had been answered when
/// the store was asked: of others nothing can be said. Handlers are told to stop at once.
fn compare(life: &Life, beat: &Beat, answered: &Answered) -> Noticed {
    let mut noticed = Noticed::default();
    let mut seen = HashSet::with_capacity(beat.held.len());
    for (id, number, cancelling) in &beat.held {
        seen.insert((*id, *number));
        match life.hand.get(*id).filter(|held| held.job.number == *number) {
            Some(held) if *cancelling && held.stopped().is_none() => {
                held.stop(Stop::Cancel);
                noticed.cancelled.extend(life.hand.pull(*id));
            }
            None if answered.includes(*number) => noticed.strangers.push((*id, *number)),
            _ => {}
        }
    }
    for held in life.hand.all() {
        let known = !answered.includes(held.job.number) || seen.contains(&(held.job.id, held.job.number));
        if !known && !held.has_ended() {
            tracing::warn!(job = %held.job.id, "this job was taken from us; its handler is told to stop");
            held.stop(Stop::Lost);
        }
    }
    noticed
}

/// What has to be done about what a comparison brought to light.
#[derive(Default)]
struct Noticed {
    /// Jobs that were cancelled before they started.
    cancelled: Vec<Arc<Held>>,
    /// Jobs that the store believes to be in our hands.
    strangers: Vec<(JobId, i64)>,
}

impl Noticed {
    async fn attend_to(self, life: &Life) {
        for held in self.cancelled {
            super::attempt::hand_on(life, super::finisher::Ending::not_started(held)).await;
        }
        let given_back = if self.strangers.is_empty() {
            Ok(())
        } else {
            give_back(life, &self.strangers).await
        };
        life.note("giving back jobs", &given_back);
    }
}

/// Gives back jobs that the store believes to be in our hands, though we know nothing of them: the answer to a claim
/// got lost, or what became of them could not be written.
async fn give_back(life: &Life, strangers: &[(JobId, i64)]) -> Result<()> {
    let ids: Vec<JobId> = strangers.iter().map(|(id, _)| *id).collect();
    let numbers: HashMap<JobId, i64> = strangers.iter().copied().collect();
    let settles: Vec<Settle> = life
        .store
        .get(&ids)
        .await?
        .iter()
        .filter_map(|job| {
            let number = numbers.get(&job.id).copied()?;
            let claim = Claim {
                executor: life.incarnation,
                number,
            };
            (job.claim == Some(claim)).then(|| release(life, job, number)).flatten()
        })
        .collect();
    if settles.is_empty() {
        return Ok(());
    }
    tracing::warn!(executor = %life.plan.name, jobs = settles.len(), "gives back jobs that it did not know it had");
    life.store.settle(life.incarnation, settles).await?;
    Ok(())
}

fn release(life: &Life, job: &Job, number: i64) -> Option<Settle> {
    let tasks = life.plan.tasks();
    let policy = tasks
        .registry
        .get(&job.task)
        .map_or_else(Policy::default, |known| known.settings.policy);
    let policy = job.policy(policy);
    let change = [Event::Release, Event::Interrupt]
        .iter()
        .find_map(|event| decide(&job.standing(), event, &policy, 0.0).ok())?;
    let words = words(job.state, &change);
    Some(Settle {
        id: job.id,
        number,
        change,
        cancelling: job.cancelling,
        result: None,
        error: words.as_ref().map(|(error, _)| (*error).to_owned()),
        described: words.map(|(_, described)| described).unwrap_or_default(),
        came: Some(Shown {
            percent: job.progress,
            step: job.step.clone(),
        }),
        started: job.started,
        hooks: tasks.registry.hooks(&job.task),
        reported: true,
    })
}

/// Who stands still. Counted by our own monotonic clock and only while our own reads have no gap, so that an outage
/// of the database, or a wrong clock, declares nobody dead.
#[derive(Default)]
struct Silence {
    peers: HashMap<Uuid, (i64, Instant)>,
    last_read: Option<Instant>,
}

impl Silence {
    async fn observe(&mut self, life: &Life, peers: &[(Uuid, i64)], now: Instant) {
        let gap = self.last_read.is_some_and(|last| now - last > life.plan.heartbeat * 2);
        self.last_read = Some(now);
        if gap {
            self.peers.clear();
        }
        self.peers.retain(|id, _| peers.iter().any(|(peer, _)| peer == id));
        let mut reaped = Ok(());
        for (peer, beat) in peers.iter().filter(|(peer, _)| *peer != life.incarnation) {
            let (seen, since) = self.peers.entry(*peer).or_insert((*beat, now));
            if seen != beat {
                (*seen, *since) = (*beat, now);
            } else if now - *since >= life.plan.lease {
                let name = name_of(life, *peer).await;
                match life.store.reap(*peer, *beat).await {
                    Ok(jobs) => {
                        crate::meter::executor_lost();
                        tracing::warn!(executor = %name, incarnation = %peer, jobs, "an executor fell silent; its jobs are handed to others");
                        self.peers.remove(peer);
                        life.ready.notify_one();
                    }
                    Err(error) => reaped = Err(error),
                }
            }
        }
        life.note("reaping", &reaped);
    }
}

/// What an executor is called, for people.
async fn name_of(life: &Life, executor: Uuid) -> String {
    let known = life.store.executors().await.unwrap_or_default();
    let found = known.into_iter().find(|member| member.info.incarnation == executor);
    found.map_or_else(|| "unknown".to_owned(), |member| member.info.name)
}

/// Hears the store's signals and passes them on.
pub(super) async fn hear(life: Arc<Life>) {
    let mut signals = life.store.signals();
    let mut caught_up = Instant::now();
    loop {
        match signals.recv().await {
            // A store that serves those who stand by wakes them itself.
            Ok(Signal::Ready) if life.store.serves() => {}
            Ok(Signal::Ready) => life.ready.notify_one(),
            Ok(Signal::Due(delay)) => life.due_in(delay),
            // When the next one is due is asked of the store.
            Ok(Signal::Schedules) => life.due_in(Duration::ZERO),
            Ok(Signal::Owed) => life.owed.notify_one(),
            // The signal may be out of date; the heartbeat's answer is not.
            // A job that was told already needs no other beat.
            Ok(Signal::Cancel(id)) if life.hand.get(id).is_some_and(|held| held.stopped().is_none()) => {
                life.beat_now.notify_one();
            }
            // A sign of life, for whoever wants to know.
            Ok(Signal::Who(id)) if id == life.plan.name => life.beat_now.notify_one(),
            Ok(Signal::Cancel(_) | Signal::Changed(_) | Signal::Logged(_) | Signal::Who(_)) => {}
            Err(RecvError::Lagged(_)) => {
                // Anything may have been missed. What that may be is looked up, but not more than once a second.
                life.ready.notify_one();
                life.owed.notify_one();
                if caught_up.elapsed() > Duration::from_secs(1) {
                    caught_up = Instant::now();
                    life.due_in(Duration::ZERO);
                    life.beat_now.notify_one();
                }
            }
            Err(RecvError::Closed) => return,
        }
    }
}
