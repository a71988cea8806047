//! Fairness by items and by time: accounts stay level, over all executors together.

use super::*;

fn time(executors: usize, slots: usize) -> Simulation {
    Simulation::new(Fairness::Time, executors, slots)
}

/// Asserts that `a` had `times` as much as `b`, within five hundredths.
fn assert_ratio(simulation: &Simulation, a: &str, b: &str, times: f64) {
    let (a, b) = (simulation.had(a), simulation.had(b));
    let ratio = a / b / times;
    assert!((0.95..=1.05).contains(&ratio), "{a} to {b} where {times} to 1 is fair");
}

#[test]
fn groups_with_long_and_short_jobs_get_the_same_slot_time() {
    for (executors, slots) in [(1, 1), (1, 4), (2, 4), (4, 1)] {
        let mut simulation = time(executors, slots);
        simulation.flood("long", |_| (60.0, 1));
        simulation.flood("short", |_| (1.0, 1));
        let hours = 2.0 * 3600.0;
        simulation.run(hours, |_| {});
        assert_ratio(&simulation, "long", "short", 1.0);
        let all = simulation.had("long") + simulation.had("short");
        let slots = (executors * slots) as f64;
        assert!((all / (hours * slots) - 1.0).abs() < 1e-6, "slots have idled");
    }
}

#[test]
fn a_group_of_weight_three_gets_three_times_the_slot_time() {
    for (executors, slots) in [(1, 4), (3, 2)] {
        let mut simulation = time(executors, slots);
        simulation.world.weigh("long", 3);
        simulation.flood("long", |_| (60.0, 1));
        simulation.flood("short", |_| (1.0, 1));
        simulation.run(6.0 * 3600.0, |_| {});
        assert_ratio(&simulation, "long", "short", 3.0);
    }
}

#[test]
fn a_group_of_weight_three_gets_three_times_the_items() {
    for executors in [1, 3] {
        let mut simulation = Simulation::new(Fairness::Items, executors, 3);
        simulation.world.weigh("a", 3);
        simulation.flood("a", |random| (1.0, random.u32(1..20)));
        simulation.flood("b", |random| (1.0, random.u32(40..60)));
        simulation.run(2.0 * 3600.0, |_| {});
        assert_ratio(&simulation, "a", "b", 3.0);
    }
}

/// Runs with these floods (and weights) and asserts at every event that no two groups' cost over weight are further
/// apart than the slots times the dearest job.
fn stays_level(mut simulation: Simulation, floods: usize, dearest: f64, hours: f64) {
    let slots: usize = simulation.executors.iter().map(|e| e.slots).sum();
    let bound = slots as f64 * dearest;
    let names: Vec<String> = (0..floods).map(|i| format!("g{i}")).collect();
    let mut worst = 0.0_f64;
    simulation.run(hours * 3600.0, |now| {
        let had = names
            .iter()
            .map(|g| now.had(g) / f64::from(now.world.settings.group(g).weight()));
        let (low, high) = had.fold((f64::MAX, f64::MIN), |(low, high), had| (low.min(had), high.max(had)));
        worst = worst.max(high - low);
        assert!(
            high - low <= bound,
            "{} apart after {} s, {bound} allowed",
            high - low,
            now.now
        );
    });
}

#[test]
fn the_cost_of_two_backlogged_groups_differs_by_at_most_slots_times_the_dearest_job() {
    for seed in 0..20 {
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let fairness = if random.bool() { Fairness::Time } else { Fairness::Items };
        let mut simulation = Simulation::new(fairness, random.usize(1..5), random.usize(1..5));
        let groups = random.usize(2..12);
        let mut dearest = 0.0_f64;
        for group in 0..groups {
            let name = format!("g{group}");
            let weight = random.u32(1..4);
            simulation.world.weigh(&name, weight);
            let (from, to) = (random.f64() * 10.0, 10.0 + random.f64() * 60.0);
            let items = random.u32(2..50);
            simulation.flood(&name, move |r| (from + r.f64() * (to - from), r.u32(1..items)));
            dearest = dearest.max(if fairness == Fairness::Time {
                to
            } else {
                f64::from(items)
            });
        }
        stays_level(simulation, groups, dearest, 1.0);
    }
}

#[test]
fn jobs_of_very_different_lengths_in_one_group_do_no_harm() {
    for (executors, slots) in [(1, 4), (3, 2)] {
        let mut simulation = time(executors, slots);
        // Pareto, cut at ten minutes: most take about a second, some take minutes.
        simulation.flood("g0", |r| ((1.0 - r.f64()).powf(-0.9).min(600.0), 1));
        simulation.flood("g1", |_| (2.0, 1));
        simulation.flood("g2", |r| (if r.u32(..100) == 0 { 300.0 } else { 0.2 }, 1));
        stays_level(simulation, 3, 600.0, 3.0);
    }
}

#[test]
fn a_group_that_idles_gains_no_credit() {
    for (fairness, executors) in [
        (Fairness::Time, 1),
        (Fairness::Time, 3),
        (Fairness::Items, 1),
        (Fairness::Items, 2),
    ] {
        let mut simulation = Simulation::new(fairness, executors, 2);
        simulation.flood("busy", |_| (5.0, 5));
        // Holds a slot for a long time; by items that costs next to nothing.
        simulation.put("lazy", 2_000.0, 1);
        simulation.run(1_500.0, |_| {});
        let before = (simulation.had("busy"), simulation.had("lazy"));
        simulation.flood("lazy", |_| (5.0, 5));
        let slots = (2 * executors) as f64;
        for _ in 0..8 {
            simulation.run(simulation.now + 60.0, |_| {});
            let busy = simulation.had("busy") - before.0;
            let lazy = simulation.had("lazy") - before.1;
            assert!(
                (busy - lazy).abs() <= slots * 5.0 * 2.0,
                "{lazy} against {busy} since it is back"
            );
        }
    }
}

#[test]
fn a_group_does_not_shed_what_it_owes_by_being_away_for_a_moment() {
    let mut simulation = time(1, 1);
    simulation.flood("steady", |_| (1.0, 1));
    while simulation.now < 4.0 * 3600.0 {
        // Some seconds after its job has ended it wants the next one.
        if simulation.held("bursts") == 0 && !simulation.world.is_ready("bursts") {
            simulation.run(simulation.now + 5.0, |_| {});
            simulation.submit("bursts", 1, 60.0);
        }
        simulation.run(simulation.now + 1.0, |_| {});
    }
    let share = simulation.had("bursts") / simulation.now;
    assert!((0.4..0.55).contains(&share), "{share} of the slots");
}

#[test]
fn with_more_groups_than_a_peek_sees_nobody_starves() {
    for executors in [1, 3] {
        let mut simulation = time(executors, 4);
        let groups = 400_u32;
        for group in 0..groups {
            let seconds = if group % 3 == 0 { 5.0 } else { 1.0 };
            simulation.flood(&format!("g{group:03}"), move |_| (seconds, 1));
        }
        // A fair share is 20 s for each.
        let fair = 20.0;
        simulation.run(fair * f64::from(groups) / (executors * 4) as f64, |_| {});
        for group in 0..groups {
            let had = simulation.had(&format!("g{group:03}"));
            assert!(
                (fair / 2.0..=fair * 2.0).contains(&had),
                "g{group:03} had {had} s where {fair} s is fair"
            );
        }
    }
}

#[test]
fn with_more_groups_than_a_peek_sees_costs_are_level_all_the_same() {
    // Twice as many as a peek sees: each could see the same half every other time. Or five times as many.
    for (groups, executors, fair) in [(300_u32, 3, 25.0), (512, 3, 25.0), (1300, 1, 20.0)] {
        let mut simulation = time(executors, 4);
        for group in 0..groups {
            let seconds = if group < groups / 2 { 10.0 } else { 1.0 };
            simulation.flood(&format!("g{group:04}"), move |_| (seconds, 1));
        }
        simulation.run(fair * f64::from(groups) / (executors * 4) as f64, |_| {});
        let half = |from: u32| -> f64 {
            let names = (from..from + groups / 2).map(|group| format!("g{group:04}"));
            names.map(|group| simulation.had(&group)).sum()
        };
        let (long, short) = (half(0), half(groups / 2));
        // Long jobs can be ahead by one each.
        let ahead = 10.0 * f64::from(groups / 2);
        assert!(
            short * 0.9 <= long && long <= short * 1.1 + ahead,
            "{long} s to {short} s of {groups} groups, {executors} executors"
        );
    }
}

#[test]
fn with_more_groups_than_a_peek_sees_a_newcomer_waits_for_one_rotation() {
    let mut simulation = time(1, 4);
    let groups = 700;
    for group in 0..groups {
        let seconds = if group % 2 == 0 { 3.0 } else { 1.0 };
        simulation.flood(&format!("g{group:03}"), move |_| (seconds, 1));
    }
    simulation.run(2_000.0, |_| {});
    let before = simulation.started.len();
    for newcomer in ["g000-new", "g300-new", "g600-new"] {
        simulation.submit(newcomer, 1, 1.0);
    }
    simulation.run(3_500.0, |_| {});
    for newcomer in ["g000-new", "g300-new", "g600-new"] {
        let at = simulation.started.iter().position(|(_, job)| job.group == newcomer);
        let waited = at.expect("it has run") - before;
        assert!(waited <= 2 * groups, "{newcomer} waited for {waited} jobs of others");
    }
}

#[test]
fn a_newcomer_does_not_wait_until_guesses_about_others_have_been_corrected() {
    for (executors, slots) in [(1, 4), (2, 2)] {
        let mut simulation = time(executors, slots);
        simulation.flood("old", |_| (0.01, 1));
        // The first jobs are in hand, charged with a second each, since nothing is known of them.
        simulation.run(0.005, |_| {});
        simulation.flood("new", |_| (0.01, 1));
        simulation.run(0.505, |_| {});
        let (old, new) = (simulation.had("old"), simulation.had("new"));
        assert!((old - new).abs() <= 4.0 * 0.01 * 2.0, "{old} s and {new} s");
    }
}

#[test]
fn an_executor_that_starts_later_lets_newcomers_begin_at_the_level() {
    let mut simulation = time(1, 2);
    simulation.flood("old", |_| (5.0, 1));
    simulation.run(7_200.0, |_| {});
    // The first one is gone, and with it all that it remembered.
    simulation.executors[0].turns = Turns::new(Fairness::Time, Scheme::default(), 1);
    simulation.executors[0].running.clear();
    share(&mut simulation.shared, &mut simulation.executors[0].turns.accounts);
    simulation.flood("new", |_| (5.0, 1));
    let before = simulation.had("old");
    simulation.run(simulation.now + 600.0, |_| {});
    let (old, new) = (simulation.had("old") - before, simulation.had("new"));
    assert!((old - new).abs() <= 20.0, "{old} s and {new} s since");
}
