//! Whatever text comes: it is understood or refused, never more; and what was understood can be printed and read again.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use proptest::prelude::*;
use turnabout_calendar::{Expression, MAX_LENGTH, ParseError, zone};

use crate::spec::spec;

type Reader = fn(&str) -> Result<Expression, ParseError>;

/// All four ways to read a text.
const READERS: [Reader; 4] = [
    Expression::parse,
    Expression::cron,
    Expression::calendar,
    Expression::interval,
];

/// What expressions are made of.
const WORDS: &[&str] = &[
    "*",
    "*",
    "0",
    "1",
    "5",
    "7",
    "12",
    "28",
    "29",
    "31",
    "59",
    "60",
    "2026",
    "99999999999",
    "/",
    "/2",
    "-",
    "..",
    ",",
    "~",
    ":",
    "@",
    "@daily",
    "@1893456000",
    "#",
    "L",
    "W",
    "L-",
    "LW",
    "?",
    " ",
    " ",
    " ",
    "Mon",
    "FRI",
    "Sunday",
    "JAN",
    "every",
    "from",
    "and",
    "minutes",
    "h",
    "2026-01-05T09:00:00Z",
    "UTC",
    "Europe/Berlin",
    "CRON_TZ=",
    "daily",
    ".5",
    ".0",
    "é",
    "\u{0}",
];

/// Words and signs in any order.
fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(WORDS), 0..14).prop_map(|words| words.concat())
}

/// Checks all that must hold for any text.
fn check(text: &str) -> Result<(), TestCaseError> {
    let berlin = zone("Europe/Berlin").expect("a zone");
    for read in READERS {
        match read(text) {
            Ok(expression) => {
                let printed = expression.to_string();
                prop_assert_eq!(
                    Expression::parse(&printed),
                    Ok(expression.clone()),
                    "{:?} printed as {:?}",
                    text,
                    printed
                );
                prop_assert!(!expression.describe(&berlin).is_empty());
                let mut at: Timestamp = "2026-03-28T12:00:00Z".parse().expect("a time");
                for _ in 0..4 {
                    let Some(next) = expression.next_after(at, &berlin, at) else {
                        break;
                    };
                    prop_assert!(next > at);
                    at = next;
                }
            }
            Err(error) => {
                prop_assert!(!error.message().is_empty());
                prop_assert!(
                    text.len() > MAX_LENGTH || text.get(error.span()).is_some(),
                    "{:?} in {:?}",
                    error.span(),
                    text
                );
                let lines = error.to_string().lines().count();
                prop_assert!(lines == 1 || lines == 3, "{}", error);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_understood_or_refused(text in any::<String>()) {
        check(&text)?;
    }

    #[test]
    fn any_mixture_of_signs_is_understood_or_refused(text in soup()) {
        check(&text)?;
    }

    #[test]
    fn any_text_like_an_expression_is_understood_or_refused(text in "[0-9*/,.:~#LWa-f -]{0,40}") {
        check(&text)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_printed_is_read_again(spec in spec()) {
        for text in [spec.cron(), spec.calendar()].into_iter().filter(|text| text.len() <= MAX_LENGTH) {
            let expression = Expression::parse(&text).expect("an expression");
            prop_assert_eq!(Expression::parse(&expression.to_string()).expect("an expression"), expression, "{}", text);
        }
    }

    #[test]
    fn special_days_are_printed_and_read_again(
        days in "(L|L-[0-9]|LW|[1-9]W|2[0-9]W|[1-9]|1-5|\\*/3)(,(L|L-2[0-9]|LW|1[0-9]W|3|7-9|[12]/5)){0,3}",
        weekdays in "([0-7]#[1-5]|[0-7]L|L[0-6]|FRI#2|monL|[0-7]|MON-FRI|SAT-TUE|6-7|\\*/2)(,(SUN#[1-5]|3L|7|5-1|0-7|2/2)){0,3}",
        years in prop::sample::select(&["", " *", " 2030", " 2026-2030/2", " 2026/3"][..]),
    ) {
        let text = format!("0 0 12 {days} * {weekdays}{years}");
        let expression = Expression::parse(&text).expect("an expression");
        prop_assert_eq!(Expression::parse(&expression.to_string()), Ok(expression), "{}", text);
        check(&text)?;
    }

    #[test]
    fn one_wrong_character_is_pointed_at(spec in spec(), place in any::<prop::sample::Index>()) {
        let mut text = spec.cron();
        let at = place.index(text.len() + 1);
        text.insert(at, '!');
        let error = Expression::cron(&text).expect_err("no expression");
        // In the same field, at what was put in or at what it spoiled: 5-10 becomes 5-1, which goes downwards.
        let (start, end) = (error.span().start, error.span().end);
        prop_assert!(start <= at && (end > at || !text[end..at].contains(' ')), "{}", error);
    }

    #[test]
    fn intervals_are_counted_from_their_anchor(seconds in 1..10_000_000_i64, since in 0..2_000_000_000_i64, passed in -5_000..500_000_000_i64) {
        let expression = Expression::parse(&format!("every {seconds} s")).expect("an expression");
        let (anchor, after) = (Timestamp::from_second(since).expect("a time"), Timestamp::from_second(since + passed).expect("a time"));
        let next = expression.next_after(after, &TimeZone::UTC, anchor).expect("a time").as_second();
        prop_assert!(next > since + passed && next >= since);
        prop_assert_eq!((next - since) % seconds, 0);
        prop_assert!(next == since || next - (since + passed) <= seconds);
    }
}

#[test]
fn a_long_text_is_refused_before_it_is_looked_at() {
    let long = "*,".repeat(1 << 20);
    for read in READERS {
        let error = read(&long).expect_err("too long");
        assert_eq!(
            error.to_string(),
            "an expression is at most 256 bytes long; this one has 2097152"
        );
    }
}
