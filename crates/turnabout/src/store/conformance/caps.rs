//! Caps are exact over all executors, and a place is given back however a job leaves its executor's hands.

use std::time::Duration;

use super::{Exec, World, cases, job};
use crate::group::{GroupSettings, TaskLimits};
use crate::job::{Claimed, Priority};
use crate::lifecycle::Event;
use crate::store::{NewJob, Setting};

async fn cap_group(world: &World, group: &str, max_running: Option<u32>) {
    let settings = GroupSettings {
        max_running,
        ..GroupSettings::default()
    };
    let setting = Setting::Group(group.to_owned(), settings);
    world.store.set(setting).await.expect("it is set");
}

async fn cap_task(world: &World, task: &str, max_running: Option<u32>) {
    let limits = TaskLimits {
        max_running,
        ..TaskLimits::default()
    };
    let setting = Setting::Task(task.to_owned(), limits);
    world.store.set(setting).await.expect("it is set");
}

/// Takes with all executors in turn until nobody gets anything, as after the bench was cleared.
async fn take_all(execs: &mut [Exec], batch: u32) -> Vec<(usize, Claimed)> {
    let mut held = Vec::new();
    let mut quiet = 0;
    for exec in execs.iter_mut() {
        exec.turns.forgive();
    }
    while quiet < 3 * execs.len() {
        for (at, exec) in execs.iter_mut().enumerate() {
            let jobs = exec.take(batch).await;
            quiet = if jobs.is_empty() { quiet + 1 } else { 0 };
            held.extend(jobs.into_iter().map(|job| (at, job)));
        }
    }
    held
}

async fn a_cap_on_a_group_is_exact_over_several_executors(world: &World) {
    let mut execs = world.executors(3).await;
    cap_group(world, "a", Some(4)).await;
    world.flood("a", 30).await;
    world.flood("b", 6).await;
    let held = take_all(&mut execs, 3).await;
    let of_a = held.iter().filter(|(_, job)| job.group == "a").count();
    assert_eq!(
        (of_a, held.len()),
        (4, 10),
        "four of the capped group, all of the other"
    );
}

async fn a_place_is_given_back_however_a_job_leaves(world: &World) {
    let mut execs = world.executors(2).await;
    cap_group(world, "a", Some(1)).await;
    world.flood("a", 8).await;
    let ends = [
        Event::Succeed,
        Event::Fail,
        Event::FailForGood,
        Event::Snooze(Duration::from_mins(1)),
        Event::Interrupt,
        Event::Release,
    ];
    for (round, event) in ends.into_iter().enumerate() {
        let held = take_all(&mut execs, 5).await;
        assert_eq!(held.len(), 1, "before {event:?}");
        let (at, job) = &held[0];
        execs[*at].run(job, event).await;
        assert_eq!(world.store.counts().await.expect("it works").held, 0, "round {round}");
    }
    // A cancel while it is held.
    let held = take_all(&mut execs, 5).await;
    assert_eq!(held.len(), 1);
    let (at, job) = &held[0];
    world.happen(job.id, Event::Cancel).await.expect("it may");
    assert!(
        take_all(&mut execs, 5).await.is_empty(),
        "the place is taken until it has ended"
    );
    let end = execs[*at].outcome(job, Event::Succeed, true);
    execs[*at].settle(end).await;
    // The loss of its executor.
    let held = take_all(&mut execs, 5).await;
    assert_eq!(held.len(), 1);
    let dead = execs.remove(held[0].0);
    assert_eq!(dead.die().await, 1);
    assert_eq!(take_all(&mut execs, 5).await.len(), 1);
}

async fn a_repeated_or_refused_settle_gives_no_second_place_back(world: &World) {
    let mut execs = world.executors(1).await;
    cap_group(world, "a", Some(2)).await;
    world.flood("a", 9).await;
    let held = take_all(&mut execs, 5).await;
    assert_eq!(held.len(), 2);
    execs[0].run(&held[0].1, Event::Succeed).await;
    execs[0].end(&held[0].1, Event::Succeed).await;
    execs[0].end(&held[0].1, Event::Succeed).await;
    let mut stale = execs[0].outcome(&held[1].1, Event::Succeed, false);
    stale.number += 9;
    execs[0].settle(stale).await;
    assert_eq!(take_all(&mut execs, 5).await.len(), 1);
}

async fn a_cap_that_is_set_while_jobs_are_held_counts_them(world: &World) {
    let mut execs = world.executors(2).await;
    world.flood("a", 10).await;
    let held = execs[0].take(3).await;
    cap_group(world, "a", Some(2)).await;
    assert!(take_all(&mut execs, 5).await.is_empty(), "three are held, two may be");
    execs[0].run(&held[0], Event::Succeed).await;
    assert!(take_all(&mut execs, 5).await.is_empty(), "two are held");
    execs[0].run(&held[1], Event::Succeed).await;
    assert_eq!(take_all(&mut execs, 5).await.len(), 1);
    cap_group(world, "a", Some(4)).await;
    assert_eq!(take_all(&mut execs, 5).await.len(), 2, "a raised cap acts at once");
    cap_group(world, "a", None).await;
    assert_eq!(take_all(&mut execs, 5).await.len(), 4, "without a cap the rest comes");
    cap_group(world, "a", Some(3)).await;
    world.flood("a", 1).await;
    assert!(
        take_all(&mut execs, 5).await.is_empty(),
        "a cap set anew counts what is held"
    );
}

async fn a_cap_of_nothing_is_a_pause(world: &World) {
    let mut execs = world.executors(1).await;
    cap_group(world, "a", Some(0)).await;
    world.flood("a", 3).await;
    assert!(take_all(&mut execs, 5).await.is_empty());
    cap_group(world, "a", None).await;
    assert_eq!(take_all(&mut execs, 5).await.len(), 3);
}

async fn a_cap_on_a_task_is_exact_over_groups_and_executors(world: &World) {
    let mut execs = Vec::new();
    for _ in 0..2 {
        execs.push(world.executor_of(&["default"], &["work", "mail"]).await);
    }
    cap_task(world, "mail", Some(3)).await;
    for group in ["a", "b", "c"] {
        let mails = (0..4).map(|_| NewJob {
            task: "mail".to_owned(),
            ..job(group)
        });
        world.submit(mails.collect()).await;
        world.flood(group, 2).await;
    }
    let held = take_all(&mut execs, 4).await;
    let mails: Vec<_> = held.iter().filter(|(_, job)| job.task == "mail").collect();
    assert_eq!((mails.len(), held.len()), (3, 9), "three mails, and all of the rest");
    let (at, mail) = mails[0];
    execs[*at].run(mail, Event::Succeed).await;
    let more = take_all(&mut execs, 4).await;
    assert_eq!(more.len(), 1);
    assert_eq!(more[0].1.task, "mail");
}

async fn a_task_at_its_cap_does_not_hide_less_urgent_jobs(world: &World) {
    let mut execs = vec![world.executor_of(&["default"], &["work", "mail"]).await];
    cap_task(world, "mail", Some(0)).await;
    // Several groups, so that several places in the counting scheme are tried.
    for i in 0..8 {
        let group = format!("g{i}");
        for priority in [Priority::High, Priority::Normal] {
            world
                .add(NewJob {
                    task: "mail".to_owned(),
                    priority: Some(priority),
                    ..job(&group)
                })
                .await;
        }
        world
            .add(NewJob {
                priority: Some(Priority::Low),
                ..job(&group)
            })
            .await;
    }
    let held = take_all(&mut execs, 1).await;
    assert_eq!(held.len(), 8);
    assert!(held.iter().all(|(_, job)| job.task == "work"));
}

async fn a_retry_of_a_task_at_its_cap_does_not_hide_the_groups_other_jobs(world: &World) {
    let mut execs = vec![world.executor_of(&["default"], &["work", "mail"]).await];
    world
        .add(NewJob {
            task: "mail".to_owned(),
            ..job("a")
        })
        .await;
    let mail = execs[0].take_one().await;
    execs[0].run(&mail, Event::Fail).await;
    world.advance(Duration::from_mins(1));
    world.store.promote(10).await.expect("it works");
    cap_task(world, "mail", Some(0)).await;
    world.flood("a", 2).await;
    assert_eq!(take_all(&mut execs, 1).await.len(), 2);
    cap_task(world, "mail", None).await;
    assert_eq!(take_all(&mut execs, 1).await.len(), 1);
}

async fn both_caps_hold_together(world: &World) {
    let mut execs = Vec::new();
    for _ in 0..3 {
        execs.push(world.executor_of(&["default"], &["work", "mail"]).await);
    }
    cap_group(world, "a", Some(3)).await;
    cap_task(world, "mail", Some(2)).await;
    for group in ["a", "b"] {
        for task in ["mail", "work"] {
            let jobs = (0..5).map(|_| NewJob {
                task: task.to_owned(),
                ..job(group)
            });
            world.submit(jobs.collect()).await;
        }
    }
    let held = take_all(&mut execs, 4).await;
    let of_a = held.iter().filter(|(_, job)| job.group == "a").count();
    let mails = held.iter().filter(|(_, job)| job.task == "mail").count();
    let b_works = held
        .iter()
        .filter(|(_, job)| job.group == "b" && job.task == "work")
        .count();
    assert_eq!((of_a, mails, b_works), (3, 2, 5));
}

async fn a_cap_is_exact_when_all_take_at_once(world: &World) {
    const CAP: usize = 5;
    cap_group(world, "a", Some(CAP as u32)).await;
    world.flood("a", 60).await;
    let mut takers = Vec::new();
    for mut exec in world.executors(6).await {
        let store = world.store.clone();
        takers.push(tokio::spawn(async move {
            for _ in 0..10 {
                exec.turns.forgive();
                let jobs = exec.take(4).await;
                let held = store.counts().await.expect("it works").held;
                assert!(held <= CAP as u64, "{held} are held");
                for job in &jobs {
                    exec.run(job, Event::Succeed).await;
                }
            }
            // One holds on to what it can get.
            exec.turns.forgive();
            exec.take(4).await.len()
        }));
    }
    let mut held = 0;
    for taker in takers {
        held += taker.await.expect("no panic");
    }
    assert!(held <= CAP, "{held} are held");
    let counts = world.store.counts().await.expect("it works");
    assert_eq!(counts.held as usize, held);
    assert!(counts.ended > 0, "places were freed and taken again");
}

cases!(
    a_cap_on_a_group_is_exact_over_several_executors,
    a_place_is_given_back_however_a_job_leaves,
    a_repeated_or_refused_settle_gives_no_second_place_back,
    a_cap_that_is_set_while_jobs_are_held_counts_them,
    a_cap_of_nothing_is_a_pause,
    a_cap_on_a_task_is_exact_over_groups_and_executors,
    a_task_at_its_cap_does_not_hide_less_urgent_jobs,
    a_retry_of_a_task_at_its_cap_does_not_hide_the_groups_other_jobs,
    both_caps_hold_together,
    a_cap_is_exact_when_all_take_at_once,
);
