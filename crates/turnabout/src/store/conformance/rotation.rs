//! The rotation: every group gets its turn, over all executors together.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use super::world::groups;
use super::{Exec, World, cases, in_memory, job, seeds};
use crate::group::GroupSettings;
use crate::job::{Claimed, JobId};
use crate::lifecycle::Event;
use crate::store::Setting;

/// Watches claims: over any time in which two groups are ready all the while, what they were given per weight differs
/// by at most one visit.
#[derive(Default)]
struct Watch {
    weights: HashMap<String, u32>,
    /// Ready jobs of each group, as submitted and taken.
    ready: BTreeMap<String, usize>,
    /// For each pair of groups that are both ready: how far apart they are now, and the extremes so far.
    apart: BTreeMap<(String, String), (f64, f64, f64)>,
}

impl Watch {
    fn added(&mut self, group: &str, n: usize) {
        *self.ready.entry(group.to_owned()).or_default() += n;
    }

    fn took(&mut self, jobs: &[Claimed], note: &str) {
        let mut taken: BTreeMap<&str, usize> = BTreeMap::new();
        for job in jobs {
            *taken.entry(&job.group).or_default() += 1;
        }
        let before = self.ready.clone();
        for (group, n) in &taken {
            let left = self.ready.get_mut(*group).expect("a group that was ready");
            *left -= n;
        }
        self.ready.retain(|_, n| *n > 0);
        let ready = |group: &String| before.contains_key(group) && self.ready.contains_key(group);
        self.apart.retain(|(a, b), _| ready(a) && ready(b));
        let share = |group: &str| {
            let weight = self.weights.get(group).copied().unwrap_or(1);
            taken.get(group).copied().unwrap_or(0) as f64 / f64::from(weight)
        };
        let all: Vec<&String> = self.ready.keys().filter(|g| ready(g)).collect();
        for (i, a) in all.iter().enumerate() {
            for b in &all[i + 1..] {
                let key = ((*a).clone(), (*b).clone());
                let (now, low, high) = self.apart.get(&key).copied().unwrap_or_default();
                let now = now + share(a) - share(b);
                let (low, high) = (low.min(now), high.max(now));
                assert!(
                    high - low <= 1.0 + 1e-9,
                    "{note}: {a} and {b} are {} visits apart",
                    high - low
                );
                self.apart.insert(key, (now, low, high));
            }
        }
    }

    /// Given back jobs are ready again; the visits were made all the same.
    fn returned(&mut self, jobs: &[Claimed]) {
        for job in jobs {
            self.added(&job.group, 1);
        }
    }
}

/// Random workloads: groups come and go, executors start, stop and die.
async fn no_group_is_ever_more_than_one_visit_ahead_of_another(world: &World) {
    for seed in seeds(if world.is_model() { 20 } else { 6 }) {
        println!("seed {seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        let count = rng.usize(2..9);
        let mut watch = Watch::default();
        let mut names = Vec::new();
        for i in 0..count {
            let name = format!("s{seed}-{i}");
            let weight = *rng.choice(&[1, 1, 1, 2, 3, 5]).expect("a weight");
            if weight > 1 {
                set_weight(world, &name, weight).await;
            }
            watch.weights.insert(name.clone(), weight);
            names.push(name);
        }
        let batch = if rng.bool() { 1 } else { 7 };
        let mut execs: Vec<(Exec, Vec<Claimed>)> = Vec::new();
        for exec in world.executors(rng.usize(1..5)).await {
            execs.push((exec, Vec::new()));
        }
        for step in 0..80 {
            if rng.u8(..4) == 0 {
                let (group, n) = (rng.usize(..count), rng.usize(1..12));
                world.flood(&names[group], n).await;
                watch.added(&names[group], n);
            }
            let at = rng.usize(..execs.len());
            match rng.u8(..20) {
                0 => {
                    let (dead, held) = execs.swap_remove(at);
                    assert_eq!(dead.die().await as usize, held.len(), "seed {seed}");
                    watch.returned(&held);
                    execs.push((world.executor().await, Vec::new()));
                }
                1 => execs.push((world.executor().await, Vec::new())),
                2 => {
                    let (exec, held) = &mut execs[at];
                    for job in held.iter() {
                        exec.release(job).await;
                    }
                    watch.returned(held);
                    held.clear();
                }
                3..=5 => {
                    let (exec, held) = &mut execs[at];
                    for job in held.drain(..) {
                        exec.run(&job, Event::Succeed).await;
                    }
                }
                _ => {
                    let (exec, held) = &mut execs[at];
                    let jobs = exec.take(rng.u32(1..=batch)).await;
                    watch.took(&jobs, &format!("seed {seed}, step {step}"));
                    held.extend(jobs);
                }
            }
        }
        for (exec, held) in &mut execs {
            for job in held.drain(..) {
                exec.run(&job, Event::Succeed).await;
            }
        }
        execs[0].0.drain(100).await;
    }
}

async fn set_weight(world: &World, group: &str, weight: u32) {
    let settings = GroupSettings {
        weight: Some(weight),
        ..GroupSettings::default()
    };
    let setting = Setting::Group(group.to_owned(), settings);
    world.store.set(setting).await.expect("the weight is set");
}

async fn four_executors_of_one_slot_serve_two_flooding_groups_alike(world: &World) {
    let mut execs = world.executors(4).await;
    world.flood("a", 100).await;
    world.flood("b", 100).await;
    let mut watch = Watch::default();
    watch.added("a", 100);
    watch.added("b", 100);
    // Each executor comes back in an order of its own, as if its jobs took longer or shorter.
    let mut rng = fastrand::Rng::with_seed(4);
    let mut counts: HashMap<String, u32> = HashMap::new();
    for _ in 0..80 {
        let exec = &mut execs[rng.usize(..4)];
        let jobs = exec.take(1).await;
        watch.took(&jobs, "seed 4");
        assert_eq!(jobs.len(), 1);
        *counts.entry(jobs[0].group.clone()).or_default() += 1;
        exec.run(&jobs[0], Event::Succeed).await;
    }
    assert_eq!((counts["a"], counts["b"]), (40, 40));
}

async fn executors_that_take_at_the_same_moment_serve_groups_alike(world: &World) {
    for group in ["a", "b"] {
        world.flood(group, 200).await;
    }
    let mut takers = Vec::new();
    for mut exec in world.executors(4).await {
        takers.push(tokio::spawn(async move {
            let mut taken = Vec::new();
            for _ in 0..25 {
                taken.push(exec.take(1).await.pop().map(|job| job.group));
            }
            taken
        }));
    }
    let mut counts: HashMap<Option<String>, usize> = HashMap::new();
    for taker in takers {
        for group in taker.await.expect("no panic") {
            *counts.entry(group).or_default() += 1;
        }
    }
    let count = |group: &str| counts.get(&Some(group.to_owned())).copied().unwrap_or(0);
    let short = counts.get(&None).copied().unwrap_or(0);
    assert_eq!(count("a") + count("b") + short, 100);
    assert!(count("a").abs_diff(count("b")) <= 1 + short, "{counts:?}");
}

async fn each_kind_of_executors_has_a_place_of_its_own(world: &World) {
    let mut one = world.executor().await;
    let mut other = world.executor_of(&["default"], &["work", "mail"]).await;
    for group in ["a", "b", "c"] {
        world.flood(group, 4).await;
    }
    let mut served = String::new();
    for _ in 0..3 {
        served.push_str(&one.take_one().await.group);
        served.push_str(&other.take_one().await.group);
    }
    assert_eq!(served, "aabbcc");
}

async fn a_group_that_joins_late_is_served_within_one_rotation(world: &World) {
    let mut execs = world.executors(2).await;
    for group in ["a", "c", "e"] {
        world.flood(group, 50).await;
    }
    for i in 0..10 {
        execs[i % 2].take(1).await;
    }
    world.flood("b", 1).await;
    world.flood("f", 1).await;
    let mut served = Vec::new();
    for i in 0..5 {
        served.extend(execs[i % 2].take(1).await);
    }
    let mut served = groups(&served);
    served.sort_unstable();
    assert_eq!(served, ["a", "b", "c", "e", "f"], "each group once");
}

async fn an_emptied_group_comes_back_without_credit(world: &World) {
    let mut exec = world.executor().await;
    world.flood("a", 40).await;
    world.flood("b", 1).await;
    exec.take(20).await;
    // `b` has had one job while `a` had 19: that it wanted no more gives it no claim to more now.
    world.flood("b", 40).await;
    let mut taken = Vec::new();
    for _ in 0..10 {
        taken.extend(exec.take(1).await);
    }
    let of_b = taken.iter().filter(|job| job.group == "b").count();
    assert_eq!(of_b, 5);
}

async fn a_batch_is_shared_out_like_single_turns(world: &World) {
    let mut exec = world.executor().await;
    for group in ["a", "b", "c"] {
        world.flood(group, 10).await;
    }
    let jobs = exec.take(7).await;
    assert_eq!(groups(&jobs), ["a", "b", "c", "a", "b", "c", "a"]);
    let jobs = exec.take(4).await;
    assert_eq!(groups(&jobs), ["b", "c", "a", "b"]);
}

async fn jobs_of_one_batch_start_with_the_groups_in_turn(world: &World) {
    let mut exec = world.executor().await;
    set_weight(world, "a", 3).await;
    let a = world.flood("a", 3).await;
    let b = world.flood("b", 1).await;
    let c = world.flood("c", 1).await;
    let jobs = exec.take(5).await;
    assert_eq!(super::world::ids(&jobs), [a[0], b[0], c[0], a[1], a[2]]);
}

async fn a_weighted_group_gets_its_weight_and_a_cut_visit_goes_on(world: &World) {
    let mut execs = world.executors(3).await;
    set_weight(world, "a", 3).await;
    world.flood("a", 30).await;
    world.flood("b", 30).await;
    let mut served = Vec::new();
    for i in 0..16 {
        served.extend(execs[i % 3].take(1).await);
    }
    let served: String = groups(&served).concat();
    assert_eq!(served, "aaabaaabaaabaaab");
}

async fn the_place_in_the_ring_is_shared_and_outlives_executors(world: &World) {
    for group in ["a", "b", "c", "d"] {
        world.flood(group, 5).await;
    }
    let mut served = String::new();
    for _ in 0..8 {
        let mut exec = world.executor().await;
        let job = exec.take_one().await;
        served.push_str(&job.group);
        exec.run(&job, Event::Succeed).await;
        world.store.deregister(exec.incarnation).await.expect("it goes");
    }
    assert_eq!(served, "abcdabcd");
}

async fn five_groups_with_the_scheme_4_1_do_not_alias(world: &World) {
    use crate::job::Priority;
    use crate::turn::Fairness;

    let exec = world.executor().await;
    let mut exec = exec.counting(Fairness::Jobs, "4,1", 11);
    let names = ["a", "b", "c", "d", "e"];
    for name in names {
        for priority in [Priority::High, Priority::Low] {
            let jobs = (0..40).map(|_| crate::store::NewJob {
                priority: Some(priority),
                ..job(name)
            });
            world.submit(jobs.collect()).await;
        }
    }
    let mut low: HashMap<String, u32> = HashMap::new();
    for _ in 0..125 {
        let taken = exec.take_one().await;
        if taken.priority == Priority::Low {
            *low.entry(taken.group).or_default() += 1;
        }
    }
    for name in names {
        assert_eq!(
            low.get(name),
            Some(&5),
            "each group has every fifth of its own turns for the rest"
        );
    }
}

/// The case the project exists for.
async fn one_small_job_never_waits_for_a_large_backlog(world: &World) {
    let mut exec = world.executor().await;
    behind_a_backlog(world, std::slice::from_mut(&mut exec), 4, 20).await;
}

async fn one_small_job_never_waits_for_a_large_backlog_on_four_executors(world: &World) {
    let mut execs = world.executors(4).await;
    behind_a_backlog(world, &mut execs, 1, 20).await;
}

async fn one_small_job_never_waits_for_a_backlog_of_ten_thousand(world: &World) {
    let mut exec = world.executor().await;
    behind_a_backlog(world, std::slice::from_mut(&mut exec), 4, 10_000).await;
}

/// 100 groups, 4 slots: the first group submits `backlog` jobs of 60 s, then each other group one. No job of another
/// group waits behind more than one job of the first group per slot.
async fn behind_a_backlog(world: &World, execs: &mut [Exec], slots: u32, backlog: usize) {
    let first = "g050".to_owned();
    world.flood(&first, backlog).await;
    // Slots hold a job and, of the jobs of the first group since the others submitted, how many ran here.
    let mut busy: Vec<VecDeque<Claimed>> = Vec::new();
    for exec in execs.iter_mut() {
        busy.push(exec.take(slots).await.into());
    }
    let names: Vec<String> = (0..100).map(|i| format!("g{i:03}")).filter(|g| *g != first).collect();
    world.submit(names.iter().map(|g| job(g)).collect()).await;
    let mut behind = vec![vec![1u32; slots as usize]; execs.len()];
    let mut waiting: std::collections::HashSet<JobId> = world
        .all()
        .await
        .iter()
        .filter(|j| j.group != first)
        .map(|j| j.id)
        .collect();
    while !waiting.is_empty() {
        world.advance(Duration::from_mins(1));
        for (at, exec) in execs.iter_mut().enumerate() {
            for job in busy[at].drain(..) {
                exec.run(&job, Event::Succeed).await;
            }
            busy[at] = exec.take(slots).await.into();
            assert_eq!(busy[at].len(), slots as usize, "no slot is idle while jobs are ready");
            for (slot, job) in busy[at].iter().enumerate() {
                if job.group == first {
                    behind[at][slot] += 1;
                } else {
                    assert!(
                        behind[at][slot] <= 1,
                        "{} waited behind {}",
                        job.group,
                        behind[at][slot]
                    );
                    assert!(waiting.remove(&job.id));
                }
            }
        }
    }
}

cases!(
    no_group_is_ever_more_than_one_visit_ahead_of_another,
    four_executors_of_one_slot_serve_two_flooding_groups_alike,
    executors_that_take_at_the_same_moment_serve_groups_alike,
    each_kind_of_executors_has_a_place_of_its_own,
    a_group_that_joins_late_is_served_within_one_rotation,
    an_emptied_group_comes_back_without_credit,
    a_batch_is_shared_out_like_single_turns,
    jobs_of_one_batch_start_with_the_groups_in_turn,
    a_weighted_group_gets_its_weight_and_a_cut_visit_goes_on,
    the_place_in_the_ring_is_shared_and_outlives_executors,
    five_groups_with_the_scheme_4_1_do_not_alias,
    one_small_job_never_waits_for_a_large_backlog,
    one_small_job_never_waits_for_a_large_backlog_on_four_executors,
    one_small_job_never_waits_for_a_backlog_of_ten_thousand,
);
in_memory!(no_group_is_ever_more_than_one_visit_ahead_of_another);
