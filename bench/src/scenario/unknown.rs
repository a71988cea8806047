//! How long a single job waits while jobs wait whose tasks nobody knows.

use std::time::Duration;

use anyhow::Result;
use turnabout::Submission;

use super::latency::one_by_one;
use crate::place::{History, Place};
use crate::report::{Measured, millis, percentile};
use crate::work::{Length, Notes, execute, idle, stop};

const SLOTS: u32 = 4;
/// The group of those that nobody knows.
const STRANGERS: &str = "strangers";
/// These do not count: connections are made, statements prepared.
const FIRST: u64 = 10;

/// Jobs one after the other, on an idle executor: alone, then while so many jobs of another group wait, each of a task of its own
/// that nobody runs, then with that group paused.
pub(crate) async fn run(place: &Place, jobs: u64, names: u64, apart: Duration) -> Result<Measured> {
    let open = place.open(History::Kept).await?;
    let each = FIRST + jobs;
    let notes = Notes::new(3 * each, Length::Nothing);
    let executor = execute(&open.jobs, &notes, SLOTS).await?;
    idle(&executor).await;
    let mut p50 = Vec::new();
    for round in 0..3 {
        if round == 1 {
            // As many as anybody could have who was allowed to.
            (open.jobs.group(STRANGERS).max_unknown_tasks(u32::try_from(names).ok())).await?;
            let strangers = (0..names).map(|n| Submission::named(format!("unknown-{n}"), ()).group(STRANGERS));
            for outcome in open.jobs.submit_all(strangers).await {
                outcome?;
            }
        }
        if round == 2 {
            open.jobs.group(STRANGERS).pause().await?;
        }
        let (mut waits, _) = one_by_one(&open.jobs, &notes, round * each..(round + 1) * each, apart).await?;
        waits.drain(..FIRST as usize);
        p50.push(millis(percentile(&waits, 0.5)));
    }
    stop(vec![executor]).await;
    open.close().await?;
    Ok(Measured::new("unknown", place.store)
        .setting("jobs", jobs)
        .setting("names", names)
        .setting("slots", SLOTS)
        .value("alone_p50_ms", p50[0])
        .value("unknown_p50_ms", p50[1])
        .value("paused_p50_ms", p50[2]))
}
