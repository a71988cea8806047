//! Standing by: a take that is left with the store. Whether that serves it or only gives it back, nothing is lost.

use futures_util::poll;
use tokio::sync::oneshot;

use super::{World, cases, in_memory, job};
use crate::lifecycle::Event;
use crate::store::{Settled, Stood};

async fn a_take_that_is_given_back_has_its_memory_of_turns(world: &World) {
    let mut exec = world.executor().await;
    exec.turns.accounts.take("acme", 1, Some(5.0));
    let spent = exec.turns.accounts.spent("acme");
    assert!(spent.is_some());
    let (enough, until) = oneshot::channel::<()>();
    let take = exec.ask(4);
    let mut standing = world.store.stand_by(take, Box::pin(async { drop(until.await) }));
    assert!(poll!(&mut standing).is_pending(), "nothing is ready");
    enough.send(()).expect("it waits");
    let Stood::Recalled(turns) = standing.await.expect("it works") else {
        panic!("there was nothing to take");
    };
    assert_eq!(turns.accounts.spent("acme"), spent);
    // What comes later is not taken for someone who does not stand by.
    world.add(job("a")).await;
    assert_eq!(world.store.counts().await.expect("counted").ready, 1);
    exec.take_one().await;
}

async fn whoever_goes_away_leaves_nothing_standing(world: &World) {
    let mut exec = world.executor().await;
    let take = exec.ask(4);
    let mut standing = world.store.stand_by(take, Box::pin(std::future::pending()));
    assert!(poll!(&mut standing).is_pending());
    drop(standing);
    world.add(job("a")).await;
    let counts = world.store.counts().await.expect("counted");
    assert_eq!((counts.ready, counts.held), (1, 0));
    exec.take_one().await;
}

/// Jobs are submitted, and takes recalled, at the same time. Each job comes once, by one way or the other.
async fn a_take_that_is_recalled_while_a_job_comes_loses_no_job(world: &World) {
    let mut exec = world.executor().await;
    for _ in 0..100 {
        let take = exec.ask(1);
        let (enough, until) = oneshot::channel::<()>();
        let standing = world.store.stand_by(take, Box::pin(async { drop(until.await) }));
        let store = world.store.clone();
        let submitting = tokio::spawn(async move { store.submit(vec![job("a")]).await });
        let recalling = tokio::spawn(async move {
            tokio::task::yield_now().await;
            enough.send(())
        });
        let stood = standing.await.expect("it works");
        let submitted = submitting.await.expect("no panic").expect("it works").remove(0);
        let _ = recalling.await.expect("no panic");
        let taken = match stood {
            Stood::Taken(taken) => {
                exec.turns = taken.turns;
                taken.jobs
            }
            Stood::Recalled(turns) => {
                exec.turns = turns;
                Vec::new()
            }
        };
        let taken = match taken.into_iter().next() {
            Some(taken) => taken,
            None => exec.take_one().await,
        };
        assert_eq!(taken.id, submitted.expect("stored").id);
        assert_eq!(exec.run(&taken, Event::Succeed).await, Settled::Done);
    }
}

cases![
    a_take_that_is_given_back_has_its_memory_of_turns,
    whoever_goes_away_leaves_nothing_standing,
    a_take_that_is_recalled_while_a_job_comes_loses_no_job,
];
in_memory![
    a_take_that_is_given_back_has_its_memory_of_turns,
    whoever_goes_away_leaves_nothing_standing,
    a_take_that_is_recalled_while_a_job_comes_loses_no_job,
];
