//! A job's life as the store sees it. The rules themselves are tested in lifecycle/tests.rs.

use std::time::Duration;

use super::world::settings;
use super::{World, cases, in_memory, job};
use crate::job::{Claim, RESTARTABLE, Reason, State, When};
use crate::lifecycle::{Event, FREE_INTERRUPTIONS, Location, Policy, Refusal};
use crate::store::{NewJob, Settled, Which};
use crate::task::TaskSettings;

const MINUTE: Duration = Duration::from_mins(1);

async fn a_job_succeeds(world: &World) {
    let mut exec = world.executor().await;
    let id = world.add(job("a")).await;
    let submitted = world.clock.now();
    let waiting = world.get(id).await;
    assert_eq!((waiting.state, waiting.reason), (State::Waiting, None));
    assert_eq!(waiting.submitted, submitted);

    let taken = exec.take_one().await;
    let scheduled = world.get(id).await;
    assert_eq!(scheduled.state, State::Scheduled);
    let claim = Claim {
        executor: exec.incarnation,
        number: taken.number,
    };
    assert_eq!(scheduled.claim, Some(claim));
    assert_eq!((scheduled.attempts, scheduled.started, scheduled.lane), (0, None, None));

    world.advance(MINUTE);
    assert_eq!(exec.start(&taken).await, None);
    let running = world.get(id).await;
    assert_eq!((running.state, running.attempts), (State::Running, 1));
    assert_eq!(running.started, Some(world.clock.now()));

    world.advance(MINUTE);
    let mut settle = exec.outcome(&taken, Event::Succeed, false);
    settle.started = Some(world.clock.now() - MINUTE);
    assert_eq!(exec.settle(settle).await, Settled::Done);
    let ended = world.get(id).await;
    assert_eq!((ended.state, ended.reason, ended.attempts), (State::Success, None, 1));
    assert_eq!(ended.started, running.started);
    assert_eq!(ended.finished, Some(world.clock.now()));
    assert_eq!(ended.result.as_deref(), Some("{\"done\":true}"));
    assert_eq!(ended.claim, Some(claim), "history keeps the claim");
}

async fn an_end_without_a_start_mark_tells_when_the_attempt_began(world: &World) {
    let mut exec = world.executor().await;
    let id = world.add(job("a")).await;
    let taken = exec.take_one().await;
    world.advance(MINUTE);
    let began = world.clock.now();
    world.advance(Duration::from_secs(5));
    let mut settle = exec.outcome(&taken, Event::Succeed, false);
    settle.started = Some(world.clock.now() - Duration::from_secs(5));
    assert_eq!(exec.settle(settle).await, Settled::Done);
    let ended = world.get(id).await;
    assert_eq!((ended.started, ended.attempts), (Some(began), 1));
    assert_eq!(exec.start(&taken).await, None, "a late start mark is passed over");
    assert_eq!(world.get(id).await, ended);
}

async fn retries_are_due_after_1_2_4_and_8_delays_from_the_failure(world: &World) {
    let tasks = vec![TaskSettings {
        policy: Policy {
            retries: 4,
            retry_delay: MINUTE,
            jitter: false,
            ..Policy::default()
        },
        ..settings("work")
    }];
    let mut execs = [
        world.executor_with(&["default"], tasks.clone()).await,
        world.executor_with(&["default"], tasks).await,
    ];
    let id = world.add(job("a")).await;
    for (attempt, delays) in [1, 2, 4, 8].into_iter().enumerate() {
        let exec = &mut execs[attempt % 2];
        let taken = exec.take_one().await;
        assert_eq!(taken.attempts as usize, attempt);
        exec.start(&taken).await;
        world.advance(Duration::from_secs(17));
        assert_eq!(exec.end(&taken, Event::Fail).await, Settled::Done);
        let stuck = world.get(id).await;
        assert_eq!((stuck.state, stuck.reason), (State::Stuck, Some(Reason::Error)));
        assert_eq!((stuck.error.as_deref(), stuck.claim), (Some("broken"), None));
        let delay = delays * MINUTE;

        let promoted = world.store.promote(10).await.expect("promote works");
        assert_eq!(
            (promoted.jobs, promoted.next),
            (0, Some(delay)),
            "the next due time is exact"
        );
        world.advance(delay.saturating_sub(Duration::from_millis(1)));
        let promoted = world.store.promote(10).await.expect("promote works");
        assert_eq!((promoted.jobs, promoted.next), (0, Some(Duration::from_millis(1))));
        assert!(exec.take(1).await.is_empty(), "not before it is due");
        world.advance(Duration::from_millis(1));
        let promoted = world.store.promote(10).await.expect("promote works");
        assert_eq!((promoted.jobs, promoted.next), (1, None));
    }
    let taken = execs[0].take_one().await;
    execs[0].run(&taken, Event::Fail).await;
    let failed = world.get(id).await;
    assert_eq!(
        (failed.state, failed.reason, failed.attempts),
        (State::Failed, Some(Reason::Error), 5)
    );
    assert_eq!(failed.error.as_deref(), Some("broken"));
}

async fn promote_says_when_there_is_more_to_do(world: &World) {
    for _ in 0..5 {
        world
            .add(NewJob {
                when: When::After(MINUTE),
                ..job("a")
            })
            .await;
    }
    world.advance(MINUTE);
    let promoted = world.store.promote(3).await.expect("promote works");
    assert_eq!((promoted.jobs, promoted.next), (3, Some(Duration::ZERO)));
    let promoted = world.store.promote(3).await.expect("promote works");
    assert_eq!((promoted.jobs, promoted.next), (2, None));
}

async fn a_snooze_does_not_count_as_an_attempt(world: &World) {
    let mut exec = world.executor().await;
    let id = world.add(job("a")).await;
    let taken = exec.take_one().await;
    exec.run(&taken, Event::Snooze(MINUTE)).await;
    let snoozed = world.get(id).await;
    assert_eq!((snoozed.state, snoozed.reason), (State::Waiting, Some(Reason::Snoozed)));
    assert_eq!(snoozed.attempts, 0);
    assert_eq!(snoozed.due, Some(crate::clock::after(world.clock.now(), MINUTE)));
    world.advance(MINUTE);
    world.store.promote(10).await.expect("promote works");
    assert_eq!(exec.take_one().await.attempts, 0);
}

async fn a_handler_can_say_when_to_try_again(world: &World) {
    let mut exec = world.executor().await;
    world.add(job("a")).await;
    let taken = exec.take_one().await;
    exec.run(&taken, Event::RetryAfter(Duration::from_secs(7))).await;
    let promoted = world.store.promote(10).await.expect("promote works");
    assert_eq!(promoted.next, Some(Duration::from_secs(7)));
    world.advance(Duration::from_secs(7));
    world.store.promote(10).await.expect("promote works");
    assert_eq!(exec.take_one().await.attempts, 1);
}

async fn a_permanent_failure_is_not_tried_again(world: &World) {
    let mut exec = world.executor().await;
    let id = world.add(job("a")).await;
    let taken = exec.take_one().await;
    exec.run(&taken, Event::FailForGood).await;
    let failed = world.get(id).await;
    assert_eq!((failed.state, failed.reason), (State::Failed, Some(Reason::Permanent)));
}

async fn interruptions_count_only_after_the_tenth(world: &World) {
    let mut exec = world.executor().await;
    let id = world.add(job("a")).await;
    for _ in 0..FREE_INTERRUPTIONS {
        let taken = exec.take_one().await;
        assert_eq!(exec.run(&taken, Event::Interrupt).await, Settled::Done);
        let waiting = world.get(id).await;
        assert_eq!(
            (waiting.state, waiting.reason),
            (State::Waiting, Some(Reason::Interrupted))
        );
        assert_eq!(waiting.attempts, 0);
    }
    let taken = exec.take_one().await;
    exec.run(&taken, Event::Interrupt).await;
    let counted = world.get(id).await;
    assert_eq!((counted.interruptions, counted.attempts), (FREE_INTERRUPTIONS + 1, 1));
}

async fn a_job_that_kills_its_executors_ends_as_failed(world: &World) {
    let tasks = vec![TaskSettings {
        policy: Policy {
            retries: 2,
            ..settings("work").policy
        },
        ..settings("work")
    }];
    let id = world.add(job("a")).await;
    for losses in 1..=3 {
        let mut exec = world.executor_with(&["default"], tasks.clone()).await;
        let taken = exec.take_one().await;
        assert_eq!((taken.attempts, taken.losses), (losses - 1, losses - 1));
        exec.start(&taken).await;
        assert_eq!(exec.die().await, 1);
    }
    let failed = world.get(id).await;
    assert_eq!((failed.state, failed.reason), (State::Failed, Some(Reason::Lost)));
    assert_eq!((failed.attempts, failed.losses), (3, 3));
}

async fn a_job_that_is_not_restartable_never_starts_twice(world: &World) {
    let once = TaskSettings {
        policy: Policy {
            restartable: false,
            ..settings("work").policy
        },
        ..settings("work")
    };
    let started = world.add(job("a")).await;
    let scheduled = world.add(job("a")).await;
    let mut exec = world.executor_with(&["default"], vec![once.clone()]).await;
    let taken = exec.take(2).await;
    exec.start(&taken[0]).await;
    assert_eq!(exec.die().await, 2);
    let failed = world.get(started).await;
    assert_eq!((failed.state, failed.reason), (State::Failed, Some(Reason::Lost)));
    let waiting = world.get(scheduled).await;
    assert_eq!((waiting.state, waiting.reason), (State::Waiting, Some(Reason::Lost)));

    let mut exec = world.executor_with(&["default"], vec![once]).await;
    let taken = exec.take_one().await;
    exec.run(&taken, Event::Fail).await;
    assert_eq!(world.get(scheduled).await.state, State::Failed);
}

async fn a_job_that_nobody_starts_in_time_expires(world: &World) {
    let mut exec = world.executor().await;
    let expiring = |when| NewJob {
        expires: When::After(MINUTE),
        when,
        ..job("a")
    };
    let taken = world.add(expiring(When::Now)).await;
    exec.take_one().await;
    let ready = world.add(expiring(When::Now)).await;
    let parked = world.add(expiring(When::After(2 * MINUTE))).await;
    let patient = world.add(job("a")).await;
    let expire = async || {
        let changed = world.store.change(Which::Expired(10), Event::Expire).await;
        let mut expired: Vec<_> = changed.expect("it works").into_iter().map(|c| c.job.id).collect();
        expired.sort_unstable();
        expired
    };
    assert!(expire().await.is_empty());
    world.advance(MINUTE);
    let mut expected = vec![ready, parked];
    expected.sort_unstable();
    assert_eq!(expire().await, expected);
    for id in expected {
        let failed = world.get(id).await;
        assert_eq!((failed.state, failed.reason), (State::Failed, Some(Reason::Expired)));
        assert_eq!(failed.finished, Some(world.clock.now()));
    }
    assert_eq!(world.get(taken).await.state, State::Scheduled);
    assert_eq!(exec.take_one().await.id, patient);
    assert!(expire().await.is_empty());
}

async fn an_expiry_in_the_past_is_an_expiry(world: &World) {
    let moment = world.clock.now() - jiff::SignedDuration::from_secs(1);
    let id = world
        .add(NewJob {
            expires: When::At(moment),
            ..job("a")
        })
        .await;
    assert_eq!(world.get(id).await.expires, Some(moment));
    let expired = world.store.change(Which::Expired(10), Event::Expire).await;
    assert_eq!(expired.expect("it works").len(), 1);
    assert_eq!(world.get(id).await.state, State::Failed);
}

async fn d51_what_expired_or_was_lost_has_an_error_and_a_code(world: &World) {
    let mut exec = world.executor().await;
    let lost = world.add(job("a")).await;
    let taken = exec.take_one().await;
    exec.start(&taken).await;
    assert_eq!(exec.die().await, 1);
    let attempts = world.store.attempts(lost).await.expect("its attempts");
    let told = |error: &Option<String>, message: &Option<String>, code: &Option<String>| {
        [error, message, code].map(|text| text.clone().unwrap_or_default())
    };
    let words = ["its executor fell silent while it ran", "It was interrupted.", "lost"];
    let attempt = &attempts[0];
    assert_eq!(told(&attempt.error, &attempt.error_message, &attempt.error_code), words);
    let waits = world.get(lost).await;
    assert_eq!(told(&waits.error, &waits.error_message, &waits.error_code), words);
    let expired = world
        .add(NewJob {
            expires: When::After(MINUTE),
            ..job("a")
        })
        .await;
    world.advance(MINUTE);
    world
        .store
        .change(Which::Expired(10), Event::Expire)
        .await
        .expect("it works");
    let job = world.get(expired).await;
    assert_eq!((job.state, job.reason), (State::Failed, Some(Reason::Expired)));
    assert_eq!(
        told(&job.error, &job.error_message, &job.error_code),
        [
            "nobody started it before it expired",
            "It was not started in time.",
            "expired"
        ]
    );
}

async fn c66_a_job_that_waits_is_deleted_in_one_step(world: &World) {
    let mut exec = world.executor().await;
    let stuck = world.add(job("a")).await;
    let taken = exec.take_one().await;
    exec.run(&taken, Event::Fail).await;
    let ready = world
        .add(NewJob {
            unique: Some("key".to_owned()),
            ..job("a")
        })
        .await;
    let parked = world
        .add(NewJob {
            when: When::After(MINUTE),
            ..job("a")
        })
        .await;
    for id in [stuck, ready, parked] {
        let change = world.happen(id, Event::Delete).await.expect("it may");
        assert_eq!(change.place, Location::Gone);
        assert!(world.store.get(&[id]).await.expect("it works").is_empty());
        assert!(world.store.attempts(id).await.expect("it works").is_empty());
    }
    assert!(exec.take(10).await.is_empty(), "nothing is left to take");
    // The key is free, and the stream is found again.
    let again = world
        .add(NewJob {
            unique: Some("key".to_owned()),
            ..job("a")
        })
        .await;
    assert_ne!(again, ready);
    let taken = exec.take_one().await;
    assert_eq!(taken.id, again);
    assert_eq!(
        world.happen(again, Event::Delete).await,
        Err(Refusal::NotFinal),
        "an executor holds it"
    );
    exec.run(&taken, Event::Succeed).await;
    world.happen(again, Event::Delete).await.expect("it has ended");
}

async fn c21_restartable_is_said_for_a_single_job(world: &World) {
    let mut exec = world.executor().await;
    let once = NewJob {
        meta: [(RESTARTABLE.to_owned(), "false".to_owned())].into(),
        ..job("a")
    };
    let (once, usual) = (world.add(once).await, world.add(job("a")).await);
    let taken = exec.take(2).await;
    for job in &taken {
        exec.start(job).await;
    }
    assert_eq!(exec.die().await, 2);
    let job = world.get(once).await;
    assert_eq!(job.restartable(), Some(false));
    assert_eq!((job.state, job.reason), (State::Failed, Some(Reason::Lost)));
    let job = world.get(usual).await;
    assert_eq!((job.restartable(), job.state), (None, State::Waiting));
}

cases!(
    c66_a_job_that_waits_is_deleted_in_one_step,
    c21_restartable_is_said_for_a_single_job,
    d51_what_expired_or_was_lost_has_an_error_and_a_code,
    a_job_succeeds,
    an_end_without_a_start_mark_tells_when_the_attempt_began,
    retries_are_due_after_1_2_4_and_8_delays_from_the_failure,
    promote_says_when_there_is_more_to_do,
    a_snooze_does_not_count_as_an_attempt,
    a_handler_can_say_when_to_try_again,
    a_permanent_failure_is_not_tried_again,
    interruptions_count_only_after_the_tenth,
    a_job_that_kills_its_executors_ends_as_failed,
    a_job_that_is_not_restartable_never_starts_twice,
    a_job_that_nobody_starts_in_time_expires,
    an_expiry_in_the_past_is_an_expiry,
);
in_memory!(a_job_succeeds);
