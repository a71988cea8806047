//! Ended jobs are kept for a while, and then forgotten.

use std::time::Duration;

use super::{World, cases, job};
use crate::error::Error;
use crate::job::State;
use crate::lifecycle::Event;
use crate::store::{NewJob, Settled};

const DAY: Duration = Duration::from_hours(24);

async fn ended_jobs_are_kept_for_the_retention(world: &World) {
    let mut exec = world.executor().await;
    let old = world.flood("a", 3).await;
    exec.drain(5).await;
    // On another day: where a store forgets whole days, an unfinished job keeps those of its day.
    world.advance(2 * DAY);
    let live = world.flood("b", 1).await;
    exec.take_one().await;
    world.advance(27 * DAY);
    assert_eq!(world.store.prune().await.expect("it works"), 0);
    assert_eq!(world.store.get(&old).await.expect("it works").len(), 3);
    let young = world.flood("a", 1).await;
    let taken = exec.take_one().await;
    exec.run(&taken, Event::Succeed).await;
    // A store may forget whole days at a time.
    world.advance(4 * DAY);
    assert_eq!(world.store.prune().await.expect("it works"), 3);
    assert!(world.store.get(&old).await.expect("it works").is_empty());
    assert_eq!(world.get(young[0]).await.state, State::Success);
    assert_eq!(
        world.get(live[0]).await.state,
        State::Scheduled,
        "an unfinished job is kept however old"
    );
    assert_eq!(world.store.prune().await.expect("it works"), 0);
    assert_eq!(world.all().await.len(), 2);
}

async fn an_old_job_that_ends_late_is_kept_from_then_on(world: &World) {
    let mut exec = world.executor().await;
    let id = world.add(job("a")).await;
    world.advance(60 * DAY);
    let taken = exec.take_one().await;
    exec.run(&taken, Event::Succeed).await;
    world.advance(20 * DAY);
    assert_eq!(world.store.prune().await.expect("it works"), 0);
    assert_eq!(world.get(id).await.state, State::Success);
    world.advance(13 * DAY);
    assert_eq!(world.store.prune().await.expect("it works"), 1);
    assert_eq!(world.find(id).await, None);
}

async fn without_retention_ended_jobs_are_deleted_at_once(world: &World) {
    let world = &world.reopened(Duration::ZERO).await;
    let mut exec = world.executor().await;
    for event in [Event::Succeed, Event::FailForGood] {
        let id = world
            .add(NewJob {
                unique: Some("key".to_owned()),
                ..job("a")
            })
            .await;
        let taken = exec.take_one().await;
        assert_eq!(exec.run(&taken, event).await, Settled::Done);
        assert_eq!(world.find(id).await, None, "after {event:?}");
    }
    let id = world.add(job("a")).await;
    world.happen(id, Event::Cancel).await.expect("it may");
    assert_eq!(world.find(id).await, None);
    assert_eq!(world.store.counts().await.expect("it works").ended, 0);
    let failing = world.add(job("a")).await;
    let taken = exec.take_one().await;
    exec.run(&taken, Event::Fail).await;
    assert_eq!(
        world.get(failing).await.state,
        State::Stuck,
        "a job that will be retried has not ended"
    );
}

async fn a_forgotten_job_cannot_be_restarted(world: &World) {
    let mut exec = world.executor().await;
    let id = world.add(job("a")).await;
    let taken = exec.take_one().await;
    exec.run(&taken, Event::Succeed).await;
    world.happen(id, Event::Delete).await.expect("it may");
    let changed = world
        .store
        .change(crate::store::Which::Ids(vec![id]), Event::Restart)
        .await;
    assert!(matches!(changed, Ok(ref none) if none.is_empty()) || matches!(changed, Err(Error::NotFound(_))));
}

cases!(
    ended_jobs_are_kept_for_the_retention,
    an_old_job_that_ends_late_is_kept_from_then_on,
    without_retention_ended_jobs_are_deleted_at_once,
    a_forgotten_job_cannot_be_restarted,
);
