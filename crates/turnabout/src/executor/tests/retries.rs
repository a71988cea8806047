//! Retries start when they are due, not at the next poll, and on whichever executor is free.

use super::counting::Counting;
use super::*;
use crate::job::{Reason, State};
use crate::store::conformance::cases;
use crate::testing::drain;

cases![
    retries_come_exactly_when_due_and_nobody_polls_for_them,
    a_retry_may_run_on_another_executor,
    a_delayed_job_starts_when_it_is_due,
    a_job_that_nobody_starts_in_time_expires,
    the_last_attempt_knows_that_it_is,
];

const MINUTE: Duration = Duration::from_mins(1);

async fn fail(cx: Context<mpsc::UnboundedSender<(u32, bool)>>, _: Play) -> TaskResult {
    let _ = cx.state().send((cx.attempt(), cx.is_last_attempt()));
    Err("once more".into())
}

async fn retries_come_exactly_when_due_and_nobody_polls_for_them(world: &World) {
    let store = Counting::new(&world.store);
    let jobs = Jobs::on(store.clone());
    let (sender, mut attempts) = mpsc::unbounded_channel();
    let executor = Executor::with_state(&jobs, sender)
        .task(fail)
        .start()
        .await
        .expect("it starts");
    let job = jobs.submit(Play("x".into())).await.expect("submitted").id;

    // Two retries, one and two minutes after the failure before them.
    for (attempt, delay) in [(1, MINUTE), (2, 2 * MINUTE)] {
        assert_eq!(within(attempts.recv()).await, Some((attempt, false)));
        let stuck = becomes(&jobs, job, |job| job.state == State::Stuck && job.attempts == attempt).await;
        assert_eq!(stuck.due, Some(crate::clock::after(world.clock.now(), delay)));
        store.calls();
        world.clock.advance(delay.saturating_sub(Duration::from_millis(1)));
        // Nothing is due; what the executor does now it does because of the time that has passed on its look-out.
        executor.drained().await.expect("drained");
        assert!(attempts.try_recv().is_err(), "a millisecond too early");
        assert!(
            store.calls().get("promote").is_none_or(|calls| *calls < 10),
            "nobody polls"
        );
        world.clock.advance(Duration::from_millis(1));
    }
    assert_eq!(within(attempts.recv()).await, Some((3, true)));
    let job = ended(&jobs, job).await;
    assert_eq!(
        (job.state, job.reason, job.attempts),
        (State::Failed, Some(Reason::Error), 3)
    );
    assert_eq!(job.error.as_deref(), Some("once more"));
    executor.shutdown(Duration::ZERO).await;
}

async fn a_retry_may_run_on_another_executor(world: &World) {
    let jobs = jobs_of(world);
    let (sender, mut attempts) = mpsc::unbounded_channel();
    let job = jobs.submit(Play("x".into())).await.expect("submitted").id;
    drain(Executor::with_state(&jobs, sender).task(fail))
        .await
        .expect("drained");
    assert_eq!(attempts.recv().await, Some((1, false)));

    world.clock.advance(MINUTE);
    let counts = drain(Executor::new(&jobs).task(|cx: Context, _: Play| async move { Ok(cx.attempt()) })).await;
    assert_eq!(counts.expect("drained").parked, 0);
    let job = jobs.get(job).await.expect("it is there");
    assert_eq!((job.state, job.result.as_deref()), (State::Success, Some("2")));
}

async fn a_delayed_job_starts_when_it_is_due(world: &World) {
    let jobs = jobs_of(world);
    let executor = Executor::new(&jobs).task(echo).start().await.expect("it starts");
    let hour = Duration::from_hours(1);
    let job = jobs.submit(Echo("x".into())).delay(hour).await.expect("submitted").id;
    world.clock.advance(hour.saturating_sub(Duration::from_secs(1)));
    executor.drained().await.expect("drained");
    assert_eq!(jobs.get(job).await.expect("it is there").state, State::Waiting);
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(ended(&jobs, job).await.state, State::Success);
    executor.shutdown(Duration::ZERO).await;
}

async fn a_job_that_nobody_starts_in_time_expires(world: &World) {
    let jobs = jobs_of(world);
    let executor = Executor::new(&jobs).task(echo).start().await.expect("it starts");
    let late = jobs
        .submit_named("unheard-of", ())
        .expires(MINUTE)
        .await
        .expect("submitted")
        .id;
    world.clock.advance(2 * MINUTE);
    let late = ended(&jobs, late).await;
    assert_eq!(
        (late.state, late.reason, late.attempts),
        (State::Failed, Some(Reason::Expired), 0)
    );
    executor.shutdown(Duration::ZERO).await;
}

async fn the_last_attempt_knows_that_it_is(world: &World) {
    let jobs = jobs_of(world);
    let (sender, mut attempts) = mpsc::unbounded_channel();
    jobs.submit(Play("x".into())).await.expect("submitted");
    for _ in 0..4 {
        drain(Executor::with_state(&jobs, sender.clone()).task(fail))
            .await
            .expect("drained");
        world.clock.advance(10 * MINUTE);
    }
    let mut seen = Vec::new();
    while let Ok(attempt) = attempts.try_recv() {
        seen.push(attempt);
    }
    assert_eq!(seen, [(1, false), (2, false), (3, true)]);
}
