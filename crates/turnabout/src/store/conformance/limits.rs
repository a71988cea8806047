//! Limits on unfinished jobs, per owner and per group: exact, however many submit at once.

use std::time::Duration;

use super::world::settings;
use super::{World, cases, job};
use crate::error::{Error, Result};
use crate::group::GroupSettings;
use crate::job::{JobId, When};
use crate::jobs::Bulk;
use crate::lifecycle::Event;
use crate::store::{MaxUnfinished, NewJob, Setting, Submitted, Which};
use crate::task::TaskSettings;

fn of(owner: Option<&str>, limit: u32) -> NewJob {
    NewJob {
        owner: owner.map(ToOwned::to_owned),
        max_unfinished: MaxUnfinished::AtMost(limit),
        ..job("a")
    }
}

async fn outcomes(world: &World, jobs: Vec<NewJob>) -> Vec<Result<Submitted>> {
    world.store.submit(jobs).await.expect("submit works")
}

async fn stored(world: &World, jobs: Vec<NewJob>) -> usize {
    let outcomes = outcomes(world, jobs).await;
    for outcome in &outcomes {
        if let Err(error) = outcome {
            assert!(matches!(error, Error::TooMany { .. }), "{error}");
        }
    }
    outcomes.into_iter().flatten().filter(|s| s.new).count()
}

async fn limit_group(world: &World, group: &str, limit: Option<u32>) {
    let settings = GroupSettings {
        max_unfinished: limit,
        ..GroupSettings::default()
    };
    let setting = Setting::Group(group.to_owned(), settings);
    world.store.set(setting).await.expect("it is set");
}

async fn an_owner_has_no_more_unfinished_jobs_of_a_task_than_allowed(world: &World) {
    let mine = || of(Some("ada"), 3);
    assert_eq!(stored(world, (0..5).map(|_| mine()).collect()).await, 3);
    assert_eq!(stored(world, vec![mine()]).await, 0);
    let error = outcomes(world, vec![mine()])
        .await
        .pop()
        .expect("an answer")
        .expect_err("full");
    assert!(
        error.to_string().contains("the owner `ada`, of the task `work`, has 3"),
        "{error}"
    );
    // Others are not concerned: another owner, nobody, another task, another group.
    assert_eq!(stored(world, vec![of(Some("bob"), 3), of(None, 3)]).await, 2);
    let elsewhere = NewJob {
        group: "b".to_owned(),
        ..mine()
    };
    let other = NewJob {
        task: "other".to_owned(),
        ..mine()
    };
    assert_eq!(stored(world, vec![elsewhere, other]).await, 2);
    assert_eq!(world.all().await.len(), 7);
}

async fn an_ended_job_makes_room(world: &World) {
    let limited = TaskSettings {
        max_unfinished: Some(2),
        ..settings("work")
    };
    let mut exec = world.executor_with(&["default"], vec![limited]).await;
    let mine = || of(Some("ada"), 2);
    assert_eq!(stored(world, vec![mine(), mine(), mine()]).await, 2);
    let held = exec.take(1).await;
    assert_eq!(stored(world, vec![mine()]).await, 0, "a job that runs is not finished");
    exec.end(&held[0], Event::Fail).await;
    assert_eq!(stored(world, vec![mine()]).await, 0, "nor is a stuck one");
    world.happen(held[0].id, Event::Cancel).await.expect("cancelled");
    assert_eq!(stored(world, vec![mine(), mine()]).await, 1);
    let again = || world.store.change(Which::Ids(vec![held[0].id]), Event::Restart);
    let full = again().await;
    assert!(matches!(full, Err(Error::TooMany { .. })), "{full:?}");
    let other = exec.take(1).await;
    exec.end(&other[0], Event::Succeed).await;
    again().await.expect("there is room");
    assert_eq!(stored(world, vec![mine()]).await, 0, "a restarted job counts");
}

async fn published_limits_hold_for_those_who_do_not_know_the_task(world: &World) {
    let silent = || NewJob {
        max_unfinished: MaxUnfinished::AsPublished,
        ..of(Some("ada"), 0)
    };
    assert_eq!(
        stored(world, (0..3).map(|_| silent()).collect()).await,
        3,
        "nothing is published yet"
    );
    let limited = TaskSettings {
        max_unfinished: Some(4),
        ..settings("work")
    };
    world.executor_with(&["default"], vec![limited.clone()]).await;
    assert_eq!(world.store.tasks().await.expect("tasks"), [limited]);
    assert_eq!(
        stored(world, (0..3).map(|_| silent()).collect()).await,
        1,
        "those that there were count"
    );
}

async fn a_group_has_no_more_unfinished_jobs_than_allowed(world: &World) {
    world.flood("a", 4).await;
    limit_group(world, "a", Some(5)).await;
    assert_eq!(stored(world, vec![job("a"), job("b"), job("a"), job("b")]).await, 3);
    let error = outcomes(world, vec![job("a")])
        .await
        .pop()
        .expect("an answer")
        .expect_err("full");
    assert!(error.to_string().contains("the group `a` has 5"), "{error}");
    limit_group(world, "a", None).await;
    assert_eq!(stored(world, (0..10).map(|_| job("a")).collect()).await, 10);
    limit_group(world, "a", Some(15)).await;
    assert_eq!(stored(world, vec![job("a")]).await, 0, "all fifteen count");
}

async fn a_job_that_exists_needs_no_room(world: &World) {
    let keyed = || NewJob {
        unique: Some("key".to_owned()),
        ..of(Some("ada"), 1)
    };
    let given = || NewJob {
        id: JobId::at(world.clock.now()),
        id_given: true,
        ..of(None, 1)
    };
    let first = outcomes(world, vec![keyed()]).await.remove(0).expect("stored");
    let id = given();
    assert!(outcomes(world, vec![id.clone()]).await.remove(0).expect("stored").new);
    let again = outcomes(world, vec![keyed(), id.clone(), of(Some("ada"), 1), given()]).await;
    let ids: Vec<Option<(JobId, bool)>> = again.into_iter().map(|o| o.ok().map(|s| (s.id, s.new))).collect();
    assert_eq!(ids, [Some((first.id, false)), Some((id.id, false)), None, None]);
}

async fn of_several_with_one_key_none_gets_in_where_there_is_no_room(world: &World) {
    let keyed = |key: &str| NewJob {
        unique: Some(key.to_owned()),
        ..of(Some("ada"), 1)
    };
    let jobs = vec![keyed("a"), keyed("b"), keyed("a"), keyed("b")];
    let outcomes = outcomes(world, jobs).await;
    let new: Vec<Option<bool>> = outcomes.iter().map(|o| o.as_ref().ok().map(|s| s.new)).collect();
    assert_eq!(new, [Some(true), None, Some(false), None]);
    assert_eq!(world.all().await.len(), 1);
}

/// What issue 4 asks for: 32 at once, and exactly the allowed number is stored.
async fn thirty_two_submits_at_once_store_exactly_the_allowed_number(world: &World) {
    for (allowed, each) in [(5, 1), (7, 3), (40, 3)] {
        let owner = format!("owner{allowed}");
        let submits = (0..32).map(|_| {
            let jobs = (0..each).map(|_| of(Some(&owner), allowed)).collect();
            stored(world, jobs)
        });
        let counts = futures_util::future::join_all(submits).await;
        assert_eq!(counts.iter().sum::<usize>(), allowed as usize, "{counts:?}");
    }
    limit_group(world, "g", Some(9)).await;
    let submits = (0..32).map(|n| {
        let mine = NewJob {
            group: "g".to_owned(),
            ..of(Some(&format!("owner{}", n % 4)), 2)
        };
        stored(world, vec![mine, job("g")])
    });
    let counts = futures_util::future::join_all(submits).await;
    assert_eq!(counts.iter().sum::<usize>(), 9, "{counts:?}");
}

/// By an own limit and by the published one, ready and delayed, one and many, with keys and without, here and there.
async fn one_limit_holds_whichever_way_jobs_come(world: &World) {
    let limited = TaskSettings {
        max_unfinished: Some(11),
        ..settings("work")
    };
    world.executor_with(&["default"], vec![limited]).await;
    let there = world.elsewhere().await;
    let submits = (0..32).map(|n: usize| {
        let mut mine = of(Some("ada"), 11);
        if n.is_multiple_of(2) {
            mine.max_unfinished = MaxUnfinished::AsPublished;
        }
        if n.is_multiple_of(3) {
            mine.when = When::After(Duration::from_mins(1));
        }
        let jobs = (0..[1, 1, 3, 60][n % 4]).map(|at| NewJob {
            id: JobId::new(),
            unique: (n % 5 == 4).then(|| format!("{n} {at}")),
            ..mine.clone()
        });
        stored(if n.is_multiple_of(7) { &there } else { world }, jobs.collect())
    });
    let counts = futures_util::future::join_all(submits).await;
    assert_eq!(counts.iter().sum::<usize>(), 11, "{counts:?}");
    assert_eq!(world.all().await.len(), 11);
}

async fn no_limit_is_passed_by_a_restart(world: &World) {
    limit_group(world, "a", Some(4)).await;
    let jobs = crate::Jobs::on(world.store.clone());
    let mut ended = Vec::new();
    for _ in 0..3 {
        assert_eq!(stored(world, (0..4).map(|_| job("a")).collect()).await, 4);
        let waiting = jobs.list().states(crate::State::UNFINISHED).await.expect("a page").jobs;
        for job in waiting {
            jobs.cancel(job.id).await.expect("cancelled");
            ended.push(job.id);
        }
    }
    assert_eq!(stored(world, vec![job("a"), job("a")]).await, 2);
    jobs.restart(ended[0]).await.expect("there is room");
    let full = world
        .store
        .change(Which::Ids(ended[1..3].to_vec()), Event::Restart)
        .await;
    assert!(matches!(full, Err(Error::TooMany { limit: 4, .. })), "{full:?}");
    assert_eq!(
        world.get(ended[1]).await.state,
        crate::State::Cancelled,
        "nothing has changed"
    );
    let done = jobs.list().bulk(Bulk::Restart, 100).await.expect("it works");
    assert_eq!((done.changed, done.skipped), (1, 10), "as many as there is room for");
    let unfinished = jobs.list().states(crate::State::UNFINISHED).count(100).await;
    assert_eq!(unfinished.expect("counted"), 4);
    assert_eq!(stored(world, vec![job("a")]).await, 0);

    // The same for what an owner may have of a task.
    let task = TaskSettings {
        max_unfinished: Some(1),
        ..settings("narrow")
    };
    world.executor_with(&["default"], vec![task]).await;
    let narrow = || NewJob {
        task: "narrow".to_owned(),
        id: JobId::new(),
        ..job("b")
    };
    let first = world.add(narrow()).await;
    jobs.cancel(first).await.expect("cancelled");
    let second = world.add(narrow()).await;
    let full = jobs.restart(first).await.expect_err("no room");
    assert!(full.to_string().contains("of the task `narrow`, has 1"), "{full}");
    jobs.cancel(second).await.expect("cancelled");
    jobs.restart(first).await.expect("room again");
}

cases![
    no_limit_is_passed_by_a_restart,
    an_owner_has_no_more_unfinished_jobs_of_a_task_than_allowed,
    an_ended_job_makes_room,
    published_limits_hold_for_those_who_do_not_know_the_task,
    a_group_has_no_more_unfinished_jobs_than_allowed,
    a_job_that_exists_needs_no_room,
    of_several_with_one_key_none_gets_in_where_there_is_no_room,
    thirty_two_submits_at_once_store_exactly_the_allowed_number,
    one_limit_holds_whichever_way_jobs_come,
];
