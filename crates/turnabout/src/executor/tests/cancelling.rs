//! Handlers that have to stop: a cancel, or a time limit.

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
    let executor = Executor::new(&jobs)
        .state(stage)
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
    let executor = Executor::new(&jobs)
        .state(stage)
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
    let error = jobs.delete(job).await.expect_err("it has not ended");
    assert!(error.to_string().contains("cancel it first"), "{error}");
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
