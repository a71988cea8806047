//! The limit on tasks that nobody has published: exact, whichever way their jobs come in.

use std::time::Duration;

use super::world::settings;
use super::{World, cases, job};
use crate::error::{Error, Result};
use crate::group::GroupSettings;
use crate::job::{JobId, When};
use crate::lifecycle::Event;
use crate::store::{MaxUnfinished, NewJob, Setting, Submitted, Which};

fn named(group: &str, task: &str) -> NewJob {
    NewJob {
        task: task.to_owned(),
        ..job(group)
    }
}

async fn limit(world: &World, group: &str, tasks: Option<u32>) {
    let settings = GroupSettings {
        max_unknown_tasks: tasks,
        ..GroupSettings::default()
    };
    let setting = Setting::Group(group.to_owned(), settings);
    world.store.set(setting).await.expect("it is set");
}

/// How many are new; the others are one name too many.
async fn stored(world: &World, jobs: Vec<NewJob>) -> usize {
    let outcomes: Vec<Result<Submitted>> = world.store.submit(jobs).await.expect("submit works");
    for outcome in &outcomes {
        if let Err(error) = outcome {
            assert!(matches!(error, Error::TooManyUnknownTasks { .. }), "{error}");
        }
    }
    outcomes.into_iter().flatten().filter(|s| s.new).count()
}

async fn a_group_has_unfinished_jobs_of_no_more_unknown_tasks_than_allowed(world: &World) {
    limit(world, "a", Some(3)).await;
    let jobs = ["w", "x", "x", "y", "z", "w"].map(|task| named("a", task));
    assert_eq!(stored(world, jobs.to_vec()).await, 5, "all but `z`");
    let again = |jobs: &[NewJob]| jobs.iter().map(|job| named("a", &job.task)).collect::<Vec<_>>();
    assert_eq!(
        stored(world, again(&jobs)).await,
        5,
        "names that are there need no room"
    );
    let refused = world.store.submit(vec![named("a", "z")]).await.expect("an answer");
    let error = refused[0].as_ref().expect_err("one too many");
    let Error::TooManyUnknownTasks { group, task, limit: 3 } = error else {
        panic!("{error}")
    };
    assert_eq!((group.as_str(), task.as_str()), ("a", "z"));
    assert_eq!(stored(world, vec![named("b", "z")]).await, 1, "another group");
    limit(world, "a", Some(4)).await;
    assert_eq!(stored(world, vec![named("a", "z"), named("a", "v")]).await, 1);
}

async fn a_thousand_are_allowed_unless_something_is_set(world: &World) {
    let jobs = |group: &str| (0..1100).map(|n| named(group, &format!("name {n}"))).collect();
    assert_eq!(stored(world, jobs("a")).await, 1000);
    limit(world, "", Some(10)).await;
    assert_eq!(stored(world, jobs("b")).await, 10, "the defaults of all groups");
    limit(world, "c", Some(20)).await;
    assert_eq!(stored(world, jobs("c")).await, 20, "a group's own");
    assert_eq!(stored(world, vec![named("b", "name 5")]).await, 1);
}

async fn tasks_that_an_executor_has_published_do_not_count(world: &World) {
    limit(world, "a", Some(1)).await;
    let published = ["w", "x", "y"];
    world
        .executor_with(&["default"], published.map(settings).to_vec())
        .await;
    let jobs = published.map(|task| named("a", task));
    assert_eq!(stored(world, jobs.to_vec()).await, 3);
    assert_eq!(
        stored(world, vec![named("a", "one"), named("a", "two"), named("a", "x")]).await,
        2
    );
    // Published later, its jobs no longer count.
    world.executor_with(&["default"], vec![settings("one")]).await;
    assert_eq!(stored(world, vec![named("a", "two"), named("a", "three")]).await, 1);
}

async fn a_name_goes_with_its_last_unfinished_job(world: &World) {
    limit(world, "a", Some(2)).await;
    let first = world
        .submit(vec![named("a", "x"), named("a", "x"), named("a", "y")])
        .await;
    let cancel = async |at: usize| world.happen(first[at].id, Event::Cancel).await.expect("cancelled");
    cancel(0).await;
    assert_eq!(stored(world, vec![named("a", "z")]).await, 0, "one of `x` is left");
    cancel(1).await;
    assert_eq!(stored(world, vec![named("a", "z"), named("a", "x")]).await, 1);
    // A restarted job brings its name back.
    let restart = || world.store.change(Which::Ids(vec![first[0].id]), Event::Restart);
    let full = restart().await;
    assert!(
        matches!(full, Err(Error::TooManyUnknownTasks { limit: 2, .. })),
        "{full:?}"
    );
    cancel(2).await;
    restart().await.expect("there is room");
    assert_eq!(stored(world, vec![named("a", "y")]).await, 0, "it counts");
    let both = world
        .store
        .change(Which::Ids(vec![first[1].id, first[2].id]), Event::Restart);
    assert!(both.await.is_err(), "`x` is there, `y` is one too many");
    let one = world.store.change(Which::Ids(vec![first[1].id]), Event::Restart);
    one.await.expect("`x` is there");
}

/// Ready, delayed and with keys, one and many, by two processes.
async fn the_limit_is_exact_however_many_submit_at_once_and_in_whichever_way(world: &World) {
    limit(world, "a", Some(40)).await;
    let there = world.elsewhere().await;
    let submits = (0..32).map(|n: usize| {
        let jobs = (0..[1, 2, 9, 60][n % 4]).map(|at| NewJob {
            id: JobId::new(),
            when: if n.is_multiple_of(3) {
                When::After(Duration::from_mins(1))
            } else {
                When::Now
            },
            unique: (n % 5 == 4).then(|| format!("{n} {at}")),
            max_unfinished: if n.is_multiple_of(2) {
                MaxUnfinished::Any
            } else {
                MaxUnfinished::AsPublished
            },
            ..named("a", &format!("name {}", (n * 7 + at) % 90))
        });
        stored(if n.is_multiple_of(7) { &there } else { world }, jobs.collect())
    });
    let counts = futures_util::future::join_all(submits).await;
    let mut names: Vec<String> = world.all().await.into_iter().map(|job| job.task).collect();
    assert_eq!(names.len(), counts.iter().sum::<usize>());
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 40);
}

cases![
    a_group_has_unfinished_jobs_of_no_more_unknown_tasks_than_allowed,
    a_thousand_are_allowed_unless_something_is_set,
    tasks_that_an_executor_has_published_do_not_count,
    a_name_goes_with_its_last_unfinished_job,
    the_limit_is_exact_however_many_submit_at_once_and_in_whichever_way,
];
