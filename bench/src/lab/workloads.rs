//! The workloads, one function each. What one should see in them is told in docs/fairness.md.

use std::time::Duration;

use super::workload::{Group, Micros, SECOND, Shift, Workload, seconds};

/// A workload's name, and what makes it from a seed.
pub(super) type Recipe = (&'static str, fn(u64) -> Workload);

/// All workloads, in the order of the document.
pub(super) const ALL: [Recipe; 10] = [
    ("flood", flood),
    ("long-short", long_short),
    ("surprise", surprise),
    ("sybil", |_| sybil(90)),
    ("bursty", bursty),
    ("heavy-tailed", heavy_tailed),
    ("weights", weights),
    ("caps", caps),
    ("storm", storm),
    ("joining", joining),
];

const MINUTE: Micros = 60 * SECOND;

/// One group has 10,000 jobs of a second. A second later 99 others have one each.
pub(super) fn flood(_seed: u64) -> Workload {
    let mut workload = Workload::new("flood", 2, 2);
    let flood = workload.group(Group::new("flood", "flood"));
    for _ in 0..10_000 {
        workload.job(flood, 0, SECOND);
    }
    for n in 1..100 {
        let group = workload.group(Group::new(format!("quiet-{n:02}"), "quiet").quiet());
        workload.job(group, SECOND, SECOND);
    }
    workload.hurry = 200;
    workload
}

/// Jobs of 60 s and 60 items against jobs of 1 s and 1 item, more of both than can be done in half an hour.
pub(super) fn long_short(seed: u64) -> Workload {
    let mut workload = Workload::new("long-short", 2, 4);
    let long = workload.group(Group::new("long", "long"));
    let short = workload.group(Group::new("short", "short").quiet());
    // Submitted all at once, in no particular order.
    let mut order: Vec<usize> = [vec![long; 250], vec![short; 10_000]].concat();
    fastrand::Rng::with_seed(seed).shuffle(&mut order);
    for group in order {
        if group == long {
            workload.job_of(long, 0, MINUTE, 60);
        } else {
            workload.job(short, 0, SECOND);
        }
    }
    workload.until = Some(30 * MINUTE);
    workload.hurry = 100;
    workload
}

/// Nine groups with jobs of a second; those of the tenth turn out to take two minutes, and nobody knew.
pub(super) fn surprise(_seed: u64) -> Workload {
    let mut workload = Workload::new("surprise", 2, 4);
    for n in 1..10 {
        let group = workload.group(Group::new(format!("steady-{n}"), "nine steady groups").quiet());
        for _ in 0..800 {
            workload.job(group, 0, SECOND);
        }
    }
    let surprise = workload.group(Group::new("surprise", "the surprising one"));
    for n in 0..400 {
        // It begins like the others. After a while all that it submits takes two minutes.
        workload.job(surprise, 0, if n < 20 { SECOND } else { 2 * MINUTE });
    }
    workload.until = Some(12 * MINUTE);
    workload.hurry = 100;
    workload
}

/// Ten tenants want more than can be done in five minutes. Nine have a group each; the tenth spreads over many.
pub(super) fn sybil(groups: u32) -> Workload {
    let mut workload = Workload::new("sybil", 2, 4);
    for n in 1..10 {
        let group = workload.group(Group::new(format!("honest-{n}"), "honest").quiet());
        for _ in 0..300 {
            workload.job(group, 0, SECOND);
        }
    }
    let groups: Vec<usize> = (1..=groups)
        .map(|n| workload.group(Group::new(format!("sybil-{n:02}"), "sybil")))
        .collect();
    // The same work, however many groups it is spread over.
    for n in 0..2_700 {
        workload.job(groups[n % groups.len()], 0, SECOND);
    }
    workload.until = Some(5 * MINUTE);
    workload.hurry = 50;
    workload
}

/// Twenty groups that are idle most of the time and then want a hundred jobs at once. Four fifths of the slots are
/// needed on average.
pub(super) fn bursty(seed: u64) -> Workload {
    let mut workload = Workload::new("bursty", 2, 4);
    let mut random = fastrand::Rng::with_seed(seed);
    let hour = 60 * MINUTE;
    for n in 1..=20 {
        // A few large bursts in some groups, many small ones in the others.
        let large = n <= 4;
        let class = if large { "large bursts" } else { "small bursts" };
        let group = Group::new(format!("group-{n:02}"), class);
        let group = workload.group(if large { group } else { group.quiet() });
        let (jobs, pause) = if large { (400, 20 * MINUTE) } else { (10, 2 * MINUTE) };
        let mut at = exponential(&mut random, pause);
        while at < hour {
            for _ in 0..jobs {
                workload.job(group, at, 2 * SECOND);
            }
            at += exponential(&mut random, pause);
        }
    }
    workload.hurry = 200;
    workload.sorted()
}

/// Ten groups submit all the time, 85 % of what the slots can do. Most jobs take a second; a few of three groups take
/// minutes.
pub(super) fn heavy_tailed(seed: u64) -> Workload {
    let mut workload = Workload::new("heavy-tailed", 2, 4);
    let mut random = fastrand::Rng::with_seed(seed);
    for n in 1..=10 {
        let heavy = n <= 3;
        let class = if heavy { "heavy tail" } else { "light" };
        let group = Group::new(format!("{}-{n:02}", if heavy { "heavy" } else { "light" }), class);
        let group = workload.group(if heavy { group } else { group.quiet() });
        let mut at = 0;
        while at < 60 * MINUTE {
            let (lasts, pause) = if heavy {
                // Pareto with index 1.1 from half a second on, cut at ten minutes: 3 s on average.
                let pareto = 0.5 * (1.0 - random.f64()).powf(-1.0 / 1.1);
                (seconds(pareto.min(600.0)), seconds(1.6))
            } else {
                (exponential(&mut random, SECOND).max(SECOND / 10), 6 * SECOND)
            };
            at += exponential(&mut random, pause);
            let items = (lasts / SECOND).max(1) as u32;
            workload.job_of(group, at, lasts, items);
        }
    }
    workload.hurry = 200;
    workload.sorted()
}

/// Three groups of weight 1, 2 and 4, and a fourth of weight 1 whose jobs are five times as long.
pub(super) fn weights(_seed: u64) -> Workload {
    let mut workload = Workload::new("weights", 2, 4);
    for (name, class, weight, jobs, lasts) in [
        ("one", "weight 1", 1, 3_000, SECOND),
        ("two", "weight 2", 2, 4_000, SECOND),
        ("four", "weight 4", 4, 5_000, SECOND),
        ("long", "weight 1, long jobs", 1, 1_000, 5 * SECOND),
    ] {
        let group = workload.group(Group::new(name, class).weight(weight));
        for _ in 0..jobs {
            workload.job_of(group, 0, lasts, (lasts / SECOND) as u32);
        }
    }
    workload.until = Some(10 * MINUTE);
    workload.hurry = 50;
    workload
}

/// Two groups with plain jobs, one of which may run only two at a time; and six groups with scans, of which only two
/// may run at a time, whosever they are.
pub(super) fn caps(seed: u64) -> Workload {
    let mut workload = Workload::new("caps", 2, 4);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut add = |group: Group, jobs: u32| {
        let group = workload.group(group);
        for _ in 0..jobs {
            workload.job(group, 0, seconds(1.0 + 2.0 * random.f64()));
        }
    };
    add(Group::new("capped", "capped").cap(2), 400);
    add(Group::new("free", "free"), 800);
    for n in 1..=6 {
        add(Group::new(format!("scans-{n}"), "scans").task("scan"), 70);
    }
    workload.limits = vec![("scan", 2)];
    workload.hurry = 50;
    workload
}

/// A service that one group depends on is down: each of its 1,500 jobs fails three times, and all come back together.
/// Nine other groups go on as always.
pub(super) fn storm(seed: u64) -> Workload {
    let mut workload = Workload::new("storm", 2, 4);
    let mut random = fastrand::Rng::with_seed(seed);
    let storm = workload.group(Group::new("storm", "storm"));
    for _ in 0..1_500 {
        workload.job(storm, MINUTE, SECOND / 2);
    }
    for job in &mut workload.jobs {
        job.failures = 3;
    }
    for n in 1..10 {
        let group = workload.group(Group::new(format!("calm-{n}"), "calm").quiet());
        let mut at = exponential(&mut random, 4 * SECOND);
        while at < 16 * MINUTE {
            workload.job(group, at, SECOND);
            at += exponential(&mut random, 4 * SECOND);
        }
    }
    workload.retry_delay = Duration::from_mins(1);
    workload.until = Some(16 * MINUTE);
    workload.hurry = 100;
    workload.sorted()
}

/// Twelve groups have more to do than can be done; executors come and go.
pub(super) fn joining(seed: u64) -> Workload {
    let mut workload = Workload::new("joining", 0, 0);
    let mut random = fastrand::Rng::with_seed(seed);
    for n in 1..=12 {
        let long = n % 3 == 0;
        let class = if long { "5 s jobs" } else { "1 s jobs" };
        let group = workload.group(Group::new(format!("group-{n:02}"), class));
        for _ in 0..if long { 450 } else { 1_000 } {
            let lasts = if long { 5.0 } else { 1.0 } * (0.5 + random.f64());
            workload.job_of(group, 0, seconds(lasts), if long { 5 } else { 1 });
        }
    }
    let shift = |from: Micros, until: Option<Micros>, slots| Shift {
        from: from * MINUTE,
        until: until.map(|until| until * MINUTE),
        slots,
    };
    workload.crew = vec![
        shift(0, None, 4),
        shift(2, Some(8), 4),
        shift(2, Some(6), 8),
        shift(3, None, 2),
        shift(4, Some(6), 16),
        shift(9, None, 6),
    ];
    workload.until = Some(12 * MINUTE);
    workload.hurry = 50;
    workload
}

/// A pause of this length on average, as if each moment were as likely as any other.
fn exponential(random: &mut fastrand::Rng, mean: Micros) -> Micros {
    let pause = -(1.0 - random.f64()).ln();
    seconds(pause * mean as f64 / SECOND as f64)
}
