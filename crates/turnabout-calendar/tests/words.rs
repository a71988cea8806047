//! Expressions in words, and what is said about texts that are none.

use turnabout_calendar::{Expression, Language, zone};

fn describe(text: &str) -> String {
    let expression = Expression::parse(text).unwrap_or_else(|error| panic!("{error}"));
    expression.describe(&zone("Europe/Berlin").expect("a zone"))
}

#[test]
fn common_expressions_are_said_as_people_say_them() {
    let common = [
        ("Mon..Fri 15:00", "every weekday at 15:00, Berlin time"),
        ("0 15 * * 1-5", "every weekday at 15:00, Berlin time"),
        ("daily", "every day at 00:00, Berlin time"),
        ("@daily", "every day at 00:00, Berlin time"),
        ("0 2 * * * UTC", "every day at 02:00, UTC"),
        ("weekly", "every Monday at 00:00, Berlin time"),
        ("@weekly", "every Sunday at 00:00, Berlin time"),
        ("monthly", "on the 1st of every month at 00:00, Berlin time"),
        (
            "quarterly",
            "on the 1st of January, April, July and October at 00:00, Berlin time",
        ),
        ("yearly", "every 1 January at 00:00, Berlin time"),
        ("@yearly", "every 1 January at 00:00, Berlin time"),
        ("hourly", "every hour"),
        ("minutely", "every minute"),
        ("30 * * * *", "every hour at minute 30"),
        ("*/15 * * * *", "every 15 minutes"),
        ("*:0/15", "every 15 minutes"),
        ("*/10 * * * * *", "every 10 seconds"),
        ("0 */4 * * *", "every 4 hours, Berlin time"),
        (
            "*/15 9-17 * * MON-FRI",
            "every 15 minutes from 09:00 to 17:59, every weekday, Berlin time",
        ),
        (
            "Sat 8..18:30",
            "every hour from 08:30 to 18:30, every Saturday, Berlin time",
        ),
        ("08,12,18:00", "every day at 08:00, 12:00 and 18:00, Berlin time"),
        (
            "2026-12-24 18:00 America/New_York",
            "on 24 December 2026 at 18:00, New York time",
        ),
        (
            "*-*~1 23:59:59",
            "on the last day of every month at 23:59:59, Berlin time",
        ),
        ("0 0 L * *", "on the last day of every month at 00:00, Berlin time"),
        (
            "Fri *-*-1..7 10:00",
            "on the first Friday of every month at 10:00, Berlin time",
        ),
        (
            "0 10 * * FRI#1",
            "on the first Friday of every month at 10:00, Berlin time",
        ),
        ("Mon *-05~07/1", "on the last Monday of May at 00:00, Berlin time"),
        ("0 0 * 5 1L", "on the last Monday of May at 00:00, Berlin time"),
        (
            "0 0 13 * FRI",
            "on the 13th of every month and also every Friday at 00:00, Berlin time",
        ),
        (
            "Fri *-*-13",
            "on the 13th of every month at 00:00, if that is a Friday, Berlin time",
        ),
        ("every 10 minutes", "every 10 minutes"),
        ("every hour", "every hour"),
        ("every 90 min", "every 1 hour 30 minutes"),
        ("every day", "every 24 hours"),
        ("every 2 weeks", "every 14 days (days of 24 hours)"),
    ];
    for (text, words) in common {
        assert_eq!(describe(text), words, "{text}");
    }
}

#[test]
fn the_guide_says_what_the_program_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/calendar-expressions.md");
    let guide = std::fs::read_to_string(path).expect("the guide can be read");
    let examples = guide
        .split("\n## ")
        .find(|part| part.starts_with("Examples"))
        .expect("there are examples");
    let rows: Vec<_> = examples
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |")?.split_once("` | "))
        .collect();
    assert!(rows.len() > 20, "only {} examples were found", rows.len());
    for (text, words) in rows {
        assert_eq!(describe(text), words, "{text}");
    }
}

#[test]
fn the_rest_is_said_exactly() {
    let rest = [
        ("*:0/25", "at minutes 0, 25 and 50 of every hour"),
        (
            "2:5/25:30",
            "at second 30 of minutes 5, 30 and 55 of hour 2, Berlin time",
        ),
        ("*:*:10..20", "at seconds 10 to 20 of every minute of every hour"),
        ("0/5:30", "at minute 30 of hours 0, 5, 10, 15 and 20, Berlin time"),
        ("2,5:0/30", "every 30 minutes during hours 2 and 5, Berlin time"),
        (
            "*-*~3..7/2 12:00",
            "on the 7th to last, 5th to last and 3rd to last day of every month at 12:00, Berlin time",
        ),
        ("*-*~3/1", "on the last 3 days of every month at 00:00, Berlin time"),
        (
            "0 0 L-3,15W,LW,1 * *",
            "on the 1st, the weekday nearest to the 15th, the 4th to last day and the last weekday of every month at 00:00, Berlin time",
        ),
        (
            "0 0 */10 * MON",
            "on the 1st, 11th, 21st and 31st of every month at 00:00, if that is a Monday, Berlin time",
        ),
        (
            "0 0 */10 * 1#1,3",
            "on the 1st, 11th, 21st and 31st of every month at 00:00, if that is a Wednesday or the first Monday, Berlin time",
        ),
        (
            "0 0 15 6 1L,2",
            "every 15 June and also every Tuesday in June and also on the last Monday of June at 00:00, Berlin time",
        ),
        (
            "2027/2-1-1",
            "every 1 January in every 2nd year from 2027 on at 00:00, Berlin time",
        ),
        (
            "Tue 2027-1-5",
            "on 5 January 2027 at 00:00, if that is a Tuesday, Berlin time",
        ),
        ("12:00 Etc/GMT+5", "every day at 12:00, time zone Etc/GMT+5"),
    ];
    for (text, words) in rest {
        assert_eq!(describe(text), words, "{text}");
    }
}

#[test]
fn the_language_is_found_out() {
    use Language::{Calendar, Cron, Interval};
    let texts = [
        ("0 2 * * *", Cron, "0 2 * * *"),
        ("@Daily", Cron, "0 0 * * *"),
        ("  0   9 ? jan-mar mon-fri ", Cron, "0 9 * 1-3 1-5"),
        ("TZ=europe/berlin */5 * * * *", Cron, "*/5 * * * * Europe/Berlin"),
        ("0 0 1-5,L,15w,1 * fril", Cron, "0 0 1,1-5,15W,L * 5L"),
        ("0 0 0 * * 7", Cron, "0 0 * * 0"),
        ("0 0 0 * * * 2030", Cron, "0 0 0 * * * 2030"),
        ("daily", Calendar, "*-*-* 00:00:00"),
        ("Mon *-*-1 UTC", Calendar, "Mon *-*-01 00:00:00 UTC"),
        ("sunday,MON 8:5", Calendar, "Mon,Sun *-*-* 08:05:00"),
        ("EVERY 90 Minutes", Interval, "every 1 hour 30 minutes"),
        (
            "every 1w, 2d and 3h4m5s",
            Interval,
            "every 9 days 3 hours 4 minutes 5 seconds",
        ),
        (
            "every 2 hours from 2026-01-05T09:00:00+01:00",
            Interval,
            "every 2 hours from 2026-01-05T08:00:00Z",
        ),
    ];
    for (text, language, canonical) in texts {
        let expression = Expression::parse(text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            (expression.language(), expression.to_string().as_str()),
            (language, canonical)
        );
    }
}

#[test]
fn errors_point_at_the_wrong_part_and_say_what_to_do() {
    let wrong = [
        ("0 25 * * *", "25", "25 is no hour: hours go from 0 to 23"),
        ("0 0 * * MON-FRY", "FRY", "a weekday is expected here"),
        ("0 0 * * L", "L", "Write `5L` or `FRIL`"),
        ("0 0 * * 5#6", "6", "one to five times a month"),
        ("0 0 L-40 * *", "40", "this far from its last"),
        ("*/90 * * * *", "90", "write `every 90 minutes`"),
        ("*/0 * * * *", "0", "at least 1"),
        ("0 22-2 * * *", "22-2", "write 22-23,0-2 instead"),
        ("0 9 * *", "0 9 * *", "here are 4"),
        ("1 2 3 4 5 6 7 8", "1 2 3 4 5 6 7 8", "here are 8"),
        (
            "@fortnightly",
            "@fortnightly",
            "@hourly, @daily, @weekly, @monthly and @yearly",
        ),
        ("@reboot", "@reboot", "is no time"),
        ("@every 5m", "@every", "`every 10 minutes`"),
        ("@daily 5:00", "5:00", "stands alone"),
        ("PATH=/bin 0 0 * * *", "PATH=/bin", "CRON_TZ=Europe/Berlin"),
        (
            "0 0 * * * Europe/Berlni",
            "Europe/Berlni",
            "did you mean Europe/Berlin?",
        ),
        ("Mon..Fri 25:00", "25", "hours go from 0 to 23"),
        ("Mon..Fri *-13-1 10:00", "13", "months go from 1 to 12"),
        ("*-*~29", "29", "from 1 to 28"),
        ("*:*/5", "/5", "write 0/.."),
        ("10:00:00.5", ".5", "seconds are whole here"),
        ("Mon Tue", "Tue", "`Mon,Tue 10:00`"),
        ("Mon hourly", "hourly", "stands alone"),
        ("10:00 Mon..Fri", "Mon..Fri", "weekdays come first"),
        ("Mondays 10:00", "Mondays", "Mon, Tue, Wed"),
        ("10:00 2026-1-1", "2026-1-1", "weekdays, date, time, time zone"),
        ("25/10:00", "25", "hours go from 0 to 23"),
        ("*-*-25/7", "25/7", "never repeats"),
        ("*-*-9..3", "9..3", "write 9..31,1..3 instead"),
        ("noon", "noon", "a weekday is expected"),
        ("12", "12", "neither a time"),
        ("every 10 minuets", "minuets", "no unit of time"),
        ("every 2 months", "months", "`monthly`"),
        ("every", "", "how often?"),
        ("every 0 s", " 0 s", "at least one second"),
        ("every 11111 days", " 11111 days", "at most ten years"),
        ("every 99999999999 s", "99999999999", "too large"),
        ("every 5 minutes from tomorrow", "tomorrow", "2026-01-05T09:00:00Z"),
        ("every 5 minutes 7", "", "a unit is expected"),
        ("", "", "nothing is here"),
        ("30 2 * * ü", "ü", "a weekday is expected"),
    ];
    for (text, part, advice) in wrong {
        let error = Expression::parse(text).expect_err("no expression");
        assert_eq!(&text[error.span()], part, "{error}");
        assert!(error.message().contains(advice), "{error}");
    }
}

#[test]
fn zones_are_suggested() {
    let suggestion = |name: &str| {
        zone(name)
            .expect_err("no zone")
            .suggestions()
            .first()
            .cloned()
            .unwrap_or_default()
    };
    assert_eq!(suggestion("Berlin"), "Europe/Berlin");
    assert_eq!(suggestion("Europe/Berln"), "Europe/Berlin");
    assert_eq!(suggestion("new_york"), "America/New_York");
    assert_eq!(suggestion("America/NewYork"), "America/New_York");
    assert!(
        zone("Qqqqq/Xxxxx")
            .expect_err("no zone")
            .to_string()
            .contains("such as Europe/Berlin or UTC")
    );
    for odd in [
        "",
        "../../etc/passwd",
        "Europe/Berlin\n",
        "é",
        &"A".repeat(100),
        "/etc/localtime",
        "local",
    ] {
        assert!(zone(odd).is_err(), "{odd:?}");
    }
    assert_eq!(zone("utc").expect("a zone").iana_name(), Some("UTC"));
    assert_eq!(
        zone("europe/berlin").expect("a zone").iana_name(),
        Some("Europe/Berlin")
    );
}
