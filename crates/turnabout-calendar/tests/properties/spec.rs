//! Random expressions, together with what they mean, worked out in the plainest way: as sets of numbers.

use std::collections::BTreeSet;

use jiff::civil::DateTime;
use proptest::prelude::*;

/// One field, as both languages write it, and the values it stands for.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) cron: String,
    pub(crate) calendar: String,
    pub(crate) values: BTreeSet<u32>,
    /// Whether it goes on without an end: `*`, `5/10`.
    pub(crate) open: bool,
    /// Whether it does so from the first value on: `*`, `*/10`.
    pub(crate) star: bool,
}

/// A single value, a range or a repetition.
fn item(min: u32, max: u32) -> impl Strategy<Value = Part> {
    (min..=max, min..=max, 1..=max - min, 0..4_u8).prop_map(move |(a, b, step, kind)| {
        let (start, end) = (a.min(b), a.max(b));
        let part = |cron: String, calendar: String, values: Vec<u32>, open: bool, star: bool| Part {
            cron,
            calendar,
            values: values.into_iter().collect(),
            open,
            star,
        };
        match kind {
            0 => part(format!("{a}"), format!("{a}"), vec![a], false, false),
            1 => {
                let values = (start..=end).collect();
                part(
                    format!("{start}-{end}"),
                    format!("{start}..{end}"),
                    values,
                    false,
                    false,
                )
            }
            2 => {
                let values = (start..=end).filter(|value| (value - start) % step == 0).collect();
                let (cron, calendar) = (format!("{start}-{end}/{step}"), format!("{start}..{end}/{step}"));
                part(cron, calendar, values, false, false)
            }
            _ => {
                // Calendar events must have room for at least one repetition.
                let start = start.min(max - step);
                let values = (start..=max).filter(|value| (value - start) % step == 0).collect();
                let cron = if start == min {
                    format!("*/{step}")
                } else {
                    format!("{start}/{step}")
                };
                part(cron, format!("{start}/{step}"), values, true, start == min)
            }
        }
    })
}

/// `*`
pub(crate) fn star(min: u32, max: u32) -> Part {
    Part {
        cron: "*".into(),
        calendar: "*".into(),
        values: (min..=max).collect(),
        open: true,
        star: true,
    }
}

/// A single value.
pub(crate) fn only(value: u32) -> Part {
    Part {
        cron: value.to_string(),
        calendar: value.to_string(),
        values: [value].into(),
        open: false,
        star: false,
    }
}

/// A star or a list.
fn part(min: u32, max: u32) -> impl Strategy<Value = Part> {
    let list = prop::collection::vec(item(min, max), 1..4).prop_map(|items| Part {
        cron: items
            .iter()
            .map(|item| item.cron.as_str())
            .collect::<Vec<_>>()
            .join(","),
        calendar: items
            .iter()
            .map(|item| item.calendar.as_str())
            .collect::<Vec<_>>()
            .join(","),
        values: items.iter().flat_map(|item| item.values.clone()).collect(),
        open: items.iter().any(|item| item.open),
        star: items.iter().any(|item| item.star),
    });
    prop_oneof![1 => Just(star(min, max)), 3 => list]
}

/// A random expression in both languages.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) seconds: Part,
    pub(crate) minutes: Part,
    pub(crate) hours: Part,
    pub(crate) days: Part,
    pub(crate) months: Part,
    /// Cron's numbers, 0 to 6.
    pub(crate) weekdays: Part,
}

/// Any expression.
pub(crate) fn spec() -> impl Strategy<Value = Spec> {
    (
        part(0, 59),
        part(0, 59),
        part(0, 23),
        part(1, 31),
        part(1, 12),
        part(0, 6),
    )
        .prop_map(|(seconds, minutes, hours, days, months, weekdays)| Spec {
            seconds,
            minutes,
            hours,
            days,
            months,
            weekdays,
        })
}

const NAMES: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

impl Spec {
    pub(crate) fn cron(&self) -> String {
        let Self {
            seconds,
            minutes,
            hours,
            days,
            months,
            weekdays,
        } = self;
        let fields = [seconds, minutes, hours, days, months, weekdays];
        fields.map(|part| part.cron.as_str()).join(" ")
    }

    pub(crate) fn calendar(&self) -> String {
        let Self {
            seconds,
            minutes,
            hours,
            days,
            months,
            weekdays,
        } = self;
        let names: Vec<_> = weekdays.values.iter().map(|day| NAMES[*day as usize]).collect();
        format!(
            "{} *-{}-{} {}:{}:{}",
            names.join(","),
            months.calendar,
            days.calendar,
            hours.calendar,
            minutes.calendar,
            seconds.calendar
        )
    }

    /// The same times on all days.
    pub(crate) fn on_all_days(self) -> Self {
        Self {
            days: star(1, 31),
            months: star(1, 12),
            weekdays: star(0, 6),
            ..self
        }
    }

    /// Whether the expression stands for "every so often".
    pub(crate) fn is_open(&self) -> bool {
        self.seconds.open || self.minutes.open || self.hours.open
    }

    /// Whether a clock on the wall that shows this shows a match. `either`: as cron, one of the two days is enough if
    /// both are restricted.
    pub(crate) fn matches(&self, shown: DateTime, either: bool) -> bool {
        let has = |part: &Part, value: i8| part.values.contains(&(value as u32));
        let day = has(&self.days, shown.day());
        let weekday = has(&self.weekdays, shown.weekday().to_sunday_zero_offset());
        let date = if either && !self.days.star && !self.weekdays.star {
            day || weekday
        } else {
            day && weekday
        };
        date && has(&self.months, shown.month())
            && has(&self.hours, shown.hour())
            && has(&self.minutes, shown.minute())
            && has(&self.seconds, shown.second())
    }
}
