//! What must hold whatever the workload is.

use super::*;

#[test]
fn the_same_seed_gives_the_same_run_to_the_microsecond() {
    for name in ["bursty", "caps", "storm"] {
        for rule in [Rule::Jobs, Rule::Time] {
            let workload = workload(name);
            let first = simulation::run(&workload, rule, 7);
            assert_eq!(first, simulation::run(&workload, rule, 7), "{name} by {}", rule.name());
        }
    }
    let other = workloads::bursty(SEED + 1);
    assert_ne!(other.jobs, workload("bursty").jobs);
}

#[test]
fn every_job_runs_as_often_as_it_should_and_no_slot_has_two() {
    for name in ["flood", "caps", "storm", "joining", "bursty"] {
        for rule in Rule::ALL {
            let workload = workload(name);
            let trace = simulation::run(&workload, rule, SEED);
            let what = format!("{name} by {}", rule.name());
            let mut attempts = vec![0; workload.jobs.len()];
            for run in &trace.runs {
                attempts[run.job] += 1;
                let (start, ready) = (run.start.unwrap_or(trace.end), run.ready);
                assert!(start >= ready, "{what}: it began before it could");
                if let (Some(start), Some(end)) = (run.start, run.end) {
                    assert_eq!(end - start, workload.jobs[run.job].lasts, "{what}");
                }
            }
            for (job, attempts) in workload.jobs.iter().zip(attempts) {
                let full = job.failures + 1;
                let cut = workload.until.is_some() && attempts <= full;
                assert!(attempts == full || cut, "{what}: {attempts} attempts of {job:?}");
            }
            most_at_once(&workload, &trace, &what);
        }
    }
}

/// There are never more jobs than slots, but for those that executors that leave bring to an end.
fn most_at_once(workload: &Workload, trace: &Trace, what: &str) {
    let mut steps: Vec<(u64, i32)> = Vec::new();
    for run in &trace.runs {
        steps.extend(run.start.map(|at| (at, 1)));
        steps.extend(run.end.map(|at| (at, -1)));
    }
    steps.sort_unstable();
    let mut now = 0;
    for (_, step) in steps {
        now += step;
        assert!(now <= workload.most_slots() as i32, "{what}: {now} run at once");
    }
}

#[test]
fn caps_hold_at_every_moment() {
    for rule in TURNS {
        let (workload, trace, _) = simulate("caps", rule);
        for (what, most, wanted) in [("capped", 2, "capped"), ("scans", 2, "scans")] {
            let mut steps: Vec<(u64, i32)> = Vec::new();
            for run in trace.runs.iter().filter(|r| workload.groups[r.group].class == wanted) {
                steps.extend(run.start.map(|at| (at, 1)));
                steps.extend(run.end.map(|at| (at, -1)));
            }
            steps.sort_unstable();
            let mut now = 0;
            for (_, step) in steps {
                now += step;
                assert!(now <= most, "{now} of {what} run at once by {}", rule.name());
            }
        }
    }
}

#[test]
fn no_slot_idles_while_a_job_could_run() {
    for (name, _) in workloads::ALL {
        for rule in Rule::ALL {
            let (_, _, metrics) = simulate(name, rule);
            // What one executor holds ahead for a moment is not there for another.
            assert!(
                metrics.used > 0.998,
                "{} of the slots were used in {name} by {}",
                metrics.used,
                rule.name()
            );
        }
    }
}

#[test]
fn by_time_and_items_no_two_groups_get_further_apart_than_slots_times_the_dearest_job() {
    for name in [
        "flood",
        "long-short",
        "surprise",
        "sybil",
        "bursty",
        "heavy-tailed",
        "weights",
        "storm",
        "joining",
    ] {
        for (rule, unit) in [(Rule::Time, 0), (Rule::Items, 1)] {
            let (workload, _, metrics) = simulate(name, rule);
            let dearest = workload.jobs.iter().map(|job| match rule {
                Rule::Time => as_seconds(job.lasts),
                _ => f64::from(job.items),
            });
            let bound = f64::from(workload.most_slots()) * dearest.fold(0.0, f64::max);
            let lag = metrics.lag[unit];
            assert!(lag <= bound, "{name} by {}: {lag} apart, {bound} allowed", rule.name());
        }
    }
}
