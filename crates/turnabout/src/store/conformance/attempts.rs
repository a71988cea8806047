//! The history of attempts: those that were not the last, kept with the job.

use std::time::Duration;

use super::{World, cases, job};
use crate::job::{Attempt, Claim, Claimed, Described, JobId, Reason, State};
use crate::lifecycle::Event;
use crate::store::{ATTEMPTS_KEPT, Filter, Settle, Settled};

const MINUTE: Duration = Duration::from_mins(1);
const DAY: Duration = Duration::from_hours(24);

async fn kept(world: &World, id: JobId) -> Vec<Attempt> {
    world.store.attempts(id).await.expect("attempts work")
}

/// Why each of them ended.
async fn reasons(world: &World, id: JobId) -> Vec<(u32, Option<Reason>)> {
    let attempts = kept(world, id).await;
    attempts.iter().map(|a| (a.number, a.reason)).collect()
}

async fn an_attempt_that_fails_is_kept_with_all_that_is_known_of_it(world: &World) {
    let mut exec = world.executor().await;
    let id = world.add(job("a")).await;
    let taken = exec.take_one().await;
    let began = world.clock.now();
    world.advance(2 * MINUTE);
    let failed = Settle {
        error: Some("it broke: no disk".to_owned()),
        described: Described {
            message: Some("The disk is full.".to_owned()),
            code: Some("disk-full".to_owned()),
        },
        started: Some(began),
        ..exec.outcome(&taken, Event::Fail, false)
    };
    assert_eq!(exec.settle(failed).await, Settled::Done);
    let attempts = kept(world, id).await;
    let claim = Claim {
        executor: exec.incarnation,
        number: taken.number,
    };
    let expected = Attempt {
        number: 1,
        claim,
        executor: Some(format!("exec-{}", exec.incarnation)),
        started: began,
        ended: Some(world.clock.now()),
        reason: Some(Reason::Error),
        error: Some("it broke: no disk".to_owned()),
        error_message: Some("The disk is full.".to_owned()),
        error_code: Some("disk-full".to_owned()),
    };
    assert_eq!(attempts, [expected]);
    let stuck = world.get(id).await;
    assert_eq!((stuck.state, stuck.started), (State::Stuck, None), "no attempt runs");
    assert_eq!(stuck.error.as_deref(), Some("it broke: no disk"));
    assert_eq!(stuck.error_message.as_deref(), Some("The disk is full."));
    assert_eq!(stuck.error_code.as_deref(), Some("disk-full"));
    // Another error has other words, or none.
    world.advance(MINUTE);
    world.store.promote(10).await.expect("promote works");
    let again = exec.take_one().await;
    exec.run(&again, Event::FailForGood).await;
    let failed = world.get(id).await;
    assert_eq!((failed.error.as_deref(), failed.error_message), (Some("broken"), None));
    assert_eq!((failed.error_code, failed.started), (None, Some(world.clock.now())));
    assert_eq!(kept(world, id).await.len(), 1, "the last one stands in the job");
    let last = Attempt::last(&world.get(id).await).expect("it has ended");
    assert_eq!((last.number, last.reason), (2, Some(Reason::Permanent)));
}

async fn words_for_the_error_that_ends_a_job_are_kept(world: &World) {
    let mut exec = world.executor().await;
    let ids = world.flood("a", 2).await;
    let taken = exec.take(2).await;
    // One with words and one without, in one call.
    let described = Settle {
        described: Described {
            message: Some("Sorry.".to_owned()),
            code: None,
        },
        ..exec.outcome(&taken[0], Event::FailForGood, false)
    };
    let plain = exec.outcome(&taken[1], Event::FailForGood, false);
    let settled = exec.store.settle(exec.incarnation, vec![plain, described]).await;
    assert_eq!(settled.expect("settle works"), [Settled::Done; 2]);
    let jobs = world.store.get(&ids).await.expect("get works");
    let words: Vec<_> = jobs
        .iter()
        .map(|j| (j.error_message.as_deref(), j.error_code.as_deref()))
        .collect();
    assert_eq!(words, [(Some("Sorry."), None), (None, None)]);
}

async fn a_job_that_succeeds_at_once_keeps_no_attempt(world: &World) {
    let mut exec = world.executor().await;
    let id = world.add(job("a")).await;
    let taken = exec.take_one().await;
    exec.release(&taken).await;
    let taken = exec.take_one().await;
    exec.run(&taken, Event::Succeed).await;
    assert_eq!(kept(world, id).await, []);
    let last = Attempt::last(&world.get(id).await).expect("it has ended");
    assert_eq!((last.number, last.reason, last.error), (1, None, None));
}

async fn each_way_to_come_back_is_told(world: &World) {
    let mut exec = world.executor().await;
    let id = world.add(job("a")).await;
    let steps = [
        (Event::Interrupt, Some((1, Some(Reason::Interrupted)))),
        (Event::Snooze(MINUTE), None),
        (Event::TimeOut, Some((1, Some(Reason::TimedOut)))),
        (Event::Release, None),
        (Event::Throttle(MINUTE), None),
        (Event::RetryAfter(MINUTE), Some((2, Some(Reason::Error)))),
    ];
    let mut expected = Vec::new();
    for (event, told) in steps {
        let taken = next(world, &mut exec, id).await;
        exec.run(&taken, event).await;
        expected.extend(told);
        assert_eq!(reasons(world, id).await, expected, "after {event:?}");
        assert_eq!(world.get(id).await.started, None);
    }
    let taken = next(world, &mut exec, id).await;
    exec.start(&taken).await;
    let began = world.get(id).await.started;
    world.advance(MINUTE);
    exec.die().await;
    expected.push((3, Some(Reason::Lost)));
    assert_eq!(reasons(world, id).await, expected);
    let lost = kept(world, id).await.pop().expect("it is kept");
    assert_eq!((Some(lost.started), lost.ended), (began, Some(world.clock.now())));
    // One that was lost before it started is none.
    let mut exec = world.executor().await;
    next(world, &mut exec, id).await;
    exec.die().await;
    assert_eq!(reasons(world, id).await, expected);
    // Nor is one that was cancelled before it started.
    let mut exec = world.executor().await;
    let taken = next(world, &mut exec, id).await;
    world.happen(id, Event::Cancel).await.expect("it may");
    let release = exec.outcome(&taken, Event::Release, true);
    assert_eq!(exec.settle(release).await, Settled::Done);
    assert_eq!(reasons(world, id).await, expected);
    assert_eq!(Attempt::last(&world.get(id).await), None);
}

/// The job, once it is due.
async fn next(world: &World, exec: &mut super::Exec, id: JobId) -> Claimed {
    world.advance(10 * MINUTE);
    world.store.promote(10).await.expect("promote works");
    let taken = exec.take_one().await;
    assert_eq!(taken.id, id);
    taken
}

async fn a_restart_keeps_what_was_and_what_ended_it(world: &World) {
    let mut exec = world.executor().await;
    let id = world.add(job("a")).await;
    let taken = next(world, &mut exec, id).await;
    exec.run(&taken, Event::Fail).await;
    let taken = next(world, &mut exec, id).await;
    exec.run(&taken, Event::Succeed).await;
    let last = Attempt::last(&world.get(id).await).expect("it has ended");
    world.happen(id, Event::Restart).await.expect("it may");
    let attempts = kept(world, id).await;
    assert_eq!((attempts.len(), &attempts[1]), (2, &last));
    assert_eq!((last.number, last.reason, last.error.as_deref()), (2, None, None));
    // One that never ran has nothing to keep.
    world.happen(id, Event::Cancel).await.expect("it may");
    world.happen(id, Event::Restart).await.expect("it may");
    assert_eq!(kept(world, id).await.len(), 2);
    let taken = next(world, &mut exec, id).await;
    exec.run(&taken, Event::FailForGood).await;
    world.happen(id, Event::Restart).await.expect("it may");
    assert_eq!(
        reasons(world, id).await,
        [(1, Some(Reason::Error)), (2, None), (1, Some(Reason::Permanent))]
    );
    assert_eq!(kept(world, id).await[2].error.as_deref(), Some("broken"));
}

async fn attempts_live_as_long_as_their_job(world: &World) {
    let mut exec = world.executor().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let id = world.add(job("a")).await;
        let taken = next(world, &mut exec, id).await;
        exec.run(&taken, Event::Fail).await;
        let taken = next(world, &mut exec, id).await;
        exec.run(&taken, if ids.len() < 2 { Event::Succeed } else { Event::Fail })
            .await;
        ids.push(id);
    }
    world.happen(ids[0], Event::Delete).await.expect("it may");
    assert_eq!(kept(world, ids[0]).await, []);
    world.store.prune().await.expect("prune works");
    assert_eq!(kept(world, ids[1]).await.len(), 1);
    world.advance(40 * DAY);
    world.store.prune().await.expect("prune works");
    assert_eq!(kept(world, ids[1]).await, [], "gone with its job");
    assert_eq!(kept(world, ids[2]).await.len(), 2, "its job lives");
}

async fn without_retention_attempts_go_when_the_store_is_tidied(world: &World) {
    let world = &world.reopened(Duration::ZERO).await;
    let mut exec = world.executor().await;
    let id = world.add(job("a")).await;
    let taken = next(world, &mut exec, id).await;
    exec.run(&taken, Event::Fail).await;
    world.store.prune().await.expect("prune works");
    assert_eq!(kept(world, id).await.len(), 1);
    let taken = next(world, &mut exec, id).await;
    exec.run(&taken, Event::Succeed).await;
    world.store.prune().await.expect("prune works");
    assert_eq!(kept(world, id).await, []);
}

async fn of_very_many_attempts_the_newest_are_kept(world: &World) {
    let mut patient = super::world::settings("work");
    patient.policy.retries = 1000;
    let mut exec = world.executor_with(&["default"], vec![patient]).await;
    let id = world.add(job("a")).await;
    for n in 0..ATTEMPTS_KEPT + 5 {
        let taken = next(world, &mut exec, id).await;
        let failed = Settle {
            error: Some(n.to_string()),
            ..exec.outcome(&taken, Event::RetryAfter(MINUTE), false)
        };
        assert_eq!(exec.settle(failed).await, Settled::Done);
    }
    let attempts = kept(world, id).await;
    let errors: Vec<String> = attempts.into_iter().filter_map(|a| a.error).collect();
    let expected: Vec<String> = (5..ATTEMPTS_KEPT + 5).map(|n| n.to_string()).collect();
    assert_eq!(errors, expected);
}

async fn a18_the_name_of_the_executor_is_told_also_after_it_left(world: &World) {
    let mut exec = world.executor().await;
    let name = Some(format!("exec-{}", exec.incarnation));
    let (tried, done) = (world.add(job("a")).await, world.add(job("a")).await);
    assert_eq!(world.get(tried).await.executor, None, "nobody holds it");
    let taken = exec.take(2).await;
    assert_eq!(world.get(tried).await.executor, name);
    exec.run(&taken[0], Event::Fail).await;
    exec.run(&taken[1], Event::Succeed).await;
    world.store.deregister(exec.incarnation).await.expect("it leaves");
    assert_eq!(world.get(tried).await.executor, None, "it waits for another one");
    let attempts = kept(world, tried).await;
    assert_eq!(attempts[0].executor, name);
    assert_eq!(world.get(done).await.executor, name);
    let filter = Filter {
        limit: 10,
        ..Filter::default()
    };
    let listed = world.store.list(&filter).await.expect("listed");
    let named = |id| listed.iter().find(|job| job.id == id).map(|job| job.executor.clone());
    assert_eq!((named(done), named(tried)), (Some(name.clone()), Some(None)));
    world.store.prune().await.expect("pruned");
    assert_eq!(world.get(done).await.executor, name);
    world.advance(Duration::from_hours(401 * 24));
    world.store.prune().await.expect("pruned");
    let attempts = kept(world, tried).await;
    assert!(
        attempts.iter().all(|attempt| attempt.executor.is_none()),
        "in the end it is forgotten"
    );
}

cases!(
    a18_the_name_of_the_executor_is_told_also_after_it_left,
    an_attempt_that_fails_is_kept_with_all_that_is_known_of_it,
    words_for_the_error_that_ends_a_job_are_kept,
    a_job_that_succeeds_at_once_keeps_no_attempt,
    each_way_to_come_back_is_told,
    a_restart_keeps_what_was_and_what_ended_it,
    attempts_live_as_long_as_their_job,
    without_retention_attempts_go_when_the_store_is_tidied,
    of_very_many_attempts_the_newest_are_kept,
);
