//! What handlers return, and what becomes of it.

use super::*;
use crate::error::Error;
use crate::job::{Reason, State};
use crate::store::conformance::cases;
use crate::task::{TaskError, TaskSettings};
use crate::testing::drain;

cases![
    a_handler_runs_and_its_result_is_stored,
    a_unit_result_stores_none,
    any_error_means_try_again,
    a_panic_is_a_failed_attempt_and_nothing_more,
    arguments_that_do_not_decode_fail_for_good_and_say_why,
    a_job_of_an_unknown_task_is_never_taken,
    a_task_known_only_by_name_gets_whatever_it_was_given,
    a_result_over_the_limit_is_a_permanent_failure,
    a_snooze_does_not_count,
    children_inherit_from_their_parent,
    a_job_that_must_not_run_twice_is_recorded_before_it_runs,
];

async fn a_handler_runs_and_its_result_is_stored(world: &World) {
    let jobs = jobs_of(world);
    let job = jobs
        .submit(Echo("hello".into()))
        .group("acme")
        .await
        .expect("submitted");
    let counts = drain(Executor::new(&jobs).task(echo)).await.expect("drained");
    let job = jobs.get(job.id).await.expect("it is there");
    assert_eq!((job.state, job.attempts), (State::Success, 1));
    assert_eq!(job.result::<String>().expect("a text").as_deref(), Some("hello"));
    assert_eq!((counts.held, counts.ready, counts.ended), (0, 0, 1));
}

async fn a_unit_result_stores_none(world: &World) {
    let jobs = jobs_of(world);
    let job = jobs.submit(Echo("x".into())).await.expect("submitted");
    drain(Executor::new(&jobs).task(|_: Context, _: Echo| async { Ok(()) }))
        .await
        .expect("drained");
    let job = jobs.get(job.id).await.expect("it is there");
    assert_eq!((job.state, job.result), (State::Success, None));
}

async fn any_error_means_try_again(world: &World) {
    async fn parse(_: Context, task: Echo) -> TaskResult<i32> {
        Ok(task.0.parse::<i32>()?)
    }
    let jobs = jobs_of(world);
    let job = jobs.submit(Echo("seven".into())).await.expect("submitted");
    drain(Executor::new(&jobs).task(parse)).await.expect("drained");
    let job = jobs.get(job.id).await.expect("it is there");
    assert_eq!(
        (job.state, job.reason, job.attempts),
        (State::Stuck, Some(Reason::Error), 1)
    );
    assert_eq!(job.error.as_deref(), Some("invalid digit found in string"));
}

async fn a_panic_is_a_failed_attempt_and_nothing_more(world: &World) {
    async fn careless(_: Context, task: Echo) -> TaskResult {
        assert!(task.0 != "bad", "this one is {}", task.0);
        Ok(())
    }
    let jobs = jobs_of(world);
    let bad = jobs.submit(Echo("bad".into())).await.expect("submitted");
    let good = jobs.submit(Echo("good".into())).await.expect("submitted");
    drain(Executor::new(&jobs).slots(1).task(careless))
        .await
        .expect("drained");
    let bad = jobs.get(bad.id).await.expect("it is there");
    assert_eq!(bad.state, State::Stuck);
    assert_eq!(bad.error.as_deref(), Some("the handler panicked: this one is bad"));
    assert_eq!(jobs.get(good.id).await.expect("it is there").state, State::Success);
}

async fn arguments_that_do_not_decode_fail_for_good_and_say_why(world: &World) {
    let jobs = jobs_of(world);
    let job = jobs
        .submit_named("echo", serde_json::json!({"not": "a text"}))
        .await
        .expect("submitted");
    drain(Executor::new(&jobs).task(echo)).await.expect("drained");
    let job = jobs.get(job.id).await.expect("it is there");
    assert_eq!((job.state, job.reason), (State::Failed, Some(Reason::Permanent)));
    let error = job.error.expect("it says why");
    assert!(error.contains("`echo` expects") && error.contains("string"), "{error}");
}

async fn a_job_of_an_unknown_task_is_never_taken(world: &World) {
    let jobs = jobs_of(world);
    let unknown = jobs.submit_named("unheard-of", ()).await.expect("submitted");
    let known = jobs.submit(Echo("x".into())).await.expect("submitted");
    let counts = drain(Executor::new(&jobs).task(echo)).await.expect("drained");
    let unknown = jobs.get(unknown.id).await.expect("it is there");
    assert_eq!((unknown.state, unknown.claim), (State::Waiting, None));
    assert_eq!(jobs.get(known.id).await.expect("it is there").state, State::Success);
    assert_eq!(counts.ready, 1);
}

async fn a_task_known_only_by_name_gets_whatever_it_was_given(world: &World) {
    let jobs = jobs_of(world);
    let job = jobs
        .submit_named("add", serde_json::json!([1, 2]))
        .await
        .expect("submitted");
    let add = |_: Context, args: serde_json::Value| async move {
        Ok(args
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(serde_json::Value::as_i64)
            .sum::<i64>())
    };
    drain(Executor::new(&jobs).task_named(TaskSettings::named("add"), add))
        .await
        .expect("drained");
    let job = jobs.get(job.id).await.expect("it is there");
    assert_eq!(job.result::<i64>().expect("a number"), Some(3));
}

async fn a_result_over_the_limit_is_a_permanent_failure(world: &World) {
    let jobs = jobs_of(world);
    let job = jobs.submit(Echo("x".into())).await.expect("submitted");
    drain(Executor::new(&jobs).task(|_: Context, _: Echo| async { Ok("x".repeat(2 << 20)) }))
        .await
        .expect("drained");
    let job = jobs.get(job.id).await.expect("it is there");
    assert_eq!((job.state, job.result), (State::Failed, None));
    assert!(job.error.expect("it says why").contains("over the limit"));
}

async fn a_snooze_does_not_count(world: &World) {
    let jobs = jobs_of(world);
    let job = jobs.submit(Echo("x".into())).await.expect("submitted");
    let later = |_: Context, _: Echo| async { Err::<(), _>(TaskError::snooze(Duration::from_mins(1))) };
    drain(Executor::new(&jobs).task(later)).await.expect("drained");
    let job = jobs.get(job.id).await.expect("it is there");
    assert_eq!(
        (job.state, job.reason, job.attempts),
        (State::Waiting, Some(Reason::Snoozed), 0)
    );
    assert_eq!(job.error, None);
}

/// A trace context, as the W3C has it.
const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

async fn children_inherit_from_their_parent(world: &World) {
    async fn parent(cx: Context, _: Play) -> TaskResult<JobId> {
        let child = cx.submit(Echo("child".into())).meta("step", "2").await?;
        Ok(child.id)
    }
    let jobs = jobs_of(world);
    let top = jobs
        .submit(Play("top".into()))
        .group("acme/a")
        .owner("ada")
        .meta("locale", "en")
        .meta("traceparent", TRACE);
    let top = top.await.expect("submitted").id;
    drain(Executor::new(&jobs).task(parent).task(echo))
        .await
        .expect("drained");
    let child: JobId = jobs
        .get(top)
        .await
        .expect("it is there")
        .result()
        .expect("an id")
        .expect("a result");
    let child = jobs.get(child).await.expect("it is there");
    assert_eq!(child.state, State::Success, "a drain waits for children too");
    assert_eq!(
        (child.parent, child.group.as_str(), child.owner.as_deref()),
        (Some(top), "acme/a", Some("ada"))
    );
    let meta: Vec<_> = child.meta.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(meta, [("locale", "en"), ("step", "2"), ("traceparent", TRACE)]);
}

#[derive(Serialize, Deserialize)]
struct Once;

impl Task for Once {
    const NAME: &'static str = "once";
    const RESTARTABLE: bool = false;
}

async fn a_job_that_must_not_run_twice_is_recorded_before_it_runs(world: &World) {
    async fn once(cx: Context, _: Once) -> TaskResult<State> {
        Ok(cx.jobs().get(cx.job()).await?.state)
    }
    let jobs = jobs_of(world);
    let job = jobs.submit(Once).await.expect("submitted");
    drain(Executor::new(&jobs).task(once)).await.expect("drained");
    let seen: Option<State> = jobs.get(job.id).await.expect("it is there").result().expect("a state");
    assert_eq!(seen, Some(State::Running));
}

#[tokio::test]
async fn what_is_not_there_is_said_so() {
    let jobs = Jobs::on(crate::store::model::Model::new(crate::store::StoreOptions::default()));
    let id = JobId::new();
    for error in [
        jobs.get(id).await.expect_err("no job"),
        jobs.cancel(id).await.expect_err("no job"),
        jobs.restart(id).await.expect_err("no job"),
        jobs.delete(id).await.expect_err("no job"),
        jobs.explain(id).await.expect_err("no job"),
        jobs.watch(id).ended().await.expect_err("no job"),
    ] {
        assert!(matches!(error, Error::NotFound(missing) if missing == id), "{error}");
    }
}
