//! When something happens again: cron expressions, calendar events in systemd's notation, and intervals.
//!
//! One type, [`Expression`], reads all three, finds out by itself which one a text is in, points at the wrong part of a
//! wrong one, says the next time, and describes itself in words. It knows nothing of jobs.
//!
//! ```
//! use turnabout_calendar::{Expression, Language, zone};
//!
//! let berlin = zone("Europe/Berlin")?;
//! let now = "2026-11-17T12:00:00Z".parse()?;
//!
//! let cron = Expression::parse("0 15 * * MON-FRI")?;
//! assert_eq!(cron.language(), Language::Cron);
//! assert_eq!(cron.describe(&berlin), "every weekday at 15:00, Berlin time");
//! assert_eq!(cron.next_after(now, &berlin, now), Some("2026-11-17T14:00:00Z".parse()?));
//!
//! let event = Expression::parse("Mon..Fri *-*-1/7 15:00:00 Europe/Berlin")?;
//! assert_eq!(event.language(), Language::Calendar);
//! assert_eq!(event.next_after(now, &berlin, now), Some("2026-12-01T14:00:00Z".parse()?));
//!
//! let interval = Expression::parse("every 90 minutes")?;
//! assert_eq!(interval.language(), Language::Interval);
//! assert_eq!(interval.next_after(now, &berlin, now), Some("2026-11-17T13:30:00Z".parse()?));
//!
//! let wrong = Expression::parse("0 15 * * MON-FRY").unwrap_err();
//! assert_eq!(wrong.span(), 13..16);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Cron
//!
//! Five fields: minute, hour, day of the month, month, weekday. Six: seconds in front. Seven: years behind.
//!
//! | written | meaning |
//! |---|---|
//! | `*`, `5`, `1,3,5`, `1-5`, `*/15`, `1-30/5`, `5/15` | all, one, some, from .. to, every 15th, every 5th of these, every 15th from 5 on |
//! | `JAN`, `January`, `MON`, `Monday` | names of months and weekdays; weekdays are 0 to 7, Sunday is both 0 and 7 |
//! | `FRI-MON` | weekdays may go across the end of the week; other ranges go upwards |
//! | `?` | the same as `*`, for days |
//! | `L`, `L-3`, `LW` | the last day of the month, the third day before that, the last one from Monday to Friday |
//! | `15W` | the day from Monday to Friday that is nearest to the 15th, in the same month |
//! | `5#2`, `FRI#2`, `5L`, `FRIL` | the second Friday of the month, the last Friday |
//! | `@hourly`, `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly`, `@annually` | what their names say |
//! | `0 2 * * * Europe/Berlin`, `CRON_TZ=Europe/Berlin 0 2 * * *` | with a time zone |
//!
//! If both the day of the month and the weekday are restricted, a day needs to match *one* of them: `0 0 13 * FRI` is every
//! 13th and every Friday. A field with a star (`*`, `*/2`) is not restricted in this sense; then both must match.
//!
//! # Calendar events
//!
//! Weekdays, date, time, time zone, as [systemd.time(7)](https://www.freedesktop.org/software/systemd/man/systemd.time.html)
//! describes them. Each part may be missing: then it is every weekday, every date, midnight, the caller's time zone.
//!
//! | written | meaning |
//! |---|---|
//! | `Mon`, `Mon,Fri`, `Mon..Fri`, `Sat..Mon` | weekdays |
//! | `2026-12-24`, `12-24`, `*-*-1`, `*-1,7-15` | dates; two parts are month and day |
//! | `*-*-1..7`, `*-*-1/7`, `*-*-10..20/5` | from .. to, every 7th day from the 1st on, every 5th of these |
//! | `*-*~1`, `*-*~3`, `*-*~7/1` | counted from the end of the month: the last day, the third to last, the last seven |
//! | `15:00`, `15:00:30`, `*:0/15`, `8..18:30` | times; without seconds they are 0 |
//! | `minutely`, `hourly`, `daily`, `weekly`, `monthly`, `quarterly`, `semiannually`, `yearly`, `annually` | shorthands |
//! | `@1893456000` | one point in time, in seconds since 1970 |
//! | `15:00 Europe/Berlin`, `daily UTC` | with a time zone |
//!
//! All parts must match: `Fri *-*-13` is Friday the 13th, `Fri *-*~7/1` the last Friday of the month. What differs from
//! systemd: fractions of a second are refused, weekdays may go across the end of the week, upper and lower case are the
//! same, and what is said below about clocks. Vectors of `systemd-analyze` are among the tests, with all differences.
//!
//! # Intervals
//!
//! `every 10 minutes`, `every 1h30m`, `every 2 days and 6 hours`. They are counted from an anchor, which the caller gives
//! (such as when a schedule was made), or the text: `every 2 weeks from 2026-01-05T09:00:00Z`. They go by elapsed time: a day
//! is 24 hours.
//!
//! # Where clocks are changed
//!
//! As in Vixie's cron:
//!
//! - A **fixed time** (`30 2 * * *`, `02:30`) happens once a day. If clocks skip it, it happens right after the gap: at
//!   3:00, when they go from 2:00 to 3:00. Several times in the gap happen together. If clocks show it twice, the first counts.
//! - A **wildcard** among the hours, minutes or seconds (`*`, `*/20`, `0/20`) means "every so often" and goes by elapsed
//!   time: `*/20 * * * *` comes every 20 minutes all night. What the clock does not show does not happen (`*/20 2 * * *` on
//!   that night), and what it shows twice happens twice.
//! - **Intervals** do not look at clocks at all.
//!
//! ```
//! # use turnabout_calendar::{Expression, zone};
//! let berlin = zone("Europe/Berlin")?;
//! let night = "2026-03-28T22:00:00Z".parse()?;
//! let next = |text: &str| Expression::parse(text).unwrap().next_after(night, &berlin, night).unwrap().to_string();
//! assert_eq!(next("30 2 * * *"), "2026-03-29T01:00:00Z"); // 3:00, since there is no 2:30
//! assert_eq!(next("*/30 2 * * *"), "2026-03-30T00:00:00Z"); // 2:00 on the next day
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Bounds
//!
//! Expressions may come from strangers. A text has at most [`MAX_LENGTH`] bytes, and so has its canonical form; an expression
//! takes no more than a few kilobytes of memory. Times lie between 1970 and 2199; a search looks at each month in between
//! at most a few times, whatever the expression is, and says `None` if nothing comes. Everything happens at whole seconds
//! (intervals: as their anchor).
//!
//! # Coming from elsewhere
//!
//! | from | what to know |
//! |---|---|
//! | cron | Lines of a crontab work, without the command. New: seconds, years, `L`, `W`, `#`, time zones. `@reboot` is no time. |
//! | systemd | `OnCalendar=` works as it is. For `OnUnitActiveSec=10min` write `every 10 minutes`. |
//! | Quartz | Weekdays count from Sunday as 0, not 1: write `FRI` instead of `6`. `?` is allowed, not needed. 6 and 7 fields work. |
//! | croniter | Seconds come first, not last. `L5` works. 31W leaves out months of 30 days. |
//! | Jenkins, OpenBSD | There is no `H` and no `~` for random times. |
//!
//! # The files
//!
//! `field` (lists, ranges, repetitions) -> `cron`, `calendar` (read, print) -> `civil` (searches the calendar) -> `instants`
//! (from clocks to points in time). `interval`, `describe` (words), `zone`, `scan` and `error` stand beside it.

mod calendar;
mod civil;
mod cron;
mod describe;
mod error;
mod field;
mod instants;
mod interval;
mod scan;
mod zone;

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use calendar::Event;
use cron::Cron;
pub use error::{ParseError, ZoneError};
use interval::Interval;
use zone::Named;
pub use zone::zone;

/// Longer texts are refused before they are looked at. The longest that anyone needs has about 100 bytes.
pub const MAX_LENGTH: usize = 256;

/// Which language an expression is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Language {
    /// `0 2 * * *`
    Cron,
    /// `Mon..Fri *-*-* 15:00`, as systemd's timers have it.
    Calendar,
    /// `every 10 minutes`
    Interval,
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cron => "cron",
            Self::Calendar => "calendar",
            Self::Interval => "interval",
        })
    }
}

/// The times at which something happens again.
///
/// [`Display`](fmt::Display) prints a canonical text, which parses back to an equal expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Expression {
    kind: Kind,
    zone: Option<Named>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Cron(Cron),
    Calendar(Event),
    Interval(Interval),
}

impl Expression {
    /// Finds out by itself which language the text is in: `every ..` is an interval, five words and more or `@daily` are
    /// cron, the rest are calendar events.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        check_length(text)?;
        match guess(text) {
            Language::Cron => Self::cron(text),
            Language::Calendar => Self::calendar(text),
            Language::Interval => Self::interval(text),
        }
    }

    /// A cron expression, and nothing else.
    pub fn cron(text: &str) -> Result<Self, ParseError> {
        check_length(text)?;
        let (cron, zone) = Cron::parse(text)?;
        Self::new(text, Kind::Cron(cron), zone)
    }

    /// A calendar event in systemd's notation, and nothing else.
    pub fn calendar(text: &str) -> Result<Self, ParseError> {
        check_length(text)?;
        let (event, zone) = Event::parse(text)?;
        Self::new(text, Kind::Calendar(event), zone)
    }

    /// An interval, and nothing else.
    pub fn interval(text: &str) -> Result<Self, ParseError> {
        check_length(text)?;
        Self::new(text, Kind::Interval(Interval::parse(text)?), None)
    }

    /// Refuses what could not be read again once it is printed.
    fn new(text: &str, kind: Kind, zone: Option<Named>) -> Result<Self, ParseError> {
        let expression = Self { kind, zone };
        if expression.to_string().len() > MAX_LENGTH {
            let message =
                format!("written out in full, this is longer than {MAX_LENGTH} bytes; use ranges instead of lists");
            return Err(ParseError::new(text, 0..text.len(), message));
        }
        Ok(expression)
    }

    /// Which language the expression is written in.
    pub fn language(&self) -> Language {
        match self.kind {
            Kind::Cron(_) => Language::Cron,
            Kind::Calendar(_) => Language::Calendar,
            Kind::Interval(_) => Language::Interval,
        }
    }

    /// The zone that the text itself names (`.. Europe/Berlin`). It wins over the caller's.
    pub fn zone(&self) -> Option<&TimeZone> {
        self.zone.as_ref().map(|named| &named.zone)
    }

    /// The first time strictly later than `after`; `None` if there is none.
    ///
    /// `zone` counts unless the text names one itself. `anchor` is where intervals count from; other languages ignore it.
    pub fn next_after(&self, after: Timestamp, zone: &TimeZone, anchor: Timestamp) -> Option<Timestamp> {
        let zone = self.zone().unwrap_or(zone);
        match &self.kind {
            Kind::Cron(cron) => cron.next_after(after, zone),
            Kind::Calendar(event) => event.next_after(after, zone),
            Kind::Interval(interval) => interval.next_after(after, anchor),
        }
    }

    /// The times after `after`, one by one, as [`next_after`](Self::next_after) says them.
    pub fn times_after<'e>(
        &'e self,
        after: Timestamp,
        zone: &'e TimeZone,
        anchor: Timestamp,
    ) -> impl Iterator<Item = Timestamp> + 'e {
        let first = self.next_after(after, zone, anchor);
        std::iter::successors(first, move |last| self.next_after(*last, zone, anchor))
    }

    /// The expression in words for people: "every weekday at 15:00, Berlin time".
    pub fn describe(&self, zone: &TimeZone) -> String {
        let zone = self.zone().unwrap_or(zone);
        match &self.kind {
            Kind::Cron(cron) => describe::cron(cron, zone),
            Kind::Calendar(event) => describe::event(event, zone),
            Kind::Interval(interval) => interval.describe(),
        }
    }
}

fn check_length(text: &str) -> Result<(), ParseError> {
    if text.len() > MAX_LENGTH {
        // Not shown: whoever sends a megabyte does not want it back.
        let message = format!(
            "an expression is at most {MAX_LENGTH} bytes long; this one has {}",
            text.len()
        );
        return Err(ParseError::new("", 0..0, message));
    }
    Ok(())
}

/// Which language a text is probably in, so that its errors speak of the right one.
fn guess(text: &str) -> Language {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let (first, last) = (words.first().unwrap_or(&""), words.last().unwrap_or(&""));
    let lettered = |word: &str| word.starts_with(|c: char| c.is_ascii_alphabetic());
    // A calendar event of three words has a time, which has a colon, or a zone behind a date.
    let too_few_fields = words.len() >= 3 && !text.contains(':') && !lettered(last);
    if first.eq_ignore_ascii_case("every") {
        Language::Interval
    } else if words.len() >= 5 || too_few_fields || first.contains('=') || first.strip_prefix('@').is_some_and(lettered)
    {
        Language::Cron
    } else {
        Language::Calendar
    }
}

impl FromStr for Expression {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Cron(cron) => write!(f, "{cron}")?,
            Kind::Calendar(event) => write!(f, "{event}")?,
            Kind::Interval(interval) => write!(f, "{interval}")?,
        }
        match &self.zone {
            Some(named) => write!(f, " {}", named.name),
            None => Ok(()),
        }
    }
}
