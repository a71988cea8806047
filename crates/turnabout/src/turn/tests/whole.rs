//! What is little enough to be taken whole.

use proptest::prelude::*;

use super::world::{World, turns};
use crate::job::Lane;
use crate::turn::{Fairness, Turns};

#[test]
fn so_few_jobs_are_taken_whole() {
    let (turns, settings) = (turns("4,2,1"), World::new().settings);
    let whole: Vec<u32> = [0, 1, 2, 3, 4, 5, 6, 9, 16, 100]
        .map(|want| turns.whole(want, &settings))
        .into();
    assert_eq!(whole, [0, 1, 2, 2, 3, 3, 4, 5, 7, 19]);
}

#[test]
fn where_something_is_held_back_nobody_can_say() {
    let turns = turns("4,2,1");
    let mut world = World::new();
    world.weigh("a", 3);
    assert_eq!(turns.whole(100, &world.settings), 1, "one group may have all turns");
    world.set("a", |s| s.paused = true);
    assert_eq!(turns.whole(100, &world.settings), 0);
    world.set("a", |s| (s.paused, s.max_running) = (false, Some(1)));
    assert_eq!(turns.whole(100, &world.settings), 0);
    let mut world = World::new();
    world.limit("t", 5);
    assert_eq!(turns.whole(100, &world.settings), 0);
    let by_time = Turns::new(Fairness::Time, "4,1".parse().expect("a scheme"), 0);
    assert_eq!(by_time.whole(100, &World::new().settings), 1);
}

proptest! {
    /// Whatever jobs there are, of whichever groups, lanes and queues, and wherever the place is.
    #[test]
    fn a_round_takes_all_of_so_few_jobs(
        want in 1u32..40,
        jobs in prop::collection::vec((0usize..6, 0i16..4, any::<bool>(), any::<bool>()), 0..20),
        weight in 0u32..4,
        place in 0usize..6,
        fairness in prop::sample::select(vec![Fairness::Jobs, Fairness::Items, Fairness::Time]),
    ) {
        let mut world = World::new();
        world.ring.place = format!("g{place}");
        world.ring.left = weight;
        world.weigh("g2", weight);
        let turns = Turns::new(fairness, "4,2,1".parse().expect("a scheme"), 7);
        let most = turns.whole(want, &world.settings) as usize;
        let jobs = &jobs[..jobs.len().min(most)];
        for (group, lane, queue, task) in jobs {
            let lane = Lane::from_code(*lane).expect("a lane");
            world.submit_to(&format!("g{group}"), lane, ["a", "b"][usize::from(*queue)], ["t", "u"][usize::from(*task)], 1);
        }
        let (taken, _) = world.take(turns, want);
        prop_assert_eq!(taken.len(), jobs.len());
    }
}
