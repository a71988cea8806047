//! Changes of many jobs at once.

use super::{World, cases, job};
use crate::job::State;
use crate::jobs::{Bulk, Jobs};
use crate::lifecycle::Event;
use crate::store::NewJob;
async fn many_jobs_are_changed_at_once(world: &World) {
    let jobs = Jobs::on(world.store.clone());
    let mut exec = world.executor().await;
    world.flood("a", 30).await;
    world.flood("b", 5).await;
    for held in exec.take(10).await.iter().take(4) {
        exec.run(held, Event::Succeed).await;
    }
    let ended = jobs.list().bulk_count(Bulk::Delete, 100).await.expect("it works");
    let open = jobs.list().bulk_count(Bulk::Cancel, 100).await.expect("it works");
    assert_eq!((ended, open), (4, 31), "as many as their states allow");
    let none = jobs.list().state(State::Success).bulk_count(Bulk::Cancel, 100).await;
    assert_eq!(none.expect("it works"), 0);

    let group = || jobs.list().group("b").state(State::Waiting);
    let waiting = group().count(100).await.expect("it works");
    let done = group().bulk(Bulk::Cancel, 100).await.expect("it works");
    assert_eq!((done.changed, done.skipped, done.more), (waiting, 0, false));
    let page = jobs.list().group("b").state(State::Cancelled).await.expect("it works");
    assert_eq!(page.jobs.len() as u64, waiting);

    let cancelled = jobs.list().state(State::Cancelled);
    let done = cancelled.bulk(Bulk::Restart, 100).await.expect("it works");
    assert_eq!(done.changed, waiting);
    let done = jobs.list().bulk(Bulk::Cancel, 10).await.expect("it works");
    assert!(done.more && done.changed == 10, "{done:?}");
    let done = jobs.list().bulk(Bulk::Delete, 100).await.expect("it works");
    assert!(done.changed >= 4, "{done:?}");
    assert_eq!(jobs.list().bulk_count(Bulk::Delete, 100).await.expect("it works"), 0);
}

async fn of_many_that_are_restarted_those_whose_key_is_taken_are_left_out(world: &World) {
    let jobs = Jobs::on(world.store.clone());
    let keyed = |key: &str| NewJob {
        unique: Some(key.to_owned()),
        ..job("a")
    };
    for key in ["x", "y"] {
        let id = world.add(keyed(key)).await;
        world.happen(id, Event::Cancel).await.expect("it may");
    }
    world.add(keyed("x")).await;
    let done = jobs.list().bulk(Bulk::Restart, 100).await.expect("it works");
    assert_eq!((done.changed, done.skipped), (1, 1));
}

async fn c66_jobs_that_wait_are_deleted_in_bulk_where_that_is_said(world: &World) {
    let jobs = Jobs::on(world.store.clone());
    let mut exec = world.executor().await;
    world.flood("a", 4).await;
    let taken = exec.take(2).await;
    exec.run(&taken[0], Event::Succeed).await;
    let done = jobs.list().bulk(Bulk::Delete, 100).await.expect("it works");
    assert_eq!(done.changed, 1, "only what has ended, unless states are named");
    let done = jobs.list().states(State::UNFINISHED).bulk(Bulk::Delete, 100).await;
    assert_eq!(done.expect("it works").changed, 2, "not the one that is held");
    assert_eq!(jobs.list().count(10).await.expect("counted"), 1);
}

cases!(
    many_jobs_are_changed_at_once,
    of_many_that_are_restarted_those_whose_key_is_taken_are_left_out,
    c66_jobs_that_wait_are_deleted_in_bulk_where_that_is_said,
);
