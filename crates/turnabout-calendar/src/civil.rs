//! Searches the calendar and the clock on the wall for the next match. Knows nothing of time zones.
//!
//! A search looks at one month after the other, at most at all that there are from 1970 to 2199, and takes the days,
//! hours, minutes and seconds from sets of bits. So its cost has a bound that does not depend on the expression.

use std::cell::Cell;

use jiff::civil::{Date, DateTime, Time};

use crate::field::{Field, YEAR};

/// A month of a certain year.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Month {
    /// 1 to 12.
    number: i8,
    /// How many days it has.
    pub(crate) length: u32,
    /// The weekday of its first day; Monday is 0.
    pub(crate) first: u32,
}

impl Month {
    fn new(year: i16, month: i8) -> Option<Self> {
        let first = Date::new(year, month, 1).ok()?;
        Some(Self {
            number: month,
            length: first.days_in_month() as u32,
            first: first.weekday().to_monday_zero_offset() as u32,
        })
    }

    /// The weekday of a day of this month; Monday is 0.
    pub(crate) fn weekday(&self, day: u32) -> u32 {
        (self.first + day - 1) % 7
    }

    /// Bits of all days, the first day's is bit 1.
    pub(crate) fn all(&self) -> u64 {
        (2 << self.length) - 2
    }

    /// Bits of the days that fall on these weekdays (Monday is bit 0).
    pub(crate) fn on_weekdays(&self, weekdays: u64) -> u64 {
        (1..=self.length)
            .filter(|day| weekdays >> self.weekday(*day) & 1 == 1)
            .fold(0, |days, day| days | 1 << day)
    }
}

/// Which days of a month match.
pub(crate) trait Days {
    /// Bits of them, the first day's is bit 1. Bits of days that the month does not have are ignored.
    fn of(&self, month: &Month) -> u64;
}

/// What a civil time must look like.
pub(crate) struct Pattern<'p> {
    pub(crate) years: &'p Field,
    pub(crate) months: u64,
    pub(crate) days: &'p dyn Days,
    pub(crate) hours: u64,
    pub(crate) minutes: u64,
    pub(crate) seconds: u64,
    /// How many months were looked at, for whoever limits or measures the search.
    pub(crate) steps: Cell<u32>,
}

impl Pattern<'_> {
    /// The first match that is not earlier than `from`.
    pub(crate) fn first_from(&self, from: DateTime) -> Option<DateTime> {
        // Everything before has passed for everyone.
        let from = from.max(Date::new(YEAR.min as i16, 1, 1).ok()?.to_datetime(Time::midnight()));
        let today = self.time_from(from.time());
        for year in from.year()..=YEAR.max as i16 {
            if !self.years.contains(year as u32) {
                continue;
            }
            let this_year = year == from.year();
            let first = if this_year { from.month() } else { 1 };
            for month in (first..=12).filter(|month| self.months >> month & 1 == 1) {
                self.steps.set(self.steps.get() + 1);
                let month = Month::new(year, month)?;
                let mut days = self.days.of(&month) & month.all();
                if this_year && month.number == from.month() {
                    // Days that have passed, and today unless something is left of it.
                    let passed = from.day() as u32 - u32::from(today.is_some());
                    days &= !((2 << passed) - 1);
                }
                if days != 0 {
                    let date = Date::new(year, month.number, days.trailing_zeros() as i8).ok()?;
                    let time = if date == from.date() {
                        today?
                    } else {
                        self.time_from(Time::midnight())?
                    };
                    return Some(date.to_datetime(time));
                }
            }
        }
        None
    }

    /// The first time of a day that is not earlier than this one.
    fn time_from(&self, from: Time) -> Option<Time> {
        let (mut hour, mut minute, mut second) = (from.hour() as u32, from.minute() as u32, from.second() as u32);
        // Each carry happens at most once: after it, what is below begins anew.
        if self.minutes_and_seconds_from(hour, minute, second).is_none() {
            hour += 1;
        }
        let found = next_bit(self.hours, hour)?;
        if found != from.hour() as u32 {
            (minute, second) = (0, 0);
        }
        let (minute, second) = self.minutes_and_seconds_from(found, minute, second)?;
        Time::new(found as i8, minute as i8, second as i8, 0).ok()
    }

    /// The first minute and second of this hour, if it matches, that are not earlier than these.
    fn minutes_and_seconds_from(&self, hour: u32, minute: u32, second: u32) -> Option<(u32, u32)> {
        if self.hours >> hour & 1 == 0 {
            return None;
        }
        if self.minutes >> minute & 1 == 1
            && let Some(second) = next_bit(self.seconds, second)
        {
            return Some((minute, second));
        }
        Some((next_bit(self.minutes, minute + 1)?, next_bit(self.seconds, 0)?))
    }
}

/// The lowest bit that is set, from this one on.
fn next_bit(bits: u64, from: u32) -> Option<u32> {
    let left = bits.checked_shr(from)?;
    (left != 0).then(|| from + left.trailing_zeros())
}

/// Their names, Monday first.
pub(crate) const WEEKDAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

/// Their names, January first.
pub(crate) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Which of these names a word is, in full or by its first three letters.
pub(crate) fn named(names: &[&str], word: &str) -> Option<u32> {
    names
        .iter()
        .position(|name| name.eq_ignore_ascii_case(word) || name[..3].eq_ignore_ascii_case(word))
        .map(|at| at as u32)
}
