//! The numbers, on examples made by hand.

use super::*;
use crate::lab::workload::{Group, SECOND};

/// Two groups, one slot unless said otherwise; each run is group, ready, start, end in seconds.
fn example(
    groups: Vec<Group>,
    slots: u32,
    end: u64,
    runs: &[(usize, u64, Option<u64>, Option<u64>)],
) -> (Workload, Trace) {
    let mut workload = Workload::new("example", 1, slots);
    for group in groups {
        workload.group(group);
    }
    let mut trace = Trace::new(&workload);
    for (group, ready, start, ended) in runs {
        workload.job_of(*group, ready * SECOND, SECOND, 2);
        trace.runs.push(Run {
            job: workload.jobs.len() - 1,
            group: *group,
            ready: ready * SECOND,
            start: start.map(|s| s * SECOND),
            end: ended.map(|e| e * SECOND),
        });
    }
    trace.cut(end * SECOND);
    (workload, trace)
}

fn two() -> Vec<Group> {
    vec![Group::new("a", "a"), Group::new("b", "b")]
}

fn near(value: f64, wanted: f64) {
    assert!((value - wanted).abs() < 1e-9, "{value}, not {wanted}");
}

fn near_all(values: [f64; 3], wanted: [f64; 3]) {
    for (value, wanted) in values.into_iter().zip(wanted) {
        near(value, wanted);
    }
}

#[test]
fn jains_index_is_one_for_equals_and_one_in_n_for_a_monopoly() {
    near(jain([3.0, 3.0, 3.0].into_iter()), 1.0);
    near(jain([5.0, 0.0, 0.0, 0.0].into_iter()), 0.25);
    near(jain([2.0, 1.0].into_iter()), 0.9);
    near(jain(std::iter::empty()), 1.0);
}

#[test]
fn percentiles_are_values_that_occurred() {
    let sorted: Vec<Micros> = (1..=100).collect();
    assert_eq!([0.0, 0.5, 0.95, 1.0].map(|p| percentile(&sorted, p)), [1, 50, 95, 100]);
    assert_eq!(percentile(&[7], 0.5), 7);
    assert_eq!(percentile(&[], 0.5), 0);
}

#[test]
fn what_has_not_begun_has_waited_until_the_end() {
    let (workload, trace) = example(two(), 1, 10, &[(0, 1, Some(3), Some(9)), (1, 4, None, None)]);
    let metrics = measure(&workload, &trace);
    near(metrics.waits[0].max, 2.0);
    near(metrics.waits[1].max, 6.0);
}

#[test]
fn two_groups_that_take_turns_have_had_what_was_due() {
    let runs = [
        (0, 0, Some(0), Some(1)),
        (1, 0, Some(1), Some(2)),
        (0, 0, Some(2), Some(3)),
        (1, 0, Some(3), Some(4)),
        (0, 0, None, None),
        (1, 0, None, None),
    ];
    let (workload, trace) = example(two(), 1, 4, &runs);
    let metrics = measure(&workload, &trace);
    near(metrics.shares[0].had, 2.0);
    near(metrics.shares[0].due, 2.0);
    near(metrics.jain, 1.0);
    near(metrics.used, 1.0);
    // One is ahead by the job that it has just had.
    near_all(metrics.lag, [1.0, 2.0, 1.0]);
}

#[test]
fn a_group_that_gets_nothing_halves_the_index_and_lags_behind_by_all_that_the_other_had() {
    let runs = [
        (0, 0, Some(0), Some(2)),
        (0, 0, Some(2), Some(4)),
        (0, 0, None, None),
        (1, 0, None, None),
    ];
    let (workload, trace) = example(two(), 1, 4, &runs);
    let metrics = measure(&workload, &trace);
    near(metrics.jain, 0.5);
    // What had begun when they became backlogged does not count.
    near_all(metrics.lag, [4.0, 2.0, 1.0]);
}

#[test]
fn weights_say_what_is_due_and_lag_is_per_weight() {
    let groups = vec![Group::new("a", "a").weight(3), Group::new("b", "b")];
    let runs = [
        (0, 0, Some(0), Some(3)),
        (1, 0, Some(3), Some(4)),
        (0, 0, None, None),
        (1, 0, None, None),
    ];
    let (workload, trace) = example(groups, 1, 4, &runs);
    let metrics = measure(&workload, &trace);
    near(metrics.shares[0].due, 3.0);
    near(metrics.shares[1].due, 1.0);
    near(metrics.jain, 1.0);
    near(metrics.lag[0], 1.0);
}

#[test]
fn nobody_is_due_more_than_it_wants_or_than_a_cap_allows() {
    // Four slots: one wants a single job, one may run two, the third gets the rest.
    let groups = vec![Group::new("a", "a"), Group::new("b", "b").cap(2), Group::new("c", "c")];
    let mut runs = vec![(0, 0, Some(0), Some(10))];
    runs.extend([(1, 0, Some(0), Some(10)); 2]);
    runs.extend([(1, 0, None, None); 5]);
    runs.extend([(2, 0, Some(0), Some(10))]);
    runs.extend([(2, 0, None, None); 5]);
    let (workload, trace) = example(groups, 4, 10, &runs);
    let metrics = measure(&workload, &trace);
    let due: Vec<f64> = metrics.shares.iter().map(|s| s.due).collect();
    near(due[0], 10.0);
    near(due[1], 15.0);
    near(due[2], 15.0);
}

#[test]
fn a_tasks_limit_leaves_slots_unused_and_nobody_is_blamed() {
    let groups = ["a", "b"].map(|name| Group::new(name, name).task("scan"));
    let runs = [
        (0, 0, Some(0), Some(4)),
        (1, 0, Some(4), Some(8)),
        (0, 0, None, None),
        (1, 0, None, None),
    ];
    let (mut workload, trace) = example(groups.into(), 4, 8, &runs);
    workload.limits = vec![("scan", 1)];
    let metrics = measure(&workload, &trace);
    near(metrics.used, 1.0);
    near(metrics.jain, 1.0);
    near(metrics.shares[0].due, 4.0);
}

#[test]
fn an_idle_slot_shows() {
    let (workload, trace) = example(two(), 1, 4, &[(0, 0, Some(2), Some(4)), (1, 0, None, None)]);
    near(measure(&workload, &trace).used, 0.5);
}

#[test]
fn lag_counts_from_the_moment_at_which_both_are_backlogged() {
    // The first has had ten seconds before the other comes.
    let runs = [
        (0, 0, Some(0), Some(10)),
        (0, 0, Some(10), Some(11)),
        (0, 0, None, None),
        (1, 10, Some(11), Some(12)),
        (1, 10, None, None),
    ];
    let (workload, trace) = example(two(), 1, 12, &runs);
    near(measure(&workload, &trace).lag[0], 1.0);
}
