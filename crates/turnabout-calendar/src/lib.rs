//! When something happens again: cron expressions, calendar events in systemd's notation, and intervals.

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
