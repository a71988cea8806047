//! What holds for every group that has no setting of its own: each setting by itself, at once, and exactly as a group's own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::{Exec, World, cases, job};
use crate::error::Error;
use crate::group::{Cap, GroupSettings};
use crate::job::{Claimed, JobId};
use crate::jobs::Jobs;
use crate::lifecycle::Event;
use crate::store::Setting;
use crate::turn::Here;

fn jobs(world: &World) -> Jobs {
    Jobs::on(world.store.clone())
}

/// Takes as much as there is, after a new chance for everyone; says how many jobs each group gave.
async fn take_all(exec: &mut Exec) -> (Vec<Claimed>, BTreeMap<String, usize>) {
    exec.turns.forgive();
    let (mut all, mut of) = (Vec::new(), BTreeMap::new());
    for _ in 0..4 {
        let taken = exec.take(20).await;
        for job in &taken {
            *of.entry(job.group.clone()).or_default() += 1;
        }
        all.extend(taken);
    }
    (all, of)
}

fn counts<const N: usize>(of: [(&str, usize); N]) -> BTreeMap<String, usize> {
    of.into_iter().map(|(group, jobs)| (group.to_owned(), jobs)).collect()
}

async fn a_groups_own_settings_win_field_by_field(world: &World) {
    let jobs = jobs(world);
    let rate = "100/s".parse().expect("a rate");
    let set = jobs
        .group_defaults()
        .weight(3)
        .max_running(Some(7))
        .max_unfinished(Some(9));
    set.rate(Some(rate)).await.expect("it is set");
    jobs.group("own").weight(1).pause().await.expect("it is set");
    jobs.group("share").max_share(Some(40)).await.expect("it is set");
    let of = async |group: &str| {
        world
            .elsewhere()
            .await
            .store
            .settings()
            .await
            .expect("it works")
            .group(group)
    };
    let defaults = GroupSettings {
        weight: Some(3),
        max_running: Some(7),
        max_unfinished: Some(9),
        rate: Some(rate),
        ..GroupSettings::default()
    };
    assert_eq!(of("any").await, defaults);
    let own = GroupSettings {
        weight: Some(1),
        paused: true,
        ..defaults
    };
    assert_eq!(of("own").await, own);
    // Two ways to say one thing.
    let share = GroupSettings {
        max_running: None,
        max_share: Some(40),
        ..defaults
    };
    assert_eq!(of("share").await, share);
    // What is said of one thing leaves the others alone; and nobody takes the defaults for a group's own.
    let told = jobs.group_defaults().max_running(None).await.expect("it is set");
    assert_eq!((told.max_running, told.weight), (None, Some(3)));
    let told = jobs.group("own").resume().usual_weight().await.expect("it is set");
    assert_eq!(
        told,
        GroupSettings {
            max_running: None,
            ..defaults
        }
    );
    let known = jobs.settings().await.expect("it works");
    assert!(
        !known.groups.contains_key("own") && !known.groups.contains_key(""),
        "{known:?}"
    );
    for refused in [
        jobs.group_defaults().pause(),
        jobs.group_defaults().max_share(Some(0)),
        jobs.group_defaults().max_share(Some(101)),
        jobs.group_defaults().max_unfinished(Some(0)),
        jobs.group("").weight(2),
    ] {
        refused.await.expect_err("it makes no sense");
    }
}

async fn a_default_cap_is_exact_and_counts_what_is_held_already(world: &World) {
    let (jobs, mut exec, mut other) = (jobs(world), world.executor().await, world.executor().await);
    for group in ["a", "b", "own"] {
        world.flood(group, 20).await;
    }
    jobs.group("own").max_running(Some(5)).await.expect("it is set");
    let first = exec.take(6).await;
    // Two of each are held by now.
    jobs.group_defaults().max_running(Some(3)).await.expect("it is set");
    let (mut held, of) = take_all(&mut other).await;
    assert_eq!(of, counts([("a", 1), ("b", 1), ("own", 3)]));
    assert!(take_all(&mut exec).await.0.is_empty());
    // A place is given back, however a job leaves.
    let a = held.iter().position(|job| job.group == "a").expect("a job of a");
    let a = held.remove(a);
    other.run(&a, Event::Succeed).await;
    assert_eq!(take_all(&mut exec).await.1, counts([("a", 1)]));
    // Another number holds at once; and a group that comes later is no exception.
    jobs.group_defaults().max_running(Some(4)).await.expect("it is set");
    world.flood("new", 20).await;
    assert_eq!(take_all(&mut exec).await.1, counts([("a", 1), ("b", 1), ("new", 4)]));
    // Without a cap of its own, the default holds: more than that are held.
    jobs.group("own").max_running(None).await.expect("it is set");
    assert!(take_all(&mut exec).await.0.is_empty());
    for job in held.iter().filter(|job| job.group == "own").take(2) {
        other.run(job, Event::Succeed).await;
    }
    assert_eq!(take_all(&mut exec).await.1, counts([("own", 1)]));
    for job in &first {
        exec.run(job, Event::Succeed).await;
    }
    jobs.group_defaults().max_running(None).await.expect("it is set");
    let (rest, _) = take_all(&mut exec).await;
    assert!(rest.len() > 30, "nothing is capped: {}", rest.len());
}

async fn a_cap_set_anew_counts_all_that_is_held(world: &World) {
    let (jobs, mut exec) = (jobs(world), world.executor().await);
    let defaults = async |most| jobs.group_defaults().max_running(most).await.expect("it is set");
    defaults(Some(2)).await;
    world.flood("a", 20).await;
    assert_eq!(take_all(&mut exec).await.0.len(), 2);
    defaults(None).await;
    exec.turns.forgive();
    let more = exec.take(3).await;
    defaults(Some(4)).await;
    assert!(take_all(&mut exec).await.0.is_empty(), "five are held");
    for job in &more[..2] {
        exec.run(job, Event::Succeed).await;
    }
    assert_eq!(take_all(&mut exec).await.0.len(), 1);
}

async fn a_share_is_of_the_slots_of_each_executor(world: &World) {
    let jobs = jobs(world);
    jobs.group_defaults().max_share(Some(50)).await.expect("it is set");
    for group in ["a", "b"] {
        world.flood(group, 30).await;
    }
    let waits = world.add(job("a")).await;
    for (slots, most) in [(8, 4), (5, 2), (1, 1)] {
        let mut exec = world.executor().await;
        let held: Arc<Mutex<Vec<Claimed>>> = Arc::default();
        let count = Arc::clone(&held);
        let count = move |of: &Cap| {
            let held = count.lock().expect("nobody panicked");
            let held = held.iter().filter(|job| *of == Cap::Group(job.group.clone()));
            held.count() as u32
        };
        exec.turns.here = Here::new(count, slots, slots);
        let mut of: BTreeMap<String, usize> = BTreeMap::new();
        for _ in 0..6 {
            exec.turns.forgive();
            let taken = exec.take(3).await;
            for job in &taken {
                *of.entry(job.group.clone()).or_default() += 1;
            }
            held.lock().expect("nobody panicked").extend(taken);
        }
        assert_eq!(of, counts([("a", most), ("b", most)]), "{slots} slots");
        // A group with a number of its own has no share.
        jobs.group("b").max_running(Some(100)).await.expect("it is set");
        exec.turns.forgive();
        let more = [exec.take(3).await, exec.take(3).await].concat();
        assert!(more.len() >= 3 && more.iter().all(|job| job.group == "b"), "{more:?}");
        jobs.group("b").max_running(None).await.expect("it is set");
        exec.die().await;
    }
    // Whoever asks is told: executors of this suite say that they have four slots.
    let mut exec = world.executor().await;
    let shown = |why: crate::jobs::Explanation| (why.share_full, why.to_string().contains("50 % of the slots"));
    assert_eq!(shown(jobs.explain(waits).await.expect("it is told")), (None, false));
    exec.take(4).await;
    assert_eq!(shown(jobs.explain(waits).await.expect("it is told")), (Some(50), true));
}

async fn a_default_limit_on_unfinished_jobs_holds_for_all_groups(world: &World) {
    let jobs = jobs(world);
    world.flood("a", 3).await;
    jobs.group_defaults().max_unfinished(Some(4)).await.expect("it is set");
    jobs.group("own").max_unfinished(Some(6)).await.expect("it is set");
    jobs.group("any")
        .max_unfinished(Some(i32::MAX as u32))
        .await
        .expect("it is set");
    let stored = async |group: &str, more: usize| {
        let new = (0..more).map(|_| job(group)).collect();
        let outcomes = world.store.submit(new).await.expect("it works");
        outcomes.iter().filter(|outcome| outcome.is_ok()).count()
    };
    for (group, room) in [("a", 1), ("b", 4), ("own", 6), ("any", 10)] {
        assert_eq!(stored(group, 10).await, room, "{group}");
        if room < 10 {
            // One alone takes another way.
            assert_eq!(stored(group, 1).await, 0, "{group}");
        }
    }
    // By a unique key too, and with an id.
    let keyed = crate::store::NewJob {
        unique: Some("key".to_owned()),
        ..job("b")
    };
    let refused = world.store.submit(vec![keyed]).await.expect("it works").remove(0);
    assert!(matches!(refused, Err(Error::TooMany { limit: 4, .. })), "{refused:?}");
    // What was ended comes back only where there is room.
    let mut exec = world.executor().await;
    let taken = exec.take(4).await;
    let done: Vec<JobId> = taken.iter().filter(|job| job.group == "b").map(|job| job.id).collect();
    for job in &taken {
        exec.run(job, Event::Succeed).await;
    }
    assert_eq!(stored("b", 10).await, done.len());
    for id in done {
        jobs.restart(id).await.expect_err("there is no room");
    }
    jobs.group_defaults().max_unfinished(None).await.expect("it is set");
    assert_eq!(stored("b", 10).await, 10);
}

async fn a_default_rate_has_a_bucket_for_each_group(world: &World) {
    let (jobs, mut exec) = (jobs(world), world.executor().await);
    jobs.group_defaults()
        .rate(Some("1/s burst 2".parse().expect("a rate")))
        .await
        .expect("it is set");
    jobs.group("own")
        .rate(Some("1/s burst 3".parse().expect("a rate")))
        .await
        .expect("it is set");
    for group in ["a", "b", "own"] {
        world.flood(group, 20).await;
    }
    assert_eq!(take_all(&mut exec).await.1, counts([("a", 2), ("b", 2), ("own", 3)]));
    world.advance(std::time::Duration::from_secs(1));
    assert_eq!(take_all(&mut exec).await.1, counts([("a", 1), ("b", 1), ("own", 1)]));
    // Buckets that are full are forgotten, and full again.
    world.advance(std::time::Duration::from_mins(5));
    world.store.prune().await.expect("it works");
    assert_eq!(take_all(&mut exec).await.1, counts([("a", 2), ("b", 2), ("own", 3)]));
    jobs.group_defaults().rate(None).await.expect("it is set");
    let (rest, of) = take_all(&mut exec).await;
    assert!(rest.len() > 20 && !of.contains_key("own"), "{of:?}");
}

async fn a_default_weight_holds_where_none_is_set(world: &World) {
    let mut exec = world.executor().await;
    let set = async |group: &str, weight| {
        let settings = GroupSettings {
            weight: Some(weight),
            ..GroupSettings::default()
        };
        world
            .store
            .set(Setting::Group(group.to_owned(), settings))
            .await
            .expect("it is set");
    };
    set("", 3).await;
    set("b", 1).await;
    for group in ["a", "b", "c"] {
        world.flood(group, 40).await;
    }
    let taken = exec.take(14).await;
    let of = |group| taken.iter().filter(|job| job.group == group).count();
    assert_eq!((of("a"), of("b"), of("c")), (6, 2, 6));
}

cases!(
    a_groups_own_settings_win_field_by_field,
    a_default_cap_is_exact_and_counts_what_is_held_already,
    a_cap_set_anew_counts_all_that_is_held,
    a_share_is_of_the_slots_of_each_executor,
    a_default_limit_on_unfinished_jobs_holds_for_all_groups,
    a_default_rate_has_a_bucket_for_each_group,
    a_default_weight_holds_where_none_is_set,
);
