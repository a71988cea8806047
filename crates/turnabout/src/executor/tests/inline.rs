//! Jobs that are run at once, in the caller's own time.

use super::counting::{Counting, Fault};
use super::*;
use crate::error::Error;
use crate::job::State;
use crate::store::conformance::cases;
use crate::testing::drain;

async fn inline(jobs: &Jobs) -> ExecutorHandle {
    let executor = Executor::new(jobs).task(echo).task(flaky).inline_only();
    executor.start().await.expect("it starts")
}

#[derive(Debug, Serialize, Deserialize)]
struct Flaky;

impl Task for Flaky {
    const NAME: &'static str = "flaky";
    const RETRIES: u32 = 1;
    const RETRY_DELAY: Duration = Duration::from_mins(1);
    const JITTER: bool = false;
}

/// Fails at first.
async fn flaky(cx: Context, _: Flaky) -> TaskResult<u32> {
    if cx.attempt() == 1 {
        return Err("not at first".into());
    }
    Ok(cx.attempt())
}

async fn a_job_runs_at_once_in_the_callers_process(world: &World) {
    let jobs = jobs_of(world);
    let executor = inline(&jobs).await;
    let job = jobs
        .submit(Echo("x".into()))
        .group("acme")
        .inline(&executor)
        .await
        .expect("run");
    assert_eq!(
        (job.state, job.attempts, job.group.as_str()),
        (State::Success, 1, "acme")
    );
    assert_eq!(job.result::<String>().expect("a text").as_deref(), Some("x"));
    assert_eq!(executor.health().held, 0);
    executor.shutdown(Duration::ZERO).await;
}

async fn it_takes_nothing_by_itself(world: &World) {
    let jobs = jobs_of(world);
    let waiting = jobs.submit(Echo("waiting".into())).await.expect("submitted").id;
    let executor = inline(&jobs).await;
    let all = (0..20).map(|n| jobs.submit(Echo(n.to_string())).inline(&executor));
    for job in futures_util::future::join_all(all).await {
        assert_eq!(job.expect("run").state, State::Success);
    }
    assert_eq!(jobs.get(waiting).await.expect("it is there").state, State::Waiting);
    let why = jobs.explain(waiting).await.expect("explained").to_string();
    assert!(why.contains("No live executor"), "nobody is there for it: {why}");
    executor.shutdown(Duration::ZERO).await;
    drain(Executor::new(&jobs).task(echo)).await.expect("drained");
    assert_eq!(jobs.get(waiting).await.expect("it is there").state, State::Success);
}

async fn one_that_fails_is_tried_again_like_any_other(world: &World) {
    let jobs = jobs_of(world);
    let executor = inline(&jobs).await;
    let job = jobs.submit(Flaky).inline(&executor).await.expect("run");
    assert_eq!((job.state, job.attempts), (State::Stuck, 1));
    world.advance(Duration::from_mins(2));
    drain(Executor::new(&jobs).task(flaky)).await.expect("drained");
    let job = jobs.get(job.id).await.expect("it is there");
    assert_eq!((job.state, job.attempts), (State::Success, 2));
    executor.shutdown(Duration::ZERO).await;
}

async fn what_cannot_run_at_once_says_why(world: &World) {
    let jobs = jobs_of(world);
    let executor = inline(&jobs).await;
    let unknown = jobs.submit_named("unknown", ()).inline(&executor).await;
    assert!(unknown.expect_err("unknown").to_string().contains("`unknown`"));
    let later = jobs
        .submit(Echo("x".into()))
        .delay(Duration::from_secs(1))
        .inline(&executor)
        .await;
    assert!(matches!(later, Err(Error::Invalid { .. })));
    assert_eq!(world.all().await.len(), 0, "nothing was stored");
    jobs.group("acme").pause().await.expect("paused");
    let paused = jobs.submit(Echo("x".into())).group("acme").inline(&executor).await;
    let Err(Error::WrongState { id, .. }) = paused else {
        panic!("{paused:?}")
    };
    assert_eq!(
        jobs.get(id).await.expect("it is there").state,
        State::Waiting,
        "it waits like any other"
    );
    let known = jobs
        .submit(Echo("x".into()))
        .unique("k")
        .inline(&executor)
        .await
        .expect("run");
    assert_eq!(known.state, State::Success);
    jobs.submit(Echo("x".into()))
        .unique("k")
        .group("acme")
        .await
        .expect("submitted");
    let same = jobs
        .submit(Echo("y".into()))
        .unique("k")
        .group("acme")
        .inline(&executor)
        .await;
    assert_eq!(same.expect("known").state, State::Waiting, "as it is");
    executor.shutdown(Duration::ZERO).await;
}

async fn an_inline_job_counts_under_its_cap(world: &World) {
    let jobs = jobs_of(world);
    jobs.group("acme").max_running(Some(1)).await.expect("set");
    let (stage, mut seats) = stage();
    let running = Executor::with_state(&jobs, stage)
        .task(play)
        .start()
        .await
        .expect("it starts");
    let held = jobs
        .submit(Play("first".into()))
        .group("acme")
        .await
        .expect("submitted")
        .id;
    seats.next().await;
    let full = jobs.submit(Play("second".into())).group("acme").inline(&running).await;
    assert!(matches!(full, Err(Error::WrongState { .. })), "{full:?}");
    seats.curtain.cancel();
    assert_eq!(ended(&jobs, held).await.state, State::Success);
    for _ in 0..3 {
        let job = jobs
            .submit(Play("again".into()))
            .group("acme")
            .inline(&running)
            .await
            .expect("run");
        assert_eq!(job.state, State::Success, "each gives its place back");
    }
    running.shutdown(Duration::ZERO).await;
}

async fn a_caller_that_goes_away_leaves_no_job_behind(world: &World) {
    let jobs = jobs_of(world);
    let (stage, mut seats) = stage();
    let running = Executor::with_state(&jobs, stage)
        .task(play)
        .inline_only()
        .start()
        .await
        .expect("it starts");
    let id = {
        let run = jobs.submit(Play("x".into())).inline(&running);
        tokio::select! {
            job = run => panic!("{job:?}"),
            (_, id) = seats.next() => id,
        }
    };
    seats.curtain.cancel();
    assert_eq!(ended(&jobs, id).await.state, State::Success);
    running.shutdown(Duration::ZERO).await;
}

async fn a_claim_whose_answer_got_lost_is_given_back(world: &World) {
    let store = Counting::new(&world.store);
    let jobs = Jobs::on(store.clone());
    let executor = Executor::new(&jobs).task(echo).inline_only();
    let executor = executor
        .lease(Duration::from_millis(100), Duration::from_secs(10))
        .start()
        .await
        .expect("it starts");
    store.fail("grab", Fault::LostReply, 1);
    let lost = jobs.submit(Echo("x".into())).inline(&executor).await;
    assert!(matches!(lost, Err(Error::Store { .. })), "{lost:?}");
    let id = world.all().await[0].id;
    becomes(&jobs, id, |job| job.state == State::Waiting && job.attempts == 0).await;
    let next = jobs.submit(Echo("y".into())).inline(&executor).await.expect("run");
    assert_eq!(next.state, State::Success);
    executor.shutdown(Duration::ZERO).await;
}

cases![
    a_claim_whose_answer_got_lost_is_given_back,
    a_job_runs_at_once_in_the_callers_process,
    it_takes_nothing_by_itself,
    one_that_fails_is_tried_again_like_any_other,
    what_cannot_run_at_once_says_why,
    an_inline_job_counts_under_its_cap,
    a_caller_that_goes_away_leaves_no_job_behind,
];
