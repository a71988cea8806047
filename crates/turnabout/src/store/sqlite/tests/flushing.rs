//! A job that comes alone starts while the disk keeps it; nobody is told of it before.

use futures_util::poll;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::life::Hand;
use super::standing::{stand, taken};
use super::*;
use crate::{Context, Executor, Jobs, Task, TaskResult};

fn synchronous(tx: &Tx<'_>) -> rusqlite::Result<i64> {
    tx.connection.pragma_query_value(None, "synchronous", |row| row.get(0))
}

#[tokio::test]
async fn a_job_that_comes_alone_is_handed_over_before_it_is_kept_and_told_of_after() {
    let folder = folder();
    let store = file(&folder.path().join("jobs.db")).await;
    let mut hand = Hand::of(&store).await;
    let standing = stand(&store, &mut hand, 4, &["mail"]).await;
    let (mut flushes, keep) = store.trial.hold();
    let new = job("a", "mail");
    let id = new.id;
    let mut submitting = Box::pin(store.submit(vec![new]));
    assert!(poll!(&mut submitting).is_pending());
    let jobs = taken(standing).await.jobs;
    assert_eq!(jobs.iter().map(|job| job.id).collect::<Vec<_>>(), [id]);
    flushes.recv().await.expect("a flush");
    // Whatever it does now is written after that.
    let mut starting = Box::pin(hand.start(&jobs[0]));
    assert!(poll!(&mut starting).is_pending());
    assert!(poll!(&mut submitting).is_pending(), "it is not kept yet");
    keep.send(true).expect("the writer waits");
    assert!(submitting.await.expect("it works")[0].as_ref().is_ok_and(|s| s.new));
    starting.await;
    assert_eq!(hand.settle(&jobs[0], Event::Succeed, false).await, Settled::Done);
    assert!(flushes.try_recv().is_err(), "all else is kept by its commit");
}

#[tokio::test]
async fn only_for_a_job_that_comes_alone_to_someone_a_commit_does_not_wait_for_the_disk() {
    let folder = folder();
    let store = file(&folder.path().join("jobs.db")).await;
    let mut hand = Hand::of(&store).await;
    let (mut flushes, keep) = store.trial.hold();
    let nobody_stands_by = submit(&store, vec![job("a", "mail")]).await;
    assert_eq!(hand.take(2).await[0].id, nobody_stands_by[0]);
    let standing = stand(&store, &mut hand, 4, &["mail"]).await;
    let full = store.write("looking", |tx| Ok(synchronous(tx)?)).await;
    assert_eq!(full.expect("it works"), 2, "not a job at all");
    submit(&store, vec![job("a", "mail"), job("b", "mail")]).await;
    assert_eq!(taken(standing).await.jobs.len(), 2);
    assert!(flushes.try_recv().is_err(), "two jobs do not come alone");
    let standing = stand(&store, &mut hand, 4, &["mail"]).await;
    keep.send(true).expect("the store is there");
    submit(&store, vec![job("a", "mail")]).await;
    assert_eq!(taken(standing).await.jobs.len(), 1);
    assert!(flushes.try_recv().is_ok());
}

#[tokio::test]
async fn when_the_disk_fails_whoever_submits_is_told_and_nothing_else_is_written_before_it_works() {
    let folder = folder();
    let path = folder.path().join("jobs.db");
    let store = file(&path).await;
    let mut hand = Hand::of(&store).await;
    let standing = stand(&store, &mut hand, 4, &["mail"]).await;
    let (mut flushes, keep) = store.trial.hold();
    // It fails, and twice more.
    (0..3).for_each(|_| keep.send(false).expect("the store is there"));
    let error = store.submit(vec![job("a", "mail")]).await.expect_err("it is told");
    assert!(error.is_transient(), "once more may help: {error}");
    assert!(format!("{error:?}").contains("the disk is broken"), "{error:?}");
    // It was written, and someone has it.
    let jobs = taken(standing).await.jobs;
    let log = std::fs::read(path.with_extension("db-wal")).expect("a log");
    while flushes.len() < 2 {
        let refused = store
            .write("writing", |_| Ok(()))
            .await
            .expect_err("not before that is kept");
        assert!(format!("{refused:?}").contains("the disk is broken"), "{refused:?}");
    }
    keep.send(true).expect("the store is there");
    while flushes.len() < 4 {
        let _ = store.write("writing", |_| Ok(())).await;
    }
    assert_eq!(
        std::fs::read(path.with_extension("db-wal")).expect("a log"),
        log,
        "as it was"
    );
    assert_eq!(hand.settle(&jobs[0], Event::Succeed, false).await, Settled::Done);
    assert_eq!(flushes.len(), 4, "all is well again");
    while flushes.try_recv().is_ok() {}
    keep.send(true).expect("the store is there");
    submit(&store, vec![job("a", "mail")]).await;
}

#[derive(Serialize, Deserialize)]
struct Often;

impl Task for Often {
    const NAME: &'static str = "often";
}

#[derive(Serialize, Deserialize)]
struct Once;

impl Task for Once {
    const NAME: &'static str = "once";
    const RESTARTABLE: bool = false;
}

type Told = UnboundedSender<&'static str>;

async fn often(cx: Context<Told>, _: Often) -> TaskResult {
    cx.state().send("often")?;
    Ok(())
}

async fn once(cx: Context<Told>, _: Once) -> TaskResult {
    cx.state().send("once")?;
    Ok(())
}

/// Submits until one comes while the executor stands by: its flush is under way then.
async fn submit_alone(
    jobs: &Jobs,
    task: &'static str,
    flushes: &mut UnboundedReceiver<()>,
    started: &mut UnboundedReceiver<&'static str>,
) -> tokio::task::JoinHandle<crate::Result<crate::Submitted>> {
    loop {
        let jobs = jobs.clone();
        let mut submitting = tokio::spawn(async move { jobs.submit_named(task, ()).await });
        tokio::select! {
            _ = flushes.recv() => return submitting,
            submitted = &mut submitting => assert!(submitted.expect("no panic").is_ok()),
        }
        assert_eq!(started.recv().await, Some(task), "it came in the usual way");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_must_never_run_twice_waits_for_the_disk_and_others_do_not() {
    let folder = folder();
    let store = SqliteStore::open(
        folder.path().join("jobs.db").to_str().expect("a path"),
        StoreOptions::default(),
    )
    .await
    .expect("it opens");
    let jobs = Jobs::on(store.clone());
    let (tell, mut started) = unbounded_channel();
    let executor = Executor::new(&jobs).state(tell).task(often).task(once);
    let executor = executor.start().await.expect("it starts");
    let (mut flushes, keep) = store.trial.hold();

    let submitting = submit_alone(&jobs, "often", &mut flushes, &mut started).await;
    assert_eq!(started.recv().await, Some("often"), "while the disk is at it");
    assert!(!submitting.is_finished());
    keep.send(true).expect("the writer waits");
    submitting.await.expect("no panic").expect("it is kept");

    let submitting = submit_alone(&jobs, "once", &mut flushes, &mut started).await;
    // Its start is written before its handler runs, and stands in line behind the flush, as does the executor's next take.
    while store.writer.waiting() < 2 {
        tokio::task::yield_now().await;
    }
    assert!(started.try_recv().is_err(), "not before it is kept");
    keep.send(true).expect("the writer waits");
    submitting.await.expect("no panic").expect("it is kept");
    assert_eq!(started.recv().await, Some("once"));
    // Whatever comes alone from now on is kept at once.
    drop(keep);
    executor.shutdown(Duration::ZERO).await;
}
