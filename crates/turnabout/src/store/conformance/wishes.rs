//! What people do to jobs: cancel, restart, delete, change their priority.

use std::time::Duration;

use super::{World, cases, job};
use crate::error::Error;
use crate::job::{Priority, Reason, State, When};
use crate::lifecycle::{Event, Refusal};
use crate::store::{NewJob, Rewrite, Settled, Which};

const MINUTE: Duration = Duration::from_mins(1);

async fn a_cancel_in_every_state(world: &World) {
    let mut exec = world.executor().await;
    // Waiting and ready, waiting and parked, stuck: at once.
    let ready = world.add(job("a")).await;
    let parked = world
        .add(NewJob {
            when: When::After(MINUTE),
            ..job("a")
        })
        .await;
    let stuck = world.add(job("b")).await;
    let taken = exec.take(2).await;
    let of_b = taken.iter().find(|j| j.id == stuck).expect("it was taken");
    exec.run(of_b, Event::Fail).await;
    let of_a = taken.iter().find(|j| j.id == ready).expect("it was taken");
    exec.release(of_a).await;
    for id in [ready, parked, stuck] {
        world.happen(id, Event::Cancel).await.expect("it may");
        let cancelled = world.get(id).await;
        assert_eq!(cancelled.state, State::Cancelled);
        assert_eq!(cancelled.reason, Some(Reason::CancelRequested));
        assert_eq!(cancelled.finished, Some(world.clock.now()));
        assert_eq!(world.happen(id, Event::Cancel).await, Err(Refusal::AlreadySo));
    }
    // Scheduled, running: requested.
    world.flood("c", 2).await;
    let held = exec.take(2).await;
    exec.start(&held[1]).await;
    for taken in &held {
        let change = world.happen(taken.id, Event::Cancel).await.expect("it may");
        assert!(change.cancelling);
        let job = world.get(taken.id).await;
        assert!(job.cancelling && !job.state.is_final());
        assert_eq!(world.happen(taken.id, Event::Cancel).await, Err(Refusal::AlreadySo));
    }
    // Ended: too late.
    world.flood("d", 2).await;
    let ended = exec.take(2).await;
    exec.run(&ended[0], Event::Succeed).await;
    exec.run(&ended[1], Event::FailForGood).await;
    for taken in &ended {
        assert_eq!(
            world.happen(taken.id, Event::Cancel).await,
            Err(Refusal::NotCancellable)
        );
    }
    let nobody = vec![crate::job::JobId::new()];
    let changed = world.store.change(Which::Ids(nobody), Event::Cancel).await;
    assert!(
        changed.expect("it works").is_empty(),
        "a job that does not exist is left out"
    );
}

async fn a_cancelling_job_ends_cancelled_whatever_comes_next(world: &World) {
    for event in [
        Event::Succeed,
        Event::Fail,
        Event::FailForGood,
        Event::Snooze(MINUTE),
        Event::Interrupt,
        Event::Release,
    ] {
        let mut exec = world.executor().await;
        let id = world.add(job("a")).await;
        let taken = exec.take_one().await;
        world.happen(id, Event::Cancel).await.expect("it may");
        // Decided before the cancel: the store refuses, the executor decides again.
        assert_eq!(exec.end(&taken, event).await, Settled::Cancelling);
        assert!(!world.get(id).await.state.is_final());
        let again = exec.outcome(&taken, event, true);
        assert_eq!(exec.settle(again).await, Settled::Done);
        let cancelled = world.get(id).await;
        assert_eq!(cancelled.state, State::Cancelled, "after {event:?}");
        assert!(!cancelled.cancelling);
    }
    for start in [false, true] {
        let mut exec = world.executor().await;
        let id = world.add(job("a")).await;
        let taken = exec.take_one().await;
        if start {
            exec.start(&taken).await;
        }
        world.happen(id, Event::Cancel).await.expect("it may");
        exec.die().await;
        assert_eq!(
            world.get(id).await.state,
            State::Cancelled,
            "also when its executor is lost"
        );
    }
}

async fn a_start_after_a_cancel_is_reported(world: &World) {
    let mut exec = world.executor().await;
    let id = world.add(job("a")).await;
    let taken = exec.take_one().await;
    world.happen(id, Event::Cancel).await.expect("it may");
    assert_eq!(exec.start(&taken).await, Some(Settled::Cancelling));
}

async fn a_restart_begins_again_from_nothing(world: &World) {
    let mut exec = world.executor().await;
    let id = world
        .add(NewJob {
            unique: Some("key".to_owned()),
            args: "{\"n\":1}".to_owned(),
            ..job("a")
        })
        .await;
    assert_eq!(world.happen(id, Event::Restart).await, Err(Refusal::NotFinal));
    let taken = exec.take_one().await;
    exec.run(&taken, Event::FailForGood).await;
    world.happen(id, Event::Restart).await.expect("it may");
    let waiting = world.get(id).await;
    assert_eq!(
        (waiting.state, waiting.reason),
        (State::Waiting, Some(Reason::Restarted))
    );
    assert_eq!((waiting.attempts, waiting.interruptions, waiting.losses), (0, 0, 0));
    assert_eq!((waiting.finished, waiting.claim), (None, None));
    assert_eq!(waiting.args, "{\"n\":1}");
    assert_eq!(world.all().await.len(), 1, "it is in one place");
    let taken = exec.take_one().await;
    assert_eq!((taken.id, taken.attempts), (id, 0));
    exec.run(&taken, Event::Succeed).await;
    assert_eq!(world.get(id).await.state, State::Success);
}

async fn an_expired_job_that_is_restarted_does_not_expire_at_once(world: &World) {
    let id = world
        .add(NewJob {
            expires: When::After(MINUTE),
            ..job("a")
        })
        .await;
    world.advance(2 * MINUTE);
    let expire = async || world.store.change(Which::Expired(10), Event::Expire).await;
    assert_eq!(expire().await.expect("it works").len(), 1);
    world.happen(id, Event::Restart).await.expect("it may");
    assert!(expire().await.expect("it works").is_empty());
    assert_eq!(world.get(id).await.state, State::Waiting);
}

async fn a_restart_fails_while_its_unique_key_is_held(world: &World) {
    let mut exec = world.executor().await;
    let keyed = || NewJob {
        unique: Some("key".to_owned()),
        ..job("a")
    };
    let old = world.add(keyed()).await;
    let taken = exec.take_one().await;
    exec.run(&taken, Event::Succeed).await;
    let new = world.add(keyed()).await;
    let restart = async || world.store.change(Which::Ids(vec![old]), Event::Restart).await;
    assert!(matches!(restart().await, Err(Error::Conflict(_))));
    assert_eq!(world.get(old).await.state, State::Success, "nothing has changed");
    world.happen(new, Event::Cancel).await.expect("it may");
    assert_eq!(restart().await.expect("the key is free").len(), 1);
    assert_eq!(world.get(old).await.state, State::Waiting);
}

async fn a_job_in_an_executors_hands_cannot_be_deleted(world: &World) {
    let mut exec = world.executor().await;
    let id = world.add(job("a")).await;
    let taken = exec.take_one().await;
    assert_eq!(world.happen(id, Event::Delete).await, Err(Refusal::NotFinal));
    exec.run(&taken, Event::Succeed).await;
    world.happen(id, Event::Delete).await.expect("it may");
    assert_eq!(world.find(id).await, None);
}

async fn only_a_waiting_or_stuck_job_changes_its_priority(world: &World) {
    let mut exec = world.executor().await;
    let high = Event::Reprioritise(Priority::High);
    let parked = world
        .add(NewJob {
            when: When::After(MINUTE),
            ..job("a")
        })
        .await;
    world.happen(parked, high).await.expect("it may");
    let job_then = world.get(parked).await;
    assert_eq!(
        (job_then.priority, job_then.lane),
        (Priority::High, None),
        "still parked"
    );
    assert!(job_then.due.is_some());
    assert_eq!(world.happen(parked, high).await, Err(Refusal::AlreadySo));
    let id = world.add(job("b")).await;
    let taken = exec.take_one().await;
    assert_eq!(world.happen(id, high).await, Err(Refusal::Taken));
    exec.run(&taken, Event::Fail).await;
    world.happen(id, high).await.expect("it may");
    let taken_then = world.get(id).await;
    assert_eq!((taken_then.priority, taken_then.state), (Priority::High, State::Stuck));
}

async fn a_waiting_or_stuck_job_is_delayed_and_keeps_its_attempts(world: &World) {
    let mut exec = world.executor().await;
    let later = Event::Postpone(MINUTE * 5);
    let [ready, stuck] = [world.add(job("a")).await, world.add(job("b")).await];
    let taken = exec.take(2).await;
    assert_eq!(world.happen(stuck, later).await, Err(Refusal::Taken), "it is held");
    let of = |id| taken.iter().find(|job| job.id == id).expect("it was taken");
    exec.run(of(stuck), Event::Fail).await;
    exec.release(of(ready)).await;
    for (id, attempts) in [(ready, 0), (stuck, 1)] {
        world.happen(id, later).await.expect("it may");
        let delayed = world.get(id).await;
        assert_eq!((delayed.lane, delayed.attempts), (None, attempts));
        assert_eq!(delayed.due, Some(crate::clock::after(world.clock.now(), MINUTE * 5)));
    }
    let before = world.store.attempts(stuck).await.expect("it works");
    assert_eq!(before.len(), 1, "a delay is no attempt");
    world.advance(MINUTE * 4);
    world.store.promote(10).await.expect("it works");
    assert!(exec.take(2).await.is_empty(), "not yet");
    world.advance(MINUTE);
    world.store.promote(10).await.expect("it works");
    assert_eq!(exec.take(2).await.len(), 2);
}

async fn a_waiting_job_is_given_another_queue_and_other_arguments(world: &World) {
    let mut here = world.executor().await;
    let mut there = world.executor_of(&["far"], &["work"]).await;
    let [ready, held] = [world.add(job("a")).await, world.add(job("b")).await];
    let parked = NewJob {
        when: When::After(MINUTE),
        ..job("a")
    };
    let parked = world.add(parked).await;
    let both = here.take(2).await;
    let of = |id| both.iter().find(|job| job.id == id).expect("it was taken");
    here.release(of(ready)).await;
    let far = Rewrite {
        queue: Some("far".to_owned()),
        args: None,
    };
    let all = vec![ready, parked, held, crate::job::JobId::at(world.clock.now())];
    let changed = world.store.rewrite(all, far.clone()).await.expect("it works");
    let outcomes: Vec<_> = changed.iter().map(|c| (c.job.id, c.outcome.is_ok())).collect();
    assert_eq!(outcomes, [(ready, true), (parked, true), (held, false)]);
    let other = Rewrite {
        queue: None,
        args: Some("[2]".to_owned()),
    };
    world.store.rewrite(vec![ready], other).await.expect("it works");
    assert!(here.take(5).await.is_empty(), "none is left in the old queue");
    let taken = there.take(5).await;
    assert_eq!(taken.iter().map(|job| job.id).collect::<Vec<_>>(), [ready]);
    assert_eq!(&*taken[0].args, "[2]");
    let waits = world.get(parked).await;
    assert_eq!((&*waits.queue, waits.due.is_some(), waits.lane), ("far", true, None));
    world.advance(MINUTE);
    world.store.promote(10).await.expect("it works");
    assert_eq!(there.take(5).await.len(), 1);
    assert_eq!(world.get(held).await.queue, "default", "it was held");
}

async fn many_jobs_change_in_one_call_each_by_its_own_rule(world: &World) {
    let mut exec = world.executor().await;
    let waiting = world.flood("a", 3).await;
    let taken = exec.take_one().await;
    assert_eq!(taken.id, waiting[0]);
    exec.run(&taken, Event::Succeed).await;
    let missing = crate::job::JobId::at(world.clock.now());
    let ids = vec![waiting[2], missing, waiting[0], waiting[1]];
    let changed = world
        .store
        .change(Which::Ids(ids), Event::Cancel)
        .await
        .expect("it works");
    let outcomes: Vec<_> = changed.iter().map(|c| (c.job.id, c.outcome.is_ok())).collect();
    assert_eq!(outcomes, [(waiting[2], true), (waiting[0], false), (waiting[1], true)]);
    assert_eq!(changed[0].job.state, State::Waiting, "the job as it was before");
}

cases!(
    a_cancel_in_every_state,
    a_cancelling_job_ends_cancelled_whatever_comes_next,
    a_start_after_a_cancel_is_reported,
    a_restart_begins_again_from_nothing,
    an_expired_job_that_is_restarted_does_not_expire_at_once,
    a_restart_fails_while_its_unique_key_is_held,
    a_job_in_an_executors_hands_cannot_be_deleted,
    only_a_waiting_or_stuck_job_changes_its_priority,
    a_waiting_or_stuck_job_is_delayed_and_keeps_its_attempts,
    a_waiting_job_is_given_another_queue_and_other_arguments,
    many_jobs_change_in_one_call_each_by_its_own_rule,
);
