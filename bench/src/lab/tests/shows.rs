//! What the workloads show, losses included.

use super::*;

#[test]
fn in_a_flood_nobody_waits_longer_than_one_rotation() {
    // 100 groups with a job of 1 s each, 4 slots: 25 s. First in, first out: until 10,000 jobs are done.
    for rule in TURNS {
        let (_, _, metrics) = simulate("flood", rule);
        assert!(metrics.quiet.max <= 25.0, "{} s by {}", metrics.quiet.max, rule.name());
    }
    let (_, _, fifo) = simulate("flood", Rule::Fifo);
    assert!(fifo.quiet.p50 >= 2_000.0, "{} s", fifo.quiet.p50);
    let ends = Rule::ALL.map(|rule| simulate("flood", rule).2.makespan);
    assert_eq!(ends, [ends[0]; 4], "turns cost no throughput");
}

#[test]
fn jobs_are_the_wrong_unit_where_lengths_differ_and_time_is_the_right_one() {
    let half_of = |rule| {
        let shares = simulate("long-short", rule).2.shares;
        shares[0].had / (shares[0].had + shares[1].had)
    };
    assert!(
        half_of(Rule::Jobs) > 0.95,
        "by jobs the long ones have nearly all slots"
    );
    for rule in [Rule::Items, Rule::Time] {
        let half = half_of(rule);
        assert!((0.48..0.52).contains(&half), "{half} by {}", rule.name());
    }
}

#[test]
fn time_learns_what_nobody_said() {
    let index = |rule| simulate("surprise", rule).2.jain;
    assert!(index(Rule::Time) > 0.99);
    assert!(index(Rule::Jobs) < 0.5 && index(Rule::Items) < 0.5);
}

#[test]
fn a_tenant_that_spreads_over_many_groups_gets_the_share_of_many() {
    for rule in TURNS {
        let (workload, _, metrics) = simulate("sybil", rule);
        let of = |class: &str| -> f64 {
            let groups = workload.groups.iter().zip(&metrics.shares);
            groups.filter(|(g, _)| g.class == class).map(|(_, s)| s.had).sum()
        };
        let share = of("sybil") / (of("sybil") + of("honest"));
        assert!((0.88..0.93).contains(&share), "{share} by {}", rule.name());
    }
}

#[test]
fn quiet_groups_wait_less_with_turns_than_first_in_first_out() {
    for name in ["flood", "bursty", "heavy-tailed", "storm"] {
        let fifo = simulate(name, Rule::Fifo).2.quiet.p95;
        for rule in TURNS {
            let turns = simulate(name, rule).2.quiet.p95;
            assert!(
                turns * 4.0 < fifo,
                "{name}: {turns} s by {}, {fifo} s fifo",
                rule.name()
            );
        }
    }
}

#[test]
fn weights_count_and_by_time_nothing_else_does() {
    let (_, _, metrics) = simulate("weights", Rule::Time);
    let had: Vec<f64> = metrics.shares.iter().map(|s| s.had / metrics.shares[0].had).collect();
    for (had, wanted) in had.iter().zip([1.0, 2.0, 4.0, 1.0]) {
        assert!((had / wanted - 1.0).abs() < 0.03, "{had} where {wanted} is fair");
    }
    // One visit of weight w starts w jobs; between them is what executors have in hand.
    let (_, _, jobs) = simulate("weights", Rule::Jobs);
    assert!(jobs.lag[2] <= 2.0, "{} visits apart", jobs.lag[2]);
}

#[test]
fn groups_under_one_tasks_limit_share_its_places_evenly() {
    for rule in TURNS {
        let (workload, _, metrics) = simulate("caps", rule);
        let scans = workload
            .groups
            .iter()
            .zip(&metrics.waits)
            .filter(|(g, _)| g.class == "scans");
        let medians: Vec<f64> = scans.map(|(_, waits)| waits.p50).collect();
        let (low, high) = medians
            .iter()
            .fold((f64::MAX, 0.0_f64), |(l, h), m| (l.min(*m), h.max(*m)));
        assert!(high < 1.15 * low, "{medians:?} by {}", rule.name());
        // Each executor takes its turns through all of them.
        let bound = 2.0 * workload.crew.len() as f64;
        assert!(
            metrics.lag[2] <= bound,
            "{} jobs apart by {}",
            metrics.lag[2],
            rule.name()
        );
    }
}

#[test]
fn executors_that_come_and_go_do_not_upset_the_level() {
    let (_, _, metrics) = simulate("joining", Rule::Time);
    let had = metrics.shares.iter().map(|s| s.had);
    let (low, high) = had.fold((f64::MAX, 0.0_f64), |(l, h), s| (l.min(s), h.max(s)));
    assert!(high < 1.05 * low, "from {low} s to {high} s");
}
