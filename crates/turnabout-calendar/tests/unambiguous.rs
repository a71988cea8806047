//! Two expressions that are described by the same words come at the same times: no description leaves out what matters.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use turnabout_calendar::Expression;

/// All texts with one of each of these, in this order.
fn all(parts: &[&[&str]]) -> Vec<String> {
    parts.iter().fold(vec![String::new()], |texts, part| {
        let longer = texts
            .iter()
            .flat_map(|text| part.iter().map(move |next| format!("{text}{next}")));
        longer.collect()
    })
}

/// The next times from several days on, among them the end of a year and a leap day.
fn times(expression: &Expression) -> Vec<Timestamp> {
    let days = [
        "2026-03-01T00:00:00Z",
        "2026-12-24T12:34:56Z",
        "2028-02-27T00:00:00Z",
        "2030-05-31T00:00:00Z",
    ];
    let after = |day: &str| {
        let day = day.parse().expect("a time");
        expression
            .times_after(day, &TimeZone::UTC, day)
            .take(10)
            .collect::<Vec<_>>()
    };
    days.into_iter().flat_map(after).collect()
}

fn check(texts: &[String]) {
    let mut known: BTreeMap<String, (&str, Vec<Timestamp>)> = BTreeMap::new();
    for text in texts {
        let expression = Expression::parse(text).unwrap_or_else(|error| panic!("{error}"));
        let words = expression.describe(&TimeZone::UTC);
        let times = times(&expression);
        let (other, expected) = known.entry(words.clone()).or_insert((text, times.clone()));
        assert_eq!(times, *expected, "\"{words}\" is said of both `{other}` and `{text}`");
    }
    assert!(
        known.len() * 5 > texts.len(),
        "only {} descriptions of {} texts",
        known.len(),
        texts.len()
    );
}

#[test]
fn descriptions_of_times_leave_nothing_out() {
    let seconds: &[&str] = &["0 ", "30 ", "* ", "*/20 ", "*/25 ", "10-59 "];
    let minutes: &[&str] = &[
        "0 ",
        "30 ",
        "* ",
        "*/15 ",
        "5/15 ",
        "*/25 ",
        "0-59 ",
        "0,30 ",
        "10,20,30,40 ",
    ];
    let hours: &[&str] = &[
        "* ", "0 ", "2 ", "2-4 ", "*/2 ", "1/2 ", "*/5 ", "0-23 ", "2,5 ", "0-22 ", "23 ",
    ];
    check(&all(&[seconds, minutes, hours, &["* * *", "* * 1"]]));
}

#[test]
fn descriptions_of_days_in_cron_leave_nothing_out() {
    let days: &[&str] = &[
        "* ", "1 ", "1-7 ", "*/2 ", "1-31/2 ", "L ", "L-3 ", "LW ", "15W ", "31 ", "1,L ", "1-31 ", "29 ",
    ];
    let months: &[&str] = &["* ", "1 ", "2,3 ", "1-12 ", "*/6 "];
    let weekdays: &[&str] = &[
        "*", "1", "1-5", "0-6", "1,3", "FRI#1", "5L", "FRI#5", "*/2", "1,5L", "6-7", "FRI-MON",
    ];
    let years: &[&str] = &["", " 2027-2031", " 2026/2", " 2028", " 2027"];
    let with_year = all(&[&["0 0 12 "], days, months, weekdays, &years[1..]]);
    let without = all(&[&["0 12 "], days, months, weekdays, &years[..1]]);
    check(&[with_year, without].concat());
}

#[test]
fn descriptions_of_days_in_calendar_events_leave_nothing_out() {
    let weekdays: &[&str] = &[
        "",
        "Mon ",
        "Mon..Fri ",
        "Sat,Sun ",
        "Mon,Wed ",
        "Sat..Mon ",
        "Tue..Sun ",
    ];
    let years: &[&str] = &["*-", "2028-", "2027/2-", "2026..2030-"];
    let months: &[&str] = &["*", "1", "2,3", "1/6", "2..12"];
    let days: &[&str] = &[
        "-*", "-1", "-29", "-1..7", "-8..14", "-1/7", "-1,15", "-22..28", "~1", "~7/1", "~1..7", "~7", "~3..7/2",
        "~7/2", "~2..4", "~28",
    ];
    check(&all(&[weekdays, years, months, days, &[" 12:00"]]));
}
