//! Claims stand beside the rows of their jobs until more is written about these.

use std::collections::BTreeMap;

use super::life::{Hand, advance, one};
use super::*;
use crate::job::Claim;

/// How many claims stand beside rows, and how many in them.
async fn claims(store: &SqliteStore) -> (i64, i64) {
    store
        .write("counting", |tx| {
            let sql = "SELECT (SELECT count(*) FROM claim), (SELECT count(*) FROM job WHERE executor IS NOT NULL)";
            Ok(tx.connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?)
        })
        .await
        .expect("counted")
}

#[tokio::test]
async fn a_job_that_ends_at_once_is_never_written_between() {
    let store = memory().await;
    let mut hand = Hand::of(&store).await;
    submit(&store, vec![job("a", "mail")]).await;
    let job = hand.take(1).await.remove(0);
    assert_eq!(claims(&store).await, (1, 0));
    let held = one(&store, job.id).await;
    let claim = Claim {
        executor: hand.executor,
        number: job.number,
    };
    assert_eq!(
        (held.state, held.lane, held.claim),
        (State::Scheduled, None, Some(claim))
    );
    assert_eq!(hand.settle(&job, Event::Succeed, false).await, Settled::Done);
    assert_eq!(claims(&store).await, (0, 0));
    assert_eq!(one(&store, job.id).await.claim, Some(claim), "the history has it");
}

#[tokio::test]
async fn a_claim_moves_into_the_row_when_more_is_written() {
    let store = memory().await;
    let mut hand = Hand::of(&store).await;
    submit(&store, (0..3).map(|_| job("a", "mail")).collect()).await;
    let jobs = hand.take(3).await;
    hand.start(&jobs[0]).await;
    let running = one(&store, jobs[0].id).await;
    assert_eq!((running.state, running.lane), (State::Running, None));
    assert_eq!(running.claim.map(|claim| claim.number), Some(jobs[0].number));
    let cancelled = store.change(Which::Ids(vec![jobs[1].id]), Event::Cancel).await;
    assert!(cancelled.expect("changed")[0].outcome.is_ok());
    assert_eq!(claims(&store).await, (1, 2));
    let held = store.heartbeat(hand.executor, 1).await.expect("a beat").held;
    let asked: Vec<_> = held.iter().filter(|held| held.2).map(|held| held.0).collect();
    assert_eq!((held.len(), asked), (3, vec![jobs[1].id]));
    assert_eq!(hand.settle(&jobs[1], Event::Succeed, false).await, Settled::Cancelling);
    assert_eq!(hand.settle(&jobs[1], Event::Succeed, true).await, Settled::Done);
    assert_eq!(hand.settle(&jobs[0], Event::Succeed, false).await, Settled::Done);
    assert_eq!(hand.settle(&jobs[2], Event::Interrupt, false).await, Settled::Done);
    assert_eq!(claims(&store).await, (0, 0));
    assert_eq!(hand.take(3).await.len(), 1, "it was given back");
}

#[tokio::test]
async fn where_nothing_is_kept_a_job_is_forgotten_by_its_own_claim_only() {
    let options = StoreOptions {
        retention: Duration::ZERO,
        ..manual()
    };
    let store = SqliteStore::open(":memory:", options).await.expect("a store");
    let (mut one, mut two) = (Hand::of(&store).await, Hand::of(&store).await);
    submit(&store, (0..2).map(|_| job("a", "mail")).collect()).await;
    let (first, second) = (one.take(1).await.remove(0), two.take(1).await.remove(0));
    assert_eq!(two.settle(&first, Event::Succeed, false).await, Settled::Lost);
    assert_eq!(one.settle(&first, Event::Succeed, true).await, Settled::Cancelling);
    assert_eq!(claims(&store).await, (2, 0));
    assert_eq!(one.settle(&first, Event::Succeed, false).await, Settled::Done);
    two.start(&second).await;
    assert_eq!(two.settle(&second, Event::Succeed, false).await, Settled::Done);
    assert_eq!(claims(&store).await, (0, 0));
    assert_eq!(store.counts().await.expect("counts"), Counts::default());
}

#[tokio::test]
async fn a_job_that_was_taken_no_longer_expires() {
    let store = memory().await;
    let mut hand = Hand::of(&store).await;
    let mut jobs = [job("a", "mail"), job("a", "mail")];
    for job in &mut jobs {
        job.expires = When::After(Duration::from_secs(5));
    }
    let ids = submit(&store, jobs.to_vec()).await;
    hand.take(1).await;
    advance(&store, Duration::from_secs(9));
    let expired = store.change(Which::Expired(10), Event::Expire).await.expect("looked");
    let expired: Vec<_> = expired.iter().map(|changed| changed.job.id).collect();
    assert_eq!(expired, ids[1..]);
}

/// Makes a file what it would be by the first schema, in which all claims stand in rows.
fn go_back(path: &Path) {
    let file = Connection::open(path).expect("it opens");
    let beside: i64 = file
        .query_row("SELECT count(*) FROM claim", [], |row| row.get(0))
        .expect("counted");
    assert_eq!(beside, 0);
    file.execute_batch(
        "DROP VIEW live; DROP TABLE claim; DROP TABLE schedule; DROP TABLE schedule_run; DROP TABLE schedule_event;
         PRAGMA user_version = 1",
    )
    .expect("it is as before");
}

#[tokio::test]
async fn a_file_of_before_is_brought_up_to_date_with_all_that_is_in_it() {
    let folder = folder();
    let path = folder.path().join("jobs.db");
    let (ids, jobs, executor) = {
        let store = SqliteStore::open(path.to_str().expect("a path"), manual())
            .await
            .expect("a store");
        let mut hand = Hand::of(&store).await;
        let mut new: Vec<_> = (0..4).map(|_| job("a", "mail")).collect();
        new[3].when = When::After(Duration::from_mins(1));
        let ids = submit(&store, new).await;
        let jobs = hand.take(2).await;
        hand.start(&jobs[0]).await;
        hand.start(&jobs[1]).await;
        let cancelled = store.change(Which::Ids(vec![ids[1]]), Event::Cancel).await;
        assert!(cancelled.expect("changed")[0].outcome.is_ok());
        (ids, jobs, hand.executor)
    };
    go_back(&path);
    Connection::open(&path)
        .and_then(|file| file.execute("UPDATE executor SET seen = 0", []))
        .expect("it was long ago");
    let store = SqliteStore::open(path.to_str().expect("a path"), manual())
        .await
        .expect("it is brought up to date");
    let held = store.heartbeat(executor, 1).await.expect("a beat").held;
    // Ids of one millisecond are in no order.
    let held: BTreeMap<_, _> = held.iter().map(|held| (held.0, held.2)).collect();
    assert_eq!(held, BTreeMap::from([(ids[0], false), (ids[1], true)]));
    let mut hand = Hand::of(&store).await;
    let taken: Vec<_> = hand.take(4).await.iter().map(|job| job.id).collect();
    assert_eq!(taken, [ids[2]], "the others are held, or parked");
    assert!(one(&store, ids[3]).await.due.is_some());
    hand.executor = executor;
    assert_eq!(hand.settle(&jobs[0], Event::Succeed, false).await, Settled::Done);
    assert_eq!(hand.settle(&jobs[1], Event::Succeed, true).await, Settled::Done);
    assert_eq!(claims(&store).await, (1, 0));
}

#[tokio::test]
async fn a_file_of_before_is_left_alone_while_an_older_program_may_run_on_it() {
    let folder = folder();
    let path = folder.path().join("jobs.db");
    {
        let store = file(&path).await;
        Hand::of(&store).await;
    }
    go_back(&path);
    let refused = SqliteStore::open(path.to_str().expect("a path"), StoreOptions::default()).await;
    let error = refused.expect_err("somebody runs on it").to_string();
    assert!(error.contains("stop that, wait for a minute"), "{error}");
    let found = Connection::open(&path).and_then(|c| c.pragma_query_value(None, "user_version", |row| row.get(0)));
    assert_eq!(found, Ok(1));
}
