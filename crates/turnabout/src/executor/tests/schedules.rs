//! Schedules fire by themselves: when they are due, on whichever executor is there, and whatever the clock does.

use jiff::Timestamp;

use super::counting::{Counting, Fault};
use super::*;
use crate::clock::ManualClock;
use crate::job::State;
use crate::schedule::{Missed, Overlap, RunKind, ScheduleChange, ScheduleKey};
use crate::store::conformance::cases;

mod policies;

cases![
    a_schedule_fires_when_it_is_due_and_nobody_polls_for_it,
    a_changed_schedule_acts_at_once,
    a_paused_schedule_does_not_fire_until_it_is_resumed,
    a_week_without_executors_is_one_job,
    a_clock_that_jumps_fires_once,
    a_time_in_the_gap_of_daylight_saving_fires_once_after_it,
    a_schedule_without_a_future_time_is_stopped_and_others_go_on,
    an_outage_while_firing_is_waited_out_and_health_says_so,
    firing_that_hangs_is_told_by_health,
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
    let executor = Executor::with_state(jobs, sender).task(handler).start().await;
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
            world.clock.advance(Duration::from_hours(2));
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
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(executor.health().troubles.contains_key("firing schedules"));
    within(times.recv()).await.expect("it fires all the same");
    within(async {
        while !executor.health().is_good() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    executor.drained().await.expect("drained");
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
        .lease(Duration::from_millis(200), Duration::from_mins(1))
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
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(!executor.health().is_good());
    let overdue = jobs.schedules().overdue().await.expect("it works");
    assert_eq!(overdue, Some(Duration::ZERO));
    executor.shutdown(Duration::ZERO).await;
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
