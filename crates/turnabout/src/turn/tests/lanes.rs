//! Lanes: retries first, the counting scheme, what makes up for what.

use proptest::prelude::*;

use super::world::{World, turns};
use crate::job::Claimed;
use crate::job::Lane::{High, Low, Normal, Retry};
use crate::turn::{Fairness, Turns, interleave};

fn lanes(jobs: &[Claimed]) -> [usize; 4] {
    [Retry, High, Normal, Low].map(|lane| jobs.iter().filter(|job| job.lane == lane).count())
}

fn world(jobs: [u32; 4]) -> World {
    let mut world = World::new();
    for (lane, jobs) in [Retry, High, Normal, Low].into_iter().zip(jobs) {
        world.submit_to("a", lane, "default", "t", jobs);
    }
    world
}

#[test]
fn due_retries_go_first_whatever_the_scheme() {
    let mut world = world([3, 10, 10, 10]);
    let (jobs, memory) = world.take(turns("0,0,1"), 2);
    assert_eq!(lanes(&jobs), [2, 0, 0, 0]);
    // The last one, and then as the scheme says.
    let (jobs, _) = world.take(memory, 3);
    assert_eq!(lanes(&jobs), [1, 0, 0, 2]);
}

#[test]
fn the_scheme_is_kept_over_takes_of_any_size() {
    for want in 1..20 {
        let mut world = world([0, 1000, 1000, 1000]);
        let mut memory = turns("4,2,1");
        let mut taken = Vec::new();
        while taken.len() < 7 * want as usize {
            let (jobs, after) = world.take(memory, want);
            memory = after;
            taken.extend(jobs);
        }
        let want = want as usize;
        assert_eq!(lanes(&taken), [0, 4 * want, 2 * want, want], "in takes of {want}");
    }
}

#[test]
fn b8_turns_of_an_empty_lane_are_skipped() {
    let mut first = world([0, 0, 100, 100]);
    assert_eq!(lanes(&first.take(turns("4,2,1"), 90).0), [0, 0, 60, 30]);
    for scheme in ["4,2,1", "4,1"] {
        let mut second = world([0, 100, 0, 100]);
        assert_eq!(lanes(&second.take(turns(scheme), 50).0), [0, 40, 0, 10], "{scheme}");
    }
}

#[test]
fn b13_low_does_not_starve_behind_normal() {
    let mut world = world([0, 100, 100, 100]);
    assert_eq!(lanes(&world.take(turns("4,1"), 100).0), [0, 80, 10, 10]);
}

#[test]
fn a_lane_that_gives_fewer_is_made_up_for_by_the_others_in_the_same_round() {
    let mut first = world([1, 2, 3, 100]);
    assert_eq!(lanes(&first.take(turns("4,2,1"), 50).0), [1, 2, 3, 44]);
    let mut second = world([5, 2, 3, 4]);
    assert_eq!(lanes(&second.take(turns("4,2,1"), 50).0), [5, 2, 3, 4]);
}

#[test]
fn what_makes_up_goes_on_counting_where_the_round_is() {
    let seeded = |seed| Turns::new(Fairness::Jobs, "1,1,1".parse().expect("a scheme"), seed);
    let from_the_start = (0..100).map(seeded).find(|t| t.count("a") == 0).expect("a seed");
    let mut world = world([0, 1, 100, 100]);
    // Asked for are two of each. For the high one that is missing comes whatever has the next turn, which is a normal one.
    let (jobs, memory) = world.take(from_the_start, 6);
    assert_eq!(lanes(&jobs), [0, 1, 3, 2]);
    assert_eq!(memory.count("a"), 2);
}

/// Jobs of a millisecond come in large batches.
#[test]
fn b13_however_many_are_taken_at_once_they_start_by_the_scheme() {
    for want in [1, 3, 5, 8, 50] {
        let mut world = world([0, 200, 200, 200]);
        world.submit_to("b", Normal, "default", "t", 40);
        let mut memory = turns("4,1");
        let mut started = String::new();
        while started.len() < 100 {
            let (jobs, picks, after) = world.take_with_picks(memory, want);
            memory = after;
            let jobs = interleave(jobs, &picks);
            let of_a = jobs.iter().filter(|job| job.group == "a");
            started.extend(of_a.map(|job| match job.lane {
                High => 'h',
                Normal => 'n',
                _ => 'l',
            }));
        }
        let round = "hhhhnhhhhl".repeat(12);
        assert!(round.contains(&started[..100]), "{started}, in takes of {want}");
    }
}

#[test]
fn five_groups_and_a_scheme_of_five_do_not_alias() {
    for want in [1, 2, 5, 7] {
        let mut world = World::new();
        let groups = ["a", "b", "c", "d", "e"];
        for group in groups {
            world.submit_to(group, High, "default", "t", 1000);
            world.submit_to(group, Low, "default", "t", 1000);
        }
        let mut memory = turns("4,1");
        let mut taken = Vec::new();
        for _ in 0..500 / want {
            let (jobs, after) = world.take(memory, want);
            memory = after;
            taken.extend(jobs);
        }
        for group in groups {
            let low = taken.iter().filter(|job| job.group == group && job.lane == Low).count();
            assert!(
                (18..=22).contains(&low),
                "{group} got {low} low turns of 100, in takes of {want}"
            );
        }
    }
}

#[test]
fn where_there_was_no_choice_the_count_stands_still() {
    let mut world = world([0, 0, 100, 0]);
    let (_, memory) = world.take(turns("4,1"), 3);
    assert!(memory.counts.is_empty());
    world.submit_to("a", High, "default", "t", 100);
    let before = memory.count("a");
    let (jobs, memory) = world.take(memory, 3);
    assert_eq!(jobs.len(), 3);
    assert_eq!(memory.count("a"), (before + 3) % 10);
}

#[test]
fn a_count_moves_only_by_jobs_really_taken() {
    let mut world = world([0, 100, 100, 0]);
    let memory = turns("4,1");
    let before = memory.count("a");
    let late = world.begin(memory.clone(), 8);
    world.empty("a");
    let (jobs, after) = world.claim(late);
    assert!(jobs.is_empty());
    assert_eq!(after.count("a"), before);
}

#[test]
fn groups_begin_their_count_at_different_places() {
    let memory = Turns::new(Fairness::Jobs, "4,2,1".parse().expect("a scheme"), 7);
    let starts: std::collections::HashSet<u32> = (0..100).map(|i| memory.count(&i.to_string())).collect();
    assert_eq!(starts.len(), 7);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_group_gives_what_it_has_and_each_lane_in_order(
        high in 0_u32..40, normal in 0_u32..40, low in 0_u32..40, retry in 0_u32..10, want in 1_u32..50,
        scheme in prop::sample::select(vec!["4,2,1", "4,1", "1,0,0", "0,0,1", "0,3", "1000,1,1"]),
    ) {
        let mut world = world([retry, high, normal, low]);
        let all = (high + normal + low + retry) as usize;
        let mut memory = turns(scheme);
        let mut taken = Vec::new();
        for _ in 0..=all {
            let left = all - taken.len();
            let (jobs, after) = world.take(memory, want);
            memory = after;
            prop_assert_eq!(jobs.len(), left.min(want as usize));
            taken.extend(jobs);
        }
        prop_assert_eq!(taken.len(), all);
        prop_assert!(taken.iter().take(retry as usize).all(|job| job.lane == Retry));
        for lane in [Retry, High, Normal, Low] {
            prop_assert!(taken.iter().filter(|job| job.lane == lane).is_sorted_by_key(|job| job.seq));
        }
    }
}
