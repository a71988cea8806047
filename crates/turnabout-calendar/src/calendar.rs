//! Calendar events in systemd's notation: `Mon..Fri *-*-1/7 15:00:00 Europe/Berlin`.
//!
//! As systemd.time(7) describes them. Where this differs from systemd:
//!
//! - Where clocks change, see [`instants`]: systemd lets a time in the gap fall out and knows no second hour in the fold.
//! - Seconds are whole; fractions that are not zero are refused.
//! - Weekdays may go across the end of the week (`Sat..Mon`). Upper and lower case are the same also in time zones, and
//!   spaces at both ends are ignored.
//! - The abbreviations of the machine's own time zone (`CEST`) are no time zones here.

mod parse;
mod reader;

use std::cell::Cell;
use std::fmt;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::civil::{Days, Month, Pattern, WEEKDAYS};
use crate::error::ParseError;
use crate::field::{DAY, DAY_FROM_END, Field, HOUR, MINUTE, MONTH, Notation, SECOND, YEAR};
use crate::instants;
use crate::zone::Named;

/// How systemd writes lists.
const NOTATION: Notation = Notation {
    to: "..",
    width: 2,
    star: false,
};

/// Bits of all weekdays; Monday is bit 0.
pub(crate) const WHOLE_WEEK: u64 = 0b111_1111;

/// A calendar event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Event {
    pub(crate) years: Field,
    pub(crate) months: Field,
    pub(crate) days: EventDays,
    pub(crate) hours: Field,
    pub(crate) minutes: Field,
    pub(crate) seconds: Field,
}

/// A day must match all of this.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EventDays {
    /// Monday is bit 0. Never empty.
    pub(crate) weekdays: u64,
    pub(crate) days: Field,
    /// Whether `days` are counted from the end of the month: `*-*~1` is its last day.
    pub(crate) from_end: bool,
}

impl Days for EventDays {
    fn of(&self, month: &Month) -> u64 {
        let days = if self.from_end {
            self.counted_back(month)
        } else {
            self.days.bits(DAY)
        };
        days & month.on_weekdays(self.weekdays)
    }
}

impl EventDays {
    /// Bits of the days, counted from the end of this month.
    fn counted_back(&self, month: &Month) -> u64 {
        let day = |back: u32| month.length + 1 - back;
        let mut bits = 0;
        for item in self.days.items() {
            // What comes last in the text comes first in the month. Repetitions go towards the end of the month.
            let first = day(item.end.unwrap_or(item.start));
            let last = match (item.end, item.step) {
                (Some(_), _) | (None, None) => day(item.start),
                (None, Some(_)) => month.length,
            };
            for day in (first..=last).step_by(item.step.unwrap_or(1) as usize) {
                bits |= 1 << day;
            }
        }
        if self.days == Field::Any { month.all() } else { bits }
    }
}

impl Event {
    /// The event, and the zone that it names.
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

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EventDays {
            weekdays,
            days,
            from_end,
        } = &self.days;
        if *weekdays != WHOLE_WEEK {
            write_weekdays(f, *weekdays)?;
            f.write_str(" ")?;
        }
        let (years, months) = (self.years.print(YEAR, &NOTATION), self.months.print(MONTH, &NOTATION));
        let (before, unit) = if *from_end { ('~', DAY_FROM_END) } else { ('-', DAY) };
        write!(f, "{years}-{months}{before}{} ", days.print(unit, &NOTATION))?;
        let (hours, minutes) = (self.hours.print(HOUR, &NOTATION), self.minutes.print(MINUTE, &NOTATION));
        write!(f, "{hours}:{minutes}:{}", self.seconds.print(SECOND, &NOTATION))
    }
}

/// `Mon..Fri,Sun`: three and more in a row become a range.
fn write_weekdays(f: &mut fmt::Formatter<'_>, weekdays: u64) -> fmt::Result {
    let mut day = 0;
    let mut separator = "";
    while day < 7 {
        let run = (weekdays >> day).trailing_ones();
        if run == 0 {
            day += 1;
            continue;
        }
        let name = |day: u32| &WEEKDAYS[day as usize][..3];
        if run > 2 {
            write!(f, "{separator}{}..{}", name(day), name(day + run - 1))?;
        } else {
            for (nth, day) in (day..day + run).enumerate() {
                write!(f, "{}{}", if nth == 0 { separator } else { "," }, name(day))?;
            }
        }
        separator = ",";
        day += run;
    }
    Ok(())
}
