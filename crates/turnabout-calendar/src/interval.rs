//! Intervals: `every 10 minutes`. They go by elapsed time, whatever the clocks on the wall do.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use crate::error::ParseError;
use crate::scan::{Found, Scanner, words};

/// Ten years: a longer interval is a mistake.
const MAX_SECONDS: i64 = 10 * 366 * DAY;
const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const WEEK: i64 = 7 * DAY;

/// A length of time that is counted from an anchor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Interval {
    /// At least 1, at most [`MAX_SECONDS`].
    seconds: i64,
    /// The anchor that the text names, which wins over the caller's.
    from: Option<Timestamp>,
}

impl Interval {
    /// `text` begins with `every`.
    pub(crate) fn parse(text: &str) -> Result<Self, ParseError> {
        let words = words(text);
        let whole = |message: &str| ParseError::new(text, 0..text.len(), message);
        let Some(first) = words.first().filter(|word| word.value.eq_ignore_ascii_case("every")) else {
            return Err(whole("an interval begins with \"every\", such as `every 10 minutes`"));
        };
        let from = words.iter().position(|word| word.value.eq_ignore_ascii_case("from"));
        let length_end = from.map_or(text.len(), |at| words[at].span.start);
        let seconds = length(text, first.span.end, length_end)?;
        let from = from
            .map(|at| anchor(text, words[at].span.end, words.get(at + 1..).unwrap_or_default()))
            .transpose()?;
        Ok(Self { seconds, from })
    }

    /// The first of `anchor`, `anchor` + 1 interval, `anchor` + 2 intervals ... that is later than `after`.
    pub(crate) fn next_after(&self, after: Timestamp, anchor: Timestamp) -> Option<Timestamp> {
        let anchor = self.from.unwrap_or(anchor);
        if after < anchor {
            return Some(anchor);
        }
        let passed = after.duration_since(anchor).as_secs() / self.seconds;
        let ahead = SignedDuration::from_secs(passed.checked_add(1)?.checked_mul(self.seconds)?);
        anchor.checked_add(ahead).ok()
    }

    /// As it is printed, but with days that are not taken for days of the calendar.
    pub(crate) fn describe(&self) -> String {
        match self.to_string() {
            text if self.seconds < DAY => text,
            text if self.seconds == DAY => text.replacen("every day", "every 24 hours", 1),
            text => format!("{text} (days of 24 hours)"),
        }
    }
}

/// The length of time in this part of the text, in seconds.
fn length(text: &str, start: usize, end: usize) -> Result<i64, ParseError> {
    let mut scanner = Scanner::new(text, start..end);
    let mut total = 0_i64;
    let mut parts = 0;
    loop {
        scanner.spaces();
        if scanner.is_done() {
            break;
        }
        if parts > 0 && (scanner.eat(",") || scanner.eat("and ")) {
            continue;
        }
        let number = scanner.number()?;
        if number.is_none() && parts > 0 {
            return Err(scanner.error_here("a number is expected here, such as in `every 1 hour 30 minutes`"));
        }
        scanner.spaces();
        let unit = scanner.letters();
        let unit_seconds = seconds_of(&scanner, &unit)?;
        let number = number.map_or(1, |number| i64::from(number.value));
        total = total.saturating_add(number.saturating_mul(unit_seconds));
        parts += 1;
    }
    let span = start..end;
    match total {
        _ if parts == 0 => Err(scanner.error_here("how often? Write for example `every 10 minutes`")),
        ..1 => Err(scanner.error(span, "an interval is at least one second long")),
        1..=MAX_SECONDS => Ok(total),
        _ => Err(scanner.error(span, "an interval is at most ten years long")),
    }
}

/// How long a unit is.
fn seconds_of(scanner: &Scanner<'_>, unit: &Found<&str>) -> Result<i64, ParseError> {
    Ok(match unit.value.to_ascii_lowercase().as_str() {
        "s" | "sec" | "secs" | "second" | "seconds" => 1,
        "m" | "min" | "mins" | "minute" | "minutes" => MINUTE,
        "h" | "hr" | "hrs" | "hour" | "hours" => HOUR,
        "d" | "day" | "days" => DAY,
        "w" | "week" | "weeks" => WEEK,
        "month" | "months" | "year" | "years" => {
            return Err(scanner.error(
                unit.span.clone(),
                "months and years differ in length, so they are no intervals; write `monthly` or `*-1/2-1` (every second \
                 month), `yearly` or `0 0 1 1 *`",
            ));
        }
        "" => {
            return Err(scanner.error_here("a unit is expected here: seconds, minutes, hours, days or weeks"));
        }
        _ => {
            return Err(scanner.error(
                unit.span.clone(),
                format!(
                    "\"{}\" is no unit of time: seconds, minutes, hours, days and weeks are",
                    unit.value
                ),
            ));
        }
    })
}

/// The one word after `from`.
fn anchor(text: &str, end: usize, rest: &[Found<&str>]) -> Result<Timestamp, ParseError> {
    let span = rest.first().map_or(end..text.len(), |word| word.span.start..text.len());
    let wrong = "after \"from\" comes one time with its offset, such as 2026-01-05T09:00:00Z";
    let [word] = rest else {
        return Err(ParseError::new(text, span, wrong));
    };
    // Without fractions: times of intervals are whole seconds if their anchor is one.
    word.value
        .parse::<Timestamp>()
        .ok()
        .filter(|time| time.subsec_nanosecond() == 0)
        .ok_or_else(|| ParseError::new(text, span, wrong))
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("every")?;
        let units = [(DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"), (1, "second")];
        let mut rest = self.seconds;
        for (length, name) in units {
            let count = rest / length;
            rest %= length;
            match count {
                0 => {}
                1 if self.seconds == length => write!(f, " {name}")?,
                1 => write!(f, " 1 {name}")?,
                _ => write!(f, " {count} {name}s")?,
            }
        }
        match self.from {
            Some(from) => write!(f, " from {from}"),
            None => Ok(()),
        }
    }
}
