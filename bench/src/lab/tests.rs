//! What each workload shows, losses included. Looking at one also checks what must hold in all of them, and that the
//! documentation shows it as it is.

mod holds;
mod published;

use super::charts::Results;
use super::metrics::{Metrics, Shares, measure};
use super::rule::Rule;
use super::workload::Workload;
use super::{SEED, simulation, workloads};

/// By turns, whatever the unit.
const TURNS: [Rule; 3] = [Rule::Jobs, Rule::Items, Rule::Time];

fn workload(name: &str) -> Workload {
    let found = workloads::ALL.iter().find(|(known, _)| *known == name);
    found.expect("there is such a workload").1(SEED)
}

/// The numbers of a workload, by rule.
struct Seen {
    workload: Workload,
    metrics: Vec<(Rule, Metrics)>,
}

/// Simulates a workload under all rules. Each is simulated once, since that takes a second.
fn look(name: &str) -> Seen {
    let workload = workload(name);
    let (mut traces, mut metrics) = (Vec::new(), Vec::new());
    for rule in Rule::ALL {
        let trace = simulation::run(&workload, rule, SEED);
        let numbers = measure(&workload, &trace);
        holds::check(&workload, rule, &trace, &numbers);
        traces.push((rule, trace));
        metrics.push((rule, numbers));
    }
    let results = Results {
        workload: &workload,
        seed: SEED,
        traces,
    };
    published::check(&results, &metrics);
    Seen { workload, metrics }
}

impl Seen {
    fn by(&self, rule: Rule) -> &Metrics {
        let found = self.metrics.iter().find(|(of, _)| *of == rule);
        &found.expect("all rules were simulated").1
    }

    /// What groups of a class have had of all slot time.
    fn share(&self, rule: Rule, class: &str) -> f64 {
        let shares = &self.by(rule).shares;
        let sum = |of: &dyn Fn(usize) -> bool| -> f64 {
            let shares = shares.iter().enumerate().filter(|(group, _)| of(*group));
            shares.map(|(_, share): (usize, &Shares)| share.had).sum()
        };
        sum(&|group| self.workload.groups[group].class == class) / sum(&|_| true)
    }

    /// Quiet groups wait so many times less by turns than first in, first out.
    fn quiet_groups_wait_less(&self, times: f64) {
        let fifo = self.by(Rule::Fifo).quiet.p95;
        for rule in TURNS {
            let turns = self.by(rule).quiet.p95;
            assert!(turns * times < fifo, "{turns} s by {}, {fifo} s fifo", rule.name());
        }
    }
}

#[test]
fn in_a_flood_nobody_waits_longer_than_one_rotation() {
    let seen = look("flood");
    // 100 groups with a job of 1 s each, 4 slots: 25 s. First in, first out: until 10,000 jobs are done.
    for rule in TURNS {
        let longest = seen.by(rule).quiet.max;
        assert!(longest <= 25.0, "{longest} s by {}", rule.name());
    }
    assert!(seen.by(Rule::Fifo).quiet.p50 >= 2_000.0);
    let ends = Rule::ALL.map(|rule| seen.by(rule).makespan);
    assert!(
        ends.iter().all(|end| (end - ends[0]).abs() < 1.5),
        "turns cost no throughput: {ends:?}"
    );
}

#[test]
fn jobs_are_the_wrong_unit_where_lengths_differ_and_time_is_the_right_one() {
    let seen = look("long-short");
    assert!(
        seen.share(Rule::Jobs, "long") > 0.95,
        "the long ones have nearly all slots"
    );
    for rule in [Rule::Items, Rule::Time] {
        let half = seen.share(rule, "long");
        assert!((0.48..0.52).contains(&half), "{half} by {}", rule.name());
    }
}

#[test]
fn time_learns_what_nobody_said() {
    let seen = look("surprise");
    assert!(seen.by(Rule::Time).jain > 0.99);
    assert!(seen.by(Rule::Jobs).jain < 0.5 && seen.by(Rule::Items).jain < 0.5);
}

#[test]
fn a_tenant_that_spreads_over_many_groups_gets_the_share_of_many() {
    let seen = look("sybil");
    for rule in TURNS {
        let share = seen.share(rule, "sybil");
        assert!((0.88..0.93).contains(&share), "{share} by {}", rule.name());
    }
}

#[test]
fn small_bursts_do_not_wait_for_large_ones() {
    look("bursty").quiet_groups_wait_less(10.0);
}

#[test]
fn light_groups_do_not_wait_for_the_long_jobs_of_others() {
    look("heavy-tailed").quiet_groups_wait_less(4.0);
}

#[test]
fn weights_count_and_by_time_nothing_else_does() {
    let seen = look("weights");
    let shares = &seen.by(Rule::Time).shares;
    for (share, wanted) in shares.iter().zip([1.0, 2.0, 4.0, 1.0]) {
        let had = share.had / shares[0].had;
        assert!((had / wanted - 1.0).abs() < 0.03, "{had} where {wanted} is fair");
    }
    // A visit starts as many jobs as the weight says: per weight, one.
    let lag = seen.by(Rule::Jobs).lag[2];
    assert!(lag <= 2.0, "{lag} visits apart");
}

#[test]
fn groups_under_one_tasks_limit_share_its_places_evenly() {
    let seen = look("caps");
    for rule in TURNS {
        let groups = seen.workload.groups.iter().zip(&seen.by(rule).waits);
        let medians: Vec<f64> = groups.filter(|(g, _)| g.class == "scans").map(|(_, w)| w.p50).collect();
        let (low, high) = medians
            .iter()
            .fold((f64::MAX, 0.0_f64), |(l, h), m| (l.min(*m), h.max(*m)));
        assert!(high < 1.15 * low, "{medians:?} by {}", rule.name());
        // Each executor goes through all of them in turn.
        let lag = seen.by(rule).lag[2];
        let bound = 2.0 * seen.workload.crew.len() as f64;
        assert!(lag <= bound, "{lag} jobs apart by {}", rule.name());
    }
}

#[test]
fn a_storm_of_retries_is_its_own_groups_trouble() {
    look("storm").quiet_groups_wait_less(20.0);
}

#[test]
fn executors_that_come_and_go_do_not_upset_the_level() {
    let seen = look("joining");
    let had = seen.by(Rule::Time).shares.iter().map(|s| s.had);
    let (low, high) = had.fold((f64::MAX, 0.0_f64), |(l, h), s| (l.min(s), h.max(s)));
    assert!(high < 1.05 * low, "from {low} s to {high} s");
}

#[test]
fn the_same_seed_gives_the_same_run_to_the_microsecond() {
    for (name, rule) in [("bursty", Rule::Jobs), ("caps", Rule::Time), ("joining", Rule::Items)] {
        let workload = workload(name);
        let first = simulation::run(&workload, rule, 7);
        assert_eq!(first, simulation::run(&workload, rule, 7), "{name} by {}", rule.name());
    }
    assert_ne!(workloads::bursty(SEED + 1).jobs, workload("bursty").jobs);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_run_leaves_a_trace_of_the_same_kind() {
    use crate::place::{Place, Store};

    let folder = tempfile::tempdir().expect("a folder");
    let place = Place::new(Store::Sqlite, "", folder.path());
    let mut workload = workload("storm").hurried(4_000);
    workload.jobs.retain(|job| job.group > 0);
    workload.jobs.truncate(200);
    for job in workload.jobs.iter_mut().step_by(10) {
        job.failures = 1;
    }
    workload.until = None;
    for rule in [Rule::Fifo, Rule::Time] {
        let trace = super::real::run(&workload, rule, &place).await.expect("it runs");
        assert_eq!(trace.runs.len(), 220, "200 jobs, of which 20 fail once");
        assert!(
            trace
                .runs
                .iter()
                .all(|run| run.start >= Some(run.ready) && run.end > run.start)
        );
        assert_eq!(measure(&workload, &trace).all.count, 220);
    }
}
