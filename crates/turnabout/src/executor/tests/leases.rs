//! Executors that die, fall silent, or lose their lease.

use std::sync::Arc;

use uuid::Uuid;

use super::counting::{Counting, Fault};
use super::*;
use crate::job::{Reason, State};
use crate::store::conformance::cases;
use crate::store::{ExecutorInfo, Take};
use crate::turn::{Fairness, Scheme, Turns};

cases![
    a_silent_executors_jobs_are_handed_to_others,
    an_executor_that_cannot_renew_stops_its_handlers_and_registers_anew,
    an_executor_that_was_given_up_registers_anew,
    a_handler_that_cannot_be_stopped_does_not_keep_its_job,
];

/// As short as a test can bear.
const BEAT: Duration = Duration::from_millis(50);
const LEASE: Duration = Duration::from_millis(600);

/// Registers an executor that takes a job and is never heard of again.
pub(super) async fn ghost(world: &World) -> Uuid {
    let info = ExecutorInfo {
        incarnation: Uuid::new_v4(),
        name: "ghost".to_owned(),
        slots: 1,
        queues: vec!["default".to_owned()],
        tasks: vec!["play".to_owned()],
        version: "0".to_owned(),
        beat: 0,
    };
    world.store.register(&info, "ghost", &[]).await.expect("registered");
    let take = Take {
        executor: info.incarnation,
        number: 1,
        kind: "ghost".to_owned(),
        queues: info.queues.clone(),
        tasks: Arc::new(info.tasks.iter().map(|task| task.as_str().into()).collect()),
        want: 1,
        turns: Turns::new(Fairness::Jobs, Scheme::default(), 1),
    };
    let taken = world.store.take(take).await.expect("taken");
    let marks = taken
        .jobs
        .iter()
        .map(|job| crate::store::Start::of(job, world.clock.now()))
        .collect();
    world.store.start(info.incarnation, marks).await.expect("started");
    info.incarnation
}

async fn a_silent_executors_jobs_are_handed_to_others(world: &World) {
    let jobs = jobs_of(world);
    let job = jobs.submit(Play("x".into())).await.expect("submitted").id;
    ghost(world).await;
    assert_eq!(jobs.get(job).await.expect("it is there").state, State::Running);
    let (stage, mut seats) = stage();
    let executor = Executor::with_state(&jobs, stage)
        .task(play)
        .lease(BEAT, LEASE)
        .start()
        .await
        .expect("it starts");
    assert_eq!(seats.next().await.1, job);
    let running = becomes(&jobs, job, |job| job.state == State::Running).await;
    assert_eq!(
        (running.losses, running.attempts),
        (1, 2),
        "a loss counts as an attempt"
    );
    seats.curtain.cancel();
    assert_eq!(ended(&jobs, job).await.state, State::Success);
    executor.shutdown(Duration::ZERO).await;
}

async fn an_executor_that_cannot_renew_stops_its_handlers_and_registers_anew(world: &World) {
    let store = Counting::new(&world.store);
    let jobs = Jobs::on(store.clone());
    let (stage, mut seats) = stage();
    let executor = Executor::with_state(&jobs, stage)
        .task(play)
        .lease(BEAT, LEASE)
        .start()
        .await
        .expect("it starts");
    let job = jobs.submit(Play("x".into())).await.expect("submitted").id;
    seats.next().await;
    becomes(&jobs, job, |job| job.state == State::Running).await;
    let first = executor.health().incarnation;
    store.fail("heartbeat", Fault::Outage, 100);
    // Its handler is stopped, it comes back under another incarnation, and runs the job again.
    assert_eq!(seats.next().await.1, job);
    store.fail("heartbeat", Fault::Outage, 0);
    let running = becomes(&jobs, job, |job| job.losses > 0 && job.state == State::Running).await;
    assert_ne!(running.claim.expect("it is held").executor, first);
    assert_eq!(running.attempts, 2);
    seats.curtain.cancel();
    ended(&jobs, job).await;
    executor.shutdown(Duration::ZERO).await;
    assert_eq!(jobs.counts().await.expect("counted").held, 0);
}

async fn an_executor_that_was_given_up_registers_anew(world: &World) {
    let jobs = jobs_of(world);
    let (stage, mut seats) = stage();
    let executor = Executor::with_state(&jobs, stage)
        .task(play)
        .lease(BEAT, LEASE)
        .start()
        .await
        .expect("it starts");
    let job = jobs.submit(Play("x".into())).await.expect("submitted").id;
    seats.next().await;
    let first = executor.health().incarnation;
    // Someone takes it for dead: any beat number may be the present one.
    let mut beat = 0;
    while world.store.reap(first, beat).await.expect("reaped") == 0 {
        beat = (beat + 1) % 1000;
    }
    assert_eq!(seats.next().await.1, job, "it runs again");
    assert_ne!(executor.health().incarnation, first);
    seats.curtain.cancel();
    let job = ended(&jobs, job).await;
    assert_eq!((job.state, job.reason), (State::Success, None));
    executor.shutdown(Duration::ZERO).await;
}

/// A handler that blocks its thread cannot be dropped; the shutdown does not wait for it for ever.
async fn a_handler_that_cannot_be_stopped_does_not_keep_its_job(world: &World) {
    async fn blocking(cx: Context<Stage>, task: Play) -> TaskResult {
        let _ = cx.state().began.send((task.0, cx.job()));
        tokio::task::block_in_place(|| std::thread::sleep(Duration::from_secs(8)));
        Ok(())
    }
    let jobs = jobs_of(world);
    let (stage, mut seats) = stage();
    let executor = Executor::with_state(&jobs, stage).task(blocking).grace(Duration::ZERO);
    let executor = executor.start().await.expect("it starts");
    let job = jobs.submit(Play("x".into())).await.expect("submitted").id;
    seats.next().await;
    within(executor.shutdown(Duration::ZERO)).await;
    let job = jobs.get(job).await.expect("it is there");
    assert_eq!((job.state, job.reason), (State::Waiting, Some(Reason::Interrupted)));
}
