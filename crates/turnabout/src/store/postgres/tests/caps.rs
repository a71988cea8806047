//! Counts under caps: made anew only where claims and finishes wait for it, and whatever was given back is given back once.

use super::*;
use crate::group::GroupSettings;
use crate::job::Claimed;
use crate::store::{Setting, Start};

cases![
    what_else_is_set_leaves_the_count_alone,
    a_cap_that_is_made_while_a_strict_transaction_runs_has_its_place_back,
    a_place_that_was_given_back_before_a_count_is_not_given_back_again,
];

const RUNNING: &str = "select running::bigint from turnabout.cap";

async fn cap(store: &PostgresStore, max_running: u32, paused: bool) {
    let settings = GroupSettings {
        max_running: Some(max_running),
        paused,
        ..GroupSettings::default()
    };
    let set = store.set(Setting::Group("a".to_owned(), settings)).await;
    set.expect("it is set");
}

/// What a handler with a driver of its own says at the end of its transaction.
fn finish(exec: &Exec, job: &Claimed) -> String {
    let (id, executor, number) = (job.id, exec.incarnation, job.number);
    format!("select turnabout.finish('{id}', '{executor}/{number}')")
}

async fn running(store: &PostgresStore, exec: &mut Exec) -> Vec<Claimed> {
    let jobs = exec.take(9).await;
    let marks = jobs.iter().map(|job| Start::of(job, store.clock().now())).collect();
    let refused = store.start(exec.incarnation, marks).await.expect("start works");
    assert!(refused.is_empty());
    jobs
}

/// A finish may be on its way: whoever counts beside it would count its job for ever.
async fn what_else_is_set_leaves_the_count_alone(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    let mut exec = executor(&store, &["work"]).await;
    cap(&store, 3, false).await;
    add(&store, vec![job("a"), job("a")]).await;
    let jobs = exec.take(9).await;
    place.run(&client, "begin").await;
    // A finish that has not committed yet.
    let gone = format!("delete from turnabout.job where id = '{}'", jobs[0].id);
    place.run(&client, &gone).await;
    place
        .run(&client, "update turnabout.cap set running = running - 1")
        .await;
    let (pausing, elsewhere) = (store.clone(), place.client().await);
    let paused = tokio::spawn(async move { cap(&pausing, 3, true).await });
    while place
        .number(&elsewhere, "select count(*) from turnabout.group_setting where paused")
        .await
        == 0
        && place.number(&elsewhere, WAITING).await == 0
    {
        tokio::task::yield_now().await;
    }
    place.run(&client, "commit").await;
    paused.await.expect("no panic");
    assert_eq!(place.number(&client, RUNNING).await, 1);
    cap(&store, 2, false).await;
    assert_eq!(place.number(&client, RUNNING).await, 1, "counted under the lock");
}

/// How many wait for a lock in this schema's tables.
const WAITING: &str =
    "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%turnabout.cap%'";

async fn a_cap_that_is_made_while_a_strict_transaction_runs_has_its_place_back(place: &Place) {
    for level in ["read committed", "repeatable read", "serializable"] {
        let store = place.open().await;
        let client = place.client().await;
        let mut exec = executor(&store, &["work"]).await;
        add(&store, vec![job("a")]).await;
        let jobs = running(&store, &mut exec).await;
        place.run(&client, &format!("begin isolation level {level}")).await;
        // From now on it sees what there is now.
        place.run(&client, "select from turnabout.cap").await;
        cap(&store, 1, false).await;
        let elsewhere = place.client().await;
        assert_eq!(place.number(&elsewhere, RUNNING).await, 1);
        place.run(&client, &finish(&exec, &jobs[0])).await;
        place.run(&client, "commit").await;
        store.prune().await.expect("prune works");
        assert_eq!(place.number(&client, RUNNING).await, 0, "{level}");
        let unset = store.set(Setting::Group("a".to_owned(), GroupSettings::default()));
        unset.await.expect("it is set");
    }
}

async fn a_place_that_was_given_back_before_a_count_is_not_given_back_again(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    let mut exec = executor(&store, &["work"]).await;
    cap(&store, 3, false).await;
    add(&store, vec![job("a"), job("a")]).await;
    let jobs = running(&store, &mut exec).await;
    place.run(&client, &finish(&exec, &jobs[0])).await;
    // Another number of the same cap is no count.
    cap(&store, 2, false).await;
    assert_eq!(
        place.number(&client, RUNNING).await,
        2,
        "its place is not given back yet"
    );
    let unset = store.set(Setting::Group("a".to_owned(), GroupSettings::default()));
    unset.await.expect("it is set");
    cap(&store, 2, false).await;
    assert_eq!(place.number(&client, RUNNING).await, 1, "counted");
    store.prune().await.expect("prune works");
    assert_eq!(place.number(&client, RUNNING).await, 1);
}
