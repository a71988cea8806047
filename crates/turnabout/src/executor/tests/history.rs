//! The history of a job's attempts, as callers see it.

use super::*;
use crate::error::Error;
use crate::job::{Reason, State};
use crate::store::conformance::cases;
use crate::task::TaskError;
use crate::testing::drain;

cases![
    each_attempt_is_told_from_the_first_to_the_one_that_runs,
    the_whole_chain_of_an_error_is_kept,
    a_job_that_was_never_tried_has_no_attempts,
];

async fn each_attempt_is_told_from_the_first_to_the_one_that_runs(world: &World) {
    async fn third_time(cx: Context<Stage>, task: Play) -> TaskResult {
        match cx.attempt() {
            1 => Err("it was cold".into()),
            2 => panic!("it was dark"),
            _ => {
                let _ = cx.state().began.send((task.0, cx.job()));
                cx.state().curtain.cancelled().await;
                Ok(())
            }
        }
    }
    let jobs = jobs_of(world);
    let (stage, mut seats) = stage();
    let executor = Executor::with_state(&jobs, stage).task(third_time);
    let executor = executor.start().await.expect("it starts");
    let incarnation = executor.health().incarnation;
    let id = jobs.submit(Play("x".into())).await.expect("submitted").id;
    for attempts in 1..=2 {
        becomes(&jobs, id, |job| job.state == State::Stuck && job.attempts == attempts).await;
        assert_eq!(jobs.attempts(id).await.expect("its attempts").len() as u32, attempts);
        world.clock.advance(Duration::from_mins(2));
    }
    seats.next().await;
    becomes(&jobs, id, |job| job.state == State::Running).await;
    let attempts = jobs.attempts(id).await.expect("its attempts");
    let told: Vec<_> = attempts
        .iter()
        .map(|a| (a.number, a.reason, a.error.as_deref()))
        .collect();
    assert_eq!(
        told,
        [
            (1, Some(Reason::Error), Some("it was cold")),
            (2, Some(Reason::Error), Some("the handler panicked: it was dark")),
            (3, None, None),
        ]
    );
    assert!(attempts.iter().all(|a| a.claim.executor == incarnation));
    assert!(attempts.is_sorted_by_key(|a| a.started));
    let ended_: Vec<bool> = attempts.iter().map(|a| a.ended.is_some()).collect();
    assert_eq!(ended_, [true, true, false], "the third runs");
    seats.curtain.cancel();
    let job = ended(&jobs, id).await;
    let attempts = jobs.attempts(id).await.expect("its attempts");
    assert_eq!(attempts.len(), 3);
    assert_eq!((attempts[2].ended, attempts[2].reason), (job.finished, None));
    assert_eq!(
        attempts[2].error, None,
        "the error of an earlier attempt is not its own"
    );
    executor.shutdown(Duration::ZERO).await;
}

async fn the_whole_chain_of_an_error_is_kept(world: &World) {
    #[derive(Debug, thiserror::Error)]
    #[error("the page could not be read")]
    struct Unreadable(#[source] std::num::ParseIntError);

    async fn read(_: Context, task: Play) -> TaskResult<u32> {
        task.0.parse().map_err(|e| TaskError::permanent(Unreadable(e)))
    }
    let jobs = jobs_of(world);
    let id = jobs.submit(Play("seven".into())).await.expect("submitted").id;
    drain(Executor::new(&jobs).task(read)).await.expect("drained");
    let whole = "the page could not be read: invalid digit found in string";
    assert_eq!(jobs.get(id).await.expect("the job").error.as_deref(), Some(whole));
    let attempts = jobs.attempts(id).await.expect("its attempts");
    assert_eq!(attempts.len(), 1);
    assert_eq!(
        (attempts[0].reason, attempts[0].error.as_deref()),
        (Some(Reason::Permanent), Some(whole))
    );
}

async fn a_job_that_was_never_tried_has_no_attempts(world: &World) {
    let jobs = jobs_of(world);
    let id = jobs.submit(Echo("x".into())).group("acme").owner("ada").await;
    let id = id.expect("submitted").id;
    assert_eq!(jobs.attempts(id).await.expect("none"), []);
    jobs.cancel(id).await.expect("cancelled");
    assert_eq!(jobs.of_owner("acme", "ada").attempts(id).await.expect("none"), []);
    let foreign = jobs.of_owner("acme", "bob").attempts(id).await;
    assert!(matches!(foreign, Err(Error::NotFound(_))));
    let missing = jobs.attempts(JobId::at(world.clock.now())).await;
    assert!(matches!(missing, Err(Error::NotFound(_))));
}
