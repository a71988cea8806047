//! The fence: what was decided on a claim that is no longer held counts for nothing.

use uuid::Uuid;

use super::{World, cases, job};
use crate::error::Error;
use crate::job::State;
use crate::lifecycle::Event;
use crate::store::Settled;

async fn a_settle_by_an_old_claim_is_lost(world: &World) {
    let mut exec = world.executor().await;
    let id = world.add(job("a")).await;
    let old = exec.take_one().await;
    exec.release(&old).await;
    let new = exec.take_one().await;
    assert!(new.id == id && new.number != old.number);
    assert_eq!(exec.start(&old).await, Some(Settled::Lost));
    assert_eq!(exec.end(&old, Event::Succeed).await, Settled::Lost);
    assert_eq!(world.get(id).await.state, State::Scheduled);
    assert_eq!(exec.run(&new, Event::Succeed).await, Settled::Done);
}

async fn another_executor_cannot_settle_with_the_same_number(world: &World) {
    let mut execs = world.executors(2).await;
    let id = world.add(job("a")).await;
    let taken = execs[0].take_one().await;
    assert_eq!(execs[1].start(&taken).await, Some(Settled::Lost));
    assert_eq!(execs[1].end(&taken, Event::Succeed).await, Settled::Lost);
    assert_eq!(world.get(id).await.state, State::Scheduled);
}

async fn a_settle_whose_reply_was_lost_can_be_repeated(world: &World) {
    for event in [Event::Succeed, Event::FailForGood] {
        let mut exec = world.executor().await;
        let id = world.add(job("a")).await;
        let taken = exec.take_one().await;
        assert_eq!(exec.run(&taken, event).await, Settled::Done);
        let ended = world.get(id).await;
        assert_eq!(exec.end(&taken, event).await, Settled::Done);
        assert_eq!(exec.start(&taken).await, None, "it has ended by this very claim");
        assert_eq!(world.get(id).await, ended, "nothing is written twice");
    }
}

async fn a_settle_twice_in_one_batch_is_done_once(world: &World) {
    let mut exec = world.executor().await;
    world.flood("a", 2).await;
    let taken = exec.take(2).await;
    let settles = vec![
        exec.outcome(&taken[0], Event::Succeed, false),
        exec.outcome(&taken[1], Event::Fail, false),
        exec.outcome(&taken[0], Event::Succeed, false),
    ];
    let settled = world.store.settle(exec.incarnation, settles).await.expect("it works");
    assert_eq!(settled, [Settled::Done, Settled::Done, Settled::Done]);
    let counts = world.store.counts().await.expect("it works");
    assert_eq!((counts.ended, counts.parked), (1, 1));
}

async fn one_batch_of_settles_gets_an_answer_for_each(world: &World) {
    let mut exec = world.executor().await;
    world.flood("a", 4).await;
    let taken = exec.take(4).await;
    world.happen(taken[1].id, Event::Cancel).await.expect("it may");
    let mut stale = exec.outcome(&taken[2], Event::Succeed, false);
    stale.number += 100;
    let settles = vec![
        exec.outcome(&taken[0], Event::Succeed, false),
        exec.outcome(&taken[1], Event::Succeed, false),
        stale,
        exec.outcome(&taken[3], Event::Release, false),
    ];
    let settled = world.store.settle(exec.incarnation, settles).await.expect("it works");
    let expected = [Settled::Done, Settled::Cancelling, Settled::Lost, Settled::Done];
    assert_eq!(settled, expected);
}

async fn a_dead_executors_late_results_are_refused(world: &World) {
    let mut exec = world.executor().await;
    let id = world.add(job("a")).await;
    let taken = exec.take_one().await;
    assert_eq!(exec.die().await, 1);
    assert_eq!(exec.start(&taken).await, Some(Settled::Lost));
    assert_eq!(exec.end(&taken, Event::Succeed).await, Settled::Lost);
    assert!(matches!(exec.try_take(1).await, Err(Error::LeaseLost)));
    assert!(!exec.heartbeat().await.alive);
    assert_eq!(world.get(id).await.state, State::Waiting);

    let mut other = world.executor().await;
    let again = other.take_one().await;
    assert_eq!(again.id, id);
    assert_eq!(exec.end(&taken, Event::Succeed).await, Settled::Lost);
    assert_eq!(other.run(&again, Event::Succeed).await, Settled::Done);
    assert_eq!(
        exec.end(&taken, Event::Succeed).await,
        Settled::Lost,
        "it ended by another claim"
    );
}

async fn an_executor_that_was_never_registered_takes_nothing(world: &World) {
    let mut stranger = super::Exec::new(
        world.store.clone(),
        Uuid::new_v4(),
        &["default"],
        vec![super::world::settings("work")],
    );
    world.add(job("a")).await;
    assert!(matches!(stranger.try_take(1).await, Err(Error::LeaseLost)));
    let beat = stranger.heartbeat().await;
    assert!(!beat.alive);
}

async fn an_executor_whose_heartbeat_moved_on_is_not_reaped(world: &World) {
    let mut exec = world.executor().await;
    world.add(job("a")).await;
    let taken = exec.take_one().await;
    let seen = exec.beat;
    exec.heartbeat().await;
    let reaped = world.store.reap(exec.incarnation, seen).await;
    assert_eq!(reaped.expect("it works"), 0);
    assert!(exec.heartbeat().await.alive);
    assert_eq!(exec.run(&taken, Event::Succeed).await, Settled::Done);
}

async fn a_heartbeat_tells_what_the_store_sees(world: &World) {
    let mut execs = world.executors(2).await;
    world.flood("a", 3).await;
    let mine = execs[0].take(2).await;
    let yours = execs[1].take(1).await;
    world.happen(mine[1].id, Event::Cancel).await.expect("it may");
    let beat = execs[0].heartbeat().await;
    assert!(beat.alive);
    let mut held = beat.held;
    held.sort_by_key(|(id, ..)| *id);
    let mut expected = vec![(mine[0].id, mine[0].number, false), (mine[1].id, mine[1].number, true)];
    expected.sort_by_key(|(id, ..)| *id);
    assert_eq!(held, expected);
    let mut peers = beat.peers;
    peers.sort_unstable();
    let mut expected = vec![(execs[0].incarnation, 1), (execs[1].incarnation, 0)];
    expected.sort_unstable();
    assert_eq!(peers, expected);
    assert_eq!(execs[1].heartbeat().await.held, [(yours[0].id, yours[0].number, false)]);
    execs[1].run(&yours[0], Event::Succeed).await;
    assert!(execs[1].heartbeat().await.held.is_empty());
}

async fn jobs_without_an_executor_are_reaped_too(world: &World) {
    let mut exec = world.executor().await;
    let id = world.add(job("a")).await;
    exec.take_one().await;
    world.store.deregister(exec.incarnation).await.expect("it goes");
    // Whether the store kept it (it holds a job) or not, the job comes back.
    let reaped = world.store.reap(exec.incarnation, exec.beat).await;
    assert_eq!(reaped.expect("it works"), 1);
    assert_eq!(world.get(id).await.state, State::Waiting);
    assert!(!exec.heartbeat().await.alive);
}

async fn whoever_reaps_an_unknown_executor_finds_all_orphans(world: &World) {
    let mut live = world.executor().await;
    let mut gone = world.executor().await;
    world.flood("a", 3).await;
    live.take_one().await;
    let orphan = gone.take_one().await;
    world.store.deregister(gone.incarnation).await.expect("it goes");
    assert_eq!(world.store.reap(uuid::Uuid::nil(), 0).await.expect("it works"), 1);
    assert_eq!(world.get(orphan.id).await.state, State::Waiting);
    assert_eq!(live.heartbeat().await.held.len(), 1, "who lives keeps what it has");
}

async fn an_executor_is_reaped_only_once(world: &World) {
    let mut exec = world.executor().await;
    world.flood("a", 3).await;
    let taken = exec.take(3).await;
    exec.start(&taken[0]).await;
    assert_eq!(exec.die().await, 3);
    assert_eq!(exec.die().await, 0);
    let started = world.get(taken[0].id).await;
    assert_eq!((started.attempts, started.losses), (1, 1), "a lost attempt counts");
    let scheduled = world.get(taken[1].id).await;
    assert_eq!(scheduled.attempts, 0, "one that never started does not");
}

cases!(
    a_settle_by_an_old_claim_is_lost,
    another_executor_cannot_settle_with_the_same_number,
    a_settle_whose_reply_was_lost_can_be_repeated,
    a_settle_twice_in_one_batch_is_done_once,
    one_batch_of_settles_gets_an_answer_for_each,
    a_dead_executors_late_results_are_refused,
    an_executor_that_was_never_registered_takes_nothing,
    an_executor_whose_heartbeat_moved_on_is_not_reaped,
    a_heartbeat_tells_what_the_store_sees,
    jobs_without_an_executor_are_reaped_too,
    whoever_reaps_an_unknown_executor_finds_all_orphans,
    an_executor_is_reaped_only_once,
);
