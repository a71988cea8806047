//! An executor that comes to know other tasks while it runs.

use std::sync::Arc;

use super::*;
use crate::job::State;
use crate::store::StoreOptions;
use crate::store::model::Model;
use crate::task::TaskSettings;

#[tokio::test]
async fn other_tasks_are_known_from_now_on_and_what_runs_goes_on_as_it_began() {
    let jobs = Jobs::on(Model::new(StoreOptions::default()));
    let says = |name: &str, answer: &'static str, go: Arc<tokio::sync::Semaphore>| {
        Executor::new(&jobs).task_named(TaskSettings::named(name), move |_: Context, _: serde_json::Value| {
            let go = Arc::clone(&go);
            async move {
                go.acquire().await?.forget();
                TaskResult::Ok(answer)
            }
        })
    };
    let (first, second) = (
        Arc::new(tokio::sync::Semaphore::new(0)),
        Arc::new(tokio::sync::Semaphore::new(10)),
    );
    let executor = says("greet", "hello", Arc::clone(&first))
        .slots(2)
        .start()
        .await
        .expect("it starts");
    let submit = async |task: &str| {
        jobs.submit_named(task, serde_json::Value::Null)
            .await
            .expect("it is stored")
            .id
    };
    let result = async |id| {
        let job = jobs.watch(id).ended().await.expect("it ends");
        job.result::<String>().expect("a text").expect("a result")
    };
    let early = submit("greet").await;
    let mut watch = jobs.watch(early);
    while watch.next().await.expect("a change").expect("a job").state != State::Running {}

    executor
        .replace_tasks(says("greet", "bye", Arc::clone(&second)))
        .await
        .expect("it knows another");
    let late = submit("greet").await;
    assert_eq!(result(late).await, "bye");
    first.add_permits(1);
    assert_eq!(result(early).await, "hello");

    executor
        .replace_tasks(Executor::new(&jobs))
        .await
        .expect_err("it would know no task");
    assert_eq!(result(submit("greet").await).await, "bye", "nothing has changed");

    let foreign = submit("sing").await;
    assert!(
        jobs.explain(foreign)
            .await
            .expect("why")
            .to_string()
            .contains("No live executor")
    );
    executor
        .replace_tasks(says("sing", "la", second))
        .await
        .expect("it knows another");
    assert_eq!(result(foreign).await, "la");
    executor.shutdown(Duration::ZERO).await;
}
