//! The days of calendar events in words.

use super::list::{join, ordinal, runs, years};
use super::{Days, EVERY_DAY};
use crate::calendar::{Event, EventDays, WHOLE_WEEK};
use crate::civil::{MONTHS, WEEKDAYS};
use crate::field::{DAY, DAY_FROM_END, Field, MONTH};

/// Monday to Friday.
const WORKING_DAYS: u64 = 0b1_1111;

/// The date of an event, without the time.
pub(super) fn describe(event: &Event) -> Days {
    let Event { months, days, .. } = event;
    let years = in_years(&event.years);
    let always = |which| Days {
        which,
        only_if: String::new(),
    };
    if days.days == Field::Any {
        return always(format!("{}{}{years}", every_weekday(days.weekdays), in_months(months)));
    }
    let of = of_months(months);
    if let Some(which) = week_of_month(days) {
        return always(format!("on the {which} {}{of}{years}", weekdays(days.weekdays, "and")));
    }
    let which = match (days.days.single(), months.single(), event.years.single()) {
        (Some(day), Some(month), Some(year)) if !days.from_end => format!("on {day} {} {year}", month_name(month)),
        (Some(day), Some(month), _) if !days.from_end => format!("every {day} {}{years}", month_name(month)),
        _ => format!("on {}{of}{years}", which_days(days)),
    };
    Days {
        which,
        only_if: if_weekday(days.weekdays),
    }
}

/// `the 1st and 15th`, `the last day`.
fn which_days(days: &EventDays) -> String {
    if days.from_end {
        return from_end(&days.days);
    }
    format!("the {}", runs(days.days.bits(DAY), "and", ordinal))
}

/// Bits of how many days before the end (the last day is 1) these are.
fn back_bits(field: &Field) -> u64 {
    let mut bits = 0;
    for item in field.items() {
        match (item.end, item.step) {
            (None, Some(step)) => {
                // Towards the end of the month, and so towards 1.
                let backwards = (1..=item.start).rev().step_by(step as usize);
                bits |= backwards.fold(0, |bits, back| bits | 1 << back);
            }
            _ => bits |= item.values(DAY_FROM_END.max).fold(0, |bits, back| bits | 1 << back),
        }
    }
    bits
}

fn from_end(field: &Field) -> String {
    let bits = back_bits(field);
    let days = bits.count_ones();
    // All up to the end of the month.
    if days > 1 && bits == (2 << days) - 2 {
        return format!("the last {days} days");
    }
    let name = |back| match back {
        1 => "last".to_owned(),
        _ => format!("{} to last", ordinal(back)),
    };
    let list: Vec<String> = (1..=DAY_FROM_END.max)
        .rev()
        .filter(|back| bits >> back & 1 == 1)
        .map(name)
        .collect();
    format!("the {} day", join(&list, "and"))
}

/// `first`, if these are the first seven days of months, of which the one weekday is one.
fn week_of_month(days: &EventDays) -> Option<&'static str> {
    let week = |from: u32| 0b111_1111 << from;
    if days.weekdays.count_ones() != 1 {
        return None;
    }
    if days.from_end {
        return (back_bits(&days.days) == week(1)).then_some("last");
    }
    let bits = days.days.bits(DAY);
    let weeks = [(1, "first"), (8, "second"), (15, "third"), (22, "fourth")];
    weeks
        .into_iter()
        .find(|(from, _)| bits == week(*from))
        .map(|(_, which)| which)
}

/// `Monday, Wednesday and Friday`.
pub(super) fn weekdays(bits: u64, last: &str) -> String {
    runs(bits, last, |day| WEEKDAYS[day as usize % 7].to_owned())
}

/// `every weekday`, `every Monday and Friday`, `every day`.
pub(super) fn every_weekday(bits: u64) -> String {
    match bits {
        WHOLE_WEEK => EVERY_DAY.to_owned(),
        WORKING_DAYS => "every weekday".to_owned(),
        _ => format!("every {}", weekdays(bits, "and")),
    }
}

/// `, if that is a Monday`, unless it is any day.
pub(super) fn if_weekday(bits: u64) -> String {
    match bits {
        WHOLE_WEEK => String::new(),
        WORKING_DAYS => ", if that is a weekday".to_owned(),
        _ => format!(", if that is a {}", weekdays(bits, "or")),
    }
}

pub(super) fn month_name(month: u32) -> &'static str {
    MONTHS[(month as usize + 11) % 12]
}

fn months_in_words(months: &Field) -> String {
    runs(months.bits(MONTH), "and", |month| month_name(month).to_owned())
}

/// ` in January and July`, unless it is any month.
pub(super) fn in_months(months: &Field) -> String {
    match months {
        Field::Any => String::new(),
        Field::List(_) => format!(" in {}", months_in_words(months)),
    }
}

/// ` of every month`, ` of January and July`.
pub(super) fn of_months(months: &Field) -> String {
    match months {
        Field::Any => " of every month".to_owned(),
        Field::List(_) => format!(" of {}", months_in_words(months)),
    }
}

/// ` in 2026`, unless it is any year.
pub(super) fn in_years(field: &Field) -> String {
    match field {
        Field::Any => String::new(),
        Field::List(_) => format!(" in {}", years(field)),
    }
}
