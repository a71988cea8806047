//! The rules about schedules: on times, on policies, on changes; and what holds for any of them.

use std::collections::{BTreeSet, HashSet};

use proptest::prelude::*;

use super::*;
use crate::clock::{after, before};
use crate::store::Submitted;

mod edits;
mod times;

fn at(text: &str) -> Timestamp {
    text.parse().expect(text)
}

/// A schedule of the system, made then.
fn schedule(definition: Definition, now: Timestamp) -> Schedule {
    let edit = Edit::Set(definition);
    let edited = edited(&ScheduleKey::new("nightly"), None, &edit, now, Uuid::from_u128(7)).expect("it is made");
    edited.schedule.expect("it is there")
}

fn every(interval: &str) -> Definition {
    Definition::new("work", format!("every {interval}"))
}

/// Fires it, and stores its jobs; `live` are unfinished.
fn fired(schedule: &mut Schedule, now: Timestamp, live: &[JobId]) -> Firing {
    let mut firing = fire(schedule, now, &live.iter().copied().collect());
    let jobs = std::mem::take(&mut firing.jobs);
    firing.conclude(jobs.iter().map(|job| Ok(Submitted { id: job.id, new: true })));
    schedule.standing = firing.standing.clone();
    firing
}

fn kinds(firing: &Firing) -> Vec<(RunKind, u32)> {
    firing.runs.iter().map(|run| (run.kind, run.count)).collect()
}

const NOON: &str = "2030-01-01T12:00:00Z";
const MINUTE: Duration = Duration::from_mins(1);

#[test]
fn a_time_is_fired_once_and_the_next_one_is_ahead() {
    let mut it = schedule(every("1 minute"), at(NOON));
    assert_eq!(it.standing.due, Some(at("2030-01-01T12:01:00Z")));
    let now = after(at(NOON), MINUTE);
    let firing = fired(&mut it, now, &[]);
    assert_eq!(kinds(&firing), [(RunKind::Fired, 1)]);
    assert_eq!((firing.runs[0].time, firing.runs[0].late), (now, Duration::ZERO));
    assert_eq!(it.standing.due, Some(after(now, MINUTE)));
    // The clock goes back: nothing is due until it has caught up.
    let firing = fired(&mut it, at(NOON), &[]);
    assert_eq!(kinds(&firing), []);
    assert_eq!(it.standing.due, Some(after(now, MINUTE)));
}

#[test]
fn a_job_knows_its_schedule_and_its_time_and_its_id_is_always_the_same() {
    let it = schedule(every("1 minute"), at(NOON));
    let now = after(at(NOON), Duration::from_secs(61));
    let [one, two] = [now, after(now, Duration::from_secs(3))].map(|now| fire(&it, now, &HashSet::new()));
    assert_eq!(one.jobs[0].id, two.jobs[0].id);
    assert!(one.jobs[0].id_given);
    assert_eq!(one.jobs[0].id.time(), Some(after(at(NOON), MINUTE)));
    assert_eq!(time_of(&one.jobs[0].meta), Some(after(at(NOON), MINUTE)));
    assert_eq!(one.jobs[0].meta.get(META_NAME).map(String::as_str), Some("nightly"));
    let (other, _) = it.job_id(after(at(NOON), 2 * MINUTE), after(at(NOON), 2 * MINUTE));
    assert_ne!(other, one.jobs[0].id);
}

#[test]
fn a_time_that_comes_while_the_previous_job_is_unfinished_is_skipped_and_that_is_recorded() {
    let mut it = schedule(every("1 minute"), at(NOON));
    let mut now = after(at(NOON), MINUTE);
    let first = fired(&mut it, now, &[]).runs[0].job.expect("a job");
    now = after(now, MINUTE);
    let firing = fired(&mut it, now, &[first]);
    assert_eq!(kinds(&firing), [(RunKind::Skipped, 1)]);
    assert!(
        firing.runs[0]
            .why
            .as_deref()
            .is_some_and(|why| why.contains(&first.to_string()))
    );
    now = after(now, MINUTE);
    assert_eq!(kinds(&fired(&mut it, now, &[])), [(RunKind::Fired, 1)]);
}

#[test]
fn one_time_waits_for_the_previous_job_and_further_ones_are_skipped() {
    let mut it = schedule(every("1 minute"), at(NOON));
    it.definition.overlap = Overlap::Wait;
    let mut now = after(at(NOON), MINUTE);
    let first = fired(&mut it, now, &[]).runs[0].job.expect("a job");
    now = after(now, MINUTE);
    assert_eq!(kinds(&fired(&mut it, now, &[first])), []);
    assert_eq!(it.standing.waiting, [now]);
    assert_eq!(it.standing.due, Some(after(now, LOOK_AGAIN)));
    let waited = now;
    now = after(now, MINUTE);
    assert_eq!(kinds(&fired(&mut it, now, &[first])), [(RunKind::Skipped, 1)]);
    now = after(now, LOOK_AGAIN);
    let firing = fired(&mut it, now, &[]);
    assert_eq!(kinds(&firing), [(RunKind::Fired, 1)]);
    assert_eq!(firing.runs[0].time, waited);
    assert_eq!(
        it.standing.due,
        Some(after(waited, 2 * MINUTE)),
        "by its calendar again"
    );
}

#[test]
fn the_other_job_is_cancelled_and_this_one_comes_when_it_has_ended() {
    let mut it = schedule(every("1 minute"), at(NOON));
    it.definition.overlap = Overlap::Cancel;
    let mut now = after(at(NOON), MINUTE);
    let first = fired(&mut it, now, &[]).runs[0].job.expect("a job");
    now = after(now, MINUTE);
    assert_eq!(fired(&mut it, now, &[first]).cancel, [first]);
    now = after(now, LOOK_AGAIN);
    assert_eq!(
        fired(&mut it, now, &[first]).cancel,
        [first],
        "told again, should nobody have"
    );
    now = after(now, LOOK_AGAIN);
    let firing = fired(&mut it, now, &[]);
    assert_eq!((kinds(&firing), firing.cancel), (vec![(RunKind::Fired, 1)], vec![]));
}

#[test]
fn where_overlap_is_allowed_every_time_has_its_job() {
    let mut it = schedule(every("1 minute"), at(NOON));
    it.definition.overlap = Overlap::Allow;
    let mut live = Vec::new();
    for minute in 1..=5 {
        let firing = fired(&mut it, after(at(NOON), minute * MINUTE), &live);
        assert_eq!(kinds(&firing), [(RunKind::Fired, 1)]);
        live.extend(firing.runs[0].job);
    }
    assert_eq!(it.standing.unfinished, live);
}

#[test]
fn after_a_week_without_executors_there_is_one_job_or_none_or_as_many_as_wanted() {
    let week = after(at(NOON), Duration::from_hours(7 * 24) + Duration::from_mins(10));
    let down = |missed: Missed, overlap: Overlap| {
        let mut it = schedule(every("1 hour"), at(NOON));
        (it.definition.missed, it.definition.overlap) = (missed, overlap);
        let firing = fired(&mut it, week, &[]);
        (kinds(&firing), it)
    };
    let (runs, it) = down(Missed::One, Overlap::Skip);
    assert_eq!(runs, [(RunKind::Missed, 167), (RunKind::Fired, 1)]);
    assert_eq!(
        it.standing.last.map(|(time, _)| time),
        Some(before(week, Duration::from_mins(10)))
    );
    assert_eq!(it.standing.next, Some(after(week, Duration::from_mins(50))));
    assert_eq!(down(Missed::Skip, Overlap::Skip).0, [(RunKind::Missed, 168)]);
    let (runs, _) = down(Missed::Each(24), Overlap::Allow);
    assert_eq!((runs[0], runs.len()), ((RunKind::Missed, 144), 25));
    // One after the other, unless overlap is allowed.
    let (runs, mut it) = down(Missed::Each(24), Overlap::Skip);
    assert_eq!(runs, [(RunKind::Missed, 144), (RunKind::Fired, 1)]);
    assert_eq!(it.standing.waiting.len(), 23);
    let mut now = week;
    for left in (0..23).rev() {
        now = after(now, LOOK_AGAIN);
        assert_eq!(kinds(&fired(&mut it, now, &[])), [(RunKind::Fired, 1)]);
        assert_eq!(it.standing.waiting.len(), left);
    }
    assert_eq!(it.standing.due, Some(after(week, Duration::from_mins(50))));
}

#[test]
fn very_many_missed_times_are_not_gone_through_one_by_one() {
    let now = after(at(NOON), Duration::from_hours(24 * 365 * 3));
    let mut it = schedule(every("1 second"), at(NOON));
    let firing = fired(&mut it, now, &[]);
    assert_eq!(
        firing.runs.last().map(|run| (run.kind, run.time)),
        Some((RunKind::Fired, now))
    );
    assert!(firing.runs[0].count >= 1000);
    let mut it = schedule(every("1 second"), at(NOON));
    (it.definition.missed, it.definition.overlap) = (Missed::Each(5), Overlap::Allow);
    let times: Vec<Timestamp> = fired(&mut it, now, &[]).runs[1..].iter().map(|run| run.time).collect();
    let wanted: Vec<Timestamp> = (0..5).rev().map(|s| before(now, Duration::from_secs(s))).collect();
    assert_eq!(times, wanted);
}

#[test]
fn an_expression_without_a_future_time_stops_its_schedule_and_says_why() {
    let mut definition = every("1 minute");
    definition.end = Some(after(at(NOON), Duration::from_secs(90)));
    let mut it = schedule(definition, at(NOON));
    let firing = fired(&mut it, after(at(NOON), MINUTE), &[]);
    assert_eq!(kinds(&firing), [(RunKind::Fired, 1)]);
    assert_eq!((it.standing.next, it.standing.due), (None, None));
    assert!(
        it.standing
            .stopped
            .as_deref()
            .is_some_and(|why| why.contains("before its end")),
        "{it:?}"
    );
    // One that this program does not understand, written by another.
    it.definition.expression = "by the moon".to_owned();
    it.standing.due = Some(at(NOON));
    fired(&mut it, at(NOON), &[]);
    assert_eq!(it.standing.due, None);
    assert!(it.standing.stopped.is_some());
}

#[test]
fn a_job_that_is_refused_does_not_stop_its_schedule() {
    let mut it = schedule(every("1 minute"), at(NOON));
    let mut firing = fire(&it, after(at(NOON), MINUTE), &HashSet::new());
    firing.conclude([Err(Error::Conflict("job id"))]);
    assert_eq!(kinds(&firing), [(RunKind::Refused, 1)]);
    assert!(firing.standing.unfinished.is_empty() && firing.runs[0].job.is_none());
    it.standing = firing.standing;
    assert_eq!(it.standing.due, Some(after(at(NOON), 2 * MINUTE)));
}

#[test]
fn run_now_waits_for_no_time_but_not_beside_another_job() {
    let it = schedule(every("1 hour"), at(NOON));
    let run = |it: &Schedule, force: bool, live: &[JobId]| {
        let live = live.iter().copied().collect();
        run_now(it, &RunNow::Once { force }, &HashSet::new(), at(NOON), &live)
    };
    let mut firing = run(&it, false, &[]).expect("it runs");
    firing.conclude([Ok(Submitted {
        id: firing.jobs[0].id,
        new: true,
    })]);
    let mut it = it;
    assert_eq!(firing.standing.due, it.standing.due, "its times stay");
    it.standing = firing.standing;
    let job = it.standing.unfinished[0];
    let error = run(&it, false, &[job]).expect_err("one is unfinished");
    assert!(matches!(error, Error::StillRuns { job: it, .. } if it == job));
    assert_eq!(kinds(&run(&it, true, &[job]).expect("forced")), [(RunKind::Fired, 1)]);
    assert_eq!(kinds(&run(&it, false, &[]).expect("ended")), [(RunKind::Fired, 1)]);
}

fn any_overlap() -> impl Strategy<Value = Overlap> {
    proptest::sample::select(Overlap::ALL)
}

fn any_missed() -> impl Strategy<Value = Missed> {
    prop_oneof![Just(Missed::One), Just(Missed::Skip), (1..20u32).prop_map(Missed::Each)]
}

proptest! {
    /// Whatever happens: no time has two jobs, times come in order, the next time is ahead, and without `allow` no job
    /// is submitted beside another. With overlap allowed and each missed time made up for, no time is without a job.
    #[test]
    fn no_time_is_fired_twice_and_none_is_forgotten(
        seconds in 1..400i64, overlap in any_overlap(), missed in any_missed(),
        steps in proptest::collection::vec((0..900u64, any::<bool>(), any::<bool>()), 1..40),
    ) {
        let mut it = schedule(every(&format!("{seconds} seconds")), at(NOON));
        (it.definition.overlap, it.definition.missed) = (overlap, missed);
        let mut now = at(NOON);
        let mut live: Vec<JobId> = Vec::new();
        let mut seen = BTreeSet::new();
        let mut accounted = 0u32;
        for (step, back, ends) in steps {
            // The clock may also go back a little.
            now = if back { before(now, Duration::from_secs(step.min(5))) } else { after(now, Duration::from_secs(step)) };
            if ends {
                live.clear();
            }
            if it.standing.due.is_none_or(|due| due > now) {
                continue;
            }
            let firing = fired(&mut it, now, &live);
            for run in &firing.runs {
                if run.kind == RunKind::Fired {
                    prop_assert!(seen.insert(run.time), "twice");
                    prop_assert!(overlap == Overlap::Allow || live.is_empty(), "beside another");
                    live.extend(run.job);
                }
                prop_assert!(run.time <= now);
                accounted += run.count;
            }
            let next = it.standing.next.expect("there is always a next time");
            prop_assert!(next > now);
            prop_assert!(it.standing.due.expect("due") <= next);
            // Each time that has come was fired, skipped, missed, or waits.
            let come = (next.as_second() - at(NOON).as_second()) / seconds - 1;
            prop_assert_eq!(i64::from(accounted) + it.standing.waiting.len() as i64, come);
            prop_assert!(it.standing.waiting.len() <= 20);
        }
    }
}
