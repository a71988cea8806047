//! Cron's two fields for days, and how they go together.
//!
//! If both are restricted, a day matches when *either* does: `0 0 13 * FRI` is every 13th and every Friday. A field that is
//! or repeats a `*` (also `*/2`) does not count as restricted; then *both* must match. So it is in Vixie's cron.

use std::fmt;

use super::NOTATION;
use crate::civil::{Days, Month};
use crate::field::{DAY, Field, WEEKDAY};

/// Both fields for days.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CronDays {
    pub(crate) of_month: DayOfMonth,
    pub(crate) of_week: DayOfWeek,
}

impl CronDays {
    /// Whether a day needs to match only one of the fields.
    pub(crate) fn is_either(&self) -> bool {
        !self.of_month.days.has_star(DAY) && !self.of_week.days.has_star(WEEKDAY)
    }
}

impl Days for CronDays {
    fn of(&self, month: &Month) -> u64 {
        let (of_month, of_week) = (self.of_month.of(month), self.of_week.of(month));
        if self.is_either() {
            of_month | of_week
        } else {
            of_month & of_week
        }
    }
}

/// What counts from the end of a month, or depends on weekdays. In the order of printing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum SpecialDay {
    /// `15W`: the weekday (Monday to Friday) nearest to this day, in the same month.
    Nearest(u32),
    /// `L`, `L-3`: so many days before the last one.
    BeforeLast(u32),
    /// `LW`: the last weekday (Monday to Friday).
    LastWeekday,
}

/// The days of a month.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DayOfMonth {
    pub(crate) days: Field,
    /// Sorted. If there are any, `days` is a list, perhaps an empty one.
    pub(crate) special: Vec<SpecialDay>,
}

impl DayOfMonth {
    pub(crate) const ANY: Self = Self {
        days: Field::Any,
        special: Vec::new(),
    };

    fn of(&self, month: &Month) -> u64 {
        let special = self.special.iter().filter_map(|special| match *special {
            SpecialDay::Nearest(day) => nearest_weekday(month, day),
            SpecialDay::BeforeLast(offset) => month.length.checked_sub(offset).filter(|day| *day > 0),
            SpecialDay::LastWeekday => nearest_weekday(month, month.length),
        });
        special.fold(self.days.bits(DAY), |days, day| days | 1 << day)
    }
}

/// The day from Monday to Friday that is nearest to this one, without leaving the month. None if the month has no such day.
fn nearest_weekday(month: &Month, day: u32) -> Option<u32> {
    if day > month.length {
        return None;
    }
    Some(match month.weekday(day) {
        5 if day == 1 => 3,
        5 => day - 1,
        6 if day == month.length => day - 2,
        6 => day + 1,
        _ => day,
    })
}

/// What counts weekdays within a month. Cron's numbers: Sunday is 0. In the order of printing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum SpecialWeekday {
    /// `5#2`: the second Friday.
    Nth {
        /// 0 to 6.
        weekday: u32,
        /// 1 to 5.
        nth: u32,
    },
    /// `5L`: the last Friday.
    Last(u32),
}

/// The days of a week.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DayOfWeek {
    /// Cron's numbers: Sunday is 0, and 7 at the end of a range.
    pub(crate) days: Field,
    /// Sorted. If there are any, `days` is a list, perhaps an empty one.
    pub(crate) special: Vec<SpecialWeekday>,
}

impl DayOfWeek {
    pub(crate) const ANY: Self = Self {
        days: Field::Any,
        special: Vec::new(),
    };

    /// Bits of the weekdays that are named plainly; Monday is bit 0.
    pub(crate) fn weekdays(&self) -> u64 {
        let cron = self.days.bits(WEEKDAY);
        // Sunday's bits, 0 and 7, become bit 6.
        cron >> 1 & 0b111_1111 | (cron & 1) << 6
    }

    fn of(&self, month: &Month) -> u64 {
        let special = self.special.iter().filter_map(|special| {
            let (SpecialWeekday::Nth { weekday, .. } | SpecialWeekday::Last(weekday)) = *special;
            let first = 1 + (monday_first(weekday) + 7 - month.first) % 7;
            match *special {
                SpecialWeekday::Nth { nth, .. } => Some(first + 7 * (nth - 1)).filter(|day| *day <= month.length),
                SpecialWeekday::Last(_) => Some(first + (month.length - first) / 7 * 7),
            }
        });
        special.fold(month.on_weekdays(self.weekdays()), |days, day| days | 1 << day)
    }
}

/// From cron's number of a weekday to the one with Monday as 0.
pub(crate) fn monday_first(weekday: u32) -> u32 {
    (weekday + 6) % 7
}

impl fmt::Display for DayOfMonth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.days.print(DAY, &NOTATION))?;
        let mut separator = if self.days.items().is_empty() { "" } else { "," };
        for special in &self.special {
            f.write_str(separator)?;
            match special {
                SpecialDay::Nearest(day) => write!(f, "{day}W")?,
                SpecialDay::BeforeLast(0) => f.write_str("L")?,
                SpecialDay::BeforeLast(offset) => write!(f, "L-{offset}")?,
                SpecialDay::LastWeekday => f.write_str("LW")?,
            }
            separator = ",";
        }
        Ok(())
    }
}

impl fmt::Display for DayOfWeek {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.days.print(WEEKDAY, &NOTATION))?;
        let mut separator = if self.days.items().is_empty() { "" } else { "," };
        for special in &self.special {
            f.write_str(separator)?;
            match special {
                SpecialWeekday::Nth { weekday, nth } => write!(f, "{weekday}#{nth}")?,
                SpecialWeekday::Last(weekday) => write!(f, "{weekday}L")?,
            }
            separator = ",";
        }
        Ok(())
    }
}
