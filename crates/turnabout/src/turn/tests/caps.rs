//! Caps and the bench. That no pick goes beyond a free place is checked by the world at every claim.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::world::{World, tally, turns};
use crate::group::Cap;
use crate::job::Lane::{High, Normal};
use crate::turn::{Fairness, Scheme, Turns};

#[test]
fn a_group_at_its_cap_is_benched_and_forgiven() {
    let mut world = World::new();
    world.set("a", |s| s.max_running = Some(2));
    world.submit("a", 10);
    world.submit("b", 10);
    let (jobs, memory) = world.take(turns("4,2,1"), 6);
    assert_eq!(tally(&jobs), [("a", 2), ("b", 3)].into());
    assert!(memory.benched().is_empty(), "it gave something");
    let (_, mut memory) = world.take(memory, 2);
    assert!(memory.benched().contains("a"));
    world.end(&jobs[0]);
    let (more, after) = world.take(memory, 2);
    assert_eq!(tally(&more), [("b", 2)].into(), "it is left out for a while");
    memory = after;
    memory.forgive();
    let (more, _) = world.take(memory, 2);
    assert_eq!(tally(&more), [("a", 1), ("b", 1)].into());
}

#[test]
fn a_group_whose_only_task_is_at_its_limit_is_benched() {
    let mut world = World::new();
    world.limit("t", 1);
    world.submit("a", 10);
    world.submit("b", 10);
    world.submit_to("c", Normal, "default", "u", 10);
    let (jobs, memory) = world.take(turns("4,2,1"), 9);
    assert_eq!(tally(&jobs), [("a", 1), ("c", 3)].into());
    assert!(memory.benched().is_empty(), "there was a place for one of them");
    let (jobs, memory) = world.take(memory, 6);
    assert_eq!(tally(&jobs), [("c", 2)].into());
    assert_eq!(memory.benched().iter().collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn groups_take_turns_at_the_one_place_under_a_tasks_limit() {
    for want in [1, 2, 3, 4, 8] {
        let mut world = World::new();
        world.limit("t", 1);
        for group in ["a", "b", "c", "d"] {
            world.submit(group, 100);
        }
        let mut memory = turns("4,2,1");
        let mut taken = Vec::new();
        while taken.len() < 40 {
            let (jobs, after) = world.take(memory, want);
            // Another take finds the place taken.
            memory = world.take(after, want).1;
            memory.forgive();
            for job in &jobs {
                world.end(job);
            }
            taken.extend(jobs);
        }
        for (group, jobs) in tally(&taken) {
            assert!((8..=12).contains(&jobs), "{group} got {jobs} of 40, in takes of {want}");
        }
    }
}

#[test]
fn takes_that_find_a_tasks_limit_reached_do_not_cost_groups_their_turn_at_it() {
    // Seven groups wait for one place; an eighth has other work all the while, which takes the place in the ring past
    // all of them again and again.
    for fairness in [Fairness::Jobs, Fairness::Items, Fairness::Time] {
        for executors in 1..4 {
            let mut world = World::new();
            world.limit("t", 1);
            world.submit_to("a", Normal, "default", "u", 10_000);
            for group in ["b", "c", "d", "e", "f", "g", "h"] {
                world.submit(group, 100);
            }
            world.weigh("h", 2);
            let mut memories = vec![Turns::new(fairness, Scheme::default(), 0); executors];
            let mut taken = Vec::new();
            let mut random = fastrand::Rng::with_seed(1);
            while taken.len() < 160 {
                let at = random.usize(..executors);
                let mut memory = std::mem::replace(&mut memories[at], turns("4,2,1"));
                let mut running = Vec::new();
                // So many other jobs end while one of these runs.
                for _ in 0..random.u32(1..6) {
                    let (jobs, after) = world.take(memory, 1);
                    memory = after;
                    for job in jobs {
                        memory.charge(&job.group, 1, 1);
                        memory.settle(&job.group, 1, 1.0, Some(1.0));
                        if job.task == "t" {
                            running.push(job);
                        } else {
                            world.end(&job);
                        }
                    }
                }
                for job in running {
                    world.end(&job);
                    memory.forgive();
                    taken.push(job);
                }
                memories[at] = memory;
            }
            for (group, jobs) in tally(&taken) {
                let fair = if group == "h" { 40 } else { 20 };
                assert!(
                    (fair - 4..=fair + 4).contains(&jobs),
                    "{group} got {jobs} of 160 by {fairness:?}, {executors} executors"
                );
            }
        }
    }
}

#[test]
fn a_tasks_limit_that_is_reached_benches_all_who_wait_for_it_at_once() {
    for fairness in [Fairness::Jobs, Fairness::Time] {
        let mut world = World::new();
        world.limit("t", 1);
        for group in ["a", "b", "c", "d"] {
            world.submit(group, 10);
        }
        world.submit_to("e", Normal, "default", "u", 10);
        let memory = Turns::new(fairness, Scheme::default(), 0);
        // One gets the place, one finds it taken.
        let memory = world.take(memory, 1).1;
        let memory = world.take(memory, 1).1;
        assert_eq!(memory.benched().len(), 4, "by {fairness:?}");
        assert_eq!(tally(&world.take(memory, 1).0), [("e", 1)].into());
    }
}

#[test]
fn a_lane_whose_task_is_at_its_limit_does_not_keep_the_other_lanes_waiting() {
    let mut world = World::new();
    world.limit("t", 3);
    world.submit_to("a", High, "default", "t", 50);
    world.submit_to("a", Normal, "default", "u", 50);
    let (jobs, memory) = world.take(turns("4,1"), 20);
    assert_eq!(jobs.len(), 20);
    assert_eq!(jobs.iter().filter(|job| job.task == "t").count(), 3);
    let (jobs, _) = world.take(memory, 20);
    assert_eq!(jobs.iter().filter(|job| job.task == "u").count(), 20);
}

#[test]
fn places_reserved_for_one_group_but_not_used_go_to_the_next() {
    let mut world = World::new();
    world.limit("t", 2);
    // In `a` the other task comes first, though its stream of `t` has the places reserved.
    world.submit_to("a", Normal, "default", "u", 10);
    world.submit("a", 10);
    world.submit("b", 10);
    let (jobs, _) = world.take(turns("4,2,1"), 4);
    assert_eq!(tally(&jobs), [("a", 2), ("b", 2)].into());
}

#[test]
fn groups_that_cannot_give_are_stepped_over_even_if_they_fill_every_peek() {
    for (paused, want) in [(true, 1), (false, 3)] {
        let mut world = World::new();
        for i in 0..100 {
            let group = format!("a{i:03}");
            let task = if paused { "t" } else { "unknown" };
            world.submit_to(&group, Normal, "default", task, 5);
            world.set(&group, |s| s.paused = paused);
        }
        world.submit("z", 1);
        let mut memory = turns("4,2,1");
        let mut takes = 0;
        while world.is_ready("z") {
            takes += 1;
            assert!(takes <= 101, "z is never seen");
            let round = world.begin(memory, want);
            assert!(
                round.found,
                "an executor that is told that nothing is ready goes to sleep"
            );
            // However small the bench is: the place has moved on.
            memory = world.claim(round).1;
            memory.forgive();
        }
        let (_, memory) = world.take(memory, 1000);
        assert_eq!(memory.benched().len(), 100);
        assert!(!world.begin(memory, 1).found);
    }
}

#[test]
fn by_cost_groups_whose_jobs_something_else_keeps_back_do_not_keep_the_others_waiting() {
    let mut world = World::new();
    world.submit("held back", 1);
    world.submit("other", 1);
    let memory = Turns::new(Fairness::Time, Scheme::default(), 0);
    // The peek sees it, and yet the claim gets nothing.
    let round = world.begin(memory, 1);
    world.empty("held back");
    let (jobs, memory) = world.claim(round);
    assert!(jobs.is_empty());
    world.submit("held back", 1);
    assert_eq!(tally(&world.take(memory, 1).0), [("other", 1)].into());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn caps_hold_and_are_used_to_the_full(
        seed: u64, groups in 1_usize..8, want in 1_u32..50, limit in 0_u32..20,
    ) {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut world = World::new();
        world.limit("t", limit);
        for group in 0..groups {
            let group = format!("g{group}");
            if random.bool() {
                let cap = random.u32(..10);
                world.set(&group, |s| s.max_running = Some(cap));
            }
            for _ in 0..random.u32(1..5) {
                let lane = if random.bool() { High } else { Normal };
                let queue = if random.bool() { "default" } else { "ocr" };
                let task = if random.bool() { "t" } else { "u" };
                world.submit_to(&group, lane, queue, task, random.u32(1..30));
            }
        }
        let mut memory = turns("4,2,1");
        let mut running = Vec::new();
        let mut fruitless = 0;
        // So many takes come by every group.
        while fruitless <= groups {
            if random.u32(..4) == 0 && !running.is_empty() {
                world.end(&running.swap_remove(random.usize(..running.len())));
                fruitless = 0;
            }
            let (jobs, after) = world.take(memory, want);
            memory = after;
            memory.forgive();
            fruitless = if jobs.is_empty() { fruitless + 1 } else { 0 };
            running.extend(jobs);
        }
        let max = |cap: &Cap| match cap {
            Cap::Group(group) => world.settings.group(group).max_running,
            Cap::Task(task) => world.settings.task(task).max_running,
        };
        let held = |cap: &Cap| world.running.get(cap).copied().unwrap_or(0);
        let full = |cap: &Cap| max(cap).is_some_and(|max| held(cap) == max);
        for cap in world.running.keys() {
            prop_assert!(max(cap).is_none_or(|max| held(cap) <= max), "{} of {cap:?}", held(cap));
        }
        for candidate in world.peek(100, &BTreeSet::new()).groups {
            let tasks = candidate.streams.iter().map(|s| Cap::Task(s.task.to_string()));
            prop_assert!(full(&Cap::Group(candidate.group.to_string())) || tasks.into_iter().all(|task| full(&task)));
        }
    }
}
