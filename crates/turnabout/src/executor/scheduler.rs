//! The scheduler: fires schedules the moment they are due. Every executor has one, and none of them leads: the store gives
//! each due schedule to one of those who ask. The sweeper, which asks the store what is due next anyway, wakes it.

use std::sync::Arc;
use std::time::Duration;

use super::life::{Backoff, Life};
use crate::error::Result;
use crate::lifecycle::Event;
use crate::schedule::{Run, RunKind};
use crate::store::Which;

/// So many schedules are fired by one transaction: many enough to share its cost, few enough that other executors fire the
/// rest at the same time.
const BATCH: u32 = 250;
/// Schedules that are due but in another's hands are looked at again so soon: that one may have died.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Fires whenever something is due.
pub(super) async fn run(life: Arc<Life>) {
    let mut backoff = Backoff::for_store();
    loop {
        life.schedules.notified().await;
        while let Err(error) = fire(&life).await {
            life.trouble("firing schedules", &error);
            backoff.wait().await;
        }
        backoff.reset();
        life.fine("firing schedules");
    }
}

/// Fires until nothing is due. Returns how many jobs that brought.
pub(super) async fn fire(life: &Life) -> Result<u64> {
    // Should it hang, health tells.
    let _at_work = life.at_work("scheduler");
    let mut jobs = 0;
    loop {
        let fired = life.store.schedules().fire(BATCH).await?;
        jobs += count(&fired.runs);
        if fired.runs.iter().any(|run| run.kind == RunKind::Fired) {
            life.ready.notify_one();
        }
        if !fired.cancel.is_empty() {
            let cancelled = life.store.change(Which::Ids(fired.cancel), Event::Cancel).await?;
            crate::meter::changed(&cancelled);
        }
        match fired.next {
            Some(Duration::ZERO) if fired.schedules > 0 => {}
            Some(Duration::ZERO) => tokio::time::sleep(LOOK_AGAIN).await,
            Some(next) => {
                life.due_in(next);
                return Ok(jobs);
            }
            None => return Ok(jobs),
        }
    }
}

/// Counts what became of times, for whoever has installed a recorder. Returns how many have a job.
fn count(runs: &[Run]) -> u64 {
    for run in runs {
        #[cfg(feature = "metrics")]
        {
            let times = u64::from(run.count);
            metrics::counter!("turnabout_schedule_times_total", "outcome" => run.kind.as_str()).increment(times);
            // What waited for the previous job was late on purpose.
            if run.kind == RunKind::Fired && run.why.is_none() {
                metrics::histogram!("turnabout_schedule_late_seconds").record(run.late);
            }
        }
        if matches!(run.kind, RunKind::Missed | RunKind::Refused) {
            let (time, times, why) = (run.time, run.count, run.why.as_deref().unwrap_or_default());
            tracing::warn!(%time, times, why, kind = %run.kind, "a schedule has no job for its time");
        }
    }
    runs.iter().filter(|run| run.kind == RunKind::Fired).count() as u64
}
