//! Very many schedules: what they cost an executor that has nothing to do, how soon all jobs are there when many are due in
//! the same second, and how late single ones are.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;
use turnabout::Jobs;
use turnabout::schedule::Overlap;
use turnabout::schedule::ScheduleFilter;
use turnabout::schedule::{Definition, ScheduleChange, ScheduleKey};

use super::idle::statements;
use crate::place::{History, Open, Place};
use crate::report::Measured;
use crate::work::{Length, Notes, Work, execute, idle, stop};

const SLOTS: u32 = 64;
/// One of so many schedules is due in the same second.
const SHARE: u64 = 100;
/// So many fire every second, one by one.
const SINGLE: u64 = 20;
/// Nothing here takes longer.
const PATIENCE: Duration = Duration::from_mins(2);

/// So many schedules, of which a hundredth is due in one second; then a few that fire every second, for so long.
pub(crate) async fn run(place: &Place, schedules: u64, time: Duration, settle: Duration) -> Result<Measured> {
    let open = place.open(History::Kept).await?;
    let without = statements(&open, time, settle).await?;
    make(&open.jobs, schedules).await?;
    open.analyze().await?;
    let with = statements(&open, time, settle).await?;
    let notes = Notes::new(schedules + SINGLE * 1000, Length::Nothing);
    let executor = execute(&open.jobs, &notes, SLOTS).await?;
    idle(&executor).await;

    let many = schedules.div_ceil(SHARE);
    let (all, late) = burst(&open, many).await?;
    idle(&executor).await;
    let single = every_second(&open, time).await?;
    stop(vec![executor]).await;
    open.close().await?;
    Ok(Measured::new("schedules", place.store)
        .setting("schedules", schedules)
        .setting("due_at_once", many)
        .setting("every_second", SINGLE)
        .setting("seconds", time.as_secs())
        .value("all_ms", all)
        .value("at_once_p99_ms", late)
        .value("late_p50_ms", percentile(&single, 0.5))
        .value("late_p99_ms", percentile(&single, 0.99))
        .maybe("statements_per_s_without", without)
        .maybe("statements_per_s_with", with))
}

fn key(n: u64) -> ScheduleKey {
    ScheduleKey::new(format!("s{n:06}")).group(format!("g{:05}", n % 1000))
}

/// Schedules that are due some day.
async fn make(jobs: &Jobs, schedules: u64) -> Result<()> {
    let yearly = |n: u64| -> Result<(ScheduleKey, Definition)> {
        let args = serde_json::to_string(&Work::new(n))?;
        let definition = Definition {
            args,
            ..Definition::new("work", "0 0 1 1 *")
        };
        Ok((key(n), definition))
    };
    let all = (0..schedules).map(yearly).collect::<Result<Vec<_>>>()?;
    jobs.schedules().reconcile("bench", all).await?;
    Ok(())
}

/// Lets so many be due in the same second. Milliseconds from then until all jobs were submitted, and the 99th percentile.
async fn burst(open: &Open, many: u64) -> Result<(f64, f64)> {
    // Time enough to change them all.
    let lead = 5 + i64::try_from(many / 100)?;
    let when = Timestamp::from_second(Timestamp::now().as_second() + lead)?;
    let expression = when.strftime("%Y-%m-%d %H:%M:%S UTC").to_string();
    let schedules = open.jobs.schedules();
    for n in 0..many {
        let change = ScheduleChange {
            expression: Some(expression.clone()),
            ..ScheduleChange::default()
        };
        schedules.change(key(n * SHARE), change).await?;
    }
    ensure!(
        Timestamp::now() < when,
        "this machine is too slow to change {many} schedules in {lead} s"
    );
    let mut late = lateness(&open.jobs, many as usize).await?;
    late.sort_by(f64::total_cmp);
    Ok((late.last().copied().unwrap_or_default(), percentile(&late, 0.99)))
}

/// Waits until so many jobs were submitted, and says how many milliseconds late each was.
async fn lateness(jobs: &Jobs, count: usize) -> Result<Vec<f64>> {
    let submitted = async {
        loop {
            let mut late = Vec::new();
            let mut list = jobs.list().limit(1000);
            loop {
                let page = list.clone().await?;
                late.extend(page.jobs.iter().filter_map(|job| {
                    let time = job.scheduled_for()?;
                    Some(job.submitted.duration_since(time).as_secs_f64() * 1000.0)
                }));
                match page.next {
                    Some(next) => list = list.before(next),
                    None => break,
                }
            }
            if late.len() >= count {
                return anyhow::Ok(late);
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::time::timeout(PATIENCE, submitted)
        .await
        .context("not all schedules fired in time")?
}

/// A few that fire every second, for so long: how many milliseconds late each time was.
async fn every_second(open: &Open, time: Duration) -> Result<Vec<f64>> {
    let schedules = open.jobs.schedules();
    for n in 0..SINGLE {
        let set = open.jobs.schedule(format!("single{n}"), Work::new(n)).every("1 second");
        set.overlap(Overlap::Allow).await?;
    }
    tokio::time::sleep(time + Duration::from_secs(1)).await;
    let filter = ScheduleFilter {
        limit: 1000,
        ..ScheduleFilter::default()
    };
    let mut late = Vec::new();
    for schedule in schedules.list(&filter).await? {
        if schedule.key.group.is_none() {
            schedules.pause(schedule.key.clone(), None, None).await?;
            let history = schedules.history(&schedule.key, None, 100).await?;
            late.extend(history.iter().map(|past| past.run.late.as_secs_f64() * 1000.0));
        }
    }
    ensure!(!late.is_empty(), "no schedule fired");
    late.sort_by(f64::total_cmp);
    Ok(late)
}

/// Of sorted numbers.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let at = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(at.saturating_sub(1)).copied().unwrap_or_default()
}
