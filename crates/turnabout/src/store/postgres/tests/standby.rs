//! Executors that stand by: jobs are taken for them by whoever stores them.

use std::future::{pending, ready};
use std::sync::atomic::Ordering::Relaxed;

use futures_util::future::BoxFuture;
use futures_util::poll;

use super::*;
use crate::group::GroupSettings;
use crate::store::MaxUnfinished;
use crate::turn::Fairness;

cases![
    a_job_is_taken_by_the_statement_that_stores_it,
    jobs_of_several_callers_are_taken_together,
    who_does_not_know_a_task_is_not_disturbed,
    whoever_was_served_comes_last,
    a_take_that_is_recalled_brings_its_memory_and_no_job,
    a_take_that_is_recalled_while_it_is_served_brings_its_job,
    whoever_went_away_gets_nothing,
    where_settings_hold_something_back_it_takes_a_look_by_the_rules,
    a_cap_that_is_made_meanwhile_is_kept,
    more_than_it_wants_takes_a_look_by_the_rules,
    an_executor_that_was_reaped_gets_nothing,
    what_is_wrong_with_taking_does_not_touch_those_who_submit,
    jobs_under_a_limit_are_stored_as_ever,
];

type Standing<'a> = BoxFuture<'a, Result<Stood>>;

/// Looks in vain, and stands by for ever.
async fn stand<'a>(store: &'a PostgresStore, exec: &mut Exec, want: u32) -> Standing<'a> {
    assert!(exec.take(want).await.is_empty());
    let mut standing = store.stand_by(exec.ask(want), Box::pin(pending()));
    assert!(poll!(&mut standing).is_pending());
    standing
}

/// What it got by now, without asking the server.
async fn brought(mut standing: Standing<'_>) -> Option<Vec<JobId>> {
    match poll!(&mut standing) {
        std::task::Poll::Ready(Ok(Stood::Taken(taken))) => Some(taken.jobs.iter().map(|job| job.id).collect()),
        std::task::Poll::Ready(Ok(Stood::Recalled(_))) => None,
        other => panic!("{other:?}"),
    }
}

fn heard_ready(signals: &mut broadcast::Receiver<Signal>) -> bool {
    std::iter::from_fn(|| signals.try_recv().ok()).any(|signal| signal == Signal::Ready)
}

async fn a_job_is_taken_by_the_statement_that_stores_it(place: &Place) {
    let store = place.open().await;
    let mut exec = executor(&store, &["work"]).await;
    let standing = stand(&store, &mut exec, 4).await;
    let mut signals = store.signals();
    let ids = add(&store, vec![job("a")]).await;
    assert_eq!(brought(standing).await, Some(ids.clone()));
    assert!(!heard_ready(&mut signals), "there is nothing left for others");
    let job = get(&store, ids[0]).await;
    assert_eq!(job.claim.expect("it is held").executor, exec.incarnation);
    // The next one as well, and one beside it waits for no one.
    let standing = stand(&store, &mut exec, 4).await;
    let ids = add(&store, vec![super::job("b")]).await;
    assert_eq!(brought(standing).await, Some(ids));
    let ids = add(&store, vec![super::job("b")]).await;
    assert!(heard_ready(&mut signals), "nobody stands by");
    assert_eq!(exec.take_one().await.id, ids[0]);
}

async fn jobs_of_several_callers_are_taken_together(place: &Place) {
    let store = place.open().await;
    let mut exec = executor(&store, &["work"]).await;
    let standing = stand(&store, &mut exec, 9).await;
    // The first holds the lead, and waits; the others are stored together.
    let client = place.client().await;
    place
        .run(&client, "begin; lock table turnabout.job in exclusive mode")
        .await;
    let call = |group| {
        let store = store.clone();
        tokio::spawn(async move { add(&store, vec![job(group)]).await[0] })
    };
    let mut calls = vec![call("a")];
    place.until_blocked(&client).await;
    calls.extend(["b", "c", "d"].map(call));
    let began = Instant::now();
    while store.together.waiting() < 3 {
        assert!(began.elapsed() < Duration::from_secs(30), "the others do not come");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    place.run(&client, "commit").await;
    let mut ids = Vec::new();
    for call in calls {
        ids.push(call.await.expect("no panic"));
    }
    let mut taken = brought(standing).await.expect("taken");
    assert_eq!(taken.len(), 1, "by the statement of the first");
    taken.extend(exec.take(9).await.iter().map(|job| job.id));
    taken.sort_unstable();
    ids.sort_unstable();
    assert_eq!(taken, ids);
}

async fn who_does_not_know_a_task_is_not_disturbed(place: &Place) {
    let store = place.open().await;
    let mut exec = executor(&store, &["work"]).await;
    let mut standing = stand(&store, &mut exec, 4).await;
    let mut signals = store.signals();
    let other = NewJob {
        task: "other".to_owned(),
        ..job("a")
    };
    add(&store, vec![other.clone()]).await;
    add(
        &store,
        vec![
            job("a"),
            NewJob {
                id: JobId(Uuid::now_v7()),
                ..other
            },
        ],
    )
    .await;
    assert!(heard_ready(&mut signals));
    assert!(poll!(&mut standing).is_pending());
    // Now there are jobs that it does not know: a look by the rules has to tell what it may have.
    let ids = add(&store, vec![job("b")]).await;
    assert_eq!(brought(standing).await, None);
    assert!(heard_ready(&mut signals));
    let taken: Vec<JobId> = exec.take(9).await.iter().map(|job| job.id).collect();
    assert!(taken.contains(&ids[0]) && taken.len() == 2);
}

async fn whoever_was_served_comes_last(place: &Place) {
    let store = place.open().await;
    let (mut one, mut two) = (executor(&store, &["work"]).await, executor(&store, &["work"]).await);
    let first = stand(&store, &mut one, 4).await;
    let mut second = stand(&store, &mut two, 4).await;
    let ids = add(&store, vec![job("a")]).await;
    assert_eq!(brought(first).await, Some(ids));
    assert!(poll!(&mut second).is_pending());
    let _third = stand(&store, &mut one, 4).await;
    let ids = add(&store, vec![job("a")]).await;
    assert_eq!(brought(second).await, Some(ids));
}

async fn a_take_that_is_recalled_brings_its_memory_and_no_job(place: &Place) {
    let store = place.open().await;
    let mut exec = executor(&store, &["work"]).await.counting(Fairness::Items, "2,1", 7);
    assert!(exec.take(4).await.is_empty());
    exec.turns.charge("elsewhere", 1, 5);
    let recalled = store.stand_by(exec.ask(4), Box::pin(ready(()))).await;
    let Ok(Stood::Recalled(mut turns)) = recalled else {
        panic!("{recalled:?}")
    };
    assert!(
        turns
            .accounts
            .charges()
            .iter()
            .any(|charge| charge.group == "elsewhere")
    );
    let ids = add(&store, vec![job("a")]).await;
    assert_eq!(exec.take_one().await.id, ids[0]);
}

async fn a_take_that_is_recalled_while_it_is_served_brings_its_job(place: &Place) {
    let store = place.open().await;
    let mut exec = executor(&store, &["work"]).await;
    assert!(exec.take(4).await.is_empty());
    let (enough, until) = tokio::sync::oneshot::channel::<()>();
    let mut standing = store.stand_by(exec.ask(4), Box::pin(async { drop(until.await) }));
    assert!(poll!(&mut standing).is_pending());
    let client = place.client().await;
    place
        .run(&client, "begin; lock table turnabout.job in exclusive mode")
        .await;
    let submitting = tokio::spawn({
        let store = store.clone();
        async move { add(&store, vec![job("a")]).await }
    });
    place.until_blocked(&client).await;
    enough.send(()).expect("it waits");
    assert!(poll!(&mut standing).is_pending());
    place.run(&client, "commit").await;
    let ids = submitting.await.expect("no panic");
    assert_eq!(brought(standing).await, Some(ids));
}

async fn whoever_went_away_gets_nothing(place: &Place) {
    let store = place.open().await;
    let mut exec = executor(&store, &["work"]).await;
    drop(stand(&store, &mut exec, 4).await);
    let ids = add(&store, vec![job("a")]).await;
    assert!(get(&store, ids[0]).await.claim.is_none());
    assert_eq!(exec.take_one().await.id, ids[0]);
}

async fn where_settings_hold_something_back_it_takes_a_look_by_the_rules(place: &Place) {
    let store = place.open().await;
    let mut exec = executor(&store, &["work"]).await;
    let paused = GroupSettings {
        paused: true,
        ..GroupSettings::default()
    };
    store.set(Setting::Group("a".to_owned(), paused)).await.expect("set");
    let mut standing = stand(&store, &mut exec, 4).await;
    let mut signals = store.signals();
    let ids = add(&store, vec![job("a")]).await;
    assert!(
        poll!(&mut standing).is_pending() && heard_ready(&mut signals),
        "it is woken, as ever"
    );
    drop(standing);
    assert!(exec.take(4).await.is_empty() && get(&store, ids[0]).await.claim.is_none());
    // Settings that this store has not read yet hold as well.
    let other = place.open().await;
    let resumed = Setting::Group("a".to_owned(), GroupSettings::default());
    store.set(resumed).await.expect("set");
    assert_eq!(exec.take_one().await.id, ids[0]);
    let standing = stand(&store, &mut exec, 4).await;
    other.set(Setting::Group("b".to_owned(), paused)).await.expect("set");
    let ids = add(&store, vec![job("b")]).await;
    assert_eq!(brought(standing).await, None);
    assert!(exec.take(4).await.is_empty() && get(&store, ids[0]).await.claim.is_none());
}

async fn a_cap_that_is_made_meanwhile_is_kept(place: &Place) {
    let store = place.open().await;
    let mut exec = executor(&store, &["work"]).await;
    let standing = stand(&store, &mut exec, 4).await;
    let client = place.client().await;
    place.run(&client, CAP_IN_THE_MAKING).await;
    let submitting = tokio::spawn({
        let store = store.clone();
        async move { add(&store, vec![job("a"), job("a")]).await }
    });
    place.until_blocked(&client).await;
    place.run(&client, "commit").await;
    submitting.await.expect("no panic");
    assert_eq!(brought(standing).await, None);
    assert_eq!(exec.take(9).await.len(), 1);
    assert_eq!(
        place.number(&client, "select running::bigint from turnabout.cap").await,
        1
    );
}

async fn more_than_it_wants_takes_a_look_by_the_rules(place: &Place) {
    let store = place.open().await;
    let mut exec = executor(&store, &["work"]).await;
    let mut standing = stand(&store, &mut exec, 1).await;
    let mut signals = store.signals();
    let ids = add(&store, vec![job("a"), job("b")]).await;
    assert!(poll!(&mut standing).is_pending() && heard_ready(&mut signals));
    drop(standing);
    assert_eq!(exec.take_one().await.id, ids[0]);
    assert_eq!(exec.take_one().await.id, ids[1]);
}

async fn an_executor_that_was_reaped_gets_nothing(place: &Place) {
    let store = place.open().await;
    let mut exec = executor(&store, &["work"]).await;
    let standing = stand(&store, &mut exec, 4).await;
    let other = place.open().await;
    other.reap(exec.incarnation, exec.beat).await.expect("reaped");
    let ids = add(&store, vec![job("a")]).await;
    assert_eq!(brought(standing).await, None);
    assert!(get(&store, ids[0]).await.claim.is_none());
    assert!(matches!(exec.try_take(4).await, Err(Error::LeaseLost)));
}

async fn what_is_wrong_with_taking_does_not_touch_those_who_submit(place: &Place) {
    let store = place.open().await;
    let mut exec = executor(&store, &["work"]).await;
    let standing = stand(&store, &mut exec, 4).await;
    let client = place.client().await;
    place.run(&client, "alter table turnabout.ring rename to another").await;
    let ids = add(&store, vec![job("a")]).await;
    assert_eq!(brought(standing).await, None);
    place.run(&client, "alter table turnabout.another rename to ring").await;
    assert_eq!(exec.take_one().await.id, ids[0], "it was stored, once");
    assert!(exec.take(4).await.is_empty());
}

async fn jobs_under_a_limit_are_stored_as_ever(place: &Place) {
    let store = place.open().await;
    let mut exec = executor(&store, &["work"]).await;
    let limited = GroupSettings {
        max_unfinished: Some(1),
        ..GroupSettings::default()
    };
    store.set(Setting::Group("a".to_owned(), limited)).await.expect("set");
    // What this store knows of limits is out of date, so it tries the short way.
    store.limits.store(false, Relaxed);
    let standing = stand(&store, &mut exec, 4).await;
    let plain = NewJob {
        max_unfinished: MaxUnfinished::AsPublished,
        ..job("a")
    };
    let ids = add(&store, vec![plain]).await;
    assert_ne!(brought(standing).await, Some(ids.clone()), "it came by another way");
    let outcome = store.submit(vec![job("a")]).await.expect("submit works").remove(0);
    assert!(matches!(outcome, Err(Error::TooMany { .. })), "{outcome:?}");
    assert_eq!(exec.take_one().await.id, ids[0]);
}
