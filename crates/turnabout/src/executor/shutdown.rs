//! One life from beginning to end: which loops run, and in what order they stop.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::attempt::{hand_on, slot};
use super::finisher::Ending;
use super::hand::{Held, Stop};
use super::handle::{Control, Deadline};
use super::life::Life;
use super::plan::Seat;
use super::{claimer, finisher, hooks, keeper, news, scheduler, sweeper};
use crate::job::Described;
use crate::lifecycle::Event;

/// After the grace period, slots have so long to hand on what became of their jobs.
const WIND_UP: Duration = Duration::from_secs(5);
/// What is waited for is said this often, and of so many jobs.
const TELLS: Duration = Duration::from_secs(30);
const TOLD: usize = 10;

/// How a life ended.
pub(super) enum End {
    /// By a shutdown.
    ShutDown,
    /// Its lease was lost.
    Lost {
        /// Whether all its handlers have stopped. Else nobody may have its jobs before the lease has really ended.
        stopped: bool,
    },
}

/// Lives, and says how it ended.
pub(super) async fn live(life: &Arc<Life>, control: &Control) -> End {
    // Dropped at the end of this function, which aborts whatever still runs.
    let mut loops = JoinSet::new();
    let _keeper = OwnThread::spawn(life, &mut loops);
    loops.spawn(Arc::clone(life).supervise("listener", keeper::hear));
    // Outlives this function: what is written too late is written by the next life's leave.
    life.keep_writing(tokio::spawn(Arc::clone(life).supervise("finisher", finisher::run)));
    loops.spawn(Arc::clone(life).supervise("start marks", finisher::mark_starts));
    loops.spawn(Arc::clone(life).supervise("news", news::tell));
    loops.spawn(Arc::clone(life).supervise("sweeper", sweeper::run));
    loops.spawn(Arc::clone(life).supervise("scheduler", scheduler::run));
    loops.spawn(Arc::clone(life).supervise("tidy", sweeper::tidy));
    loops.spawn(Arc::clone(life).supervise("hooks", hooks::run));
    let mut slots = JoinSet::new();
    for _ in 0..life.plan.slots {
        let (life, seats) = (Arc::clone(life), Arc::clone(&life.plan.seats));
        slots.spawn(async move {
            // Handlers that outlived their life keep their seats until they are gone. The semaphore is never closed.
            let Ok(seat) = seats.acquire_owned().await else { return };
            let seat: Seat = Arc::new(seat);
            life.seated.fetch_add(1, Relaxed);
            // The claimer may be waiting for a slot.
            life.hand.room.notify_one();
            life.supervise("slot", |life| slot(life, Arc::downgrade(&seat))).await;
        });
    }
    let mut claimer = AbortOnDrop(tokio::spawn(Arc::clone(life).supervise("claimer", claimer::run)));

    tokio::select! {
        biased;
        () = life.lost.cancelled() => {
            claimer.0.abort();
            End::Lost { stopped: give_up(life, &mut slots).await }
        }
        () = shut_down(life, control, &mut claimer) => End::ShutDown,
    }
}

/// The lease is lost, or will be in a moment: handlers stop, and nothing of what they do from now on counts. What has
/// ended before is still written, if the store comes back before anyone takes us for dead. Says whether all have stopped.
async fn give_up(life: &Life, slots: &mut JoinSet<()>) -> bool {
    life.closing.cancel();
    life.hand.close();
    drop(life.hand.give_back(0));
    let lost: Vec<_> = life.hand.all().into_iter().filter(|held| !held.has_ended()).collect();
    for held in &lost {
        held.stop(Stop::Lost);
    }
    // The last third of the lease is what is left; some of it has to be kept.
    let timeout = life.plan.grace.min(life.plan.lease / 4);
    let _ = tokio::time::timeout(timeout, async { while slots.join_next().await.is_some() {} }).await;
    // Those that never yield cannot be dropped either, and those that block were left to themselves.
    slots.abort_all();
    let timeout = life.plan.lease / 20;
    let _ = tokio::time::timeout(timeout, async { while slots.join_next().await.is_some() {} }).await;
    life.hand.put_away(&lost);
    life.plan.seats.available_permits() == life.plan.slots
}

/// Waits for a shutdown, and does it.
async fn shut_down(life: &Arc<Life>, control: &Control, claimer: &mut AbortOnDrop) {
    control.shutdown_requested().await;
    tracing::info!(executor = %life.plan.name, "takes no more jobs");
    life.closing.cancel();
    // A take under way is waited for: what it brings has to go back.
    // Supervised, so it can end only by returning or by being aborted.
    let _ = (&mut claimer.0).await;
    for held in life.hand.give_back(0) {
        hand_on(life, Ending::not_started(held)).await;
    }
    life.hand.close();

    let _telling = AbortOnDrop(tokio::spawn(tell_what_runs(Arc::clone(life), control.left())));
    let mut size = life.hand.size.subscribe();
    let mut all_done = async || {
        // The sender lives in `life`, so waiting cannot fail.
        let _ = size.wait_for(|held| *held == 0).await;
    };
    tokio::select! {
        () = all_done() => {}
        () = control.deadline() => {
            tracing::info!(executor = %life.plan.name, "the deadline is over; what still runs is told to stop");
            for held in life.hand.all() {
                held.stop(Stop::Shutdown);
            }
            if tokio::time::timeout(life.plan.grace + WIND_UP, all_done()).await.is_err() {
                interrupt_the_rest(life).await;
                let _ = tokio::time::timeout(life.plan.lease, all_done()).await;
            }
        }
    }
    // What the last jobs owe is paid before we go, if it does not take long; else by others.
    let paid = async { while hooks::pay(life).await.is_ok_and(|hooks| hooks > 0) {} };
    let _ = tokio::time::timeout(life.plan.grace, paid).await;
    if let Err(error) = life.store.deregister(life.incarnation).await {
        // Others will find that it is silent.
        life.trouble("deregistering", &error);
    }
    tracing::info!(executor = %life.plan.name, "has shut down");
}

/// Says which jobs are waited for: at once, and now and then.
async fn tell_what_runs(life: Arc<Life>, deadline: Deadline) {
    let held = *life.hand.size.borrow();
    if held > 0
        && let Err(error) = life.store.drain(life.incarnation, true).await
    {
        // So that others see that it takes no more. They will when it is gone.
        tracing::debug!(error = %error.chain(), "cannot say that it shuts down");
    }
    loop {
        let mut running: Vec<_> = life.hand.all();
        running.retain(|held| held.started().is_some() && !held.has_ended());
        running.sort_by_key(|held| held.started());
        if running.is_empty() {
            return;
        }
        let now = life.watch();
        let word = |held: &Arc<Held>| {
            let ran = now.saturating_sub(held.started().unwrap_or(now)).as_secs();
            format!("{} {} ({ran} s)", held.job.task, held.job.id)
        };
        let words: Vec<String> = running.iter().take(TOLD).map(word).collect();
        tracing::info!(executor = %life.plan.name, jobs = running.len(), running = words.join(", "), %deadline,
            "waits for what still runs");
        tokio::time::sleep(TELLS).await;
    }
}

/// Handlers that block their thread cannot be dropped. Their jobs are given back all the same: the process is about
/// to end, and whoever takes them over should not have to wait for a lease.
async fn interrupt_the_rest(life: &Life) {
    for held in life.hand.all().into_iter().filter(|held| !held.has_ended()) {
        tracing::warn!(job = %held.job.id, task = %held.job.task, "the handler does not stop; its job is given back");
        let ran = held.started().map(|started| life.watch().saturating_sub(started));
        let ending = Ending {
            started: ran.is_some(),
            event: if ran.is_some() {
                Event::Interrupt
            } else {
                Event::Release
            },
            ran,
            result: None,
            error: Some("the handler did not stop when the executor shut down".to_owned()),
            described: Described::default(),
            held,
        };
        life.finish(ending).await;
    }
}

/// The keeper's thread, with a runtime of its own: handlers that never yield may keep all others busy, and the lease
/// must be kept nevertheless. Ends when it is dropped.
struct OwnThread(CancellationToken);

impl OwnThread {
    /// Where no thread can be had, the keeper runs among the other loops.
    fn spawn(life: &Arc<Life>, loops: &mut JoinSet<()>) -> Self {
        let stop = CancellationToken::new();
        let keep = |life: Arc<Life>, stop: CancellationToken, home: Handle| async move {
            let run = move |life| keeper::run(life, home.clone());
            tokio::select! {
                () = stop.cancelled() => {}
                () = life.supervise("keeper", run) => {}
            }
        };
        let (own, token, home) = (Arc::clone(life), stop.clone(), Handle::current());
        let begun = std::thread::Builder::new()
            .name("turnabout-keeper".to_owned())
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                match runtime {
                    Ok(runtime) => runtime.block_on(keep(own, token, home)),
                    Err(_) => drop(home.spawn(keep(own, token, home.clone()))),
                }
            });
        if begun.is_err() {
            loops.spawn(keep(Arc::clone(life), stop.clone(), Handle::current()));
        }
        Self(stop)
    }
}

impl Drop for OwnThread {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// A task that does not outlive its handle.
pub(super) struct AbortOnDrop(pub(super) JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
