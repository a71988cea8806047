//! Idle takes: the writer runs them when jobs become ready.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use futures_util::future::BoxFuture;
use futures_util::poll;

use super::life::Hand;
use super::*;
use crate::group::TaskLimits;
use crate::store::Setting;
use crate::turn::Here;

pub(super) type Standing<'a> = BoxFuture<'a, Result<Stood>>;

/// Stands by for jobs of these tasks, for ever.
pub(super) async fn stand<'a>(store: &'a SqliteStore, hand: &mut Hand, want: u32, tasks: &[&str]) -> Standing<'a> {
    let mut standing = store.stand_by(hand.ask(want, tasks), Box::pin(std::future::pending()));
    assert!(poll!(&mut standing).is_pending());
    pass(store).await;
    assert!(poll!(&mut standing).is_pending(), "nothing was ready");
    standing
}

/// Whatever was sent to the writer before has been done.
async fn pass(store: &SqliteStore) {
    store.write("passing by", |_| Ok(())).await.expect("it works");
}

pub(super) async fn taken(standing: Standing<'_>) -> Taken {
    match standing.await.expect("it works") {
        Stood::Taken(taken) => taken,
        Stood::Recalled(_) => panic!("nobody recalled it"),
    }
}

fn ids(taken: &Taken) -> Vec<JobId> {
    taken.jobs.iter().map(|job| job.id).collect()
}

/// How many pages and how many transactions stand in the write-ahead log: each of these ends with a page that says how
/// large the file is then.
fn logged(path: &Path) -> (usize, usize) {
    let log = std::fs::read(path.with_extension("db-wal")).expect("a log");
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes[..4].try_into().expect("four bytes"));
    let page = number(&log[8..]) as usize;
    let salt = &log[16..24];
    let frames = log[32..].chunks_exact(24 + page);
    let frames: Vec<_> = frames.take_while(|frame| frame[8..16] == *salt).collect();
    let commits = frames.iter().filter(|frame| number(&frame[4..]) > 0).count();
    (frames.len(), commits)
}

#[tokio::test]
async fn a_job_that_comes_alone_goes_to_whoever_stands_by_in_one_transaction() {
    let folder = folder();
    let path = folder.path().join("jobs.db");
    let store = file(&path).await;
    let mut hand = Hand::of(&store).await;
    let standing = stand(&store, &mut hand, 4, &["mail"]).await;
    let before = logged(&path);
    assert!(before.1 > 0, "someone has registered");
    let job = submit(&store, vec![job("a", "mail")]).await;
    assert_eq!(ids(&taken(standing).await), job);
    assert_eq!(logged(&path).1 - before.1, 1);
}

#[tokio::test]
async fn while_nobody_has_anything_to_do_the_log_goes_into_the_file_and_begins_anew() {
    let folder = folder();
    let path = folder.path().join("jobs.db");
    let store = file(&path).await;
    let mut hand = Hand::of(&store).await;
    let mut longest = 0;
    for _ in 0..400 {
        let standing = stand(&store, &mut hand, 4, &["mail"]).await;
        let job = submit(&store, vec![job("a", "mail")]).await;
        assert_eq!(ids(&taken(standing).await), job);
        longest = longest.max(logged(&path).0);
    }
    assert!(longest < 500, "the log had {longest} pages at a time");
    assert!(logged(&path).0 < longest, "it has begun anew");
}

#[tokio::test]
async fn jobs_that_come_together_go_to_whoever_stands_by_in_one_transaction() {
    let folder = folder();
    let path = folder.path().join("jobs.db");
    let store = file(&path).await;
    let mut hand = Hand::of(&store).await;
    let standing = stand(&store, &mut hand, 4, &["mail"]).await;
    let before = logged(&path);
    let jobs = submit(&store, vec![job("a", "mail"), job("b", "mail")]).await;
    assert_eq!(ids(&taken(standing).await), jobs);
    assert_eq!(logged(&path).1 - before.1, 1);
}

#[tokio::test]
async fn a_job_that_comes_alone_goes_to_who_has_stood_longest_and_others_are_told_that_there_is_nothing() {
    let store = memory().await;
    let (mut one, mut two) = (Hand::of(&store).await, Hand::of(&store).await);
    let first = stand(&store, &mut one, 4, &["mail"]).await;
    let second = stand(&store, &mut two, 4, &["mail"]).await;
    let jobs = submit(&store, vec![job("a", "mail")]).await;
    assert_eq!(ids(&taken(first).await), jobs);
    let nothing = taken(second).await;
    assert!(nothing.jobs.is_empty() && !nothing.found);
    let second = stand(&store, &mut two, 4, &["mail"]).await;
    let jobs = submit(&store, vec![job("a", "mail")]).await;
    assert_eq!(ids(&taken(second).await), jobs);
}

#[tokio::test]
async fn a_job_that_was_there_before_is_taken_at_once() {
    let store = memory().await;
    let mut hand = Hand::of(&store).await;
    let job = submit(&store, vec![job("a", "mail")]).await;
    let standing = store.stand_by(hand.ask(4, &["mail"]), Box::pin(std::future::pending()));
    assert_eq!(ids(&taken(standing).await), job);
}

#[tokio::test]
async fn a_job_goes_to_the_one_who_knows_its_task_and_others_are_not_disturbed() {
    let store = memory().await;
    let (mut one, mut two) = (Hand::of(&store).await, Hand::of(&store).await);
    let mut first = stand(&store, &mut one, 4, &["mail"]).await;
    let second = stand(&store, &mut two, 4, &["pdf"]).await;
    let pdf = submit(&store, vec![job("a", "pdf")]).await;
    assert_eq!(ids(&taken(second).await), pdf);
    assert!(poll!(&mut first).is_pending());
    let mail = submit(&store, vec![job("a", "mail")]).await;
    assert_eq!(ids(&taken(first).await), mail, "in a group that was left out before");
}

#[tokio::test]
async fn what_one_does_not_want_is_for_the_next_and_the_rest_stays_ready() {
    let store = memory().await;
    let (mut one, mut two) = (Hand::of(&store).await, Hand::of(&store).await);
    let first = stand(&store, &mut one, 1, &["mail"]).await;
    let second = stand(&store, &mut two, 2, &["mail"]).await;
    let jobs = submit(&store, (0..4).map(|_| job("a", "mail")).collect()).await;
    assert_eq!(ids(&taken(first).await), jobs[..1]);
    assert_eq!(ids(&taken(second).await), jobs[1..3]);
    assert_eq!(store.counts().await.expect("counts").ready, 1);
}

/// The take is recalled while the transaction is open in which it will be served.
#[tokio::test]
async fn an_idle_take_that_is_recalled_while_a_job_is_stored_brings_that_job() {
    let store = memory().await;
    let mut hand = Hand::of(&store).await;
    let (enough, until) = tokio::sync::oneshot::channel::<()>();
    let until = Box::pin(async { drop(until.await) });
    let mut standing = store.stand_by(hand.ask(4, &["mail"]), until);
    assert!(poll!(&mut standing).is_pending());
    pass(&store).await;

    let (tell, told) = tokio::sync::oneshot::channel();
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let submitting = tokio::spawn({
        let store = store.clone();
        async move {
            store
                .write("submitting", move |tx| {
                    let submitted = insert::insert(tx, &[job("a", "mail")])?;
                    let _ = tell.send(());
                    let _ = wait.recv();
                    Ok(submitted)
                })
                .await
        }
    });
    told.await.expect("the writer is at it");
    enough.send(()).expect("it waits");
    assert!(poll!(&mut standing).is_pending());
    queued(&store, 1).await;
    go.send(()).expect("the writer waits");
    let submitted = submitting.await.expect("no panic").expect("submitted").remove(0);
    assert_eq!(ids(&taken(standing).await), [submitted.expect("stored").id]);
}

#[tokio::test]
async fn what_settings_held_back_goes_to_whoever_stands_by() {
    let store = memory().await;
    let mut hand = Hand::of(&store).await;
    let paused = GroupSettings {
        paused: true,
        ..GroupSettings::default()
    };
    store.set(Setting::Group("a".to_owned(), paused)).await.expect("set");
    let standing = stand(&store, &mut hand, 4, &["mail"]).await;
    let job = submit(&store, vec![job("a", "mail")]).await;
    let woken = taken(standing).await;
    assert!(woken.jobs.is_empty() && !woken.found, "woken for nothing, and told so");
    let standing = stand(&store, &mut hand, 4, &["mail"]).await;
    let resumed = Setting::Group("a".to_owned(), GroupSettings::default());
    store.set(resumed).await.expect("set");
    assert_eq!(ids(&taken(standing).await), job);
}

#[tokio::test]
async fn what_another_process_submits_goes_to_whoever_stands_by() {
    let folder = folder();
    let path = folder.path().join("jobs.db");
    let (here, there) = (file(&path).await, file(&path).await);
    let mut signals = here.signals();
    // The first look finds a file that it has never seen, and wakes everyone.
    heard(&mut signals, Signal::Ready).await;
    let mut hand = Hand::of(&here).await;
    let standing = stand(&here, &mut hand, 4, &["mail"]).await;
    let job = submit(&there, vec![job("a", "mail")]).await;
    let taken = tokio::time::timeout(Duration::from_secs(20), taken(standing)).await;
    assert_eq!(ids(&taken.expect("in time")), job);
}

#[tokio::test]
async fn an_executor_that_is_gone_is_told_so() {
    let store = memory().await;
    let mut hand = Hand::of(&store).await;
    let standing = stand(&store, &mut hand, 4, &["mail"]).await;
    store.deregister(hand.executor).await.expect("gone");
    submit(&store, vec![job("a", "mail")]).await;
    assert!(matches!(standing.await, Err(crate::Error::LeaseLost)));
    assert_eq!(store.counts().await.expect("counts").ready, 1);
}

/// Makes the commit fail, as a disk may do at the very end.
const SPOIL: &str = "COMMIT; PRAGMA foreign_keys = ON; BEGIN IMMEDIATE;
     CREATE TABLE a (id INTEGER PRIMARY KEY);
     CREATE TABLE b (a REFERENCES a DEFERRABLE INITIALLY DEFERRED);
     INSERT INTO b VALUES (1)";

async fn spoil(store: &SqliteStore) -> Result<()> {
    store
        .write("spoiling", |tx| Ok(tx.connection.execute_batch(SPOIL)?))
        .await
}

#[tokio::test]
async fn when_the_commit_fails_those_who_were_served_are_told_and_others_go_on_standing() {
    let store = memory().await;
    let (mut one, mut two) = (Hand::of(&store).await, Hand::of(&store).await);
    let served = stand(&store, &mut one, 4, &["mail"]).await;
    let mut other = stand(&store, &mut two, 4, &["pdf"]).await;
    let go = hold(&store).await;
    let mut spoiling = Box::pin(spoil(&store));
    assert!(poll!(&mut spoiling).is_pending());
    let mut submitting = Box::pin(store.submit(vec![job("a", "mail")]));
    assert!(poll!(&mut submitting).is_pending());
    go.send(()).expect("the writer waits");
    spoiling.await.expect_err("not committed");
    submitting.await.expect_err("not committed");
    served.await.expect_err("nothing was taken, and nothing is known");
    assert_eq!(store.counts().await.expect("counts"), Counts::default());
    assert!(poll!(&mut other).is_pending());
    let pdf = submit(&store, vec![job("a", "pdf")]).await;
    assert_eq!(ids(&taken(other).await), pdf);
}

#[tokio::test]
async fn whoever_cannot_be_looked_after_is_told() {
    let folder = folder();
    let path = folder.path().join("jobs.db");
    let store = file(&path).await;
    let mut hand = Hand::of(&store).await;
    store
        .write("hurrying", |tx| Ok(tx.connection.busy_timeout(Duration::ZERO)?))
        .await
        .expect("impatient");
    let standing = stand(&store, &mut hand, 4, &["mail"]).await;
    let other = Connection::open(&path).expect("another process");
    other.execute_batch("BEGIN IMMEDIATE").expect("locked");
    let late = store.stand_by(hand.ask(4, &["mail"]), Box::pin(std::future::pending()));
    assert!(late.await.expect_err("locked").is_transient());
    let recalled = store.stand_by(hand.ask(4, &["mail"]), Box::pin(std::future::ready(())));
    let recalled = recalled.await;
    assert!(
        matches!(&recalled, Ok(Stood::Recalled(_))) || recalled.is_err_and(|error| error.is_transient()),
        "it ends in any case"
    );
    other.execute_batch("ROLLBACK").expect("unlocked");
    let job = submit(&store, vec![job("a", "mail")]).await;
    assert_eq!(ids(&taken(standing).await), job, "who stood before goes on standing");
}

#[tokio::test]
async fn c58_a_place_on_an_executor_goes_on_in_the_transaction_that_frees_it() {
    let folder = folder();
    let path = folder.path().join("jobs.db");
    let store = file(&path).await;
    let one = TaskLimits {
        max_running_each: Some(1),
        ..TaskLimits::default()
    };
    store.set(Setting::Task("mail".to_owned(), one)).await.expect("set");
    let mut hand = Hand::of(&store).await;
    let held = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&held);
    hand.here(Here::new(move |_| count.load(Relaxed), 4, 4));
    let jobs = submit(&store, vec![job("a", "mail"), job("a", "mail")]).await;
    let first = hand.take(4).await;
    assert_eq!(first.len(), 1);
    held.store(1, Relaxed);
    let standing = stand(&store, &mut hand, 4, &["mail"]).await;
    let before = logged(&path);
    // Its handler has ended, so it does not count any longer.
    held.store(0, Relaxed);
    assert_eq!(hand.settle(&first[0], Event::Succeed, false).await, Settled::Done);
    assert_eq!(ids(&taken(standing).await), [jobs[1]]);
    assert_eq!(logged(&path).1 - before.1, 1);
}
