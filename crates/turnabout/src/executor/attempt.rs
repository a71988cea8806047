//! One attempt, from the job in hand to what became of it: a straight line.
//!
//! start -> decode -> handle -> outcome -> decide (in the finisher) -> settle

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::OwnedSemaphorePermit;
use tracing::Instrument;

use super::finisher::Ending;
use super::hand::{Held, Stop};
use super::life::{Backoff, Bill, Life};
use super::registry::Known;
use super::transaction;
use crate::clock::until;
use crate::context::Core;
use crate::error::panic_message;
use crate::group::KeyRate;
use crate::job::{Described, Lane};
use crate::lifecycle::{Event, is_last_attempt, must_record_start};
use crate::store::{Settled, Start};
use crate::task::{Failure, TaskError, TaskResult, Verdict};
use crate::transaction::{Open, is_collision};
use crate::turn::Fairness;

/// Messages of errors are kept up to so many bytes.
const MAX_MESSAGE: usize = 16 << 10;

/// A slot: runs one job after the other until there are no more.
pub(super) async fn slot(life: Arc<Life>, seat: Weak<OwnedSemaphorePermit>) {
    while let Some(held) = life.hand.draw().await {
        // Dropped also when something here panics: a slot that is not given back would be lost for good.
        let _occupied = Occupied(&life);
        run(&life, held, &seat).await;
    }
}

struct Occupied<'a>(&'a Life);

impl Drop for Occupied<'_> {
    fn drop(&mut self) {
        self.0.hand.drop_out();
    }
}

/// How the handler's future ended: a value, or a panic.
type Done = Result<TaskResult<Option<String>>, Box<dyn Any + Send>>;

/// Runs one job, from its start to what became of it; in a slot, on its seat.
pub(super) async fn run(life: &Life, held: Arc<Held>, seat: &Weak<OwnedSemaphorePermit>) {
    // A task that we do not know is never given to us.
    let tasks = life.plan.tasks();
    let task = tasks.registry.get(&held.job.task);
    let delay = match held.job.rate() {
        Some(rate) => put_off(life, &held, &rate).await,
        None => None,
    };
    let started = match task {
        Some(task) if delay.is_none() => start(life, &held, task).await.map(|open| (task, open)),
        _ => None,
    };
    let ending = match started {
        Some((task, open)) => {
            let ending = handle(life, held, task, &open, seat).await;
            match transaction::conclude(life, ending, open).await {
                Some(ending) => ending,
                // It is finished, and the store knows.
                None => return,
            }
        }
        None => match delay {
            Some(delay) => Ending::put_off(held, delay),
            // Cancelled before it began.
            None => Ending::not_started(held),
        },
    };
    if ending.held.stopped() == Some(Stop::Lost) {
        life.hand.put_away([&ending.held]);
        return;
    }
    hand_on(life, ending).await;
}

/// Begins its transaction, if its task wants one, and records the start, where that has to be in the store before the
/// handler runs. `None`: it is not to run.
async fn start(life: &Life, held: &Arc<Held>, task: &Known) -> Option<Open> {
    if held.token.is_cancelled() {
        return None;
    }
    let open = match task.transaction {
        Some(isolation) => transaction::begin(life, held, isolation).await?,
        None => Open(None),
    };
    let policy = held.job.policy(task.settings.policy);
    if must_record_start(&held.job.standing(), &policy, task.transaction.is_some()) && !record_start(life, held).await {
        return None;
    }
    held.begin(life.watch(), life.store.insight().moment());
    // Of one that was tried before, it is not known since when it waits.
    let first = held.job.attempts == 0 && held.job.interruptions == 0;
    let waited = first.then(|| until(held.job.submitted, life.store.clock().now()));
    task.meter.started(&held.job.task, waited, held.job.attempts > 0);
    if !held.marked.is_known() {
        life.hand.unmarked.notify_one();
    }
    Some(open)
}

/// For how long the rate of its key puts the job off. `None`: it may start, or need not any longer.
async fn put_off(life: &Life, held: &Held, rate: &KeyRate) -> Option<Duration> {
    const DOING: &str = "keeping a rate";
    // One at a time: slots of one executor need not overtake each other.
    let _turn = life.admitting.lock().await;
    let mut backoff = Backoff::for_store();
    while !held.token.is_cancelled() {
        match life.store.admit(rate, held.job.lane == Lane::Retry).await {
            Ok(delay) => {
                life.fine(DOING);
                return delay;
            }
            Err(error) => {
                life.trouble(DOING, &error);
                tokio::select! {
                    () = held.token.cancelled() => life.fine(DOING),
                    () = backoff.wait() => {}
                }
            }
        }
    }
    None
}

async fn record_start(life: &Life, held: &Arc<Held>) -> bool {
    let mut backoff = Backoff::for_store();
    loop {
        let mark = Start::of(&held.job, life.store.insight().moment());
        match life.store.start(life.incarnation, vec![mark]).await {
            Ok(refused) => {
                let refused = refused.into_iter().find(|(id, _)| *id == held.job.id);
                held.marked.set();
                life.fine("recording a start");
                match refused {
                    None | Some((_, Settled::Done)) => return true,
                    Some((_, Settled::Cancelling)) => held.stop(Stop::Cancel),
                    Some((_, Settled::Lost)) => held.stop(Stop::Lost),
                }
                return false;
            }
            Err(error) => {
                life.trouble("recording a start", &error);
                tokio::select! {
                    () = held.token.cancelled() => {
                        // Whoever still tries says so again.
                        life.fine("recording a start");
                        return false;
                    }
                    () = backoff.wait() => {}
                }
            }
        }
    }
}

/// Runs the handler until it returns, panics, or has to be dropped because it does not stop when told to.
async fn handle(life: &Life, held: Arc<Held>, task: &Known, open: &Open, seat: &Weak<OwnedSemaphorePermit>) -> Ending {
    let policy = &held.job.policy(task.settings.policy);
    let core = Core {
        held: Arc::clone(&held),
        jobs: life.plan.jobs.clone(),
        last: is_last_attempt(&held.job.standing(), policy),
        news: Arc::clone(&life.hand.news),
        executor: life.incarnation,
        transaction: open.0.clone(),
        seat: Weak::clone(seat),
    };
    let span = || {
        tracing::info_span!(
            "job",
            id = %held.job.id,
            task = %held.job.task,
            group = %held.job.group,
            traceparent = held.job.meta.get("traceparent").map(String::as_str),
        )
    };
    #[cfg(feature = "log-layer")]
    let span = crate::log::entering(&held, &life.hand.news, span);
    #[cfg(not(feature = "log-layer"))]
    let span = span();
    let mut work = AssertUnwindSafe((task.handler)(core).instrument(span)).catch_unwind();
    let time_limit = async {
        match (held.started(), task.settings.time_limit) {
            (Some(started), Some(limit)) => life.sleep_until(started + limit).await,
            _ => std::future::pending().await,
        }
    };
    let timed_out = tokio::select! {
        biased;
        done = &mut work => return outcome(life, held, task, Some(done), false),
        () = held.token.cancelled() => false,
        () = time_limit => {
            held.token.cancel();
            true
        }
    };
    // The handler has been told to stop, and is given some time to do so.
    let done = if task.blocking {
        // It cannot be dropped; and while it runs nobody else should run its job.
        Some(work.await)
    } else {
        tokio::time::timeout(life.plan.grace, work).await.ok()
    };
    outcome(life, held, task, done, timed_out)
}

/// What the end of a handler means.
fn outcome(life: &Life, held: Arc<Held>, task: &Known, done: Option<Done>, timed_out: bool) -> Ending {
    // What an error means that does not say anything else: a failure, or why the handler was told to stop.
    let plainly = match held.stopped() {
        _ if timed_out => Event::TimeOut,
        Some(Stop::Shutdown) => Event::Interrupt,
        // Under a cancel it ends cancelled, whatever the event.
        _ => Event::Fail,
    };
    let ran = held.started().map(|started| life.watch().saturating_sub(started));
    let described = describe(&held, task, done.as_ref(), timed_out);
    let mut collided = false;
    let (event, result, error) = match done {
        Some(Ok(Ok(result))) => (Event::Succeed, result, None),
        Some(Ok(Err(error))) => {
            let event = if error.verdict == Verdict::Retry {
                plainly
            } else {
                error.verdict.event()
            };
            collided = error.error.as_ref().is_some_and(|error| is_collision(&**error));
            (event, None, error.message())
        }
        Some(Err(panic)) => (
            plainly,
            None,
            Some(format!("the handler panicked: {}", panic_message(&*panic))),
        ),
        None => {
            let grace = life.plan.grace;
            (
                plainly,
                None,
                Some(format!(
                    "the handler was told to stop, did not within {grace:?}, and was dropped"
                )),
            )
        }
    };
    let event = if collided && event == Event::Fail {
        transaction::again_soon(&held)
    } else {
        event
    };
    let error = match (event, error) {
        (Event::TimeOut, error) => Some(match error.filter(|e| !e.is_empty()) {
            Some(error) => format!("its time was up; {error}"),
            None => "its time was up".to_owned(),
        }),
        (_, error) => error.filter(|e| !e.is_empty()),
    };
    Ending {
        held,
        event,
        started: true,
        ran,
        result,
        error: error.map(storable),
        described: Described {
            message: described.message.map(storable),
            code: described.code.map(storable),
        },
    }
}

/// What people are told about a failure. Nothing, where it is none: a cancel, a shutdown.
fn describe(held: &Held, task: &Known, done: Option<&Done>, timed_out: bool) -> Described {
    match done {
        Some(Ok(Err(error))) if !error.described.is_empty() => error.described.clone(),
        Some(Ok(Ok(_))) => Described::default(),
        _ if timed_out => task.describe(&Failure::TimedOut),
        _ if held.stopped().is_some() => Described::default(),
        Some(Ok(Err(TaskError { error: Some(error), .. }))) => task.describe(&Failure::Error(&**error)),
        Some(Err(panic)) => task.describe(&Failure::Panic(panic_message(&**panic))),
        _ => Described::default(),
    }
}

/// Hands a job on to the finisher: one that has ended, or one that goes back without having started.
pub(super) async fn hand_on(life: &Life, ending: Ending) {
    bill(life, &ending);
    life.finish(ending).await;
}

/// Tells the claimer what the job cost, where that matters.
pub(super) fn bill(life: &Life, ending: &Ending) {
    let cost = match life.plan.fairness {
        Fairness::Jobs => return,
        _ if !ending.started => None,
        fairness => ending
            .ran
            .map(|ran| fairness.cost(ending.held.job.items, ran.as_secs_f64())),
    };
    life.bill(Bill {
        held: Arc::clone(&ending.held),
        cost,
    });
}

/// A message that every database takes: bounded, and without NUL bytes.
fn storable(mut message: String) -> String {
    if message.contains('\0') {
        message = message.replace('\0', "\u{fffd}");
    }
    if message.len() > MAX_MESSAGE {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE));
        message.push_str(" ..");
    }
    message
}
