//! What is said about single jobs when they are submitted, and what holds where nothing is said.

use super::*;
use crate::job::{Reason, State};
use crate::store::conformance::cases;
use crate::submit::Expiry;
use crate::testing::drain;

cases![
    c21_a_job_that_may_run_once_fails_at_its_first_error,
    d37_jobs_expire_as_their_task_or_the_store_says,
    d57_a_job_that_failed_or_was_cancelled_tells_how_far_it_came,
];

/// Fails, however often it is tried.
async fn fail(cx: Context<impl Send + Sync>, task: Echo) -> TaskResult {
    cx.progress().set_total(4);
    cx.progress().set(3)?;
    cx.progress().step("the third part")?;
    Err(task.0.into())
}

async fn c21_a_job_that_may_run_once_fails_at_its_first_error(world: &World) {
    let jobs = jobs_of(world);
    let once = jobs
        .submit(Echo("x".into()))
        .restartable(false)
        .await
        .expect("submitted")
        .id;
    let usual = jobs.submit(Echo("x".into())).await.expect("submitted").id;
    drain(Executor::new(&jobs).task(fail)).await.expect("drained");
    let once = jobs.get(once).await.expect("there");
    assert_eq!(
        (once.state, once.attempts, once.restartable()),
        (State::Failed, 1, Some(false))
    );
    assert_eq!(jobs.get(usual).await.expect("there").state, State::Stuck);
}

/// A task whose jobs are of no use after an hour.
#[derive(Debug, Serialize, Deserialize)]
struct News;

impl Task for News {
    const NAME: &'static str = "news";
    const EXPIRES: Option<Duration> = Some(Duration::from_hours(1));
}

async fn d37_jobs_expire_as_their_task_or_the_store_says(world: &World) {
    const DAY: Duration = Duration::from_hours(24);
    let expiry = Expiry {
        usual: Some(DAY),
        tasks: [("patient".to_owned(), None)].into(),
    };
    let jobs = Jobs::with(world.store.clone(), 1000, expiry);
    let now = world.clock.now();
    let news = jobs.submit(News).await.expect("submitted").id;
    let unknown = jobs.submit_named("unknown", ()).await.expect("submitted").id;
    let patient = jobs.submit_named("patient", ()).await.expect("submitted").id;
    let said = jobs
        .submit(News)
        .expires(Duration::from_mins(1))
        .await
        .expect("submitted")
        .id;
    let later = jobs.submit(News).delay(DAY).await.expect("submitted").id;
    for (id, time) in [
        (news, Some(Duration::from_hours(1))),
        (unknown, Some(DAY)),
        (patient, None),
        (said, Some(Duration::from_mins(1))),
        (later, Some(DAY + Duration::from_hours(1))),
    ] {
        let expires = jobs.get(id).await.expect("there").expires;
        assert_eq!(expires, time.map(|time| now + time));
    }
    // Nobody knows its task: it ends all the same.
    let (stage, _seats) = stage();
    let executor = player(&jobs, stage, 1).await;
    world.clock.advance(DAY);
    let job = ended(&jobs, unknown).await;
    assert_eq!((job.state, job.reason), (State::Failed, Some(Reason::Expired)));
    assert_eq!(job.error_code.as_deref(), Some("expired"));
    assert_eq!(jobs.get(patient).await.expect("there").state, State::Waiting);
    executor.shutdown(Duration::ZERO).await;
}

async fn d57_a_job_that_failed_or_was_cancelled_tells_how_far_it_came(world: &World) {
    let jobs = jobs_of(world);
    let failed = jobs
        .submit(Echo("x".into()))
        .restartable(false)
        .await
        .expect("submitted")
        .id;
    drain(Executor::new(&jobs).task(fail)).await.expect("drained");
    let job = jobs.get(failed).await.expect("there");
    assert_eq!((job.state, job.progress), (State::Failed, 75));
    assert_eq!(job.step.as_deref(), Some("the third part"));
}
