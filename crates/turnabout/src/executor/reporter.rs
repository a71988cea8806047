//! The reporter: writes how far jobs are, for those who look. All jobs of the executor together, and none more than four
//! times a second, however often its handler reports.

use std::sync::atomic::Ordering::AcqRel;
use std::time::Duration;

use tokio::time::Instant;

use super::life::{Backoff, Life};
use crate::store::Report;

/// Between two writes.
pub(super) const PERIOD: Duration = Duration::from_millis(250);
/// So many jobs are written at once.
const BATCH: usize = 1000;

/// When to write next.
pub(super) struct Reporter {
    next: Instant,
    /// The last time: whether or not there is news, the store is tried again.
    failed: bool,
    backoff: Backoff,
}

impl Reporter {
    pub(super) fn new() -> Self {
        Self {
            next: Instant::now(),
            failed: false,
            backoff: Backoff::for_store(),
        }
    }

    /// Writes what has changed, if it is time and there is anything.
    pub(super) async fn look(&mut self, life: &Life) {
        let now = Instant::now();
        if now < self.next || !(life.hand.news.progress.swap(false, AcqRel) || self.failed) {
            return;
        }
        self.failed = !report(life).await;
        if self.failed {
            self.next = now + self.backoff.step().max(PERIOD);
        } else {
            self.backoff.reset();
            self.next = now + PERIOD;
        }
    }
}

/// Writes what has changed. Says whether the store could be told.
async fn report(life: &Life) -> bool {
    let held = life.hand.all();
    let reports: Vec<Report> = held
        .iter()
        .filter(|held| !held.has_ended())
        .filter_map(|held| held.report())
        .collect();
    let mut told = true;
    if reports.is_empty() {
        life.fine("reporting progress");
    }
    for portion in reports.chunks(BATCH) {
        match life.store.report(life.incarnation, portion.to_vec()).await {
            Ok(()) => life.fine("reporting progress"),
            Err(error) => {
                life.trouble("reporting progress", &error);
                told = false;
                for held in &held {
                    if portion.iter().any(|report| report.id == held.job.id) {
                        held.report_again();
                    }
                }
            }
        }
    }
    told
}
