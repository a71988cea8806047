//! What happens where clocks are put forward and back, on leap days, and at the end of all times.

use jiff::Timestamp;
use turnabout_calendar::{Expression, zone};

/// The next times after `from`, as clocks in the zone show them, with their offsets.
fn next(text: &str, zone_name: &str, from: &str, count: usize) -> Vec<String> {
    let zone = zone(zone_name).expect("a zone");
    let expression = Expression::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let from: Timestamp = from.parse().expect("a time");
    let anchor: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
    let first = expression.next_after(from, &zone, anchor);
    let times = std::iter::successors(first, |last| expression.next_after(*last, &zone, anchor));
    let show = |time: Timestamp| time.to_zoned(zone.clone()).strftime("%m-%d %H:%M %:z").to_string();
    times.take(count).map(show).collect()
}

#[test]
fn a_fixed_time_in_the_gap_happens_once_right_after_it() {
    for text in ["30 2 * * *", "02:30", "0 30 2 * * *", "30 2 * * * Europe/Berlin"] {
        let times = next(text, "Europe/Berlin", "2026-03-28T00:00:00Z", 3);
        assert_eq!(
            times,
            ["03-28 02:30 +01:00", "03-29 03:00 +02:00", "03-30 02:30 +02:00"],
            "{text}"
        );
    }
    let times = next("30 2 * * *", "America/New_York", "2026-03-07T05:00:00Z", 3);
    assert_eq!(
        times,
        ["03-07 02:30 -05:00", "03-08 03:00 -04:00", "03-09 02:30 -04:00"]
    );
}

#[test]
fn several_fixed_times_in_the_gap_happen_together() {
    let times = next("0,20,40 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", 4);
    assert_eq!(
        times,
        [
            "03-29 03:00 +02:00",
            "03-29 03:20 +02:00",
            "03-29 03:40 +02:00",
            "03-30 02:00 +02:00"
        ]
    );
}

#[test]
fn a_fixed_time_in_the_fold_happens_once() {
    for text in ["30 2 * * *", "02:30"] {
        let times = next(text, "Europe/Berlin", "2026-10-24T12:00:00Z", 2);
        assert_eq!(times, ["10-25 02:30 +02:00", "10-26 02:30 +01:00"], "{text}");
        // Also for those who ask between the two.
        assert_eq!(
            next(text, "Europe/Berlin", "2026-10-25T01:10:00Z", 1),
            ["10-26 02:30 +01:00"],
            "{text}"
        );
    }
    let times = next("30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z", 2);
    assert_eq!(times, ["11-01 01:30 -04:00", "11-02 01:30 -05:00"]);
}

#[test]
fn wildcards_go_by_elapsed_time() {
    for text in ["*/30 * * * *", "*:0/30"] {
        let times = next(text, "Europe/Berlin", "2026-03-29T00:20:00Z", 3);
        assert_eq!(
            times,
            ["03-29 01:30 +01:00", "03-29 03:00 +02:00", "03-29 03:30 +02:00"],
            "{text}"
        );
        let times = next(text, "Europe/Berlin", "2026-10-25T00:20:00Z", 5);
        let expected = [
            "02:30 +02:00",
            "02:00 +01:00",
            "02:30 +01:00",
            "03:00 +01:00",
            "03:30 +01:00",
        ];
        assert_eq!(times, expected.map(|time| format!("10-25 {time}")), "{text}");
    }
    for text in ["0 * * * *", "hourly"] {
        let times = next(text, "America/New_York", "2026-11-01T04:30:00Z", 3);
        assert_eq!(
            times,
            ["11-01 01:00 -04:00", "11-01 01:00 -05:00", "11-01 02:00 -05:00"],
            "{text}"
        );
    }
}

#[test]
fn a_wildcard_within_an_hour_that_does_not_come_does_not_happen() {
    let times = next("*/30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 1);
    assert_eq!(times, ["03-30 02:00 +02:00"]);
}

#[test]
fn intervals_go_by_elapsed_time() {
    let times = next("every 40 minutes", "Europe/Berlin", "2026-10-25T00:00:00Z", 4);
    let expected = ["02:40 +02:00", "02:20 +01:00", "03:00 +01:00", "03:40 +01:00"];
    assert_eq!(times, expected.map(|time| format!("10-25 {time}")));
    let times = next("every day", "Europe/Berlin", "2026-03-28T12:00:00Z", 2);
    assert_eq!(times, ["03-29 01:00 +01:00", "03-30 02:00 +02:00"]);
    let times = next(
        "every 12 hours from 2026-06-01T06:00:00Z",
        "UTC",
        "2026-05-01T00:00:00Z",
        2,
    );
    assert_eq!(times, ["06-01 06:00 +00:00", "06-01 18:00 +00:00"]);
}

#[test]
fn a_day_that_is_left_out_still_has_its_fixed_times() {
    // Samoa went from the 29th of December 2011 to the 31st.
    let times = next("0 12 * * *", "Pacific/Apia", "2011-12-29T00:00:00Z", 3);
    assert_eq!(
        times,
        ["12-29 12:00 -10:00", "12-31 00:00 +14:00", "12-31 12:00 +14:00"]
    );
}

#[test]
fn the_zone_in_the_text_wins() {
    for text in [
        "0 9 * * * Asia/Tokyo",
        "CRON_TZ=Asia/Tokyo 0 9 * * *",
        "09:00 Asia/Tokyo",
        "@daily UTC",
        "daily UTC",
    ] {
        assert_eq!(
            next(text, "Europe/Berlin", "2026-06-01T12:00:00Z", 1),
            ["06-02 02:00 +02:00"],
            "{text}"
        );
    }
}

#[test]
fn the_29th_of_february_is_waited_for() {
    for text in ["0 0 29 2 *", "*-2-29"] {
        let expression = Expression::parse(text).expect("an expression");
        let utc = zone("UTC").expect("a zone");
        let after = |from: &str| {
            let from = from.parse().expect("a time");
            expression
                .next_after(from, &utc, from)
                .expect("a next time")
                .to_string()
        };
        assert_eq!(after("2026-01-01T00:00:00Z"), "2028-02-29T00:00:00Z");
        assert_eq!(after("2028-02-29T00:00:00Z"), "2032-02-29T00:00:00Z");
        // 2100 is no leap year.
        assert_eq!(after("2096-02-29T00:00:00Z"), "2104-02-29T00:00:00Z");
    }
    // On a Monday, that takes forty years across 2100.
    let monday = Expression::parse("Mon *-2-29").expect("an expression");
    let from: Timestamp = "2072-03-01T00:00:00Z".parse().expect("a time");
    let next = monday
        .next_after(from, &zone("UTC").expect("a zone"), from)
        .expect("a next time");
    assert_eq!(next.to_string(), "2112-02-29T00:00:00Z");
}

#[test]
fn what_never_comes_has_no_next_time() {
    let never = [
        "0 0 30 2 *",
        "*-2-30",
        "*-4-31",
        "2025-1-1",
        "Tue 2026-1-5",
        "0 0 0 1 1 * 2020",
        "@0",
        "0 0 31W 2 *",
        "0 0 31 4 ?",
    ];
    for text in never {
        assert!(
            next(text, "Europe/Berlin", "2026-06-01T00:00:00Z", 1).is_empty(),
            "{text}"
        );
    }
    // The last hour before clocks go forward, every minute: that hour is always the one that is left out.
    assert!(next("* 2 * 3 0L", "Europe/Berlin", "2026-01-01T00:00:00Z", 1).is_empty());
    // Its fixed sister comes every year.
    assert_eq!(
        next("0 2 * 3 0L", "Europe/Berlin", "2026-01-01T00:00:00Z", 2),
        ["03-29 03:00 +02:00", "03-28 03:00 +02:00"]
    );
}

#[test]
fn searches_end_at_both_ends_of_time() {
    for text in ["* * * * *", "minutely", "30 2 * * *", "every 10 minutes", "*:*:*"] {
        let expression = Expression::parse(text).expect("an expression");
        for zone_name in ["UTC", "Europe/Berlin", "Pacific/Apia"] {
            let zone = zone(zone_name).expect("a zone");
            for time in [Timestamp::MIN, Timestamp::MAX, Timestamp::UNIX_EPOCH] {
                for anchor in [Timestamp::MIN, Timestamp::MAX, Timestamp::UNIX_EPOCH] {
                    let next = expression.next_after(time, &zone, anchor);
                    assert!(next.is_none_or(|next| next > time), "{text} after {time}");
                }
            }
        }
    }
    let last = next("* * * * *", "UTC", "2199-12-31T23:58:00Z", 3);
    assert_eq!(last, ["12-31 23:59 +00:00"], "nothing comes after 2199");
}

#[test]
fn fractions_of_a_second_lie_between_two_times() {
    let expression = Expression::parse("* * * * * *").expect("an expression");
    let utc = zone("UTC").expect("a zone");
    for (from, next) in [
        ("2026-01-01T00:00:00.5Z", "2026-01-01T00:00:01Z"),
        ("1969-12-31T23:59:59.5Z", "1970-01-01T00:00:00Z"),
        ("2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"),
    ] {
        let from: Timestamp = from.parse().expect("a time");
        assert_eq!(
            expression.next_after(from, &utc, from),
            Some(next.parse().expect("a time"))
        );
    }
}
