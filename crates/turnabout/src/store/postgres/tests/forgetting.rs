//! Jobs that have ended and are not kept: all at once, or one by one where something is to be said of some.

use super::*;
use crate::group::GroupSettings;
use crate::lifecycle::Event;

cases![
    a_batch_is_forgotten_whole,
    where_one_is_cancelled_or_lost_the_others_are_forgotten_nevertheless,
    a_place_under_a_cap_that_others_made_is_given_back,
    a_cap_that_is_made_meanwhile_counts_only_what_is_held,
];

async fn open(place: &Place) -> Arc<PostgresStore> {
    let options = StoreOptions {
        retention: Duration::ZERO,
        ..place.options(Clock::System)
    };
    PostgresStore::open(&place.url, options).await.expect("the store opens")
}

async fn unfinished(place: &Place, client: &Client) -> i64 {
    place.number(client, "select count(*) from turnabout.job").await
}

/// Lets all of these succeed, in one call.
async fn succeed(store: &PostgresStore, exec: &Exec, jobs: &[Claimed]) -> Vec<Settled> {
    let outcomes = jobs
        .iter()
        .map(|job| exec.outcome(job, Event::Succeed, false))
        .collect();
    store.settle(exec.incarnation, outcomes).await.expect("settle works")
}

async fn a_batch_is_forgotten_whole(place: &Place) {
    let store = open(place).await;
    let mut exec = executor(&store, &["work"]).await;
    add(&store, vec![job("a"), job("b"), job("c")]).await;
    let jobs = exec.take(9).await;
    assert_eq!(succeed(&store, &exec, &jobs[..2]).await, [Settled::Done; 2]);
    let client = place.client().await;
    assert_eq!(unfinished(place, &client).await, 1);
    // Once more: they are gone, and nobody can tell by whom.
    assert_eq!(
        succeed(&store, &exec, &jobs).await,
        [Settled::Lost, Settled::Lost, Settled::Done]
    );
    assert_eq!(unfinished(place, &client).await, 0);
}

async fn where_one_is_cancelled_or_lost_the_others_are_forgotten_nevertheless(place: &Place) {
    let store = open(place).await;
    let mut exec = executor(&store, &["work"]).await;
    add(&store, vec![job("a"), job("b"), job("c"), job("d")]).await;
    let jobs = exec.take(9).await;
    let client = place.client().await;
    let set = |what: &str, id: JobId| format!("update turnabout.job set {what} where id = '{id}'");
    place.run(&client, &set("cancelling = true", jobs[1].id)).await;
    place.run(&client, &set("claim = claim + 1", jobs[2].id)).await;
    let settled = succeed(&store, &exec, &jobs).await;
    assert_eq!(
        settled,
        [Settled::Done, Settled::Cancelling, Settled::Lost, Settled::Done]
    );
    assert_eq!(unfinished(place, &client).await, 2);
    // A job of someone else's, by the same number.
    let other = executor(&store, &["work"]).await;
    place.run(&client, &set("cancelling = false", jobs[1].id)).await;
    assert_eq!(succeed(&store, &other, &jobs[1..2]).await, [Settled::Lost]);
    assert_eq!(unfinished(place, &client).await, 2);
}

async fn a_place_under_a_cap_that_others_made_is_given_back(place: &Place) {
    let store = open(place).await;
    let mut exec = executor(&store, &["work"]).await;
    add(&store, vec![job("a"), job("a"), job("b")]).await;
    let jobs = exec.take(9).await;
    let capped = GroupSettings {
        max_running: Some(1),
        ..GroupSettings::default()
    };
    let elsewhere = open(place).await;
    elsewhere
        .set(Setting::Group("a".to_owned(), capped))
        .await
        .expect("set");
    let client = place.client().await;
    let running = "select running::bigint from turnabout.cap";
    assert_eq!(place.number(&client, running).await, 2);
    assert_eq!(succeed(&store, &exec, &jobs).await, [Settled::Done; 3]);
    assert_eq!(place.number(&client, running).await, 0);
}

async fn a_cap_that_is_made_meanwhile_counts_only_what_is_held(place: &Place) {
    let store = open(place).await;
    let mut exec = executor(&store, &["work"]).await;
    add(&store, vec![job("a")]).await;
    let jobs = exec.take(9).await;
    let client = place.client().await;
    place.run(&client, CAP_IN_THE_MAKING).await;
    place.run(&client, "update turnabout.cap set running = 1").await;
    let settling = tokio::spawn(async move { succeed(&store, &exec, &jobs).await });
    place.until_blocked(&client).await;
    place.run(&client, "commit").await;
    assert_eq!(settling.await.expect("no panic"), [Settled::Done]);
    let running = "select running::bigint from turnabout.cap";
    assert_eq!(place.number(&client, running).await, 0);
}
