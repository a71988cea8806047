//! Taking all that is ready at once, while others have their hands on it, or change what holds.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::*;
use crate::group::GroupSettings;

cases![
    what_others_have_locked_is_neither_taken_nor_forgotten,
    two_who_take_all_at_once_take_each_job_once,
    a_cap_that_is_made_while_a_take_waits_is_kept,
    settings_made_elsewhere_hold_for_the_next_take,
    an_executor_that_was_reaped_takes_nothing,
    jobs_that_are_not_due_stay_where_they_are,
    an_idle_executor_takes_a_single_job_in_one_round_trip,
    a_place_that_was_not_written_gives_way_to_one_that_was,
];

/// Every take of this store tries to have all that is ready.
async fn greedy(place: &Place) -> Arc<PostgresStore> {
    let store = place.open().await;
    store.trial.say(false, true, false);
    store
}

fn whole(store: &PostgresStore) -> usize {
    store.trial.taken_whole.load(Relaxed)
}

async fn what_others_have_locked_is_neither_taken_nor_forgotten(place: &Place) {
    let store = greedy(place).await;
    let mut exec = executor(&store, &["work"]).await;
    let ids = add(&store, vec![job("a"), job("b")]).await;
    let client = place.client().await;
    let lock = format!("begin; select from turnabout.job where id = '{}' for update", ids[0]);
    place.run(&client, &lock).await;
    let (jobs, found) = exec.try_take(9).await.expect("take works");
    assert_eq!((jobs.len(), jobs[0].id, found), (1, ids[1], true));
    assert_eq!(whole(&store), 1);
    // All that there is is locked: something is there, but nothing to be had.
    let (jobs, found) = exec.try_take(9).await.expect("take works");
    assert_eq!((jobs.len(), found), (0, true));
    assert_eq!(whole(&store), 1, "it took a look by the rules");
    place.run(&client, "rollback").await;
    assert_eq!(exec.take_one().await.id, ids[0]);
}

async fn two_who_take_all_at_once_take_each_job_once(place: &Place) {
    let (store, other) = (greedy(place).await, greedy(place).await);
    let mut one = executor(&store, &["work"]).await;
    let mut two = executor(&other, &["work"]).await;
    for round in 0..100 {
        let mut ids = add(&store, vec![job("a"), job("b"), job("b")]).await;
        let (mine, theirs) = tokio::join!(one.take(9), two.take(9));
        let mut taken: Vec<JobId> = mine.iter().chain(&theirs).map(|job| job.id).collect();
        // What one had its hands on when the other looked may be left to neither.
        taken.extend(one.drain(9).await.iter().map(|job| job.id));
        taken.sort_unstable();
        ids.sort_unstable();
        assert_eq!(taken, ids, "round {round}");
    }
    assert!(whole(&store) > 0 && whole(&other) > 0);
}

/// The take has seen that there is no cap, and waits for whoever makes one.
async fn a_cap_that_is_made_while_a_take_waits_is_kept(place: &Place) {
    let store = greedy(place).await;
    let mut exec = executor(&store, &["work"]).await;
    add(&store, vec![job("a"), job("a")]).await;
    let client = place.client().await;
    place.run(&client, CAP_IN_THE_MAKING).await;
    let take = tokio::spawn(async move { exec.take(9).await.len() });
    place.until_blocked(&client).await;
    place.run(&client, "commit").await;
    assert_eq!(take.await.expect("no panic"), 1);
    let running = "select running::bigint from turnabout.cap";
    assert_eq!(place.number(&client, running).await, 1);
    assert_eq!(whole(&store), 0);
}

async fn settings_made_elsewhere_hold_for_the_next_take(place: &Place) {
    let (store, other) = (greedy(place).await, place.open().await);
    let mut exec = executor(&store, &["work"]).await;
    assert!(exec.take(9).await.is_empty());
    let before = whole(&store);
    assert!(before > 0, "it knows the settings");
    let ids = add(&store, vec![job("a"), job("b")]).await;
    let paused = GroupSettings {
        paused: true,
        ..GroupSettings::default()
    };
    other
        .set(Setting::Group("a".to_owned(), paused))
        .await
        .expect("it is set");
    let jobs = exec.take(9).await;
    assert_eq!(jobs.iter().map(|job| job.id).collect::<Vec<_>>(), [ids[1]]);
    assert_eq!(whole(&store), before);
    other
        .set(Setting::Group("a".to_owned(), GroupSettings::default()))
        .await
        .expect("it is set");
    exec.turns.forgive();
    assert_eq!(exec.take_one().await.id, ids[0]);
}

async fn an_executor_that_was_reaped_takes_nothing(place: &Place) {
    let (store, other) = (greedy(place).await, place.open().await);
    let mut exec = executor(&store, &["work"]).await;
    assert!(exec.take(9).await.is_empty());
    let id = add(&store, vec![job("a")]).await[0];
    other.reap(exec.incarnation, exec.beat).await.expect("it is reaped");
    assert!(matches!(exec.try_take(9).await, Err(Error::LeaseLost)));
    assert_eq!(executor(&other, &["work"]).await.take_one().await.id, id);
}

async fn jobs_that_are_not_due_stay_where_they_are(place: &Place) {
    let store = greedy(place).await;
    let mut exec = executor(&store, &["work"]).await;
    let later = NewJob {
        when: crate::job::When::After(Duration::from_hours(1)),
        ..job("a")
    };
    add(&store, vec![later]).await;
    let (jobs, found) = exec.try_take(9).await.expect("take works");
    assert!(jobs.is_empty() && !found);
    assert_eq!(whole(&store), 1);
}

/// Without being told to: what the last take left behind decides.
async fn an_idle_executor_takes_a_single_job_in_one_round_trip(place: &Place) {
    let store = place.open().await;
    let mut exec = executor(&store, &["work"]).await;
    assert!(exec.take(4).await.is_empty());
    let began = Instant::now();
    for n in 0.. {
        let before = whole(&store);
        let id = add(&store, vec![job(&format!("g{n}"))]).await[0];
        assert_eq!(exec.take_one().await.id, id);
        assert!(exec.take(4).await.is_empty());
        // The job, and that there was no other; unless the server was busy, and a look took long, which is remembered for a
        // while.
        if whole(&store) - before == 2 {
            break;
        }
        assert!(began.elapsed() < Duration::from_mins(1), "it never does");
    }
    // More than it has slots for are shared out by the rules, and what is left is not overlooked.
    add(&store, (0..9).map(|n| job(&format!("g{n}"))).collect()).await;
    assert_eq!(exec.take(4).await.len(), 4);
    assert_eq!(exec.drain(4).await.len(), 5);
}

async fn a_place_that_was_not_written_gives_way_to_one_that_was(place: &Place) {
    let (store, other) = (greedy(place).await, place.open().await);
    let mut mine = executor(&store, &["work"]).await;
    let mut theirs = executor(&other, &["work"]).await;
    let groups = |jobs: Vec<crate::job::Claimed>| jobs.into_iter().map(|job| job.group).collect::<Vec<_>>();
    add(&store, vec![job("b")]).await;
    assert_eq!(groups(mine.take(1).await), ["b"]);
    assert_eq!(whole(&store), 1);
    let all = || ["a", "b", "c", "d"].map(job).to_vec();
    add(&store, all()).await;
    // Nobody has moved on since: it goes on behind `b`, as if that had been written.
    assert_eq!(groups(mine.take(1).await), ["c"]);
    assert_eq!(groups(theirs.take(1).await), ["d"]);
    mine.drain(9).await;
    // Now its place is after some group again, unwritten; but another executor moves on.
    add(&store, vec![job("d")]).await;
    assert_eq!(groups(mine.take(1).await), ["d"]);
    add(&store, all()).await;
    let first = groups(theirs.take(1).await);
    let second = groups(mine.take(1).await);
    assert_ne!(first, second, "no group is served twice before the others");
    let rest = groups(mine.drain(1).await);
    assert_eq!(rest.len(), 2);
    assert!(!rest.contains(&first[0]) && !rest.contains(&second[0]));
}
