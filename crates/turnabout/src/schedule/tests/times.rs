//! At which times a schedule is due.

use super::*;

fn times(definition: &Definition) -> Times {
    Times::new(definition, &ScheduleKey::new("nightly"), at(NOON)).expect("it is understood")
}

fn cron(expression: &str, zone: &str) -> Definition {
    let mut definition = Definition::new("work", expression);
    zone.clone_into(&mut definition.zone);
    definition
}

fn next(definition: &Definition, from: &str, count: usize) -> Vec<String> {
    let times = times(definition).next(at(from), count);
    times.iter().map(ToString::to_string).collect()
}

#[test]
fn a_fixed_time_in_the_gap_runs_once_after_it_and_in_the_fold_once() {
    let berlin = cron("30 2 * * *", "Europe/Berlin");
    let spring = ["2030-03-30T01:30:00Z", "2030-03-31T01:00:00Z", "2030-04-01T00:30:00Z"];
    assert_eq!(next(&berlin, "2030-03-30T00:00:00Z", 3), spring);
    let autumn = ["2030-10-26T00:30:00Z", "2030-10-27T00:30:00Z", "2030-10-28T01:30:00Z"];
    assert_eq!(next(&berlin, "2030-10-26T00:00:00Z", 3), autumn);
    let new_york = cron("30 2 * * *", "America/New_York");
    let spring = ["2030-03-09T07:30:00Z", "2030-03-10T07:00:00Z", "2030-03-11T06:30:00Z"];
    assert_eq!(next(&new_york, "2030-03-09T00:00:00Z", 3), spring);
    let new_york = cron("30 1 * * *", "America/New_York");
    let autumn = ["2030-11-02T05:30:00Z", "2030-11-03T05:30:00Z", "2030-11-04T06:30:00Z"];
    assert_eq!(next(&new_york, "2030-11-02T00:00:00Z", 3), autumn);
}

#[test]
fn intervals_go_by_elapsed_time_whatever_the_clocks_on_the_wall_do() {
    let mut definition = cron("every 1 hour", "Europe/Berlin");
    definition.start = Some(at("2030-03-30T23:00:00Z"));
    let hours = ["2030-03-31T00:00:00Z", "2030-03-31T01:00:00Z", "2030-03-31T02:00:00Z"];
    assert_eq!(next(&definition, "2030-03-30T23:00:00Z", 3), hours);
}

#[test]
fn the_29th_of_february_comes_every_four_years() {
    let leap = ["2032-02-29T00:00:00Z", "2036-02-29T00:00:00Z"];
    assert_eq!(next(&cron("0 0 29 2 *", "UTC"), "2030-01-01T00:00:00Z", 2), leap);
    assert_eq!(next(&cron("0 0 30 2 *", "UTC"), "2030-01-01T00:00:00Z", 2), [""; 0]);
}

#[test]
fn the_zone_in_the_expression_goes_before_the_other() {
    let definition = cron("*-*-* 12:00:00 America/New_York", "Europe/Berlin");
    assert_eq!(next(&definition, "2030-01-01T00:00:00Z", 1), ["2030-01-01T17:00:00Z"]);
}

#[test]
fn nothing_is_due_before_the_start_or_after_the_end() {
    let mut definition = cron("0 12 * * *", "UTC");
    definition.start = Some(at("2030-02-01T12:00:00Z"));
    definition.end = Some(at("2030-02-02T12:00:00Z"));
    let days = ["2030-02-01T12:00:00Z", "2030-02-02T12:00:00Z"];
    assert_eq!(next(&definition, NOON, 9), days);
}

#[test]
fn excluded_days_and_times_are_left_out() {
    let mut definition = cron("0 12 * * *", "Europe/Berlin");
    definition.exclude = ["2030-01-02..2030-01-04", "2030-01-06"].map(ToOwned::to_owned).to_vec();
    let days = ["2030-01-05T11:00:00Z", "2030-01-07T11:00:00Z"];
    assert_eq!(next(&definition, NOON, 2), days);
    definition.exclude = vec!["Sat,Sun *-*-* *:*:*".to_owned()];
    let days = ["2030-01-03T11:00:00Z", "2030-01-04T11:00:00Z", "2030-01-07T11:00:00Z"];
    assert_eq!(next(&definition, "2030-01-02T11:00:00Z", 3), days);
    // Where everything is, the search ends.
    definition.exclude = vec!["*-*-* *:*:*".to_owned()];
    assert_eq!(next(&definition, NOON, 1), [""; 0]);
    // A day is left out at once, however many times it has.
    definition.expression = "every 1 second".to_owned();
    definition.exclude = vec!["2030-01-01..2030-12-31".to_owned()];
    assert_eq!(next(&definition, NOON, 1), ["2030-12-31T23:00:00Z"]);
}

#[test]
fn jitter_is_always_the_same_for_a_schedule_and_spreads_others() {
    let mut definition = cron("0 2 * * *", "UTC");
    definition.jitter = Duration::from_mins(10);
    let offset = |group: &str| {
        let key = ScheduleKey::new("nightly").group(group);
        Times::new(&definition, &key, at(NOON))
            .expect("it is understood")
            .offset()
    };
    assert_eq!(offset("acme"), offset("acme"));
    let offsets: Vec<Duration> = (0..1000).map(|n| offset(&format!("tenant{n}"))).collect();
    assert!(offsets.iter().all(|offset| *offset < definition.jitter));
    for minute in 0..10 {
        let range = Duration::from_mins(minute)..Duration::from_mins(minute + 1);
        let share = offsets.iter().filter(|offset| range.contains(*offset)).count();
        assert!((60..140).contains(&share), "minute {minute}: {share}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_what_would_be_right() {
    let good = cron("0 2 * * *", "UTC");
    let wrong = |change: &dyn Fn(&mut Definition)| {
        let mut definition = good.clone();
        change(&mut definition);
        let checked = definition.check(&ScheduleKey::new("nightly"), 1000, at(NOON));
        checked.expect_err("it is refused").to_string()
    };
    assert!(wrong(&|d| d.expression = "61 2 * * *".to_owned()).contains("61"));
    assert!(wrong(&|d| d.zone = "Europe/Berlim".to_owned()).contains("Europe/Berlin"));
    assert!(wrong(&|d| d.args = "{".to_owned()).contains("JSON"));
    assert!(wrong(&|d| d.args = format!("\"{}\"", "x".repeat(1000))).contains("limit of 1000"));
    assert!(wrong(&|d| d.task = String::new()).contains("empty"));
    assert!(wrong(&|d| d.jitter = Duration::from_hours(25)).contains("24 hours"));
    assert!(wrong(&|d| d.exclude = vec!["yesterday".to_owned()]).contains("2026-12-24"));
    assert!(wrong(&|d| d.exclude = vec!["2030-01-02..2030-01-01".to_owned()]).contains("earlier day first"));
    assert!(wrong(&|d| d.missed = Missed::Each(1001)).contains("1000"));
    let ends = |d: &mut Definition| (d.start, d.end) = (Some(at(NOON)), Some(before(at(NOON), MINUTE)));
    assert!(wrong(&ends).contains("before the start"));
    let error = ScheduleKey::new("x").owner("ada").check().expect_err("no group");
    assert!(error.to_string().contains("belongs to a group"));
    assert!("each 0".parse::<Missed>().is_err());
    assert_eq!("each 7".parse::<Missed>().expect("it is understood"), Missed::Each(7));
}

/// One time has come after those that are counted one by one, and two are kept.
#[test]
fn times_on_both_sides_of_the_count_are_kept() {
    let times = times(&every("45 seconds"));
    let first = times.next_after(at(NOON)).expect("a time");
    let come = times.come(first, after(first, Duration::from_mins(750)), 2);
    let found: Vec<i64> = come
        .times
        .iter()
        .map(|time| time.as_second() - first.as_second())
        .collect();
    assert_eq!(found, [44_955, 45_000]);
}

proptest! {
    /// The last times are found without going through all, and are the same.
    #[test]
    fn times_that_have_come_are_the_same_however_many_there_are(seconds in 1..50i64, passed in 0..100_000u64, keep in 1..20usize) {
        let definition = every(&format!("{seconds} seconds"));
        let times = times(&definition);
        let first = times.next_after(at(NOON)).expect("a time");
        let now = after(first, Duration::from_secs(passed));
        let come = times.come(first, now, keep);
        let all = passed as i64 / seconds + 1;
        let last = first.as_second() + (all - 1) * seconds;
        let kept = all.min(keep as i64);
        let wanted: Vec<i64> = (0..kept).rev().map(|n| last - n * seconds).collect();
        let found: Vec<i64> = come.times.iter().map(|time| time.as_second()).collect();
        prop_assert_eq!(found, wanted);
        prop_assert!(i64::from(come.before) <= all - kept);
        prop_assert!(all > 1000 || i64::from(come.before) == all - kept);
    }
}
