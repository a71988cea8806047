//! The sweeper: moves parked jobs into their lanes the moment they are due, wakes the scheduler when a schedule is, and lets
//! jobs expire. Beside it, what is kept long enough is forgotten, and the store tidied.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;
use uuid::Uuid;

use super::life::{Backoff, Life};
use crate::clock::{Clock, after};
use crate::error::Result;
use crate::failure_log;
use crate::lifecycle::Event;
use crate::store::{Changed, Which};

/// So many jobs are moved at once.
const BATCH: u32 = 1000;
/// Looks for due and expired jobs, and for those that are hardly kept, so often even if nobody says that there are any.
const LOOK: Duration = Duration::from_secs(5);
/// Tidies up about so often.
const TIDY: Duration = Duration::from_mins(5);

/// Promotes and expires for ever.
pub(super) async fn run(life: Arc<Life>) {
    let mut backoff = Backoff::for_store();
    let mut look = Duration::ZERO;
    let mut moves = match life.store.clock() {
        Clock::System => None,
        Clock::Manual(clock) => Some(clock.moves()),
    };
    loop {
        if let Some(moves) = &mut moves {
            moves.mark_unchanged();
        }
        let now = life.watch();
        let overdue = now >= look;
        match sweep(&life, overdue).await {
            Ok(()) => {
                backoff.reset();
                life.fine("promoting");
            }
            Err(error) => {
                life.trouble("promoting", &error);
                backoff.wait().await;
                continue;
            }
        }
        if overdue {
            look = now + LOOK;
        }
        match &mut moves {
            None => wait(&life, look).await,
            Some(moves) => wait_by_hand(&life, moves).await,
        }
    }
}

/// Until something is due, but not longer than until `look`.
async fn wait(life: &Life, look: Duration) {
    loop {
        let look = look.saturating_sub(life.watch());
        let pause = life.until_due().map_or(look, |due| due.min(look));
        tokio::select! {
            () = tokio::time::sleep(pause) => return,
            // Perhaps sooner than we thought.
            () = life.due_changed.notified() => {}
        }
    }
}

/// Until a test moves the clock. When something is due is told in durations, which are of no use if the clock is moved
/// while they are on their way; so each move is a reason to look.
async fn wait_by_hand(life: &Life, moves: &mut watch::Receiver<Timestamp>) {
    loop {
        tokio::select! {
            // The clock lives in the store, so waiting cannot fail.
            _ = moves.changed() => return,
            () = life.due_changed.notified() => if life.until_due() == Some(Duration::ZERO) { return },
        }
    }
}

/// Moves everything that is due.
async fn sweep(life: &Life, expire: bool) -> Result<()> {
    let _at_work = life.at_work("sweeper");
    life.forget_due();
    loop {
        let promoted = life.store.promote(BATCH).await?;
        if promoted.jobs > 0 {
            life.ready.notify_one();
        }
        match promoted.schedules {
            // Whoever fires it says when the next one is due.
            Some(Duration::ZERO) => life.schedules.notify_one(),
            Some(next) => life.due_in(next),
            None => {}
        }
        match promoted.next {
            Some(Duration::ZERO) => {}
            Some(next) => {
                life.due_in(next);
                break;
            }
            None => break,
        }
    }
    if expire {
        while expire_some(life).await? {}
    }
    failure_log::tell_rest();
    Ok(())
}

/// Lets jobs expire that nobody has started in time. Says whether there may be more.
async fn expire_some(life: &Life) -> Result<bool> {
    let expired = life.store.change(Which::Expired(BATCH), Event::Expire).await?;
    crate::meter::changed(&expired);
    for (job, change) in expired.iter().filter_map(Changed::done) {
        failure_log::tell(job.id, &job.task, "none", change, "nobody started it in time");
    }
    Ok(expired.len() >= BATCH as usize)
}

/// Tidies up now and then: what is kept long enough goes, and jobs whose executor does not exist come back.
pub(super) async fn tidy(life: Arc<Life>) {
    let mut backoff = Backoff::for_store();
    loop {
        let orphans = life.store.reap(Uuid::nil(), 0).await;
        let pruned = life.store.prune().await;
        if let Ok(jobs @ 1..) = pruned {
            tracing::debug!(jobs, "forgot jobs that ended long ago");
        }
        let (found, forgotten) = (
            life.note("looking for orphans", &orphans),
            life.note("pruning", &pruned),
        );
        if !found || !forgotten {
            backoff.wait().await;
            continue;
        }
        backoff.reset();
        // Executors started together should not all tidy up together.
        forget_for(&life, TIDY.mul_f64(0.75 + fastrand::f64() / 2.0)).await;
    }
}

/// For a while, looks for jobs that are hardly kept. Not in the sweep: whoever has a million of them must not delay what is due.
async fn forget_for(life: &Life, time: Duration) {
    let clock = life.store.clock();
    let until = after(clock.now(), time);
    while clock.now() < until {
        clock.sleep(LOOK).await;
        life.note("forgetting", &life.store.forget().await);
    }
}
