//! The reporter: writes how far jobs are, for those who look. All jobs of the executor together, and none more than four
//! times a second, however often its handler reports.

use std::sync::Arc;
use std::sync::atomic::Ordering::AcqRel;
use std::time::Duration;

use tokio::time::Instant;

use super::life::{Backoff, Life};
use crate::store::Report;

/// Between two writes.
pub(super) const PERIOD: Duration = Duration::from_millis(250);
/// Between two looks whether there is anything to write, while jobs are in hand. Handlers do not wake us: whoever is woken
/// by a handler that keeps its thread to itself waits for that thread, and would not see what it reports.
const LOOK: Duration = Duration::from_millis(25);
/// So many jobs are written at once.
const BATCH: usize = 1000;

/// Reports for ever.
pub(super) async fn run(life: Arc<Life>) {
    let mut backoff = Backoff::for_store();
    let mut size = life.hand.size.subscribe();
    loop {
        // The sender lives in `life`, so waiting cannot fail.
        let _ = size.wait_for(|held| *held > 0).await;
        if !life.hand.news.swap(false, AcqRel) {
            tokio::time::sleep(LOOK).await;
            continue;
        }
        let began = Instant::now();
        if report(&life).await {
            backoff.reset();
            tokio::time::sleep_until(began + PERIOD).await;
        } else {
            backoff.wait().await;
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
