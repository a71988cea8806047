//! Handlers that have to stop: a cancel, or a time limit.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use super::counting::{Counting, Fault};
use super::*;
use crate::error::Error;
use crate::job::{Reason, State};
use crate::jobs::Cancel;
use crate::store::conformance::cases;

cases![
    a_running_job_is_told_to_stop_and_ends_cancelled,
    a_handler_that_does_not_listen_is_dropped,
    a_handler_that_finishes_all_the_same_ends_cancelled,
    a_waiting_job_is_cancelled_at_once,
    a_job_that_has_ended_cannot_be_cancelled,
    a_handler_that_takes_too_long_is_told_to_stop,
    a_job_cancelled_before_it_runs_never_does,
    a_job_cancelled_between_claim_and_start_never_runs,
    a_handler_stops_where_it_next_reports_or_checks,
    a_cancel_is_heard_soon_also_from_another_process,
    a_cancel_is_heard_by_heartbeat_where_signals_are_lost,
];

async fn a_running_job_is_told_to_stop_and_ends_cancelled(world: &World) {
    let jobs = jobs_of(world);
    let (stage, mut seats) = stage();
    let executor = player(&jobs, stage, 2).await;
    let job = jobs.submit(Play("x".into())).await.expect("submitted").id;
    assert_eq!(seats.next().await.1, job);
    assert_eq!(jobs.cancel(job).await.expect("requested"), Cancel::Cancelling);
    let job = ended(&jobs, job).await;
    assert_eq!(
        (job.state, job.reason),
        (State::Cancelled, Some(Reason::CancelRequested))
    );
    assert_eq!(jobs.cancel(job.id).await.expect("it is already"), Cancel::Cancelled);
    executor.shutdown(Duration::ZERO).await;
}

async fn a_handler_that_does_not_listen_is_dropped(world: &World) {
    async fn deaf(cx: Context<Stage>, task: Play) -> TaskResult {
        let _ = cx.state().began.send((task.0, cx.job()));
        std::future::pending().await
    }
    let jobs = jobs_of(world);
    let (stage, mut seats) = stage();
    let executor = Executor::with_state(&jobs, stage)
        .task(deaf)
        .grace(Duration::from_millis(10));
    let executor = executor.start().await.expect("it starts");
    let job = jobs.submit(Play("x".into())).await.expect("submitted").id;
    seats.next().await;
    jobs.cancel(job).await.expect("requested");
    let job = ended(&jobs, job).await;
    assert_eq!(job.state, State::Cancelled);
    assert!(job.error.expect("it says why").contains("was dropped"));
    executor.shutdown(Duration::ZERO).await;
}

async fn a_handler_that_finishes_all_the_same_ends_cancelled(world: &World) {
    async fn stubborn(cx: Context<Stage>, task: Play) -> TaskResult<String> {
        let _ = cx.state().began.send((task.0.clone(), cx.job()));
        cx.state().curtain.cancelled().await;
        Ok(task.0)
    }
    let jobs = jobs_of(world);
    let (stage, mut seats) = stage();
    let executor = Executor::with_state(&jobs, stage)
        .task(stubborn)
        .start()
        .await
        .expect("it starts");
    let job = jobs.submit(Play("x".into())).await.expect("submitted").id;
    seats.next().await;
    jobs.cancel(job).await.expect("requested");
    seats.curtain.cancel();
    let job = ended(&jobs, job).await;
    assert_eq!(
        (job.state, job.result),
        (State::Cancelled, None),
        "whoever is told cancelling gets cancelled"
    );
    executor.shutdown(Duration::ZERO).await;
}

async fn a_waiting_job_is_cancelled_at_once(world: &World) {
    let jobs = jobs_of(world);
    let job = jobs.submit(Echo("x".into())).await.expect("submitted").id;
    assert_eq!(jobs.cancel(job).await.expect("cancelled"), Cancel::Cancelled);
    assert_eq!(jobs.get(job).await.expect("it is there").state, State::Cancelled);
    jobs.restart(job).await.expect("restarted");
    assert_eq!(jobs.get(job).await.expect("it is there").state, State::Waiting);
    jobs.delete(job).await.expect("what waits is thrown away in one call");
    assert!(matches!(jobs.get(job).await, Err(Error::NotFound(_))));
}

async fn a_job_that_has_ended_cannot_be_cancelled(world: &World) {
    let jobs = jobs_of(world);
    let job = jobs.submit(Echo("x".into())).await.expect("submitted").id;
    crate::testing::drain(Executor::new(&jobs).task(echo))
        .await
        .expect("drained");
    let error = jobs.cancel(job).await.expect_err("it has succeeded");
    assert!(
        matches!(
            error,
            Error::NotCancellable {
                state: State::Success,
                ..
            }
        ),
        "{error}"
    );
    jobs.delete(job).await.expect("deleted");
    assert!(matches!(jobs.get(job).await, Err(Error::NotFound(_))));
}

async fn a_handler_that_takes_too_long_is_told_to_stop(world: &World) {
    let jobs = jobs_of(world);
    let (stage, mut seats) = stage();
    let executor = player(&jobs, stage, 1).await;
    let job = jobs.submit(Play("x".into())).await.expect("submitted").id;
    seats.next().await;
    // The handler has begun, but its time limit may not run yet: the start mark comes after that.
    becomes(&jobs, job, |job| job.state == State::Running).await;
    world.clock.advance(Duration::from_mins(5));
    let stuck = becomes(&jobs, job, |job| job.state == State::Stuck).await;
    assert_eq!((stuck.reason, stuck.attempts), (Some(Reason::TimedOut), 1));
    assert_eq!(stuck.error.as_deref(), Some("its time was up; told to stop"));
    executor.shutdown(Duration::ZERO).await;
}

async fn a_job_cancelled_before_it_runs_never_does(world: &World) {
    let jobs = jobs_of(world);
    let job = jobs.submit(Play("x".into())).await.expect("submitted").id;
    assert_eq!(jobs.cancel(job).await.expect("cancelled"), Cancel::Cancelled);
    let called = std::sync::Arc::new(AtomicU32::new(0));
    let seen = std::sync::Arc::clone(&called);
    let handler = move |_: Context, _: Play| {
        seen.fetch_add(1, Ordering::Relaxed);
        async { Ok(()) }
    };
    crate::testing::drain(Executor::new(&jobs).task(handler))
        .await
        .expect("drained");
    assert_eq!(called.load(Ordering::Relaxed), 0);
    assert_eq!(jobs.get(job).await.expect("it is there").state, State::Cancelled);
}

async fn a_job_cancelled_between_claim_and_start_never_runs(world: &World) {
    #[derive(Debug, Serialize, Deserialize)]
    struct Once;

    impl Task for Once {
        const NAME: &'static str = "once";
        const RESTARTABLE: bool = false;
    }

    let store = Counting::new(&world.store);
    let jobs = Jobs::on(store.clone());
    // Its start has to be in the store before it runs, and never gets there.
    store.fail("start", Fault::Outage, u32::MAX);
    let handler = |_: Context, _: Once| async { panic!("it must not run") as TaskResult };
    let executor = Executor::new(&jobs).task(handler).start().await.expect("it starts");
    let job = jobs.submit(Once).await.expect("submitted").id;
    becomes(&jobs, job, |job| job.state == State::Scheduled).await;
    assert_eq!(jobs.cancel(job).await.expect("requested"), Cancel::Cancelling);
    let job = ended(&jobs, job).await;
    assert_eq!((job.state, job.attempts), (State::Cancelled, 0));
    executor.shutdown(Duration::ZERO).await;
}

async fn a_handler_stops_where_it_next_reports_or_checks(world: &World) {
    async fn reports(cx: Context<Stage>, task: Play) -> TaskResult {
        let _ = cx.state().began.send((task.0.clone(), cx.job()));
        let items = cx.progress().child(50, u64::MAX);
        loop {
            match task.0.as_str() {
                "set" => cx.progress().set(1)?,
                "increment" => items.increment(1)?,
                "step" => cx.progress().step("looking")?,
                "track" => {
                    for item in cx.progress().track(0, [1]) {
                        item?;
                    }
                }
                _ => cx.check_cancelled()?,
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    let jobs = jobs_of(world);
    let (stage, mut seats) = stage();
    // Nobody could wait for the end of this grace.
    let executor = Executor::with_state(&jobs, stage)
        .task(reports)
        .slots(5)
        .grace(Duration::from_mins(10));
    let executor = executor.start().await.expect("it starts");
    for how in ["set", "increment", "step", "track", "check"] {
        let job = jobs.submit(Play(how.into())).await.expect("submitted").id;
        seats.next().await;
        assert_eq!(jobs.cancel(job).await.expect("requested"), Cancel::Cancelling);
        let job = ended(&jobs, job).await;
        assert_eq!(job.state, State::Cancelled, "{how}");
        assert_eq!(job.error.as_deref(), Some("the handler was told to stop"), "{how}");
    }
    executor.shutdown(Duration::ZERO).await;
}

async fn a_cancel_is_heard_soon_also_from_another_process(world: &World) {
    async fn hear(cx: Context<Stage>, task: Play) -> TaskResult {
        let _ = cx.state().began.send((task.0.clone(), cx.job()));
        cx.cancelled().await;
        let _ = cx.state().began.send((task.0, cx.job()));
        Ok(())
    }
    let jobs = jobs_of(world);
    let elsewhere = world.elsewhere().await;
    let there = jobs_of(&elsewhere);
    let (stage, mut seats) = stage();
    let executor = Executor::with_state(&jobs, stage).task(hear).slots(2);
    let executor = executor.start().await.expect("it starts");
    for jobs in [&jobs, &there] {
        let job = jobs.submit(Play("x".into())).await.expect("submitted").id;
        seats.next().await;
        let began = Instant::now();
        jobs.cancel(job).await.expect("requested");
        seats.next().await;
        println!("the handler heard of the cancel after {:?}", began.elapsed());
        assert_eq!(ended(jobs, job).await.state, State::Cancelled);
    }
    executor.shutdown(Duration::ZERO).await;
}

async fn a_cancel_is_heard_by_heartbeat_where_signals_are_lost(world: &World) {
    let jobs = Jobs::on(Counting::deaf(&world.store));
    let (stage, mut seats) = stage();
    let executor = Executor::with_state(&jobs, stage)
        .task(play)
        .lease(Duration::from_millis(50), Duration::from_secs(10));
    let executor = executor.start().await.expect("it starts");
    let job = jobs.submit(Play("x".into())).await.expect("submitted").id;
    seats.next().await;
    assert_eq!(jobs.cancel(job).await.expect("requested"), Cancel::Cancelling);
    assert_eq!(ended(&jobs, job).await.state, State::Cancelled);
    executor.shutdown(Duration::ZERO).await;
}
