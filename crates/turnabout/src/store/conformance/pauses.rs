//! Pauses of a queue and of everything: they act at once, cost the others nothing, and let all go on when they end.

use std::time::Duration;

use super::world::ids;
use super::{World, cases, job};
use crate::group::{GlobalSettings, GroupSettings, QueueSettings};
use crate::job::When;
use crate::jobs::Jobs;
use crate::store::{NewJob, Setting};

fn of_queue(group: &str, queue: &str) -> NewJob {
    NewJob {
        queue: Some(queue.to_owned()),
        ..job(group)
    }
}

async fn pause_queue(world: &World, queue: &str, paused: bool) {
    let setting = Setting::Queue(queue.to_owned(), QueueSettings { paused });
    world.store.set(setting).await.expect("it is set");
}

async fn pause_all(world: &World, paused: bool) {
    let settings = GlobalSettings {
        paused,
        ..GlobalSettings::default()
    };
    world.store.set(Setting::Global(settings)).await.expect("it is set");
}

async fn c55_a_paused_queue_gives_nothing_until_it_is_resumed(world: &World) {
    let mut exec = world.executor_of(&["default", "ocr"], &["work"]).await;
    let mut scans = vec![world.add(of_queue("a", "ocr")).await];
    let plain = [world.add(job("a")).await, world.add(job("b")).await];
    pause_queue(world, "ocr", true).await;
    scans.push(world.add(of_queue("a", "ocr")).await);
    assert_eq!(ids(&exec.take(5).await), plain, "the other queue goes on");
    let (jobs, found) = exec.try_take(5).await.expect("it works");
    assert!(jobs.is_empty() && !found, "nothing that may be taken is ready");
    // Whoever comes meanwhile finds it paused too.
    let mut late = world.executor_of(&["ocr"], &["work"]).await;
    assert!(late.take(5).await.is_empty());
    scans.push(world.add(of_queue("a", "ocr")).await);
    pause_queue(world, "ocr", false).await;
    assert!(world.store.settings().await.expect("it works").queues.is_empty());
    exec.turns.forgive();
    assert_eq!(ids(&exec.take(2).await), scans[..2]);
    late.turns.forgive();
    assert_eq!(ids(&late.take(5).await), scans[2..]);
}

async fn c55_nothing_runs_while_everything_is_paused(world: &World) {
    let mut exec = world.executor_of(&["default", "ocr"], &["work"]).await;
    let before = [world.add(job("a")).await, world.add(of_queue("b", "ocr")).await];
    pause_all(world, true).await;
    let after = world.add(job("c")).await;
    let parked = world
        .add(NewJob {
            when: When::After(Duration::from_mins(1)),
            ..job("d")
        })
        .await;
    let (jobs, found) = exec.try_take(5).await.expect("it works");
    assert!(jobs.is_empty() && !found);
    let grabbed = world.store.grab(exec.incarnation, 1000, parked).await;
    assert_eq!(grabbed.expect("it works"), None, "not even what is run at once");
    let mut late = world.executor_of(&["default"], &["work", "mail"]).await;
    assert!(late.take(5).await.is_empty());
    pause_all(world, false).await;
    exec.turns.forgive();
    let mut taken = ids(&exec.take(5).await);
    taken.sort_unstable();
    let mut all = [before.as_slice(), &[after]].concat();
    all.sort_unstable();
    assert_eq!(taken, all);
}

async fn c55_what_is_paused_twice_runs_when_both_are_over(world: &World) {
    let mut exec = world.executor().await;
    let paused = GroupSettings {
        paused: true,
        ..GroupSettings::default()
    };
    let group = |settings| Setting::Group("a".to_owned(), settings);
    world.store.set(group(paused)).await.expect("it is set");
    pause_queue(world, "default", true).await;
    pause_all(world, true).await;
    let mine = world.add(job("a")).await;
    let other = world.add(job("b")).await;
    world
        .store
        .set(group(GroupSettings::default()))
        .await
        .expect("it is set");
    assert!(exec.take(5).await.is_empty());
    pause_all(world, false).await;
    assert!(exec.take(5).await.is_empty(), "the queue is paused still");
    world.store.set(group(paused)).await.expect("it is set");
    pause_queue(world, "default", false).await;
    exec.turns.forgive();
    assert_eq!(ids(&exec.take(5).await), [other], "the group is paused again");
    world
        .store
        .set(group(GroupSettings::default()))
        .await
        .expect("it is set");
    exec.turns.forgive();
    assert_eq!(ids(&exec.take(5).await), [mine]);
}

async fn c55_a_job_says_what_is_paused_before_it(world: &World) {
    let jobs = Jobs::on(world.store.clone());
    let _exec = world.executor().await;
    let id = world.add(job("a")).await;
    jobs.queue("default").pause().await.expect("it is set");
    let why = jobs.explain(id).await.expect("it is told");
    assert!(why.queue_paused && !why.all_paused);
    assert!(why.to_string().contains("The queue `default` is paused."), "{why}");
    assert_eq!(why.predicted, None);
    jobs.queue("default").resume().await.expect("it is set");
    let set = jobs.global().pause().await.expect("it is set");
    assert!(set.paused && jobs.settings().await.expect("it works").global.paused);
    let why = jobs.explain(id).await.expect("it is told");
    assert!(why.all_paused && !why.queue_paused);
    assert!(why.to_string().contains("Everything is paused"), "{why}");
    assert!(!jobs.global().resume().await.expect("it is set").paused);
    jobs.queue("").pause().await.expect_err("a queue has a name");
}

cases!(
    c55_a_paused_queue_gives_nothing_until_it_is_resumed,
    c55_nothing_runs_while_everything_is_paused,
    c55_what_is_paused_twice_runs_when_both_are_over,
    c55_a_job_says_what_is_paused_before_it,
);
