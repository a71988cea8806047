//! How much a search costs at most, counted in the months that it looks at.

use jiff::Timestamp;
use proptest::prelude::*;

use super::{MAX_STEPS, next};
use crate::calendar::Event;
use crate::cron::Cron;
use crate::zone::zone;

/// What a search needs at most: somewhat more than the 2,760 months that there are, since it may look at a month again
/// after a change of the clocks.
const ENOUGH: u32 = 10_000;

const ZONES: [&str; 5] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Africa/Casablanca",
    "Pacific/Apia",
];

/// The most months that a search for this looks at, wherever and whenever it begins.
fn steps(text: &str) -> u32 {
    let searches = [
        "1900-01-01T00:00:00Z",
        "1970-01-01T00:00:00Z",
        "2026-03-28T12:00:00Z",
        "2026-10-25T01:10:00Z",
    ];
    let mut most = 0;
    for zone_name in ZONES {
        let zone = zone(zone_name).expect("a zone");
        for after in searches {
            let after: Timestamp = after.parse().expect("a time");
            let steps = if let Ok((cron, _)) = Cron::parse(text) {
                let pattern = cron.pattern();
                next(&pattern, cron.is_wildcard(), after, &zone);
                pattern.steps.get()
            } else {
                let (event, _) = Event::parse(text).expect("an expression");
                let pattern = event.pattern();
                next(&pattern, event.is_wildcard(), after, &zone);
                pattern.steps.get()
            };
            most = most.max(steps);
        }
    }
    most
}

#[test]
fn hostile_expressions_are_searched_for_in_bounded_time() {
    const { assert!(ENOUGH < MAX_STEPS) };
    let hostile = [
        // Never.
        "* * 30 2 *",
        "* * 31 2,4,6,9,11 *",
        "*-2-30 *:*:*",
        "* * 31W 2 *",
        "* * * * * * 1970",
        // Only where clocks go forward: every year in vain.
        "* 2 * 3 0L",
        "*/7 2 * 3 0#2",
        "Sun *-3~7/1 2:0/10",
        "Sun *-3-8..14 2:*:*",
        "0 * 0-23 30 12 5 2011",
        "Fri 2011-12-30 *:*:*",
        // Seldom, and in the second hour of a fold.
        "* 2 29 2 0",
        "Mon *-2-29 02:00",
        "0-59 0-59 1-2 * 10,11 0",
        "* * 29 2 1#5",
        "2199-12-31 23:59:59",
    ];
    for text in hostile {
        let steps = steps(text);
        assert!(steps <= ENOUGH, "{text}: {steps} months");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_expression_is_searched_for_in_bounded_time(
        minutes in r"\*|[0-5]|\*/7|0-59",
        hours in r"\*|[0-3]|1-2|\*/5",
        days in r"\*|2[89]|3[01]|L|L-30|31W|30-31",
        months in r"\*|2|3|10,11|2,4",
        weekdays in r"\*|0|[0-6]#5|[0-6]L|1-5",
        years in r"\*|2199|1970|2100|1970/50",
    ) {
        let text = format!("0 {minutes} {hours} {days} {months} {weekdays} {years}");
        let steps = steps(&text);
        prop_assert!(steps <= ENOUGH, "{}: {} months", text, steps);
    }
}
