//! Rotation: visits, weights, newcomers, executors that come between each other and that die.

use std::collections::{BTreeMap, HashMap, HashSet};

use proptest::prelude::*;

use super::world::{World, tally, turns};
use crate::turn::{Ring, Round, Turns};

fn name(group: usize) -> String {
    format!("g{group}")
}

/// Keeps book of visits planned and jobs taken, and says when two groups drift apart.
#[derive(Default)]
struct Book {
    weights: HashMap<String, f64>,
    visits: HashMap<String, f64>,
    /// Lowest and highest difference of two groups' visits, since both have been ready.
    drift: BTreeMap<(String, String), (f64, f64)>,
}

impl Book {
    /// A round was planned while these groups were ready.
    fn planned(&mut self, round: &Round, ready: &HashSet<String>) {
        for a in ready {
            for b in ready.iter().filter(|b| a < *b) {
                let difference = self.difference(a, b);
                let fresh = (difference, difference);
                self.drift.entry((a.clone(), b.clone())).or_insert(fresh);
            }
        }
        self.drift.retain(|(a, b), _| ready.contains(a) && ready.contains(b));
        for visit in &round.visits {
            *self.visits.entry(visit.group.to_string()).or_default() +=
                f64::from(visit.wanted) / self.weights[&*visit.group];
        }
        let differences: Vec<_> = self.drift.keys().map(|(a, b)| self.difference(a, b)).collect();
        for (((a, b), (low, high)), now) in self.drift.iter_mut().zip(differences) {
            *low = low.min(now);
            *high = high.max(now);
            assert!(
                *high - *low < 1.0 + 1e-9,
                "{a} and {b} are {} visits apart",
                *high - *low
            );
        }
    }

    fn difference(&self, a: &str, b: &str) -> f64 {
        let visits = |group: &str| self.visits.get(group).copied().unwrap_or(0.0);
        visits(a) - visits(b)
    }
}

/// A planned round that is still to be claimed, and who planned it.
struct Pending {
    executor: usize,
    round: Round,
}

/// Executors that plan and claim at random moments, while groups come and go and executors die.
fn bustle(seed: u64, groups: usize, executors: usize, max_want: u32) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut world = World::new();
    let mut book = Book::default();
    for group in 0..groups {
        let weight = if random.bool() { 1 } else { random.u32(1..8) };
        world.weigh(&name(group), weight);
        book.weights.insert(name(group), f64::from(weight));
    }
    let mut idle: Vec<Option<Turns>> = (0..executors).map(|_| Some(turns("4,2,1"))).collect();
    let mut pending: Vec<Pending> = Vec::new();
    for _ in 0..300 {
        let group = name(random.usize(..groups));
        match random.u32(..20) {
            0..4 => world.submit(&group, random.u32(1..200)),
            4 => world.empty(&group),
            5 if !pending.is_empty() => {
                // It dies between the move of the ring and its claim; another one starts in its place.
                let dead = pending.swap_remove(random.usize(..pending.len()));
                idle[dead.executor] = Some(turns("4,2,1"));
            }
            6..13 => {
                let executor = random.usize(..executors);
                if let Some(turns) = idle[executor].take() {
                    let ready: HashSet<String> = world.groups().cloned().collect();
                    let want = random.u32(1..=max_want);
                    let round = world.begin(turns, want);
                    assert_eq!(round.found, !ready.is_empty());
                    let planned: u32 = round.visits.iter().map(|v| v.wanted).sum();
                    assert_eq!(planned, if ready.is_empty() { 0 } else { want });
                    book.planned(&round, &ready);
                    pending.push(Pending { executor, round });
                }
            }
            _ if !pending.is_empty() => {
                let Pending { executor, round } = pending.swap_remove(random.usize(..pending.len()));
                let planned: BTreeMap<String, u32> =
                    round.visits.iter().map(|v| (v.group.to_string(), v.wanted)).collect();
                let before: HashMap<&String, usize> = planned.keys().map(|g| (g, world.backlog(g))).collect();
                let (jobs, turns) = world.claim(round);
                let taken = tally(&jobs);
                for (group, planned) in &planned {
                    // A visit comes back short only if the jobs are not there any longer.
                    let expected = before[group].min(*planned as usize);
                    assert_eq!(taken.get(group.as_str()).copied().unwrap_or(0) as usize, expected);
                }
                idle[executor] = Some(turns);
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn visits_of_two_ready_groups_differ_by_at_most_one(
        seed: u64, groups in 1_usize..10, executors in 1_usize..6, max_want in 1_u32..50,
    ) {
        bustle(seed, groups, executors, max_want);
    }

    #[test]
    fn a_new_group_waits_at_most_one_rotation(
        seed: u64, groups in 1_usize..40, want in 1_u32..50, backlog in 501_u32..1_500, takes in 0_u32..100,
    ) {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut world = World::new();
        let mut rotation = 0;
        for group in 0..groups {
            let weight = random.u32(1..4);
            world.weigh(&name(group), weight);
            world.submit(&name(group), backlog);
            rotation += weight;
        }
        let mut memory = turns("4,2,1");
        for _ in 0..takes.min(500 / want) {
            memory = world.take(memory, want).1;
        }
        let newcomer = ["a", "g1b", "z"][random.usize(..3)];
        world.submit(newcomer, 1);
        let mut others = 0;
        while world.is_ready(newcomer) {
            prop_assert!(others < rotation + want, "{others} jobs of others, {rotation} in a rotation");
            let (jobs, after) = world.take(memory, want);
            memory = after;
            others += jobs.iter().filter(|job| job.group != newcomer).count() as u32;
        }
    }
}

#[test]
fn four_executors_of_one_slot_share_two_flooding_groups_evenly() {
    let mut world = World::new();
    world.submit("a", 1000);
    world.submit("b", 1000);
    let mut taken: BTreeMap<String, i32> = BTreeMap::new();
    let mut executors = vec![turns("4,2,1"); 4];
    for i in 0..400 {
        let (jobs, after) = world.take(executors[i % 4].clone(), 1);
        executors[i % 4] = after;
        *taken.entry(jobs[0].group.clone()).or_default() += 1;
        let gap = taken.get("a").unwrap_or(&0) - taken.get("b").unwrap_or(&0);
        assert!(gap.abs() <= 1, "after {i} claims");
    }
}

#[test]
fn an_emptied_group_leaves_and_comes_back_without_credit() {
    let mut world = World::new();
    world.submit("a", 1);
    world.submit("b", 100);
    world.submit("c", 100);
    let (jobs, memory) = world.take(turns("4,2,1"), 31);
    assert_eq!(tally(&jobs), [("a", 1), ("b", 10), ("c", 10)].into());
    let (jobs, memory) = world.take(memory, 20);
    assert_eq!(tally(&jobs), [("b", 10), ("c", 10)].into());
    world.submit("a", 100);
    let (jobs, _) = world.take(memory, 30);
    assert_eq!(tally(&jobs), [("a", 10), ("b", 10), ("c", 10)].into());
}

#[test]
fn a_visit_cut_short_goes_on_with_the_next_take_also_by_another_executor() {
    let mut world = World::new();
    world.weigh("a", 5);
    world.submit("a", 100);
    world.submit("b", 100);
    let mut order = String::new();
    for i in 0..6 {
        let (jobs, _) = world.take(turns("4,2,1"), if i % 2 == 0 { 2 } else { 3 });
        order.extend(jobs.iter().map(|job| job.group.as_str()));
    }
    assert_eq!(order, "aaaaabaaaaabaaa");
}

#[test]
fn a_lowered_weight_acts_at_once() {
    let mut world = World::new();
    world.weigh("a", 10);
    world.submit("a", 100);
    world.submit("b", 100);
    let (jobs, memory) = world.take(turns("4,2,1"), 2);
    assert_eq!(tally(&jobs), [("a", 2)].into());
    assert_eq!(world.ring.left, 8);
    world.weigh("a", 1);
    let (jobs, _) = world.take(memory, 2);
    assert_eq!(tally(&jobs), [("a", 1), ("b", 1)].into());
}

#[test]
fn the_rest_of_a_visit_is_lost_when_the_group_is_paused_or_gone() {
    for paused in [true, false] {
        let mut world = World::new();
        world.weigh("a", 10);
        world.submit("a", 100);
        world.submit("b", 100);
        let (_, memory) = world.take(turns("4,2,1"), 2);
        if paused {
            world.set("a", |s| s.paused = true);
        } else {
            world.empty("a");
        }
        let (jobs, _) = world.take(memory, 3);
        assert_eq!(tally(&jobs), [("b", 3)].into());
        assert_eq!(
            world.ring,
            Ring {
                place: "b".into(),
                left: 0
            }
        );
    }
}
