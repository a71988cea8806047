//! Days that are counted from the end of a month or by weekdays, compared with what jiff's calendar says.

use std::collections::BTreeSet;

use jiff::civil::{Date, Weekday, date};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use turnabout_calendar::Expression;

/// From January 2024 to December 2031 there is every kind of month: 28 to 31 days, beginning on every weekday.
const FIRST: Date = date(2024, 1, 1);
const LAST: Date = date(2031, 12, 31);

/// The days on which this happens.
fn found(text: &str) -> Vec<Date> {
    let expression = Expression::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let from = FIRST
        .at(0, 0, 0, 0)
        .to_zoned(TimeZone::UTC)
        .expect("a time")
        .timestamp()
        - 1.second();
    let first = expression.next_after(from, &TimeZone::UTC, from);
    let next = |last: &Timestamp| expression.next_after(*last, &TimeZone::UTC, from);
    let times = std::iter::successors(first, next).map(|time| TimeZone::UTC.to_datetime(time).date());
    times.take_while(|day| *day <= LAST).collect()
}

/// The days that are chosen in each month, given by its first day.
fn expected(choose: impl Fn(Date) -> Vec<Option<Date>>) -> Vec<Date> {
    let months = std::iter::successors(Some(FIRST), |month| month.checked_add(1.month()).ok());
    let days: BTreeSet<Date> = months
        .take_while(|month| *month <= LAST)
        .flat_map(choose)
        .flatten()
        .collect();
    days.into_iter().collect()
}

/// So many days before the last one, if the month has that many.
fn before_last(month: Date, days: i64) -> Option<Date> {
    Some(month.last_of_month() - days.days()).filter(|day| day.month() == month.month())
}

#[test]
fn days_before_the_last() {
    assert_eq!(found("0 0 L * *"), expected(|month| vec![before_last(month, 0)]));
    assert_eq!(found("0 0 L-3 * *"), expected(|month| vec![before_last(month, 3)]));
    assert_eq!(found("*-*~1"), expected(|month| vec![before_last(month, 0)]));
    assert_eq!(found("*-*~28"), expected(|month| vec![before_last(month, 27)]));
    assert_eq!(
        found("*-*~2..4"),
        expected(|month| (1..4).map(|days| before_last(month, days)).collect())
    );
    let every_other = expected(|month| [6, 4, 2, 0].map(|days| before_last(month, days)).to_vec());
    assert_eq!(found("*-*~7/2"), every_other);
    // Months of 28 days have no day so early.
    assert_eq!(found("0 0 L-29 * *"), expected(|month| vec![before_last(month, 29)]));
}

#[test]
fn the_nth_and_the_last_weekday() {
    for (number, weekday) in [
        (0, Weekday::Sunday),
        (1, Weekday::Monday),
        (3, Weekday::Wednesday),
        (6, Weekday::Saturday),
    ] {
        for nth in 1..=5 {
            let days = expected(|month| vec![month.nth_weekday_of_month(nth, weekday).ok()]);
            assert_eq!(found(&format!("0 0 * * {number}#{nth}")), days);
        }
        let last = expected(|month| vec![month.nth_weekday_of_month(-1, weekday).ok()]);
        assert_eq!(found(&format!("0 0 * * {number}L")), last);
        assert_eq!(found(&format!("0 0 * * L{number}")), last);
    }
    let friday = expected(|month| vec![month.nth_weekday_of_month(-1, Weekday::Friday).ok()]);
    for text in ["0 0 * * FRIL", "0 0 * * fridayL", "Fri *-*~7/1", "Fri *-*~1..7"] {
        assert_eq!(found(text), friday, "{text}");
    }
    let both = expected(|month| {
        let nth = |nth, weekday| month.nth_weekday_of_month(nth, weekday).ok();
        vec![nth(1, Weekday::Monday), nth(-1, Weekday::Friday)]
    });
    assert_eq!(found("0 0 * * MON#1,FRIL"), both);
}

/// The day from Monday to Friday in the same month that is nearest to this one, found by trying.
fn nearest(day: Date) -> Option<Date> {
    let working = |day: &Date| !matches!(day.weekday(), Weekday::Saturday | Weekday::Sunday);
    let tries = [0, -1, 1, -2, 2].map(|days: i64| day + days.days());
    tries
        .into_iter()
        .filter(working)
        .find(|near| near.month() == day.month())
}

#[test]
fn the_nearest_weekday_does_not_leave_the_month() {
    for day in [1, 2, 15, 28, 30, 31] {
        let days = expected(|month| {
            let day = Date::new(month.year(), month.month(), day).ok();
            vec![day.and_then(nearest)]
        });
        assert_eq!(found(&format!("0 0 {day}W * *")), days, "{day}W");
    }
    assert_eq!(
        found("0 0 LW * *"),
        expected(|month| vec![nearest(month.last_of_month())])
    );
    let three = expected(|month| {
        let fifteenth = Date::new(month.year(), month.month(), 15).ok();
        vec![Some(month), fifteenth.and_then(nearest), before_last(month, 0)]
    });
    assert_eq!(found("0 0 1,15W,L * *"), three);
}

#[test]
fn two_restricted_days_of_cron_are_alternatives() {
    let all = || std::iter::successors(Some(FIRST), |day| day.tomorrow().ok()).take_while(|day| *day <= LAST);
    let friday = |day: &Date| day.weekday() == Weekday::Friday;
    let either: Vec<_> = all().filter(|day| friday(day) || day.day() == 13).collect();
    assert_eq!(found("0 0 13 * FRI"), either);
    // In calendar events both must hold; so it is in cron if one of the fields has a star.
    let both: Vec<_> = all().filter(|day| friday(day) && day.day() == 13).collect();
    assert_eq!(found("Fri *-*-13"), both);
    let odd: Vec<_> = all().filter(|day| friday(day) && day.day() % 2 == 1).collect();
    assert_eq!(found("0 0 */2 * FRI"), odd);
    // The second of two ways to write the 8th to 14th that is a Friday.
    assert_eq!(found("Fri *-*-8..14"), found("0 0 * * FRI#2"));
}
