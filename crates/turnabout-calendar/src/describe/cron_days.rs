//! The days of cron expressions in words.

use super::Days;
use super::event_days::{every_weekday, if_weekday, in_months, in_years, month_name, of_months, weekdays};
use super::list::{join, ordinal, runs};
use crate::civil::WEEKDAYS;
use crate::cron::Cron;
use crate::cron::days::{DayOfMonth, DayOfWeek, SpecialDay, SpecialWeekday, monday_first};
use crate::field::{DAY, Field};

/// The date of a cron expression, without the time.
pub(super) fn describe(cron: &Cron) -> Days {
    let Cron { days, months, .. } = cron;
    let (of_month, of_week) = (&days.of_month, &days.of_week);
    let years = in_years(&cron.years);
    if *of_month == DayOfMonth::ANY {
        return Days {
            which: format!("{}{years}", on_weekdays(of_week, months)),
            only_if: String::new(),
        };
    }
    let which = match (of_month.days.single(), months.single()) {
        (Some(day), Some(month)) if of_month.special.is_empty() => format!("every {day} {}", month_name(month)),
        _ => format!("on {}{}", days_of_month(of_month), of_months(months)),
    };
    if days.is_either() {
        return Days {
            which: format!("{which} and also {}{years}", on_weekdays(of_week, months)),
            only_if: String::new(),
        };
    }
    let only_if = if of_week.special.is_empty() {
        if_weekday(of_week.weekdays())
    } else {
        let mut either = vec![special_weekdays(of_week, "or")];
        if of_week.weekdays() != 0 {
            either.insert(0, format!("a {}", weekdays(of_week.weekdays(), "or")));
        }
        format!(", if that is {}", join(&either, "or"))
    };
    Days {
        which: format!("{which}{years}"),
        only_if,
    }
}

/// `every Monday in May`, `on the second Friday of every month`, or both.
fn on_weekdays(of_week: &DayOfWeek, months: &Field) -> String {
    let plain = of_week.weekdays();
    let every = format!("{}{}", every_weekday(plain), in_months(months));
    if of_week.special.is_empty() {
        return every;
    }
    let special = format!("on {}{}", special_weekdays(of_week, "and"), of_months(months));
    if plain == 0 {
        special
    } else {
        format!("{every} and also {special}")
    }
}

/// `the second Friday and the last Monday`.
fn special_weekdays(of_week: &DayOfWeek, last: &str) -> String {
    let words = |special: &SpecialWeekday| {
        let (which, weekday) = match *special {
            SpecialWeekday::Nth { weekday, nth } => (
                ["first", "second", "third", "fourth", "fifth"][(nth as usize - 1) % 5],
                weekday,
            ),
            SpecialWeekday::Last(weekday) => ("last", weekday),
        };
        format!("the {which} {}", WEEKDAYS[monday_first(weekday) as usize])
    };
    join(&of_week.special.iter().map(words).collect::<Vec<_>>(), last)
}

/// `the 1st, 15th and the last day`.
fn days_of_month(of_month: &DayOfMonth) -> String {
    let mut parts: Vec<String> = of_month.special.iter().copied().map(special_day).collect();
    let plain = of_month.days.bits(DAY);
    if plain != 0 {
        parts.insert(0, format!("the {}", runs(plain, "and", ordinal)));
    }
    join(&parts, "and")
}

fn special_day(special: SpecialDay) -> String {
    match special {
        SpecialDay::Nearest(day) => format!("the weekday nearest to the {}", ordinal(day)),
        SpecialDay::BeforeLast(0) => "the last day".to_owned(),
        SpecialDay::BeforeLast(offset) => format!("the {} to last day", ordinal(offset + 1)),
        SpecialDay::LastWeekday => "the last weekday".to_owned(),
    }
}
