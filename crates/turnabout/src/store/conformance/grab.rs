//! Taking a parked job by its id, before it is due.

use std::time::Duration;

use super::{World, cases, job};
use crate::error::Error;
use crate::group::GroupSettings;
use crate::job::{JobId, Priority, State, When};
use crate::lifecycle::Event;
use crate::store::{NewJob, Setting, Settled};

async fn parked(world: &World, group: &str) -> JobId {
    world
        .add(NewJob {
            when: When::After(Duration::from_mins(1)),
            priority: Some(Priority::Low),
            ..job(group)
        })
        .await
}

async fn a_parked_job_is_taken_by_its_id_and_ends_like_any_other(world: &World) {
    let mut exec = world.executor().await;
    let id = parked(world, "a").await;
    let held = world
        .store
        .grab(exec.incarnation, 1000, id)
        .await
        .expect("it works")
        .expect("taken");
    assert_eq!(
        (held.id, held.number, held.priority, held.attempts),
        (id, 1000, Priority::Low, 0)
    );
    let there = world.get(id).await;
    assert_eq!((there.state, there.due, there.lane), (State::Scheduled, None, None));
    assert_eq!(
        world.store.grab(exec.incarnation, 1001, id).await.expect("it works"),
        None,
        "it is held"
    );
    world.advance(Duration::from_mins(2));
    assert_eq!(world.store.promote(10).await.expect("promoted").jobs, 0);
    assert_eq!(exec.take(5).await, []);
    assert_eq!(exec.start(&held).await, None);
    assert_eq!(exec.end(&held, Event::Succeed).await, Settled::Done);
    assert_eq!(
        (world.get(id).await.state, world.get(id).await.attempts),
        (State::Success, 1)
    );
}

async fn what_is_not_parked_is_not_taken(world: &World) {
    let exec = world.executor().await;
    let ready = world.add(job("a")).await;
    let cancelled = parked(world, "a").await;
    world.happen(cancelled, Event::Cancel).await.expect("cancelled");
    for id in [ready, cancelled, JobId::new()] {
        assert_eq!(
            world.store.grab(exec.incarnation, 1000, id).await.expect("it works"),
            None
        );
    }
    let id = parked(world, "a").await;
    let stranger = world.store.grab(uuid::Uuid::new_v4(), 1000, id).await;
    assert!(matches!(stranger, Err(Error::LeaseLost)), "{stranger:?}");
    assert!(world.get(id).await.due.is_some());
}

async fn caps_and_pauses_hold(world: &World) {
    let exec = world.executor().await;
    let set = async |max_running, paused| {
        let settings = GroupSettings {
            max_running,
            paused,
            ..GroupSettings::default()
        };
        let setting = Setting::Group("a".to_owned(), settings);
        world.store.set(setting).await.expect("it is set");
    };
    let (one, two) = (parked(world, "a").await, parked(world, "a").await);
    set(None, true).await;
    assert_eq!(
        world.store.grab(exec.incarnation, 1000, one).await.expect("it works"),
        None
    );
    set(Some(1), false).await;
    let held = world
        .store
        .grab(exec.incarnation, 1001, one)
        .await
        .expect("it works")
        .expect("taken");
    assert_eq!(
        world.store.grab(exec.incarnation, 1002, two).await.expect("it works"),
        None,
        "full"
    );
    exec.end(&held, Event::Succeed).await;
    let held = world
        .store
        .grab(exec.incarnation, 1003, two)
        .await
        .expect("it works")
        .expect("a place is free");
    exec.end(&held, Event::Fail).await;
    let job = world.get(two).await;
    assert_eq!((job.state, job.attempts), (State::Stuck, 1));
}

async fn a_grabbed_job_that_is_lost_comes_back(world: &World) {
    let exec = world.executor().await;
    let id = parked(world, "a").await;
    world
        .store
        .grab(exec.incarnation, 1000, id)
        .await
        .expect("it works")
        .expect("taken");
    assert_eq!(exec.die().await, 1);
    let mut other = world.executor().await;
    assert_eq!(other.take(5).await.iter().map(|job| job.id).collect::<Vec<_>>(), [id]);
}

cases![
    a_parked_job_is_taken_by_its_id_and_ends_like_any_other,
    what_is_not_parked_is_not_taken,
    caps_and_pauses_hold,
    a_grabbed_job_that_is_lost_comes_back,
];
