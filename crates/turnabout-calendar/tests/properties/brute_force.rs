//! Compares what the crate finds with what is found by looking at every minute, second or day, one after the other.

use std::collections::BTreeSet;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use proptest::prelude::*;
use turnabout_calendar::{Expression, zone};

use crate::spec::{Spec, only, spec};

/// What the clock does here, and when: changes by an hour, by half an hour, a whole day left out, no change.
const PLACES: [(&str, &str); 9] = [
    ("Europe/Berlin", "2026-03-29T01:00:00Z"),
    ("Europe/Berlin", "2026-10-25T01:00:00Z"),
    ("America/New_York", "2026-03-08T07:00:00Z"),
    ("America/New_York", "2026-11-01T06:00:00Z"),
    ("Australia/Lord_Howe", "2026-04-04T15:00:00Z"),
    ("Australia/Lord_Howe", "2026-10-03T15:30:00Z"),
    ("Pacific/Apia", "2011-12-30T10:00:00Z"),
    ("Asia/Kolkata", "2028-02-28T18:30:00Z"),
    ("UTC", "2027-12-31T23:59:59Z"),
];

/// All that the crate finds in (from, to].
fn found(expression: &Expression, zone: &TimeZone, from: Timestamp, to: Timestamp) -> Vec<Timestamp> {
    let mut times = Vec::new();
    let mut at = from;
    while let Some(next) = expression.next_after(at, zone, from).filter(|next| *next <= to) {
        assert!(next > at, "{next} does not come after {at}");
        times.push(next);
        at = next;
    }
    times
}

/// All that there is in (from, to], by looking at every `step` seconds. Fixed times count once, when the clock first shows them or has left them out.
fn looked_for(
    spec: &Spec,
    either: bool,
    zone: &TimeZone,
    (from, to): (Timestamp, Timestamp),
    step: i64,
) -> Vec<Timestamp> {
    let mut times = BTreeSet::new();
    let mut seen: BTreeSet<DateTime> = BTreeSet::new();
    // No clock is put back by more than that.
    let mut at = from - 3.hours();
    let mut before = zone.to_datetime(at);
    while at <= to {
        let shown = zone.to_datetime(at);
        if spec.is_open() {
            if spec.matches(shown, either) {
                times.insert(at);
            }
        } else {
            // What the clock shows now, and all that it left out on the way, unless it was there before.
            let mut wall = (before + step.seconds()).min(shown);
            while wall <= shown {
                if seen.insert(wall) && spec.matches(wall, either) {
                    times.insert(at);
                }
                wall += step.seconds();
            }
        }
        before = shown;
        at += step.seconds();
    }
    times.into_iter().filter(|time| *time > from).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_minute_around_a_change_of_the_clocks(
        spec in spec(),
        place in prop::sample::select(&PLACES[..]),
        minutes_before in 0..1500_i64,
        all_days in any::<bool>(),
    ) {
        let mut spec = Spec { seconds: only(0), ..spec };
        if all_days {
            spec = spec.on_all_days();
        }
        let zone = zone(place.0).expect("a zone");
        let from = place.1.parse::<Timestamp>().expect("a time") - minutes_before.minutes();
        // Whole minutes, so that looking at every minute finds everything.
        let from = Timestamp::from_second(from.as_second().div_euclid(60) * 60).expect("a time");
        let to = from + 40.hours();
        let cron = Expression::cron(&spec.cron()).expect("an expression");
        prop_assert_eq!(found(&cron, &zone, from, to), looked_for(&spec, true, &zone, (from, to), 60), "{}", spec.cron());
        let event = Expression::calendar(&spec.calendar()).expect("an expression");
        prop_assert_eq!(found(&event, &zone, from, to), looked_for(&spec, false, &zone, (from, to), 60), "{}", spec.calendar());
    }

    #[test]
    fn every_day_of_eight_years(spec in spec(), hour in 0..24_u32) {
        let spec = Spec { seconds: only(0), minutes: only(0), hours: only(hour), ..spec };
        let from: Timestamp = "2025-01-01T00:00:00Z".parse().expect("a time");
        let to: Timestamp = "2033-01-01T00:00:00Z".parse().expect("a time");
        for (text, either) in [(spec.cron(), true), (spec.calendar(), false)] {
            let expression = Expression::parse(&text).expect("an expression");
            let mut days = Vec::new();
            let mut day = from + i64::from(hour).hours();
            while day <= to {
                if spec.matches(TimeZone::UTC.to_datetime(day), either) && day > from {
                    days.push(day);
                }
                day += 24.hours();
            }
            prop_assert_eq!(found(&expression, &TimeZone::UTC, from, to), days, "{}", text);
        }
    }
}

proptest! {
    // Each looks at some 15,000 seconds.
    #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_second_of_an_hour(spec in spec(), place in prop::sample::select(&PLACES[..]), before in 0..3600_i64) {
        let spec = spec.on_all_days();
        let zone = zone(place.0).expect("a zone");
        let from = place.1.parse::<Timestamp>().expect("a time") - before.seconds();
        let to = from + 1.hour();
        let cron = Expression::cron(&spec.cron()).expect("an expression");
        prop_assert_eq!(found(&cron, &zone, from, to), looked_for(&spec, true, &zone, (from, to), 1), "{}", spec.cron());
    }
}
