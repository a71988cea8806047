//! Hooks that are owed: noted with every change that they are about, whoever makes it; given out at least once.

use std::time::Duration;

use super::world::settings;
use super::{Exec, World, cases, job};
use crate::hook::{Hook, Hooks, Owed};
use crate::job::{JobId, Reason, State, When};
use crate::lifecycle::{Event, Policy};
use crate::store::{NewJob, Settled, Signal, Which};
use crate::task::TaskSettings;

const AGAIN: Duration = Duration::from_mins(1);

fn hooked() -> TaskSettings {
    TaskSettings {
        hooks: Hooks::ALL,
        policy: Policy {
            retries: 1,
            ..settings("work").policy
        },
        ..settings("work")
    }
}

async fn executor(world: &World) -> Exec {
    world.executor_with(&["default"], vec![hooked()]).await
}

async fn owed(world: &World) -> Vec<Owed> {
    let tasks = [("work".to_owned(), Hooks::ALL)];
    world.store.owed(&tasks, 100, AGAIN).await.expect("it owes or not")
}

/// What is owed: which hook, for which job, in what state and why. Struck off.
async fn pay(world: &World) -> Vec<(Hook, JobId, State, Option<Reason>)> {
    let owed = owed(world).await;
    world
        .store
        .strike(owed.iter().map(|o| o.number).collect())
        .await
        .expect("struck off");
    owed.into_iter()
        .map(|o| (o.hook, o.job.id, o.job.state, o.job.reason))
        .collect()
}

async fn an_attempt_that_fails_owes_its_hook_each_time(world: &World) {
    let mut exec = executor(world).await;
    let id = world.add(job("a")).await;
    let held = exec.take(1).await;
    exec.end(&held[0], Event::Fail).await;
    assert_eq!(pay(world).await, [(Hook::Error, id, State::Stuck, Some(Reason::Error))]);
    world.advance(Duration::from_mins(2));
    world.store.promote(10).await.expect("promoted");
    assert_eq!(pay(world).await, [], "being due is no failure");
    let held = exec.take(1).await;
    exec.end(&held[0], Event::Fail).await;
    let owed = owed(world).await;
    assert_eq!((owed.len(), owed[0].tries), (1, 1));
    let job = &owed[0].job;
    assert_eq!(
        (job.state, job.attempts, job.error.as_deref()),
        (State::Failed, 2, Some("broken"))
    );
    assert_eq!((&job.args, job.finished), (&"{}".to_owned(), Some(world.clock.now())));
}

async fn success_a_snooze_and_a_release_owe_nothing(world: &World) {
    let mut exec = executor(world).await;
    world.flood("a", 3).await;
    let held = exec.take(3).await;
    exec.end(&held[0], Event::Succeed).await;
    exec.end(&held[1], Event::Snooze(Duration::from_secs(5))).await;
    exec.settle(exec.outcome(&held[2], Event::Release, false)).await;
    assert_eq!(pay(world).await, []);
}

async fn a_cancel_owes_its_hook_whether_the_job_waits_is_stuck_or_runs(world: &World) {
    let mut exec = executor(world).await;
    let ids = world.flood("a", 3).await;
    let held = exec.take(2).await;
    exec.end(&held[0], Event::Fail).await;
    assert_eq!(pay(world).await.len(), 1);
    for id in &ids {
        world.happen(*id, Event::Cancel).await.expect("cancelled, or will be");
    }
    let cancelled = |id| (Hook::Cancelled, id, State::Cancelled, Some(Reason::CancelRequested));
    let mut owed = pay(world).await;
    owed.sort_by_key(|(_, id, ..)| *id);
    let mut expected = vec![cancelled(held[0].id), cancelled(ids[2])];
    expected.sort_by_key(|(_, id, ..)| *id);
    assert_eq!(owed, expected, "the stuck one and the waiting one");
    assert_eq!(
        exec.settle(exec.outcome(&held[1], Event::Succeed, true)).await,
        Settled::Done
    );
    assert_eq!(pay(world).await, [cancelled(held[1].id)]);
}

async fn what_fails_without_a_handler_owes_the_hook_too(world: &World) {
    let exec = executor(world).await;
    let expiring = NewJob {
        expires: When::After(Duration::from_secs(1)),
        when: When::After(Duration::from_secs(5)),
        ..job("a")
    };
    let expired = world.add(expiring).await;
    world.advance(Duration::from_secs(2));
    world
        .store
        .change(Which::Expired(10), Event::Expire)
        .await
        .expect("expired");
    assert_eq!(
        pay(world).await,
        [(Hook::Error, expired, State::Failed, Some(Reason::Expired))]
    );
    // Lost with its executor, as often as it may be.
    let lost = world.add(job("a")).await;
    for n in 0..2 {
        let mut exec = executor(world).await;
        let held = exec.take(1).await;
        assert_eq!(held.len(), 1);
        exec.start(&held[0]).await;
        exec.die().await;
        let expected = [(Hook::Error, lost, State::Failed, Some(Reason::Lost))];
        assert_eq!(pay(world).await, if n == 0 { &[] } else { &expected[..] });
    }
    drop(exec);
}

async fn a_lost_job_that_was_being_cancelled_owes_the_hook(world: &World) {
    let mut exec = executor(world).await;
    let id = world.add(job("a")).await;
    let held = exec.take(1).await;
    exec.start(&held[0]).await;
    world.happen(id, Event::Cancel).await.expect("requested");
    assert_eq!(pay(world).await, []);
    exec.die().await;
    assert_eq!(
        pay(world).await,
        [(Hook::Cancelled, id, State::Cancelled, Some(Reason::CancelRequested))]
    );
}

async fn a_job_that_is_forgotten_owes_its_hook_with_all_that_it_was(world: &World) {
    let mut exec = executor(world).await;
    let ids = world.flood("a", 3).await;
    let unhooked = NewJob {
        task: "other".to_owned(),
        ..job("a")
    };
    let other = world.add(unhooked).await;
    for held in exec.take(3).await {
        exec.end(&held, Event::Succeed).await;
    }
    world.happen(other, Event::Cancel).await.expect("cancelled");
    assert_eq!(pay(world).await, []);
    world.happen(ids[0], Event::Delete).await.expect("deleted");
    assert_eq!(world.find(ids[0]).await, None, "it is gone at once");
    let owed_now = owed(world).await;
    assert_eq!(
        (owed_now.len(), owed_now[0].hook, owed_now[0].job.id),
        (1, Hook::Delete, ids[0])
    );
    assert_eq!(owed_now[0].job.result.as_deref(), Some("{\"done\":true}"));
    world.store.strike(vec![owed_now[0].number]).await.expect("struck off");
    world.advance(Duration::from_hours(24 * 40));
    assert_eq!(world.store.prune().await.expect("pruned"), 3);
    let mut owed: Vec<JobId> = pay(world).await.into_iter().map(|(_, id, ..)| id).collect();
    owed.sort_unstable();
    let mut rest = ids[1..].to_vec();
    rest.sort_unstable();
    assert_eq!(owed, rest);
    assert_eq!(world.all().await, []);
}

async fn c33_a_hook_is_owed_whoever_says_how_long_a_job_is_kept(world: &World) {
    let mut exec = executor(world).await;
    let ids = world.flood("a", 2).await;
    let limits = crate::group::TaskLimits {
        retention: crate::retention::Retention {
            success: Some(Duration::ZERO),
            ..crate::retention::Retention::default()
        },
        ..crate::group::TaskLimits::default()
    };
    let setting = crate::store::Setting::Task("work".to_owned(), limits);
    world.store.set(setting).await.expect("it is set");
    let held = exec.take(2).await;
    exec.end(&held[0], Event::Succeed).await;
    exec.end(&held[1], Event::FailForGood).await;
    pay(world).await;
    world.advance(crate::retention::LEAST);
    assert_eq!(world.store.forget().await.expect("it works"), 1);
    assert_eq!(pay(world).await, [(Hook::Delete, held[0].id, State::Success, None)]);
    assert_eq!(
        world.store.get(&ids).await.expect("get works").len(),
        1,
        "the failed one"
    );
}

async fn jobs_that_are_not_kept_owe_both_hooks_at_their_end(world: &World) {
    let world = world.reopened(Duration::ZERO).await;
    let mut exec = executor(&world).await;
    let ids = world.flood("a", 2).await;
    let held = exec.take(2).await;
    exec.end(&held[0], Event::Succeed).await;
    let success = (Hook::Delete, held[0].id, State::Success, None);
    assert_eq!(pay(&world).await, [success]);
    exec.end(&held[1], Event::FailForGood).await;
    let hooks: Vec<Hook> = pay(&world).await.into_iter().map(|(hook, ..)| hook).collect();
    assert_eq!(hooks, [Hook::Error, Hook::Delete]);
    assert_eq!(world.store.get(&ids).await.expect("get works"), []);
}

async fn what_was_not_struck_off_comes_again(world: &World) {
    executor(world).await;
    let ids = world.flood("a", 2).await;
    for id in &ids {
        world.happen(*id, Event::Cancel).await.expect("cancelled");
    }
    let other = [("other".to_owned(), Hooks::ALL)];
    assert_eq!(world.store.owed(&other, 10, AGAIN).await.expect("nothing"), []);
    // A program that has the task, but not this hook: an older one, say.
    let older = [("work".to_owned(), Hooks::NONE.with(Hook::Error))];
    assert_eq!(world.store.owed(&older, 10, AGAIN).await.expect("nothing"), []);
    let first = owed(world).await;
    assert_eq!(first.len(), 2);
    assert_eq!(owed(world).await, [], "someone has them");
    world.store.strike(vec![first[0].number]).await.expect("struck off");
    world.advance(AGAIN);
    let second = owed(world).await;
    assert_eq!(
        second,
        [Owed {
            tries: 2,
            ..first[1].clone()
        }]
    );
    world.advance(Duration::from_hours(24 * 31));
    world.store.prune().await.expect("pruned");
}

async fn a_hook_that_is_owed_is_announced(world: &World) {
    executor(world).await;
    let id = world.add(job("a")).await;
    let mut signals = world.elsewhere().await.store.signals();
    let mut here = world.store.signals();
    world.happen(id, Event::Cancel).await.expect("cancelled");
    let heard = async |signals: &mut tokio::sync::broadcast::Receiver<Signal>| loop {
        if signals.recv().await == Ok(Signal::Owed) {
            return;
        }
    };
    let soon = Duration::from_secs(30);
    tokio::time::timeout(soon, heard(&mut here)).await.expect("heard here");
    drop(signals.try_recv());
}

async fn two_executors_are_not_given_the_same_hook(world: &World) {
    executor(world).await;
    let ids = world.flood("a", 40).await;
    world
        .store
        .change(Which::Ids(ids), Event::Cancel)
        .await
        .expect("cancelled");
    let tasks = [("work".to_owned(), Hooks::ALL)];
    let asks = (0..8).map(|_| world.store.owed(&tasks, 7, AGAIN));
    let given = futures_util::future::join_all(asks).await;
    let mut numbers: Vec<i64> = given.into_iter().flatten().flatten().map(|o| o.number).collect();
    let count = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), count);
    assert!(count >= 7, "{count}");
}

cases![
    an_attempt_that_fails_owes_its_hook_each_time,
    success_a_snooze_and_a_release_owe_nothing,
    a_cancel_owes_its_hook_whether_the_job_waits_is_stuck_or_runs,
    what_fails_without_a_handler_owes_the_hook_too,
    a_lost_job_that_was_being_cancelled_owes_the_hook,
    a_job_that_is_forgotten_owes_its_hook_with_all_that_it_was,
    c33_a_hook_is_owed_whoever_says_how_long_a_job_is_kept,
    jobs_that_are_not_kept_owe_both_hooks_at_their_end,
    what_was_not_struck_off_comes_again,
    a_hook_that_is_owed_is_announced,
    two_executors_are_not_given_the_same_hook,
];
