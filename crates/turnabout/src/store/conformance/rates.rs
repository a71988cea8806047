//! Rates are exact over all executors, whoever takes and whenever: no more jobs are taken over any time than the rate and its
//! burst allow, and no fewer than that by those who come when they are told to. Time is moved by hand.

use std::time::Duration;

use super::{Exec, World, cases, job};
use crate::group::{Cap, GroupSettings, KeyRate, Rate, TaskLimits};
use crate::job::{Claimed, Lane, Reason, State, When};
use crate::jobs::Jobs;
use crate::lifecycle::Event;
use crate::store::{NewJob, Setting};
use crate::turn::Here;

fn rate(text: &str) -> Rate {
    text.parse().expect("a rate")
}

async fn rate_task(world: &World, task: &str, text: Option<&str>) {
    let limits = TaskLimits {
        rate: text.map(rate),
        ..TaskLimits::default()
    };
    let setting = Setting::Task(task.to_owned(), limits);
    world.store.set(setting).await.expect("it is set");
}

async fn rate_group(world: &World, group: &str, text: Option<&str>) {
    let settings = GroupSettings {
        rate: text.map(rate),
        ..GroupSettings::default()
    };
    let setting = Setting::Group(group.to_owned(), settings);
    world.store.set(setting).await.expect("it is set");
}

fn of_task(group: &str, task: &str) -> NewJob {
    NewJob {
        task: task.to_owned(),
        ..job(group)
    }
}

/// Takes as an executor does that gives everyone another chance; says when to come again.
async fn look(exec: &mut Exec, want: u32) -> (Vec<Claimed>, bool, Option<Duration>) {
    exec.turns.forgive();
    let take = exec.ask(want);
    let taken = exec.store.take(take).await.expect("take works");
    exec.turns = taken.turns;
    (taken.jobs, taken.found, taken.again)
}

async fn a_rate_is_exact_and_says_when_the_next_job_may_start(world: &World) {
    let mut exec = world.executor().await;
    rate_task(world, "work", Some("10/s burst 3")).await;
    for group in ["a", "b"] {
        world.flood(group, 20).await;
    }
    let (jobs, ..) = look(&mut exec, 50).await;
    assert_eq!(jobs.len(), 3, "the burst");
    let (jobs, found, again) = look(&mut exec, 50).await;
    assert!(
        jobs.is_empty() && !found,
        "nobody has to look for what a rate keeps back"
    );
    assert_eq!(again, Some(Duration::from_millis(100)));
    world.advance(Duration::from_millis(99));
    let (jobs, _, again) = look(&mut exec, 50).await;
    assert_eq!((jobs.len(), again), (0, Some(Duration::from_millis(1))));
    world.advance(Duration::from_millis(1));
    let (jobs, _, again) = look(&mut exec, 50).await;
    assert_eq!((jobs.len(), again), (1, Some(Duration::from_millis(100))));
    world.advance(Duration::from_mins(1));
    let (jobs, ..) = look(&mut exec, 50).await;
    assert_eq!(jobs.len(), 3, "no more than the burst is saved up");
    // It makes no difference when they end, nor how.
    for job in &jobs {
        exec.run(job, Event::Succeed).await;
    }
    assert!(look(&mut exec, 50).await.0.is_empty());
    // Changed and taken away at run time.
    rate_task(world, "work", Some("1000/s burst 2")).await;
    assert!(
        look(&mut exec, 50).await.0.is_empty(),
        "nothing is saved up by a change"
    );
    world.advance(Duration::from_millis(1));
    assert_eq!(
        look(&mut exec, 50).await.0.len(),
        1,
        "one after a thousandth of a second"
    );
    rate_task(world, "work", None).await;
    let rest = look(&mut exec, 50).await;
    assert_eq!((rest.0.len(), rest.2), (32, None));
}

async fn a_rate_holds_over_all_executors_and_groups_together(world: &World) {
    let mut execs = world.executors(4).await;
    rate_task(world, "work", Some("100/s")).await;
    for group in ["a", "b", "c"] {
        world.flood(group, 200).await;
    }
    let mut rng = fastrand::Rng::with_seed(7);
    let (mut now, mut starts) = (0, Vec::new());
    while now < 2_000 {
        for _ in 0..4 {
            let at = rng.usize(..execs.len());
            let want = rng.u32(1..9);
            let (jobs, ..) = look(&mut execs[at], want).await;
            for job in &jobs {
                starts.push(now);
                let event = if rng.bool() { Event::Succeed } else { Event::Release };
                execs[at].run(job, event).await;
            }
        }
        let step = rng.u64(1..25);
        world.advance(Duration::from_millis(step));
        now += step;
    }
    let burst = u64::from(rate("100/s").burst());
    for (at, first) in starts.iter().enumerate() {
        for (count, last) in (1u64..).zip(&starts[at..]) {
            assert!(
                count <= burst + (last - first) / 10,
                "{count} within {} ms",
                last - first
            );
        }
    }
    assert!(starts.len() >= 190, "{} of 200 were taken in two seconds", starts.len());
}

async fn a_rate_of_a_group_and_one_of_a_task_hold_both(world: &World) {
    let mut exec = world.executor_of(&["default"], &["work", "mail"]).await;
    rate_group(world, "a", Some("1/s burst 2")).await;
    rate_task(world, "mail", Some("1/s burst 3")).await;
    for group in ["a", "b"] {
        world.submit((0..5).map(|_| of_task(group, "mail")).collect()).await;
    }
    world.submit((0..5).map(|_| of_task("a", "work")).collect()).await;
    world.submit((0..2).map(|_| of_task("b", "work")).collect()).await;
    let mut taken = Vec::new();
    for _ in 0..6 {
        taken.extend(look(&mut exec, 20).await.0);
    }
    let count = |group: &str, task: &str| {
        taken
            .iter()
            .filter(|job| job.group == group && job.task == task)
            .count()
    };
    assert_eq!(count("a", "mail") + count("a", "work"), 2, "the group's burst");
    assert_eq!(count("a", "mail") + count("b", "mail"), 3, "the task's burst");
    assert_eq!(count("b", "work"), 2, "what no rate is about is taken at once");
}

async fn a_retry_and_a_job_run_at_once_take_a_token_too(world: &World) {
    let mut exec = world.executor().await;
    rate_group(world, "a", Some("1/m burst 2")).await;
    world.flood("a", 1).await;
    let parked = world
        .add(NewJob {
            when: When::After(Duration::from_hours(1)),
            ..job("a")
        })
        .await;
    let (jobs, ..) = look(&mut exec, 5).await;
    exec.run(&jobs[0], Event::Fail).await;
    let grabbed = world
        .store
        .grab(exec.incarnation, 1000, parked)
        .await
        .expect("it works");
    assert!(grabbed.is_some(), "the second token");
    let other = world
        .add(NewJob {
            when: When::After(Duration::from_hours(1)),
            ..job("a")
        })
        .await;
    let grabbed = world.store.grab(exec.incarnation, 1001, other).await.expect("it works");
    assert_eq!(grabbed, None, "there is none left");
    // The retry is due after about a minute; by then one token has come back, and the grab of another job takes it.
    world.advance(Duration::from_secs(61));
    let grabbed = world.store.grab(exec.incarnation, 1002, other).await.expect("it works");
    assert!(grabbed.is_some());
    world.advance(Duration::from_secs(20));
    world.store.promote(10).await.expect("promoted");
    assert!(
        look(&mut exec, 5).await.0.is_empty(),
        "the retry has to wait for its token"
    );
    world.advance(Duration::from_secs(40));
    assert_eq!(look(&mut exec, 5).await.0.len(), 1);
}

async fn others_are_taken_at_once_whatever_waits_for_a_rate(world: &World) {
    let mut exec = world.executor_of(&["default"], &["work", "mail"]).await;
    rate_task(world, "mail", Some("1/h")).await;
    for group in ["a", "b", "c"] {
        world.submit((0..50).map(|_| of_task(group, "mail")).collect()).await;
        world.flood(group, 3).await;
    }
    let mut taken = Vec::new();
    for _ in 0..4 {
        taken.extend(exec.take(10).await);
    }
    let mails = taken.iter().filter(|job| job.task == "mail").count();
    assert_eq!((mails, taken.len()), (1, 10));
}

async fn jobs_under_a_rate_are_not_taken_ahead_of_a_free_slot(world: &World) {
    let mut exec = world.executor_of(&["default"], &["work", "mail", "page"]).await;
    rate_task(world, "mail", Some("1000/s burst 50")).await;
    rate_task(world, "page", Some("1000/s burst 50")).await;
    for group in ["a", "b"] {
        for task in ["mail", "page", "work"] {
            world.submit((0..10).map(|_| of_task(group, task)).collect()).await;
        }
    }
    exec.turns.here = Here::new(|_| 0, 3, 3);
    let jobs = exec.take(12).await;
    let rated = jobs.iter().filter(|job| job.task != "work").count();
    assert!((1..=3).contains(&rated), "{rated} for three free slots");
    exec.turns.forgive();
    exec.turns.here = Here::new(|_| 0, 0, 3);
    let take = exec.ask(12);
    let taken = world.store.take(take).await.expect("take works");
    assert!(
        taken.jobs.iter().all(|job| job.task == "work"),
        "none without a free slot"
    );
    assert!(taken.again.is_some(), "a look is due soon");
}

async fn a_job_says_that_a_rate_keeps_it_back_and_until_when(world: &World) {
    let jobs = Jobs::on(world.store.clone());
    let mut exec = world.executor().await;
    let set = jobs
        .task_limits("work")
        .rate(Some(rate("2/m burst 1")))
        .await
        .expect("it is set");
    assert_eq!(set.rate, Some(rate("2/m burst 1")));
    world.flood("a", 1).await;
    let id = world.add(job("a")).await;
    let why = jobs.explain(id).await.expect("it is told");
    assert!(why.rates.is_empty(), "{why}");
    exec.take_one().await;
    world.advance(Duration::from_secs(10));
    let why = jobs.explain(id).await.expect("it is told");
    let rates = vec![(
        Cap::Task("work".to_owned()),
        rate("2/m burst 1"),
        Duration::from_secs(20),
    )];
    assert_eq!(why.rates, rates);
    let said = "Jobs of the task `work` start at most 2/m, and the next one may in 20s.";
    assert!(why.to_string().contains(said), "{why}");
    jobs.group("a").rate(Some(rate("5/h"))).await.expect("it is set");
    let known = world.elsewhere().await.store.settings().await.expect("it works");
    assert_eq!(
        (known.group("a").rate, known.task("work").rate),
        (Some(rate("5/h")), set.rate)
    );
    jobs.group("a").rate(None).await.expect("it is set");
    assert!(jobs.settings().await.expect("it works").groups.is_empty());
}

async fn jobs_of_a_key_are_put_off_one_by_one_and_then_go_first(world: &World) {
    let key: KeyRate = "10/s burst 2 for smtp".parse().expect("a rate");
    let mut exec = world.executor().await;
    world.flood("a", 4).await;
    let taken = exec.take(4).await;
    let mut put_off = Vec::new();
    for (job, expected) in taken.iter().zip([None, None, Some(100), Some(200)]) {
        let wait = world.store.admit(&key, false).await.expect("it works");
        assert_eq!(wait, expected.map(Duration::from_millis));
        match wait {
            None => exec.run(job, Event::Succeed).await,
            Some(wait) => {
                put_off.push(job.id);
                exec.run(job, Event::Throttle(wait)).await
            }
        };
    }
    let waiting = world.get(put_off[0]).await;
    assert_eq!(
        (waiting.state, waiting.reason, waiting.attempts),
        (State::Waiting, Some(Reason::RateLimited), 0)
    );
    assert!(exec.take(4).await.is_empty(), "both are parked");
    // Another key has nothing to do with it.
    let other = KeyRate::new("imap", key.rate);
    assert_eq!(world.store.admit(&other, false).await.expect("it works"), None);
    world.flood("a", 1).await;
    for id in put_off {
        world.advance(Duration::from_millis(100));
        world.store.promote(10).await.expect("it works");
        let job = exec.take_one().await;
        assert_eq!((job.id, job.lane), (id, Lane::Retry), "before the one that came later");
        assert_eq!(world.store.admit(&key, true).await.expect("it works"), None);
        exec.run(&job, Event::Succeed).await;
    }
    // A key that says nothing any longer is forgotten.
    world.advance(Duration::from_mins(1));
    world.store.prune().await.expect("it works");
    assert_eq!(world.store.admit(&key, false).await.expect("it works"), None);
}

cases!(
    jobs_of_a_key_are_put_off_one_by_one_and_then_go_first,
    a_rate_is_exact_and_says_when_the_next_job_may_start,
    a_rate_holds_over_all_executors_and_groups_together,
    a_rate_of_a_group_and_one_of_a_task_hold_both,
    a_retry_and_a_job_run_at_once_take_a_token_too,
    others_are_taken_at_once_whatever_waits_for_a_rate,
    jobs_under_a_rate_are_not_taken_ahead_of_a_free_slot,
    a_job_says_that_a_rate_keeps_it_back_and_until_when,
);
