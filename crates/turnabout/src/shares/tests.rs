//! What the accounts say in cases that anyone can work out.

use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use super::*;
use crate::group::GroupSettings;
use crate::job::Lane;
use crate::store::ExecutorInfo;

const NOW: Timestamp = Timestamp::constant(1_893_456_000, 0);

fn executor(slots: u32) -> Member {
    Member {
        info: ExecutorInfo {
            incarnation: Uuid::nil(),
            name: "one".to_owned(),
            slots,
            queues: vec!["default".to_owned()],
            tasks: vec!["work".to_owned()],
            version: String::new(),
            beat: 0,
        },
        seen: NOW,
        held: 0,
        draining: false,
    }
}

fn held(group: &str, jobs: u64) -> Held {
    Held {
        group: group.to_owned(),
        task: "work".to_owned(),
        queue: "default".to_owned(),
        jobs,
        started: jobs,
        since: None,
    }
}

fn head(group: &str, seq: i64) -> Head {
    Head {
        queue: "default".to_owned(),
        group: group.to_owned(),
        lane: Lane::Normal,
        task: "work".to_owned(),
        seq,
        submitted: NOW,
    }
}

/// Someone who looks once a second.
struct Eye {
    shares: Shares,
    at: u64,
    settings: Settings,
    executors: Vec<Member>,
}

impl Eye {
    fn new(slots: u32) -> Self {
        Self {
            shares: Shares::default(),
            at: 0,
            settings: Settings::default(),
            executors: vec![executor(slots)],
        }
    }

    fn look(&mut self, held: &[Held], heads: &[Head], ended: u64) {
        self.at += 1;
        self.shares.observe(&Look {
            at: Duration::from_secs(self.at),
            executors: &self.executors,
            held,
            heads,
            ended: &[],
            ended_jobs: ended,
            settings: &self.settings,
            now: NOW,
        });
    }

    fn group(&self, minutes: u32, name: &str) -> GroupShare {
        let report = self.shares.report(minutes);
        let found = report.groups.into_iter().find(|share| share.group == name);
        found.unwrap_or_else(|| panic!("{name} is there"))
    }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-6
}

#[test]
fn two_groups_that_take_turns_have_what_they_are_entitled_to() {
    let mut eye = Eye::new(4);
    for n in 0..60 {
        eye.look(&[held("a", 2), held("b", 2)], &[head("a", n), head("b", n)], 4);
    }
    let report = eye.shares.report(1);
    assert_eq!((report.slots, report.minutes), (4, 1));
    assert!(near(report.jain, 1.0) && near(report.busy, 4.0), "{report:?}");
    for name in ["a", "b"] {
        let share = eye.group(1, name);
        assert!(near(share.used, 0.5) && near(share.entitled, 0.5), "{share:?}");
        assert!(!share.noisy && !share.harmed, "{share:?}");
    }
    // Two groups wait, and four jobs start each second.
    let rotation = report.rotation.expect("jobs start").as_secs_f64();
    assert!((0.4..0.6).contains(&rotation), "{rotation}");
}

#[test]
fn a_heavy_group_is_entitled_to_more_and_is_not_noisy_for_it() {
    let mut eye = Eye::new(4);
    let heavy = GroupSettings {
        weight: Some(3),
        ..GroupSettings::default()
    };
    eye.settings.groups.insert("a".to_owned(), heavy);
    for n in 0..30 {
        eye.look(&[held("a", 3), held("b", 1)], &[head("a", n), head("b", n)], 4);
    }
    let (a, b) = (eye.group(1, "a"), eye.group(1, "b"));
    assert!(near(a.entitled, 0.75) && near(a.used, 0.75) && !a.noisy, "{a:?}");
    assert!(near(b.entitled, 0.25) && near(b.used, 0.25), "{b:?}");
    assert!(near(eye.shares.report(1).jain, 1.0));
}

#[test]
fn more_than_its_share_is_noisy_only_while_others_wait() {
    let mut eye = Eye::new(4);
    for n in 0..50 {
        eye.look(&[held("a", 4)], &[head("a", n)], 4);
    }
    assert!(!eye.group(1, "a").noisy, "nobody else wants anything");
    // One that has all it asks for is not harmed either.
    for n in 50..100 {
        eye.look(&[held("a", 3), held("b", 1)], &[head("a", n)], 4);
    }
    assert!(!eye.group(1, "a").noisy);
    for n in 100..160 {
        eye.look(&[held("a", 4)], &[head("a", n), head("b", 7)], 4);
    }
    let (a, b) = (eye.group(1, "a"), eye.group(1, "b"));
    assert!(a.noisy && !a.harmed && a.used > 0.9, "{a:?}");
    assert!(b.harmed && !b.noisy, "{b:?}");
    assert_eq!(b.waiting, Some(Duration::from_secs(59)));
    assert!(eye.shares.report(1).jain < 0.6);
}

#[test]
fn a_long_backlog_of_ones_own_harms_nobody() {
    let mut eye = Eye::new(1);
    for n in 0..60 {
        // Each has its turn every other second, however many jobs wait behind.
        let (a, b) = (n / 2, (n + 1) / 2);
        let now = if n % 2 == 0 { "a" } else { "b" };
        eye.look(&[held(now, 1)], &[head("a", a), head("b", b)], 1);
    }
    let report = eye.shares.report(1);
    assert!(
        report.groups.iter().all(|share| !share.harmed && !share.noisy),
        "{report:?}"
    );
    assert!(report.jain > 0.99, "{report:?}");
}

#[test]
fn who_cannot_be_served_neither_waits_nor_is_entitled() {
    let mut eye = Eye::new(2);
    let set = |paused, max_running| GroupSettings {
        max_running,
        paused,
        ..GroupSettings::default()
    };
    eye.settings.groups.insert("paused".to_owned(), set(true, None));
    eye.settings.groups.insert("capped".to_owned(), set(false, Some(1)));
    let mut unknown = head("unknown", 1);
    unknown.task = "ocr".to_owned();
    for n in 0..60 {
        let heads = [head("capped", 5), head("paused", 5), unknown.clone(), head("a", n)];
        eye.look(&[held("a", 1), held("capped", 1)], &heads, 1);
    }
    let report = eye.shares.report(1);
    let mut names: Vec<&str> = report.groups.iter().map(|share| share.group.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "capped"]);
    assert!(report.groups.iter().all(|share| !share.harmed), "{report:?}");
    assert!(near(report.waiting_weight, 1.0));
}

#[test]
fn the_oldest_minutes_are_forgotten_by_each_window_in_its_time() {
    let mut eye = Eye::new(1);
    for n in 0..120 {
        eye.look(&[held("a", 1)], &[head("a", n)], 1);
    }
    for n in 0..70 {
        eye.look(&[held("b", 1)], &[head("b", n)], 1);
    }
    let seen = |minutes| eye.shares.report(minutes).groups.iter().any(|share| share.group == "a");
    assert!(!seen(1) && seen(10) && seen(60));
    let share = eye.group(10, "a");
    assert!((110.0..=120.0).contains(&share.slot_seconds), "{share:?}");
    assert_eq!(eye.shares.report(60).minutes, 60);
}

#[test]
fn nothing_is_made_up_for_a_time_when_nobody_looked() {
    let mut eye = Eye::new(1);
    eye.look(&[held("a", 1)], &[], 0);
    eye.at += 600;
    eye.look(&[held("a", 1)], &[], 0);
    assert!(near(eye.shares.report(60).observed, 0.0));
}

#[test]
fn memory_is_bounded_with_a_hundred_thousand_groups() {
    let mut eye = Eye::new(8);
    for round in 0..10 {
        let names: Vec<String> = (0..10_000).map(|n| format!("g{}", round * 10_000 + n)).collect();
        let heads: Vec<Head> = names.iter().map(|name| head(name, 1)).collect();
        eye.look(&[held(&names[0], 4), held("big", 4)], &heads, 1);
    }
    assert!(eye.shares.groups() <= MAX_GROUPS, "{}", eye.shares.groups());
    let report = eye.shares.report(60);
    assert!(report.groups.len() <= 2 * MAX_GROUPS + 2, "{}", report.groups.len());
    assert!((eye.group(60, "big").used - 0.5).abs() < 0.01);
    assert!(report.rest > 0.1, "what is not told apart is not lost: {}", report.rest);
}
