//! What becomes of times that do not go by the calendar, and what operators and deployments do.

use super::*;
use crate::store::schedules::ScheduleFilter;

cases![
    the_previous_job_is_cancelled_and_the_next_one_comes,
    one_job_waits_for_the_previous_one,
    missed_times_are_made_up_for_one_after_the_other,
    what_a_deployment_declares_is_reconciled,
    history_tells_what_became_of_the_jobs,
    a_backfill_is_bounded_and_in_the_past,
];

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
        world.clock.advance(MINUTE);
        let waits = async || {
            let schedule = jobs.schedules().get(&key("a")).await.expect("it is there");
            !schedule.standing.waiting.is_empty() && schedule.standing.next > Some(world.clock.now())
        };
        within(async {
            while !waits().await {
                tokio::task::yield_now().await;
            }
        })
        .await;
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
