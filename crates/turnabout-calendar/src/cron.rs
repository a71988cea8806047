//! Cron expressions: 5 fields, 6 with seconds in front, 7 with years behind; names, nicknames, `L`, `W` and `#`.
//!
//! Why not the crate `croner`: its errors do not say which part of a text is wrong, it knows no gaps longer than two hours
//! (a whole day was skipped in Samoa), it searches until the year 5000, and calendar events need all the rest of this
//! crate anyway, so that what would be left to `croner` is this folder.

pub(crate) mod days;
mod parse;
mod reader;

use std::cell::Cell;
use std::fmt;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::civil::Pattern;
use crate::error::ParseError;
use crate::field::{Field, HOUR, MINUTE, MONTH, Notation, SECOND, YEAR};
use crate::instants;
use crate::zone::Named;
use days::CronDays;

/// How cron writes lists.
const NOTATION: Notation = Notation {
    to: "-",
    width: 1,
    star: true,
};

/// A cron expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cron {
    pub(crate) seconds: Field,
    pub(crate) minutes: Field,
    pub(crate) hours: Field,
    pub(crate) days: CronDays,
    pub(crate) months: Field,
    pub(crate) years: Field,
}

impl Cron {
    /// The expression, and the zone that it names.
    pub(crate) fn parse(text: &str) -> Result<(Self, Option<Named>), ParseError> {
        parse::parse(text)
    }

    pub(crate) fn next_after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        instants::next(&self.pattern(), self.is_wildcard(), after, zone)
    }

    pub(crate) fn pattern(&self) -> Pattern<'_> {
        Pattern {
            years: &self.years,
            months: self.months.bits(MONTH),
            days: &self.days,
            hours: self.hours.bits(HOUR),
            minutes: self.minutes.bits(MINUTE),
            seconds: self.seconds.bits(SECOND),
            steps: Cell::new(0),
        }
    }

    /// Whether it stands for "every so often" rather than for fixed times.
    pub(crate) fn is_wildcard(&self) -> bool {
        [&self.hours, &self.minutes, &self.seconds]
            .into_iter()
            .any(Field::is_wildcard)
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let years = self.years != Field::Any;
        if years || self.seconds != Field::one(0) {
            write!(f, "{} ", self.seconds.print(SECOND, &NOTATION))?;
        }
        let (minutes, hours) = (self.minutes.print(MINUTE, &NOTATION), self.hours.print(HOUR, &NOTATION));
        write!(f, "{minutes} {hours} {} ", self.days.of_month)?;
        write!(f, "{} {}", self.months.print(MONTH, &NOTATION), self.days.of_week)?;
        if years {
            write!(f, " {}", self.years.print(YEAR, &NOTATION))?;
        }
        Ok(())
    }
}
