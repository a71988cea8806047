//! Mistakes in the set-up are told at once, in words.

use super::*;
use crate::store::model::Model;
use crate::store::{Overview as _, StoreOptions};

fn jobs() -> Jobs {
    Jobs::on(Model::new(StoreOptions::default()))
}

async fn refusal<S: Send + Sync + 'static>(executor: Executor<S>) -> String {
    executor.start().await.expect_err("it is refused").to_string()
}

#[tokio::test]
async fn an_executor_that_cannot_work_is_refused() {
    let jobs = jobs();
    let fine = || Executor::new(&jobs).task(echo);
    for (executor, hint) in [
        (Executor::new(&jobs), "knows no task"),
        (fine().task(echo), "two handlers were given for `echo`"),
        (fine().slots(0), "slots"),
        (fine().queues(Vec::<String>::new()), "serves at least one"),
        (fine().queues([""]), "empty"),
        (fine().name("a\nb"), "control character"),
        (fine().scheme("0,0"), "counts nothing"),
        (fine().scheme("fast"), "4,2,1"),
        (
            fine().lease(Duration::from_secs(5), Duration::from_secs(6)),
            "at least three heartbeats",
        ),
    ] {
        let error = refusal(executor).await;
        assert!(error.contains(hint), "{error}");
    }
}

#[tokio::test]
async fn an_executor_introduces_itself_and_its_tasks() {
    let jobs = jobs();
    let executor = Executor::new(&jobs)
        .task(echo)
        .name("joex1")
        .queues(["ocr", "default", "ocr"]);
    let executor = executor.start().await.expect("it starts");
    assert_eq!(executor.health().name, "joex1");
    let tasks = jobs.tasks().await.expect("the tasks");
    assert_eq!(tasks, [crate::task::TaskSettings::of::<Echo>()]);
    executor.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn settings_have_bounds() {
    let jobs = jobs();
    for error in [
        jobs.group("acme").weight(0).await.expect_err("no weight"),
        jobs.group("acme").weight(1001).await.expect_err("too heavy"),
        jobs.group("acme").max_running(Some(0)).await.expect_err("none may run"),
        jobs.group("").weight(1).await.expect_err("no name"),
        jobs.task_limits("a\0").pause().await.expect_err("a bad name"),
        jobs.list().limit(0).await.expect_err("an empty page"),
        jobs.list().limit(1001).await.expect_err("a long page"),
    ] {
        assert!(matches!(error, crate::Error::Invalid { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_list_comes_in_pages() {
    let jobs = jobs();
    for i in 0..25 {
        let group = if i % 5 == 0 { "five" } else { "other" };
        jobs.submit(Echo(i.to_string())).group(group).await.expect("submitted");
    }
    let mut seen = Vec::new();
    let mut list = jobs.list().limit(10);
    loop {
        let page = list.clone().await.expect("a page");
        seen.extend(page.jobs.into_iter().map(|job| job.id));
        match page.next {
            Some(next) => list = list.before(next),
            None => break,
        }
    }
    assert_eq!(seen.len(), 25);
    assert!(seen.is_sorted_by(|a, b| a > b), "newest first");
    assert_eq!(jobs.list().group("five").await.expect("a page").jobs.len(), 5);
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn a_store_that_cannot_be_opened_says_why() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let missing = format!("sqlite://{}", folder.path().join("missing/jobs.db").display());
    let error = Jobs::open(missing).await.expect_err("there is no such folder");
    assert!(error.to_string().contains("cannot open"), "{error}");
    let error = Jobs::open("sqlite::memory:")
        .connections(3)
        .await
        .expect_err("too few connections");
    assert!(error.to_string().contains("at least 4"), "{error}");
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn jobs_in_a_file_are_there_when_it_is_opened_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = format!("sqlite://{}", folder.path().join("jobs.db").display());
    let jobs = Jobs::open(&url).await.expect("opened");
    let job = jobs.submit(Echo("x".into())).await.expect("submitted").id;
    drop(jobs);
    let jobs = Jobs::open(&url).await.expect("opened again");
    let counts = crate::testing::drain(Executor::new(&jobs).task(echo))
        .await
        .expect("drained");
    assert_eq!(counts.ended, 1);
    assert_eq!(jobs.get(job).await.expect("it is there").attempts, 1);
}

#[cfg(feature = "postgres")]
#[tokio::test]
async fn a_server_that_cannot_be_reached_is_named_without_its_password() {
    let error = Jobs::open("postgres://ada:secret@127.0.0.1:1/app")
        .await
        .expect_err("nobody listens there");
    let text = error.chain();
    assert!(text.contains("127.0.0.1") && !text.contains("secret"), "{text}");
}

#[tokio::test]
async fn arguments_over_the_limit_store_nothing() {
    let store = Model::new(StoreOptions::default());
    let jobs = Jobs::with(store.clone(), 100, crate::submit::Expiry::default());
    let error = jobs.submit(Echo("x".repeat(100))).await.expect_err("too long");
    assert!(error.to_string().contains("102 bytes"), "{error}");
    assert_eq!(store.counts().await.expect("counted").ready, 0);
}
