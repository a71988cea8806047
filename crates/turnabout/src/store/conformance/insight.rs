//! What operators ask on a bad day.

use std::time::Duration;

use super::{World, cases, job};
use crate::job::{Lane, Priority, State, When};
use crate::lifecycle::Event;
use crate::store::NewJob;
use crate::store::insight::{Head, Held, ReadyPlace};
use crate::store::overview::Whose;

fn of_task(group: &str, task: &str) -> NewJob {
    NewJob {
        task: task.to_owned(),
        ..job(group)
    }
}

async fn held(world: &World) -> Vec<(String, String, u64, u64)> {
    let held = world.store.insight().held().await.expect("it works");
    let brief = |held: &Held| (held.group.clone(), held.task.clone(), held.jobs, held.started);
    held.iter().map(brief).collect()
}

async fn what_executors_hold_is_told_by_group_and_task(world: &World) {
    let mut exec = world.executor_of(&["default"], &["work", "mail"]).await;
    let mut other = world.executor_of(&["default"], &["work"]).await;
    assert_eq!(held(world).await, []);
    world.flood("a", 3).await;
    world.add(of_task("b", "mail")).await;
    let first = exec.take(3).await;
    let second = other.take(1).await;
    let text = |text: &str| text.to_owned();
    assert_eq!(
        held(world).await,
        [(text("a"), text("work"), 3, 0), (text("b"), text("mail"), 1, 0)]
    );
    world.advance(Duration::from_secs(2));
    let begun = world.clock.now();
    let started = first.iter().find(|job| job.group == "a").expect("one");
    exec.start(started).await;
    world.advance(Duration::from_secs(2));
    other.start(&second[0]).await;
    assert_eq!(held(world).await[0], (text("a"), text("work"), 3, 2));
    let all = world.store.insight().held().await.expect("it works");
    assert_eq!((all[0].since, all[1].since), (Some(begun), None), "{all:?}");
    for job in &first {
        exec.run(job, Event::Succeed).await;
    }
    other.run(&second[0], Event::Fail).await;
    assert_eq!(held(world).await, []);
}

async fn who_waits_is_told_by_stream_however_long_it_is(world: &World) {
    let mut exec = world.executor().await;
    let begin = world.clock.now();
    world.flood("b", 5).await;
    world.advance(Duration::from_secs(3));
    world.flood("a", 2).await;
    world.add(of_task("a", "mail")).await;
    world
        .add(NewJob {
            priority: Some(Priority::High),
            ..job("a")
        })
        .await;
    world
        .add(NewJob {
            queue: Some("ocr".to_owned()),
            ..job("c")
        })
        .await;
    world
        .add(NewJob {
            when: When::After(Duration::from_mins(1)),
            ..job("d")
        })
        .await;
    let heads = async |limit| world.store.insight().heads(limit).await.expect("it works");
    let brief = |head: &Head| (head.queue.clone(), head.group.clone(), head.lane, head.task.clone());
    let place =
        |queue: &str, group: &str, lane, task: &str| (queue.to_owned(), group.to_owned(), lane, task.to_owned());
    let all = heads(100).await;
    assert_eq!(
        all.iter().map(brief).collect::<Vec<_>>(),
        [
            place("default", "a", Lane::High, "work"),
            place("default", "a", Lane::Normal, "mail"),
            place("default", "a", Lane::Normal, "work"),
            place("default", "b", Lane::Normal, "work"),
            place("ocr", "c", Lane::Normal, "work"),
        ]
    );
    assert_eq!(all[3].submitted, begin);
    assert_eq!(heads(2).await, all[..2]);

    let place = |queue: &str, group: &str, task: Option<&str>| ReadyPlace {
        queue: queue.to_owned(),
        group: group.to_owned(),
        task: task.map(ToOwned::to_owned),
    };
    let places = [
        place("default", "a", None),
        place("default", "b", None),
        place("ocr", "a", None),
        place("ocr", "c", Some("work")),
        place("default", "a", Some("mail")),
    ];
    let insight = world.store.insight();
    assert_eq!(insight.ready(&places, 100).await.expect("it works"), [4, 5, 0, 1, 1]);
    assert_eq!(insight.ready(&places, 3).await.expect("it works"), [3, 3, 0, 1, 1]);
    let backlog = insight.backlog(100).await.expect("it works");
    assert_eq!((backlog.ready, backlog.exact), (10, true));

    // What is taken moves the head on; what is taken whole is no longer there.
    let taken = exec.take(5).await;
    let moved = heads(100).await;
    for head in &all {
        let here = |job: &&crate::job::Claimed| (&job.group, &job.task) == (&head.group, &head.task);
        let still = moved.iter().find(|other| brief(other) == brief(head));
        let gone = taken.iter().filter(here).count();
        if gone == 0 {
            assert_eq!(still, Some(head));
        } else if let Some(still) = still.filter(|_| head.task == "work" && head.group == "b") {
            assert!(still.seq > head.seq, "{still:?} after {head:?}");
        }
    }
    assert_eq!(insight.backlog(100).await.expect("it works").ready, 5);
}

async fn what_ended_lately_tells_how_long_it_waited_and_ran(world: &World) {
    let mut exec = world.executor().await;
    let begin = world.clock.now();
    world.flood("a", 2).await;
    world.advance(Duration::from_secs(2));
    let taken = exec.take(2).await;
    for job in &taken {
        exec.start(job).await;
    }
    world.advance(Duration::from_secs(3));
    let ran = |job: &crate::job::Claimed, event, seconds| crate::store::Settle {
        started: Some(world.clock.now() - Duration::from_secs(seconds)),
        ..exec.outcome(job, event, false)
    };
    exec.settle(ran(&taken[0], Event::Succeed, 3)).await;
    let between = world.clock.now();
    world.advance(Duration::from_secs(1));
    exec.settle(ran(&taken[1], Event::FailForGood, 4)).await;
    let end = world.clock.now() + Duration::from_secs(1);
    let ended = async |from, until, limit| {
        let insight = world.store.insight();
        insight.ended(from, until, limit).await.expect("it works")
    };
    let mut all = ended(begin, end, 10).await;
    all.sort_by_key(|job| job.ran);
    let brief: Vec<_> = all
        .iter()
        .map(|job| (job.group.as_str(), job.state, job.waited, job.ran, job.attempts))
        .collect();
    let seconds = |n| Some(Duration::from_secs(n));
    assert_eq!(
        brief,
        [
            ("a", State::Success, seconds(2), seconds(3), 1),
            ("a", State::Failed, seconds(2), seconds(4), 1)
        ]
    );
    assert_eq!(ended(begin, end, 1).await.len(), 1);
    assert_eq!(
        ended(between, world.clock.now(), 10).await,
        all[..1],
        "the end is not included"
    );
    assert_eq!(ended(end, end, 10).await, []);
}

async fn failures_are_told_newest_first_with_those_that_are_stuck(world: &World) {
    let mut exec = world.executor().await;
    let begin = world.clock.now();
    for (group, owner) in [("a", "ada"), ("a", "bob"), ("b", "ada"), ("b", "ada")] {
        world
            .add(NewJob {
                owner: Some(owner.to_owned()),
                ..job(group)
            })
            .await;
    }
    let mut taken = exec.take(4).await;
    taken.sort_by_key(|job| (job.group.clone(), job.owner.clone(), job.id));
    let ends = [Event::FailForGood, Event::FailForGood, Event::Fail, Event::Succeed];
    for (job, event) in taken.iter().zip(ends) {
        world.advance(Duration::from_secs(1));
        exec.run(job, event).await;
    }
    let failures = async |whose: Whose, since, until| {
        let insight = world.store.insight();
        let found = insight.failures(&whose, since, until).await.expect("it works");
        found
            .iter()
            .map(|failure| (failure.id, failure.state))
            .collect::<Vec<_>>()
    };
    let [first, second, stuck] =
        [(0, State::Failed), (1, State::Failed), (2, State::Stuck)].map(|(n, s)| (taken[n].id, s));
    let everyone = Whose::default();
    assert_eq!(failures(everyone.clone(), begin, None).await, [second, first, stuck]);
    let second_end = begin + Duration::from_secs(2);
    assert_eq!(
        failures(everyone.clone(), begin, Some(second_end)).await,
        [first],
        "a page"
    );
    assert_eq!(failures(everyone, second_end, None).await, [second, stuck]);
    let whose = |group: &str, owner: Option<&str>| Whose {
        group: Some(group.to_owned()),
        owner: owner.map(ToOwned::to_owned),
    };
    assert_eq!(failures(whose("a", None), begin, None).await, [second, first]);
    assert_eq!(failures(whose("a", Some("ada")), begin, None).await, [first]);
    assert_eq!(failures(whose("b", None), begin, None).await, [stuck]);
    assert_eq!(failures(whose("c", None), begin, None).await, []);
}

async fn a_checkup_finds_the_schema_that_this_program_knows(world: &World) {
    let checkup = world.store.insight().checkup().await.expect("it works");
    assert_eq!(checkup.schema.0, checkup.schema.1);
    assert!(!checkup.read_only);
    assert!(
        checkup.clock_ahead.unsigned_abs() < Duration::from_secs(5),
        "{checkup:?}"
    );
    if !world.is_model() {
        assert!(checkup.bytes.0 > 0, "{checkup:?}");
    }
    if let Some((used, most)) = checkup.connections {
        assert!((1..=most).contains(&used), "{checkup:?}");
    }
}

cases![
    what_executors_hold_is_told_by_group_and_task,
    who_waits_is_told_by_stream_however_long_it_is,
    what_ended_lately_tells_how_long_it_waited_and_ran,
    failures_are_told_newest_first_with_those_that_are_stuck,
    a_checkup_finds_the_schema_that_this_program_knows,
];
