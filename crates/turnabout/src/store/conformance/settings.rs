//! Weights and pauses act at once on jobs already waiting.

use std::future::IntoFuture;
use std::time::Duration;

use super::world::groups;
use super::{World, cases, job};
use crate::group::{GroupSettings, TaskLimits};
use crate::job::State;
use crate::jobs::Jobs;
use crate::retention::Retention;
use crate::store::{NewJob, Setting};

async fn set_group(world: &World, group: &str, settings: GroupSettings) {
    let setting = Setting::Group(group.to_owned(), settings);
    world.store.set(setting).await.expect("it is set");
}

async fn set_task(world: &World, task: &str, limits: TaskLimits) {
    let setting = Setting::Task(task.to_owned(), limits);
    world.store.set(setting).await.expect("it is set");
}

fn weight(weight: u32) -> GroupSettings {
    GroupSettings {
        weight: Some(weight),
        ..GroupSettings::default()
    }
}

async fn settings_are_kept_and_their_defaults_forgotten(world: &World) {
    let before = world.store.settings().await.expect("it works");
    assert!(before.groups.is_empty() && before.tasks.is_empty());
    let heavy = GroupSettings {
        weight: Some(7),
        max_running: Some(3),
        max_share: Some(40),
        max_unknown_tasks: Some(7),
        max_unfinished: Some(1000),
        paused: true,
        retention: Retention {
            failed: Some(Duration::from_hours(9)),
            ..Retention::default()
        },
        rate: Some("10/m burst 20".parse().expect("a rate")),
    };
    let limits = TaskLimits {
        max_running: Some(0),
        max_running_each: Some(2),
        rate: Some("100/s".parse().expect("a rate")),
        paused: true,
        retention: Retention {
            success: Some(Duration::ZERO),
            ..Retention::default()
        },
    };
    set_group(world, "a", heavy).await;
    set_task(world, "mail", limits).await;
    let set = world.store.settings().await.expect("it works");
    assert!(set.version > before.version, "every change has a version of its own");
    assert_eq!((set.group("a"), set.task("mail")), (heavy, limits));
    assert_eq!(
        (set.group("b"), set.task("work")),
        (GroupSettings::default(), TaskLimits::default())
    );
    set_group(world, "a", weight(2)).await;
    set_task(world, "mail", TaskLimits::default()).await;
    let reset = world.store.settings().await.expect("it works");
    assert!(reset.version > set.version);
    assert_eq!(reset.group("a"), weight(2));
    assert!(reset.tasks.is_empty());
    set_group(world, "a", GroupSettings::default()).await;
    assert!(world.store.settings().await.expect("it works").groups.is_empty());
}

async fn a_weight_acts_at_once_on_jobs_already_waiting(world: &World) {
    let mut exec = world.executor().await;
    for group in ["a", "b"] {
        world.flood(group, 40).await;
    }
    let mut served = groups(&exec.take(4).await).concat();
    set_group(world, "a", weight(3)).await;
    for _ in 0..8 {
        served.push_str(&exec.take_one().await.group);
    }
    set_group(world, "a", weight(1)).await;
    for _ in 0..4 {
        served.push_str(&exec.take_one().await.group);
    }
    assert_eq!(served, "ababaaabaaababab");
}

async fn a_paused_group_gives_nothing_until_it_is_resumed(world: &World) {
    let mut exec = world.executor().await;
    world.flood("a", 3).await;
    world.flood("b", 3).await;
    let paused = GroupSettings {
        paused: true,
        ..GroupSettings::default()
    };
    set_group(world, "a", paused).await;
    let mut served = Vec::new();
    for _ in 0..6 {
        served.extend(exec.take(2).await);
    }
    assert_eq!(groups(&served), ["b", "b", "b"]);
    let (jobs, found) = exec.try_take(1).await.expect("it works");
    assert!(jobs.is_empty() && !found, "nothing that may be taken is ready");
    set_group(world, "a", GroupSettings::default()).await;
    exec.turns.forgive();
    assert_eq!(groups(&exec.take(5).await), ["a", "a", "a"]);
}

async fn a_paused_task_is_stepped_over(world: &World) {
    let mut exec = world.executor_of(&["default"], &["work", "mail"]).await;
    let mail = NewJob {
        task: "mail".to_owned(),
        ..job("a")
    };
    let mails = [world.add(mail.clone()).await, world.add(mail).await];
    let work = world.add(job("a")).await;
    let paused = TaskLimits {
        paused: true,
        ..TaskLimits::default()
    };
    set_task(world, "mail", paused).await;
    let taken = exec.take(5).await;
    assert_eq!(super::world::ids(&taken), [work]);
    assert!(exec.take(5).await.is_empty());
    set_task(world, "mail", TaskLimits::default()).await;
    exec.turns.forgive();
    assert_eq!(super::world::ids(&exec.take(5).await), mails);
}

async fn a_take_says_which_settings_were_in_force(world: &World) {
    use crate::store::Take;
    let exec = world.executor().await;
    set_group(world, "a", weight(4)).await;
    let take = Take {
        executor: exec.incarnation,
        number: 1,
        kind: exec.kind.clone(),
        queues: vec!["default".to_owned()],
        tasks: std::sync::Arc::new(["work".into()].into_iter().collect()),
        want: 1,
        turns: exec.turns.clone(),
    };
    let taken = world.store.take(take).await.expect("it works");
    assert_eq!(*taken.settings, *world.store.settings().await.expect("it works"));
    assert_eq!(taken.settings.group("a").weight(), 4);
}

/// Each of two operators changes something else about one group, again and again: nothing gets lost.
async fn two_who_change_one_group_at_once_undo_nothing(world: &World) {
    let (jobs, other) = (
        Jobs::on(world.store.clone()),
        Jobs::on(world.elsewhere().await.store.clone()),
    );
    for round in 1..=20u32 {
        let (weighed, capped) = tokio::join!(
            jobs.group("a").weight(round + 1).into_future(),
            other.group("a").max_running(Some(round)).into_future(),
        );
        weighed.expect("it is set");
        capped.expect("it is set");
        let settings = world.store.settings().await.expect("it works").group("a");
        assert_eq!((settings.weight(), settings.max_running), (round + 1, Some(round)));
    }
}

async fn a_setting_based_on_something_out_of_date_is_refused(world: &World) {
    let seen = world.store.settings().await.expect("it works").version;
    set_group(world, "a", weight(3)).await;
    let late = Setting::Group("b".to_owned(), weight(5));
    assert!(!world.store.set_since(seen, late.clone()).await.expect("it works"));
    let settings = world.store.settings().await.expect("it works");
    assert!(!settings.groups.contains_key("b"));
    assert!(world.store.set_since(settings.version, late).await.expect("it works"));
}

async fn c33_a_retention_that_cannot_be_is_refused_and_one_is_taken_away_by_itself(world: &World) {
    let jobs = Jobs::on(world.store.clone());
    let hour = Some(Duration::from_hours(1));
    let open = jobs
        .global()
        .keep(State::Waiting, hour)
        .await
        .expect_err("it has not ended");
    assert!(open.to_string().contains("say success, failed or cancelled"), "{open}");
    let ages = Some(Retention::LONGEST + Duration::from_secs(1));
    let long = jobs.group("a").keep(State::Failed, ages).await.expect_err("too long");
    assert!(long.to_string().contains("100 years"), "{long}");
    assert_eq!(jobs.settings().await.expect("it works").version, 0, "nothing was set");
    let both = jobs
        .task_limits("mail")
        .keep(State::Success, hour)
        .keep(State::Failed, hour);
    both.await.expect("it is set");
    let left = jobs
        .task_limits("mail")
        .keep(State::Success, None)
        .await
        .expect("it is set");
    assert_eq!((left.retention.success, left.retention.failed), (None, hour));
}

async fn whoever_sets_something_is_told_all_that_is_set(world: &World) {
    let jobs = Jobs::on(world.store.clone());
    jobs.group("a").weight(3).await.expect("it is set");
    let set = jobs.group("a").max_running(Some(2)).pause().await.expect("it is set");
    let expected = GroupSettings {
        weight: Some(3),
        max_running: Some(2),
        max_share: None,
        max_unknown_tasks: None,
        max_unfinished: None,
        paused: true,
        rate: None,
        retention: Retention::default(),
    };
    assert_eq!(set, expected);
    assert_eq!(jobs.settings().await.expect("it works").group("a"), expected);
    jobs.task_limits("mail").pause().await.expect("it is set");
    let limits = jobs.task_limits("mail").max_running(Some(1)).await.expect("it is set");
    assert_eq!((limits.max_running, limits.paused), (Some(1), true));

    // The largest limit is kept as it is; what is larger is refused, and nothing of it done.
    let most = i32::MAX as u32;
    let set = jobs.group("a").max_running(Some(most)).max_unfinished(Some(most));
    assert_eq!(set.await.expect("it is set").max_unfinished, Some(most));
    let kept = world.elsewhere().await.store.settings().await.expect("it works");
    assert_eq!(
        (kept.group("a").max_running, kept.group("a").max_unfinished),
        (Some(most), Some(most))
    );
    for refused in [
        jobs.group("a").resume().max_running(Some(most + 1)),
        jobs.group("a").resume().max_unfinished(Some(most + 1)),
        jobs.group("a").resume().max_unfinished(Some(0)),
    ] {
        refused.await.expect_err("no such limit");
    }
    let refused = jobs.task_limits("mail").resume().max_running(Some(u32::MAX)).await;
    refused.expect_err("no such limit");
    assert_eq!(jobs.settings().await.expect("it works"), kept);
}

cases!(
    c33_a_retention_that_cannot_be_is_refused_and_one_is_taken_away_by_itself,
    whoever_sets_something_is_told_all_that_is_set,
    two_who_change_one_group_at_once_undo_nothing,
    a_setting_based_on_something_out_of_date_is_refused,
    settings_are_kept_and_their_defaults_forgotten,
    a_weight_acts_at_once_on_jobs_already_waiting,
    a_paused_group_gives_nothing_until_it_is_resumed,
    a_paused_task_is_stepped_over,
    a_take_says_which_settings_were_in_force,
);
