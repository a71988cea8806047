//! Hints that a process did not live to write.

use super::*;
use crate::lifecycle::Event;

cases![
    whoever_leaves_has_told_everything,
    what_a_dead_executor_has_ended_is_told_once_more,
    what_a_dead_executor_has_ended_and_nobody_kept_ends_an_epoch,
];

const HOLD: Duration = Duration::from_mins(1);

/// Takes a job and ends it, without a word to those who watch.
async fn end_in_silence(place: &Place, store: &Arc<PostgresStore>) -> (Uuid, JobId) {
    let mut exec = executor(store, &["work"]).await;
    add(store, vec![job("a")]).await;
    let taken = exec.take_one().await;
    store.watch(HOLD).await.expect("it works");
    // As if it had not heard of it.
    store.watched_until(None);
    exec.end(&taken, Event::Succeed).await;
    let client = place.client().await;
    assert_eq!(place.number(&client, "select count(*) from turnabout.hint").await, 0);
    (exec.incarnation, taken.id)
}

async fn whoever_leaves_has_told_everything(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    let mut exec = executor(&store, &["work"]).await;
    store.watch(HOLD).await.expect("it works");
    add(&store, vec![job("a")]).await;
    let taken = exec.take_one().await;
    store.feed.catch_up().await;
    place.run(&client, "delete from turnabout.hint").await;
    exec.end(&taken, Event::Succeed).await;
    store.deregister(exec.incarnation).await.expect("it goes");
    let hinted = place.number(&client, "select count(*) from turnabout.hint").await;
    assert_eq!(hinted, 1);
}

async fn what_a_dead_executor_has_ended_is_told_once_more(place: &Place) {
    let (dying, store) = (place.open().await, place.open().await);
    let (executor, id) = end_in_silence(place, &dying).await;
    let before = store.watch(HOLD).await.expect("it works");
    assert_eq!(store.reap(executor, 0).await.expect("reap works"), 0);
    let began = Instant::now();
    loop {
        assert!(began.elapsed() < Duration::from_secs(30), "it is not told");
        let hints = store.hints(before.newest, 10).await.expect("it works");
        if let Some(hint) = hints.first() {
            assert_eq!(hint.job, id);
            break;
        }
        tokio::task::yield_now().await;
    }
    let after = store.watch(HOLD).await.expect("it works");
    assert_eq!(after.epoch, before.epoch);
}

async fn what_a_dead_executor_has_ended_and_nobody_kept_ends_an_epoch(place: &Place) {
    let options = || StoreOptions {
        retention: Duration::ZERO,
        ..place.options(Clock::System)
    };
    let open = async || {
        PostgresStore::open(&place.url, options())
            .await
            .expect("the store opens")
    };
    let (dying, store) = (open().await, open().await);
    let (executor, _) = end_in_silence(place, &dying).await;
    let before = store.watch(HOLD).await.expect("it works");
    assert_eq!(store.reap(executor, 0).await.expect("reap works"), 0);
    let began = Instant::now();
    while store.watch(HOLD).await.expect("it works").epoch == before.epoch {
        assert!(began.elapsed() < Duration::from_secs(30), "it is not told");
    }
}
