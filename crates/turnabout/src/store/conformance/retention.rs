//! Ended jobs are kept for a while, and then forgotten.

use std::time::Duration;

use super::exec::Exec;
use super::{World, cases, job};
use crate::error::Error;
use crate::group::{GlobalSettings, GroupSettings, TaskLimits};
use crate::job::{JobId, State};
use crate::jobs::Jobs;
use crate::lifecycle::Event;
use crate::log::{Level, Line};
use crate::retention::{LEAST, Retention};
use crate::store::{Filter, LogLines, NewJob, Setting, Settled};

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

fn kept(days: [Option<u32>; 3]) -> Retention {
    let [success, failed, cancelled] = days.map(|days| days.map(|days| DAY * days));
    Retention {
        success,
        failed,
        cancelled,
    }
}

async fn end(world: &World, exec: &mut Exec, new: NewJob, event: Event) -> JobId {
    let id = world.add(new).await;
    if event == Event::Cancel {
        world.happen(id, event).await.expect("it may");
    } else {
        let taken = exec.take_one().await;
        exec.run(&taken, event).await;
    }
    id
}

async fn c33_successes_go_at_once_and_failures_stay_for_thirty_days(world: &World) {
    // Whatever the store was opened with.
    let not_kept = world.reopened(Duration::ZERO).await;
    for world in [world, &not_kept] {
        let global = GlobalSettings {
            retention: kept([Some(0), Some(30), None]),
            ..GlobalSettings::default()
        };
        world.store.set(Setting::Global(global)).await.expect("it is set");
        let mut exec = world.executor().await;
        let success = end(world, &mut exec, job("a"), Event::Succeed).await;
        let failed = end(world, &mut exec, job("a"), Event::FailForGood).await;
        world.advance(LEAST);
        assert_eq!(world.store.forget().await.expect("it works"), 1);
        assert_eq!(world.find(success).await, None, "gone with the next look");
        assert_eq!(world.get(failed).await.state, State::Failed);
        world.advance(29 * DAY + Duration::from_hours(23));
        world.store.prune().await.expect("it works");
        assert_eq!(world.get(failed).await.state, State::Failed);
        // A store may forget whole days at a time.
        world.advance(2 * DAY);
        world.store.prune().await.expect("it works");
        assert_eq!(world.find(failed).await, None);
    }
}

async fn c33_the_group_is_asked_before_the_task_and_the_task_before_all(world: &World) {
    let of = |group: &str, task: &str| NewJob {
        task: task.to_owned(),
        ..job(group)
    };
    let limits = TaskLimits {
        retention: kept([Some(2), None, None]),
        ..TaskLimits::default()
    };
    let group = GroupSettings {
        retention: kept([Some(4), None, Some(1)]),
        ..GroupSettings::default()
    };
    let global = GlobalSettings {
        retention: kept([Some(1), None, None]),
        ..GlobalSettings::default()
    };
    for setting in [
        Setting::Task("mail".to_owned(), limits),
        Setting::Group("b".to_owned(), group),
        Setting::Global(global),
    ] {
        world.store.set(setting).await.expect("it is set");
    }
    let mut exec = world.executor_of(&["default"], &["work", "mail"]).await;
    let mut jobs = Vec::new();
    for (new, event, days) in [
        (of("a", "work"), Event::Succeed, 1),
        (of("b", "work"), Event::Cancel, 1),
        (of("a", "mail"), Event::Succeed, 2),
        (of("b", "mail"), Event::Succeed, 4),
        (of("b", "work"), Event::Succeed, 4),
        (of("a", "work"), Event::Cancel, 30),
        (of("b", "mail"), Event::FailForGood, 30),
    ] {
        jobs.push((end(world, &mut exec, new, event).await, days));
    }
    world.advance(Duration::from_hours(1));
    for day in 0..5 {
        world.store.prune().await.expect("it works");
        for (id, days) in &jobs {
            assert_eq!(
                world.find(*id).await.is_some(),
                *days > day,
                "kept for {days} days, after {day}"
            );
        }
        world.advance(DAY);
    }
    // What is set acts at once on jobs that have ended already.
    let short = GlobalSettings {
        retention: kept([None, Some(0), None]),
        ..GlobalSettings::default()
    };
    world.store.set(Setting::Global(short)).await.expect("it is set");
    assert_eq!(world.store.forget().await.expect("it works"), 1);
    assert_eq!(world.all().await.len(), 1, "the cancelled one");
}

async fn c33_a_job_that_ends_after_a_look_is_found_by_the_next(world: &World) {
    let global = GlobalSettings {
        retention: kept([Some(0), None, None]),
        ..GlobalSettings::default()
    };
    world.store.set(Setting::Global(global)).await.expect("it is set");
    let mut exec = world.executor().await;
    for _ in 0..3 {
        let id = end(world, &mut exec, job("a"), Event::Succeed).await;
        world.advance(LEAST);
        assert_eq!(world.store.forget().await.expect("it works"), 1);
        assert_eq!(world.find(id).await, None);
    }
}

async fn at_once(world: &World) {
    let global = GlobalSettings {
        retention: kept([Some(0), None, None]),
        ..GlobalSettings::default()
    };
    world.store.set(Setting::Global(global)).await.expect("it is set");
}

async fn c33_whoever_waits_for_a_job_that_goes_at_once_learns_how_it_ended(world: &World) {
    at_once(world).await;
    let mut exec = world.executor().await;
    let jobs = Jobs::on(world.store.clone());
    let id = world.add(job("a")).await;
    let mut watch = jobs.watch(id);
    let first = watch.next().await.expect("it goes on").expect("it is there");
    assert_eq!(first.state, State::Waiting);
    let taken = exec.take_one().await;
    exec.run(&taken, Event::Succeed).await;
    assert_eq!(
        world.store.forget().await.expect("it works"),
        0,
        "somebody may wait for it"
    );
    let ended = watch.ended().await.expect("it is still there");
    assert_eq!(ended.state, State::Success);
    world.advance(LEAST);
    assert_eq!(world.store.forget().await.expect("it works"), 1);
    assert!(matches!(jobs.watch(id).ended().await, Err(Error::NotFound(_))));
}

async fn c33_a_log_and_attempts_go_with_a_job_that_goes_at_once(world: &World) {
    at_once(world).await;
    let mut exec = world.executor().await;
    let mut left = Vec::new();
    for event in [Event::Succeed, Event::FailForGood] {
        let id = world.add(job("a")).await;
        let taken = exec.take_one().await;
        exec.run(&taken, Event::RetryAfter(Duration::from_mins(1))).await;
        world.advance(Duration::from_mins(1));
        world.store.promote(10).await.expect("promote works");
        let taken = exec.take_one().await;
        let line = Line {
            number: 1,
            time: world.clock.now(),
            attempt: 2,
            level: Level::Info,
            message: "hello".to_owned(),
        };
        let lines = LogLines {
            id,
            number: taken.number,
            lines: vec![line],
        };
        exec.store.log(exec.incarnation, vec![lines]).await.expect("log works");
        exec.run(&taken, event).await;
        left.push(id);
    }
    let beside = async |id| {
        let lines = world.store.lines(id, 0, 10).await.expect("reading works").len();
        let attempts = world.store.attempts(id).await.expect("attempts work").len();
        (lines, attempts)
    };
    world.advance(LEAST);
    assert_eq!(beside(left[0]).await, (1, 1));
    assert_eq!(world.store.forget().await.expect("it works"), 1);
    assert_eq!(beside(left[0]).await, (0, 0), "gone with its job");
    assert_eq!(beside(left[1]).await, (1, 1), "the job that failed is kept");
}

async fn c33_what_a_job_that_has_gone_leaves_behind(world: &World) {
    at_once(world).await;
    let mut exec = world.executor().await;
    let parent = NewJob {
        id: JobId::at(world.clock.now()),
        id_given: true,
        unique: Some("key".to_owned()),
        ..job("a")
    };
    let id = end(world, &mut exec, parent.clone(), Event::Succeed).await;
    let child = NewJob {
        parent: Some(id),
        ..job("a")
    };
    let child = world.add(child).await;
    assert!(
        !world.submit(vec![parent.clone()]).await[0].new,
        "it is known as long as it is kept"
    );
    world.advance(LEAST);
    assert_eq!(world.store.forget().await.expect("it works"), 1);
    assert_eq!(
        world.get(child).await.parent,
        Some(id),
        "a child stays, and knows whose it was"
    );
    let filter = Filter {
        parent: Some(id),
        limit: 10,
        ..Filter::default()
    };
    assert_eq!(world.store.list(&filter).await.expect("list works").len(), 1);
    assert!(
        world.submit(vec![parent]).await[0].new,
        "an id is free again with its job"
    );
}

cases!(
    c33_successes_go_at_once_and_failures_stay_for_thirty_days,
    c33_the_group_is_asked_before_the_task_and_the_task_before_all,
    c33_a_job_that_ends_after_a_look_is_found_by_the_next,
    c33_whoever_waits_for_a_job_that_goes_at_once_learns_how_it_ended,
    c33_a_log_and_attempts_go_with_a_job_that_goes_at_once,
    c33_what_a_job_that_has_gone_leaves_behind,
    ended_jobs_are_kept_for_the_retention,
    an_old_job_that_ends_late_is_kept_from_then_on,
    without_retention_ended_jobs_are_deleted_at_once,
    a_forgotten_job_cannot_be_restarted,
);
