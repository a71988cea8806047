//! The finisher: writes what became of jobs. While one batch is being written the next one gathers, so that a busy
//! executor writes large batches and an idle one waits for nobody.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::hand::{Held, Stop};
use super::life::{Backoff, Life};
use super::logger;
use crate::error::Error;
use crate::failure_log;
use crate::hook::Hooks;
use crate::job::{Described, State};
use crate::lifecycle::{Event, Location, Policy, decide, keeps_progress, words};
use crate::meter;
use crate::store::{Settle, Settled, Start};

/// So many jobs are written at once.
const BATCH: usize = 1000;
/// Start marks gather for so long; most short jobs have ended by then and need none.
const GATHER: Duration = Duration::from_millis(50);

/// What became of an attempt.
pub(super) struct Ending {
    pub(super) held: Arc<Held>,
    pub(super) event: Event,
    pub(super) started: bool,
    pub(super) ran: Option<Duration>,
    pub(super) result: Option<String>,
    pub(super) error: Option<String>,
    pub(super) described: Described,
}

impl Ending {
    /// The job goes back as it came.
    pub(super) fn not_started(held: Arc<Held>) -> Self {
        Self {
            held,
            event: Event::Release,
            started: false,
            ran: None,
            result: None,
            error: None,
            described: Described::default(),
        }
    }

    /// The job goes back, and comes again after so long.
    pub(super) fn put_off(held: Arc<Held>, delay: Duration) -> Self {
        Self {
            event: Event::Throttle(delay),
            ..Self::not_started(held)
        }
    }

    /// What to write, by the rules.
    pub(super) fn settle(&self, life: &Life, cancelling: bool) -> Option<Settle> {
        let job = &self.held.job;
        let tasks = life.plan.tasks();
        let known = tasks.registry.get(&job.task);
        let policy = job.policy(known.map_or_else(Policy::default, |known| known.settings.policy));
        let mut standing = job.standing();
        standing.cancelling = cancelling;
        if self.started {
            standing = decide(&standing, &Event::Start, &policy, 0.0).ok()?.standing();
        }
        let change = decide(&standing, &self.event, &policy, fastrand::f64()).ok()?;
        let (mut error, mut described) = (self.error.clone(), self.described.clone());
        if let Some((text, words)) = words(standing.state, &change) {
            error.get_or_insert_with(|| text.to_owned());
            if described.is_empty() {
                described = words;
            }
        }
        Some(Settle {
            id: job.id,
            number: job.number,
            change,
            cancelling,
            result: self.result.clone().filter(|_| change.state == State::Success),
            error,
            described,
            started: self.held.started_at().filter(|_| self.started),
            hooks: known.map_or(Hooks::NONE, |known| known.settings.hooks),
            reported: self.held.has_reported(),
            came: self.held.came().filter(|_| keeps_progress(&change)),
        })
    }
}

/// Writes endings until the channel is closed and empty.
pub(super) async fn run(life: Arc<Life>) {
    let mut arrived = life.arrived.lock().await;
    let mut again: VecDeque<Ending> = VecDeque::new();
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        batch.extend(again.drain(..));
        if batch.is_empty() {
            // What the store did not want is given up by now.
            life.fine("finishing");
        }
        if batch.is_empty() && arrived.recv_many(&mut batch, BATCH).await == 0 {
            return;
        }
        while batch.len() < BATCH {
            match arrived.try_recv() {
                Ok(ending) => batch.push(ending),
                Err(_) => break,
            }
        }
        write(&life, std::mem::take(&mut batch), &mut again).await;
    }
}

/// Writes a batch; those that have to be decided again go to `again`.
async fn write(life: &Life, endings: Vec<Ending>, again: &mut VecDeque<Ending>) {
    let _at_work = life.at_work("finisher");
    let mut done = Done {
        life,
        jobs: endings.iter().map(|ending| Arc::clone(&ending.held)).collect(),
    };
    let mut settles = Vec::with_capacity(endings.len());
    let mut written = Vec::with_capacity(endings.len());
    for ending in endings {
        let stopped = ending.held.stopped();
        match ending.settle(life, stopped == Some(Stop::Cancel)) {
            Some(settle) if stopped != Some(Stop::Lost) => {
                settles.push(settle);
                written.push(ending);
            }
            Some(_) => {}
            None => {
                tracing::error!(job = %ending.held.job.id, event = ?ending.event, "no rule for how this job ended");
            }
        }
    }
    logger::finish(life, written.iter().map(|ending| &ending.held)).await;
    let answers = store(life, &settles).await;
    for ((ending, settle), answer) in written.into_iter().zip(&settles).zip(answers) {
        if let Some(ending) = answered(life, ending, settle, answer) {
            done.jobs.retain(|held| !Arc::ptr_eq(held, &ending.held));
            again.push_back(ending);
        }
    }
    if done.jobs.iter().any(|held| held.capped) {
        a_place_is_free(life);
    }
}

fn a_place_is_free(life: &Life) {
    life.cap_freed.store(true, Relaxed);
    life.ready.notify_one();
}

/// A job whose end is written already.
pub(super) fn put_away(life: &Life, held: &Arc<Held>) {
    life.hand.put_away([held]);
    if held.capped {
        a_place_is_free(life);
    }
}

/// Notes an attempt that has ended.
pub(super) fn count(life: &Life, ending: &Ending, settle: &Settle) {
    let task = &ending.held.job.task;
    let (state, reason) = (settle.change.state, settle.change.reason);
    if ending.started
        && let Some(known) = life.plan.tasks().registry.get(task)
    {
        let items = ending.held.job.items;
        known.meter.ended(task, (state, reason), items, ending.ran);
    }
    if state.is_final() {
        meter::ended(task, state, reason);
    }
    if matches!(state, State::Stuck | State::Failed) {
        let error = settle.error.as_deref().unwrap_or_default();
        failure_log::tell(ending.held.job.id, task, &life.plan.name, &settle.change, error);
    }
}

/// What the store's answer means for a job. One that has to be decided again is returned.
fn answered(life: &Life, mut ending: Ending, settle: &Settle, answer: Answer) -> Option<Ending> {
    match answer {
        Answer::Settled(Settled::Done) => {
            count(life, &ending, settle);
            if let Location::Parked(delay) = settle.change.place {
                life.due_in(delay);
            }
            None
        }
        Answer::Settled(Settled::Cancelling) if !settle.cancelling => {
            ending.held.note_cancel();
            Some(ending)
        }
        Answer::Settled(_) => {
            tracing::warn!(job = %ending.held.job.id, "this job is no longer ours; its outcome is dropped");
            None
        }
        // Whatever it is about this outcome that the store cannot keep: that it failed, it can.
        Answer::Refused(why) if ending.started && (ending.result.is_some() || ending.event != Event::FailForGood) => {
            ending.result = None;
            ending.error = Some(format!("its outcome could not be stored: {why}"));
            ending.described = Described::default();
            ending.event = Event::FailForGood;
            Some(ending)
        }
        Answer::Refused(why) => {
            tracing::error!(job = %ending.held.job.id, why, "the outcome of this job could not be stored");
            None
        }
    }
}

/// Jobs to be put away, also if the finisher panics: the keeper then finds that the store still sees them in our hands,
/// and gives them back.
struct Done<'a> {
    life: &'a Life,
    jobs: Vec<Arc<Held>>,
}

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.life.hand.put_away(&self.jobs);
    }
}

enum Answer {
    Settled(Settled),
    Refused(String),
}

/// Writes until the store has answered. A lost connection is waited out; where a batch is refused as a whole, each
/// job is tried alone, so that one that cannot be stored does not hold up the others.
async fn store(life: &Life, settles: &[Settle]) -> Vec<Answer> {
    match persist(life, settles).await {
        Ok(answers) => answers.into_iter().map(Answer::Settled).collect(),
        Err(_) if settles.len() > 1 => {
            let mut answers = Vec::with_capacity(settles.len());
            for settle in settles {
                answers.push(match persist(life, std::slice::from_ref(settle)).await {
                    Ok(answer) => Answer::Settled(answer.first().copied().unwrap_or(Settled::Lost)),
                    Err(error) => Answer::Refused(error.chain()),
                });
            }
            answers
        }
        Err(error) => settles.iter().map(|_| Answer::Refused(error.chain())).collect(),
    }
}

async fn persist(life: &Life, settles: &[Settle]) -> Result<Vec<Settled>, Error> {
    if settles.is_empty() {
        return Ok(Vec::new());
    }
    let mut backoff = Backoff::for_store();
    loop {
        match life.store.settle(life.incarnation, settles.to_vec()).await {
            Ok(answers) => {
                life.fine("finishing");
                return Ok(answers);
            }
            Err(Error::LeaseLost) => {
                life.lost.cancel();
                return Ok(vec![Settled::Lost; settles.len()]);
            }
            Err(error) => {
                life.trouble("finishing", &error);
                if !error.is_transient() {
                    return Err(error);
                }
                tokio::select! {
                    () = backoff.wait() => {}
                    () = life.hurry.notified() => {}
                }
            }
        }
    }
}

/// Writes start marks: which jobs are running, for those who look. A job that has ended meanwhile needs none.
pub(super) async fn mark_starts(life: Arc<Life>) {
    let mut backoff = Backoff::for_store();
    loop {
        life.hand.unmarked.notified().await;
        tokio::time::sleep(GATHER).await;
        let unmarked: Vec<_> = life
            .hand
            .all()
            .into_iter()
            .filter(|held| held.started().is_some() && !held.has_ended() && held.marked.begin())
            .collect();
        if unmarked.is_empty() {
            life.fine("marking starts");
        }
        for portion in unmarked.chunks(BATCH) {
            let marks = portion
                .iter()
                .filter_map(|held| Some(Start::of(&held.job, held.started_at()?)))
                .collect();
            let started = {
                let _at_work = life.at_work("start marks");
                life.store.start(life.incarnation, marks).await
            };
            match started {
                Ok(refused) => {
                    backoff.reset();
                    life.fine("marking starts");
                    for held in portion {
                        held.marked.set();
                        match refused.iter().find(|(id, _)| *id == held.job.id) {
                            Some((_, Settled::Cancelling)) => held.stop(Stop::Cancel),
                            Some((_, Settled::Lost)) if !held.has_ended() => held.stop(Stop::Lost),
                            _ => {}
                        }
                    }
                }
                Err(error) => {
                    life.trouble("marking starts", &error);
                    // None of the rest was written either.
                    for held in &unmarked {
                        held.marked.give_up();
                    }
                    life.hand.unmarked.notify_one();
                    backoff.wait().await;
                    break;
                }
            }
        }
    }
}
