//! Slots and durations: the cases that the project exists for.

use super::*;

const MINUTE: f64 = 60.0;

/// 100 groups, 4 slots; the first group submits many jobs of a minute, then each other group submits one.
fn one_floods_and_99_want_one_each(fairness: Fairness, executors: usize, slots: usize, jobs: u32, head_start: f64) {
    let mut simulation = Simulation::new(fairness, executors, slots);
    simulation.submit("group-00", jobs, MINUTE);
    simulation.run(head_start, |_| {});
    let before = simulation.started.len();
    for group in 1..100 {
        simulation.submit(&format!("group-{group:02}"), 1, MINUTE);
    }
    let all_slots = executors * slots;
    simulation.run(head_start + 30.0 * MINUTE, |_| {});
    let others = simulation
        .started
        .iter()
        .filter(|(_, job)| job.group != "group-00")
        .count();
    assert_eq!(others, 99);
    let last = simulation.started.iter().rposition(|(_, job)| job.group != "group-00");
    let last = last.expect("the others have run");
    let passed_by = simulation.started[before..last]
        .iter()
        .filter(|(_, job)| job.group == "group-00")
        .count();
    // Those that ran when the others came; the first group's next turn is after all of theirs.
    let behind = passed_by + if head_start > 0.0 { all_slots } else { 0 };
    assert!(
        behind <= all_slots,
        "the last one waited behind {behind} jobs of the first group"
    );
    // 99 jobs of a minute and the first group's on all slots: nobody waits longer than the work itself takes.
    let rounds = 100_usize.div_ceil(all_slots) as f64;
    let waited = simulation.started[last].0 - head_start;
    assert!(waited <= (rounds + 1.0) * MINUTE, "the last one waited {waited} s");
}

#[test]
fn nobody_waits_behind_more_than_one_job_of_a_flooding_group_per_slot() {
    for jobs in [20, 10_000] {
        for head_start in [0.0, 1.5 * MINUTE] {
            for (executors, slots) in [(1, 4), (4, 1), (2, 2)] {
                for fairness in [Fairness::Jobs, Fairness::Items, Fairness::Time] {
                    one_floods_and_99_want_one_each(fairness, executors, slots, jobs, head_start);
                }
            }
        }
    }
}

/// Why the place in the ring is shared (DESIGN 3.1): 100 executors of one slot, one group alone, then 9 newcomers.
fn the_last_of_nine_newcomers_waits(fairness: Fairness) -> f64 {
    let mut simulation = Simulation::new(fairness, 100, 1);
    let mut stagger = fastrand::Rng::with_seed(3);
    // First jobs of random length, so that later on slots become free all the time, not all at once.
    for _ in 0..100 {
        simulation.put("alone", stagger.f64() * MINUTE, 1);
    }
    simulation.submit("alone", 2_000, MINUTE);
    simulation.run(5.0 * MINUTE, |_| {});
    let before = simulation.started.len();
    for newcomer in 0..9 {
        simulation.submit(&format!("newcomer-{newcomer}"), 1_000, MINUTE);
    }
    let came = simulation.now;
    simulation.run(came + 10.0 * MINUTE, |_| {});
    let mut first: HashMap<&str, f64> = HashMap::new();
    for (at, job) in &simulation.started[before..] {
        first.entry(&job.group).or_insert(at - came);
    }
    assert_eq!(first.len(), 10);
    first.values().copied().fold(0.0, f64::max)
}

#[test]
fn newcomers_do_not_wait_for_the_places_of_many_executors_to_come_round() {
    // Slots become free every 0.6 s; ten groups are in the ring.
    let waited = the_last_of_nine_newcomers_waits(Fairness::Jobs);
    assert!(waited <= 15.0, "{waited} s by jobs");
    let waited = the_last_of_nine_newcomers_waits(Fairness::Time);
    assert!(waited <= 15.0, "{waited} s by time");
}
