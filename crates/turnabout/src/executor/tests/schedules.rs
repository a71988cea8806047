//! Schedules fire by themselves: when they are due, on whichever executor is there, and whatever the clock does.

use jiff::Timestamp;

use super::counting::{Counting, Fault};
use super::*;
use crate::clock::ManualClock;
use crate::job::State;
use crate::schedule::{Missed, Overlap, RunKind, ScheduleChange, ScheduleKey};
use crate::store::conformance::cases;
use crate::store::schedules::ScheduleFilter;

cases![
    a_schedule_fires_when_it_is_due_and_nobody_polls_for_it,
    a_changed_schedule_acts_at_once,
    a_paused_schedule_does_not_fire_until_it_is_resumed,
    a_week_without_executors_is_one_job,
    a_clock_that_jumps_fires_once,
    a_time_in_the_gap_of_daylight_saving_fires_once_after_it,
    a_schedule_without_a_future_time_is_stopped_and_others_go_on,
    the_previous_job_is_cancelled_and_the_next_one_comes,
    one_job_waits_for_the_previous_one,
    missed_times_are_made_up_for_one_after_the_other,
    an_outage_while_firing_is_waited_out_and_health_says_so,
    firing_that_hangs_is_told_by_health,
    what_a_deployment_declares_is_reconciled,
    history_tells_what_became_of_the_jobs,
    a_backfill_is_bounded_and_in_the_past,
    schedules_of_a_group_and_an_owner_are_fired_for_them,
];

const MINUTE: Duration = Duration::from_mins(1);

fn key(name: &str) -> ScheduleKey {
    ScheduleKey::new(name)
}

fn at(text: &str) -> Timestamp {
    text.parse().expect(text)
}

/// The clock shows this moment, which is in the future.
fn advance_to(clock: &ManualClock, moment: &str) {
    clock.advance(crate::clock::until(clock.now(), at(moment)));
}

/// An executor whose handler reports for which time it runs.
async fn timekeeper(jobs: &Jobs) -> (ExecutorHandle, mpsc::UnboundedReceiver<(String, Timestamp)>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let handler = |cx: Context<mpsc::UnboundedSender<(String, Timestamp)>>, task: Echo| async move {
        let time = cx.scheduled_for().expect("a job of a schedule");
        let _ = cx.state().send((task.0, time));
        Ok(())
    };
    let executor = Executor::new(jobs).state(sender).task(handler).start().await;
    (executor.expect("it starts"), receiver)
}

async fn kinds(jobs: &Jobs, name: &str) -> Vec<(RunKind, u32)> {
    let history = jobs
        .schedules()
        .history(&key(name), None, 100)
        .await
        .expect("the history");
    history
        .iter()
        .rev()
        .map(|past| (past.run.kind, past.run.count))
        .collect()
}

async fn a_schedule_fires_when_it_is_due_and_nobody_polls_for_it(world: &World) {
    let store = Counting::new(&world.store);
    let jobs = Jobs::on(store.clone());
    let (executor, mut times) = timekeeper(&jobs).await;
    jobs.schedule("a", Echo("x".into()))
        .every("1 minute")
        .await
        .expect("declared");
    let begin = world.clock.now();
    for n in 1..=3 {
        executor.drained().await.expect("drained");
        store.calls();
        world.clock.advance(MINUTE.saturating_sub(Duration::from_millis(1)));
        executor.drained().await.expect("drained");
        assert!(times.try_recv().is_err(), "a millisecond too early");
        assert!(
            store.calls().get("promote").is_none_or(|calls| *calls < 10),
            "nobody polls"
        );
        world.clock.advance(Duration::from_millis(1));
        let expected = crate::clock::after(begin, n * MINUTE);
        assert_eq!(within(times.recv()).await, Some(("x".to_owned(), expected)));
    }
    executor.shutdown(Duration::ZERO).await;
}

async fn a_changed_schedule_acts_at_once(world: &World) {
    let jobs = jobs_of(world);
    let (executor, mut times) = timekeeper(&jobs).await;
    jobs.schedule("a", Echo("x".into()))
        .every("1 day")
        .await
        .expect("declared");
    executor.drained().await.expect("drained");
    // By another process.
    let there = Jobs::on(world.elsewhere().await.store);
    let change = ScheduleChange {
        expression: Some("every 1 minute".to_owned()),
        ..ScheduleChange::default()
    };
    let changed = there.schedules().change(key("a"), change).await.expect("changed");
    world.clock.advance(MINUTE);
    let time = changed.standing.next.expect("a next time");
    assert_eq!(within(times.recv()).await, Some(("x".to_owned(), time)));
    executor.shutdown(Duration::ZERO).await;
}

async fn a_paused_schedule_does_not_fire_until_it_is_resumed(world: &World) {
    let jobs = jobs_of(world);
    let (executor, mut times) = timekeeper(&jobs).await;
    jobs.schedule("a", Echo("x".into()))
        .every("1 minute")
        .await
        .expect("declared");
    let paused = jobs
        .schedules()
        .pause(key("a"), Some("it is broken"), Some("ada"))
        .await
        .expect("paused");
    assert_eq!(
        paused.standing.paused.and_then(|paused| paused.note).as_deref(),
        Some("it is broken")
    );
    world.clock.advance(10 * MINUTE);
    executor.drained().await.expect("drained");
    assert!(times.try_recv().is_err(), "it is paused");
    jobs.schedules().resume(key("a")).await.expect("resumed");
    executor.drained().await.expect("drained");
    assert!(times.try_recv().is_err(), "what came meanwhile is gone");
    world.clock.advance(MINUTE);
    within(times.recv()).await.expect("it fires");
    executor.shutdown(Duration::ZERO).await;
}

async fn a_week_without_executors_is_one_job(world: &World) {
    let jobs = jobs_of(world);
    jobs.schedule("a", Echo("x".into()))
        .every("1 hour")
        .await
        .expect("declared");
    jobs.schedule("none", Echo("y".into()))
        .every("1 hour")
        .missed(Missed::Skip)
        .await
        .expect("declared");
    world.clock.advance(Duration::from_hours(7 * 24) + 10 * MINUTE);
    let (executor, mut times) = timekeeper(&jobs).await;
    let last = crate::clock::before(world.clock.now(), 10 * MINUTE);
    assert_eq!(within(times.recv()).await, Some(("x".to_owned(), last)));
    executor.drained().await.expect("drained");
    assert!(times.try_recv().is_err());
    assert_eq!(kinds(&jobs, "a").await, [(RunKind::Missed, 167), (RunKind::Fired, 1)]);
    assert_eq!(kinds(&jobs, "none").await, [(RunKind::Missed, 168)]);
    executor.shutdown(Duration::ZERO).await;
}

async fn a_clock_that_jumps_fires_once(world: &World) {
    let jobs = jobs_of(world);
    let (executor, mut times) = timekeeper(&jobs).await;
    jobs.schedule("a", Echo("x".into()))
        .cron("0 * * * *")
        .await
        .expect("declared");
    executor.drained().await.expect("drained");
    // Three hours at once: one job, and then by the hour again.
    advance_to(&world.clock, "2030-01-01T03:20:00Z");
    assert_eq!(
        within(times.recv()).await.map(|(_, time)| time),
        Some(at("2030-01-01T03:00:00Z"))
    );
    executor.drained().await.expect("drained");
    advance_to(&world.clock, "2030-01-01T04:00:00Z");
    assert_eq!(
        within(times.recv()).await.map(|(_, time)| time),
        Some(at("2030-01-01T04:00:00Z"))
    );
    executor.drained().await.expect("drained");
    assert!(times.try_recv().is_err());
    executor.shutdown(Duration::ZERO).await;
}

async fn a_time_in_the_gap_of_daylight_saving_fires_once_after_it(world: &World) {
    let jobs = jobs_of(world);
    let (executor, mut times) = timekeeper(&jobs).await;
    advance_to(&world.clock, "2030-03-29T12:00:00Z");
    let set = jobs
        .schedule("a", Echo("x".into()))
        .cron("30 2 * * *")
        .zone("Europe/Berlin");
    set.await.expect("declared");
    // On the 31st there is no half past two; on the 27th of October there are two.
    for (from, to) in [("2030-03-30", "2030-04-02"), ("2030-10-26", "2030-10-29")] {
        advance_to(&world.clock, &format!("{from}T00:10:00Z"));
        executor.drained().await.expect("drained");
        while times.try_recv().is_ok() {}
        let mut hours = 0;
        while world.clock.now() < at(&format!("{to}T00:00:00Z")) {
            world.clock.advance(Duration::from_mins(30));
            executor.drained().await.expect("drained");
            hours += usize::from(times.try_recv().is_ok());
        }
        assert_eq!(hours, 3, "once a day, from {from}");
    }
    executor.shutdown(Duration::ZERO).await;
}

async fn a_schedule_without_a_future_time_is_stopped_and_others_go_on(world: &World) {
    let jobs = jobs_of(world);
    let (executor, mut times) = timekeeper(&jobs).await;
    let end = crate::clock::after(world.clock.now(), MINUTE);
    jobs.schedule("ends", Echo("ends".into()))
        .every("1 minute")
        .end(end)
        .await
        .expect("declared");
    jobs.schedule("goes on", Echo("goes on".into()))
        .every("2 minutes")
        .await
        .expect("declared");
    executor.drained().await.expect("drained");
    world.clock.advance(MINUTE);
    assert_eq!(
        within(times.recv()).await.map(|(name, _)| name).as_deref(),
        Some("ends")
    );
    executor.drained().await.expect("drained");
    let stopped = jobs.schedules().get(&key("ends")).await.expect("it is there");
    assert!(stopped.standing.stopped.is_some_and(|why| why.contains("has passed")));
    world.clock.advance(MINUTE);
    assert_eq!(
        within(times.recv()).await.map(|(name, _)| name).as_deref(),
        Some("goes on")
    );
    // From the beginning.
    let never = jobs
        .schedule("never", Echo("x".into()))
        .cron("0 0 30 2 *")
        .await
        .expect("declared");
    assert!(never.standing.stopped.is_some_and(|why| why.contains("no time")));
    executor.shutdown(Duration::ZERO).await;
}

async fn the_previous_job_is_cancelled_and_the_next_one_comes(world: &World) {
    let jobs = jobs_of(world);
    let (stage, mut seats) = stage();
    let executor = player(&jobs, stage, 4).await;
    let set = jobs
        .schedule("a", Play("x".into()))
        .every("1 minute")
        .overlap(Overlap::Cancel);
    set.await.expect("declared");
    executor.drained().await.expect("drained");
    world.clock.advance(MINUTE);
    let (_, first) = seats.next().await;
    world.clock.advance(MINUTE);
    assert_eq!(ended(&jobs, first).await.state, State::Cancelled);
    // It looks again now and then.
    world.clock.advance(Duration::from_secs(1));
    let (_, second) = seats.next().await;
    let job = jobs.get(second).await.expect("it is there");
    assert_eq!(
        job.scheduled_for(),
        Some(crate::clock::before(world.clock.now(), Duration::from_secs(1)))
    );
    executor.shutdown(Duration::ZERO).await;
}

async fn one_job_waits_for_the_previous_one(world: &World) {
    let jobs = jobs_of(world);
    let (stage, mut seats) = stage();
    let executor = player(&jobs, stage, 4).await;
    let set = jobs
        .schedule("a", Play("x".into()))
        .every("1 minute")
        .overlap(Overlap::Wait);
    set.await.expect("declared");
    executor.drained().await.expect("drained");
    world.clock.advance(MINUTE);
    let (_, first) = seats.next().await;
    for _ in 0..3 {
        let before = kinds(&jobs, "a").await.len();
        world.clock.advance(MINUTE);
        let waits = async || {
            let schedule = jobs.schedules().get(&key("a")).await.expect("it is there");
            !schedule.standing.waiting.is_empty() && schedule.standing.next > Some(world.clock.now())
        };
        within(async {
            while !waits().await {
                tokio::task::yield_now().await
            }
        })
        .await;
        let _ = before;
    }
    seats.curtain.cancel();
    ended(&jobs, first).await;
    world.clock.advance(Duration::from_secs(1));
    let (_, second) = seats.next().await;
    let waited = jobs.get(second).await.expect("it is there").scheduled_for();
    assert_eq!(
        waited,
        Some(crate::clock::before(
            world.clock.now(),
            2 * MINUTE + Duration::from_secs(1)
        ))
    );
    ended(&jobs, second).await;
    let runs = kinds(&jobs, "a").await;
    assert_eq!(
        runs,
        [
            (RunKind::Fired, 1),
            (RunKind::Skipped, 1),
            (RunKind::Skipped, 1),
            (RunKind::Fired, 1)
        ]
    );
    executor.shutdown(Duration::ZERO).await;
}

async fn missed_times_are_made_up_for_one_after_the_other(world: &World) {
    let jobs = jobs_of(world);
    let set = jobs
        .schedule("a", Echo("x".into()))
        .every("1 hour")
        .missed(Missed::Each(3));
    set.await.expect("declared");
    world.clock.advance(Duration::from_hours(10));
    let now = world.clock.now();
    let (executor, mut times) = timekeeper(&jobs).await;
    for hours in [2, 1, 0] {
        let time = crate::clock::before(now, Duration::from_hours(hours));
        assert_eq!(within(times.recv()).await, Some(("x".to_owned(), time)));
        executor.drained().await.expect("drained");
        world.clock.advance(Duration::from_secs(1));
    }
    assert_eq!(kinds(&jobs, "a").await[0], (RunKind::Missed, 7));
    executor.shutdown(Duration::ZERO).await;
}

async fn an_outage_while_firing_is_waited_out_and_health_says_so(world: &World) {
    let store = Counting::new(&world.store);
    let jobs = Jobs::on(store.clone());
    let (executor, mut times) = timekeeper(&jobs).await;
    jobs.schedule("a", Echo("x".into()))
        .every("1 minute")
        .await
        .expect("declared");
    executor.drained().await.expect("drained");
    store.fail("fire", Fault::Outage, 3);
    world.clock.advance(MINUTE);
    within(async {
        while executor.health().troubles.is_empty() {
            tokio::task::yield_now().await
        }
    })
    .await;
    assert!(executor.health().troubles.contains_key("firing schedules"));
    within(times.recv()).await.expect("it fires all the same");
    within(async {
        while !executor.health().is_good() {
            tokio::task::yield_now().await
        }
    })
    .await;
    // An answer that gets lost: it has been fired, and is not again.
    store.fail("fire", Fault::LostReply, 1);
    world.clock.advance(MINUTE);
    within(times.recv()).await.expect("it fires");
    executor.drained().await.expect("drained");
    assert!(times.try_recv().is_err());
    assert_eq!(kinds(&jobs, "a").await, [(RunKind::Fired, 1), (RunKind::Fired, 1)]);
    executor.shutdown(Duration::ZERO).await;
}

/// Real time passes, since that is what health goes by.
async fn firing_that_hangs_is_told_by_health(world: &World) {
    let store = Counting::new(&world.store);
    let jobs = Jobs::on(store.clone());
    let executor = Executor::new(&jobs)
        .task(echo)
        .lease(Duration::from_millis(200), Duration::from_secs(60))
        .start()
        .await
        .expect("it starts");
    jobs.schedule("a", Echo("x".into()))
        .every("1 minute")
        .await
        .expect("declared");
    executor.drained().await.expect("drained");
    store.fail("fire", Fault::Hang, 1);
    world.clock.advance(MINUTE);
    let behind = async || executor.health().behind.contains_key("scheduler");
    within(async {
        while !behind().await {
            tokio::task::yield_now().await
        }
    })
    .await;
    assert!(!executor.health().is_good());
    let overdue = jobs.schedules().overdue().await.expect("it works");
    assert_eq!(overdue, Some(Duration::ZERO));
    executor.shutdown(Duration::ZERO).await;
}

async fn what_a_deployment_declares_is_reconciled(world: &World) {
    let jobs = jobs_of(world);
    let set = |name: &str, expression: &str| jobs.schedule(name, Echo(name.to_owned())).expression(expression);
    let schedules = jobs.schedules();
    let first = schedules
        .declare("app", [set("a", "every 1 hour"), set("b", "every 1 hour")])
        .await
        .expect("declared");
    assert_eq!((first.changed, first.removed, first.same), (2, 0, 0));
    schedules
        .set(key("by hand"), crate::schedule::Definition::new("echo", "@daily"))
        .await
        .expect("set");
    schedules.pause(key("a"), None, None).await.expect("paused");
    let second = [set("a", "every 2 hours"), set("c", "every 1 hour")];
    let second = schedules.declare("app", second).await.expect("declared");
    assert_eq!((second.changed, second.removed, second.same), (2, 1, 0));
    let again = [set("a", "every 2 hours"), set("c", "every 1 hour")];
    let again = schedules.declare("app", again).await.expect("declared");
    assert_eq!((again.changed, again.removed, again.same), (0, 0, 2));
    let filter = ScheduleFilter {
        limit: 10,
        ..ScheduleFilter::default()
    };
    let all = schedules.list(&filter).await.expect("a list");
    let names: Vec<&str> = all.iter().map(|schedule| schedule.key.name.as_str()).collect();
    assert_eq!(names, ["a", "by hand", "c"]);
    assert!(all[0].standing.paused.is_some(), "what an operator did stays");
    assert_eq!(all[0].definition.expression, "every 2 hours");
    let twice = [set("a", "every 2 hours"), set("a", "every 1 hour")];
    let error = schedules.declare("app", twice).await.expect_err("twice");
    assert!(error.to_string().contains("declared twice"), "{error}");
    let error = jobs.schedule("x", Echo("x".into())).await.expect_err("no times");
    assert!(error.to_string().contains("say when"), "{error}");
}

async fn history_tells_what_became_of_the_jobs(world: &World) {
    let jobs = jobs_of(world);
    let (executor, mut times) = timekeeper(&jobs).await;
    jobs.schedule("a", Echo("x".into()))
        .every("1 minute")
        .await
        .expect("declared");
    executor.drained().await.expect("drained");
    world.clock.advance(MINUTE);
    within(times.recv()).await.expect("it fires");
    executor.drained().await.expect("drained");
    let run = jobs.schedules().run(&key("a"), false).await.expect("it runs");
    within(times.recv()).await.expect("at once");
    ended(&jobs, run.job.expect("a job")).await;
    let history = jobs
        .schedules()
        .history(&key("a"), None, 10)
        .await
        .expect("the history");
    assert_eq!(history.len(), 2);
    assert!(
        history
            .iter()
            .all(|past| past.state == Some(State::Success) && past.finished.is_some())
    );
    assert_eq!(history[0].run.why.as_deref(), Some("run by hand"));
    let next = jobs.schedules().next(&key("a"), 3).await.expect("times");
    let minutes = (1..=3).map(|n| crate::clock::after(world.clock.now(), n * MINUTE));
    assert_eq!(next, minutes.collect::<Vec<_>>());
    executor.shutdown(Duration::ZERO).await;
}

async fn a_backfill_is_bounded_and_in_the_past(world: &World) {
    let jobs = jobs_of(world);
    jobs.schedule("a", Echo("x".into()))
        .cron("0 * * * *")
        .await
        .expect("declared");
    let schedules = jobs.schedules();
    let runs = schedules
        .backfill(&key("a"), at("2029-12-01T00:00:00Z"), at("2029-12-01T05:00:00Z"))
        .await;
    let runs = runs.expect("made up for");
    assert_eq!(runs.len(), 6);
    assert_eq!(
        jobs.get(runs[0].job.expect("a job")).await.expect("it").scheduled_for(),
        Some(at("2029-12-01T00:00:00Z"))
    );
    let again = schedules
        .backfill(&key("a"), at("2029-12-01T00:00:00Z"), at("2029-12-01T06:00:00Z"))
        .await;
    assert_eq!(again.expect("the rest").len(), 1);
    let error = schedules
        .backfill(&key("a"), at("2029-01-01T00:00:00Z"), at("2029-12-01T00:00:00Z"))
        .await;
    assert!(error.expect_err("too many").to_string().contains("in parts"));
    let error = schedules
        .backfill(&key("a"), at("2029-12-01T00:00:00Z"), at("2031-12-01T00:00:00Z"))
        .await;
    assert!(error.expect_err("the future").to_string().contains("in the past"));
}

async fn schedules_of_a_group_and_an_owner_are_fired_for_them(world: &World) {
    let jobs = jobs_of(world);
    let (executor, mut times) = timekeeper(&jobs).await;
    for n in 0..20 {
        let set = jobs.schedule("daily", Echo(format!("group{n}"))).every("1 day");
        set.group(format!("group{n}")).owner("ada").await.expect("declared");
    }
    executor.drained().await.expect("drained");
    world.clock.advance(Duration::from_hours(24));
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..20 {
        seen.insert(within(times.recv()).await.expect("it fires").0);
    }
    assert_eq!(seen.len(), 20);
    executor.drained().await.expect("drained");
    let hers = jobs.of_owner("group7", "ada").list().await.expect("a list").jobs;
    assert_eq!(hers.len(), 1);
    executor.shutdown(Duration::ZERO).await;
}
