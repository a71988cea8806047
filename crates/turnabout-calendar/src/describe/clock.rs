//! Times of the day in words.

use super::list::{join, runs};
use crate::field::{Field, HOUR, MINUTE, SECOND, Unit};

/// More times than this are not listed one by one.
const MAX_TIMES: u32 = 6;

/// When it happens during a day.
pub(super) enum Clock {
    /// At a few times: `15:00`, `08:00, 12:00 and 18:00`.
    At(String),
    /// Again and again, in every hour: `every 15 minutes`.
    AllDay(String),
    /// Again and again: `every 15 minutes from 09:00 to 17:59`.
    Often(String),
}

impl Clock {
    pub(super) fn new(hours: &Field, minutes: &Field, seconds: &Field) -> Self {
        let fields = [(hours, HOUR), (minutes, MINUTE), (seconds, SECOND)];
        let few: u32 = fields
            .iter()
            .map(|(field, unit)| field.bits(*unit).count_ones())
            .product();
        if few <= MAX_TIMES && !fields.iter().any(|(field, _)| field.is_wildcard()) {
            return Self::At(times(hours, minutes, seconds));
        }
        let often = often(hours, minutes, seconds);
        if *hours == Field::Any {
            Self::AllDay(often)
        } else {
            Self::Often(often)
        }
    }
}

/// The times, one by one.
fn times(hours: &Field, minutes: &Field, seconds: &Field) -> String {
    let values = |field: &Field, unit| set_bits(field.bits(unit)).collect::<Vec<_>>();
    let (minutes, seconds) = (values(minutes, MINUTE), values(seconds, SECOND));
    let mut times = Vec::new();
    for hour in values(hours, HOUR) {
        for minute in &minutes {
            for second in &seconds {
                times.push(if seconds == [0] {
                    format!("{hour:02}:{minute:02}")
                } else {
                    format!("{hour:02}:{minute:02}:{second:02}")
                });
            }
        }
    }
    join(&times, "and")
}

fn set_bits(bits: u64) -> impl Iterator<Item = u32> {
    (0..64).filter(move |bit| bits >> bit & 1 == 1)
}

/// How many of a unit lie between one time and the next, if that is always the same, also from one whole to the next.
fn period(field: &Field, unit: Unit) -> Option<u32> {
    let count = unit.max + 1;
    let bits = field.bits(unit);
    let period = count / bits.count_ones();
    let even = (0..count).step_by(period as usize).fold(0, |bits, bit| bits | 1 << bit);
    (bits == even && field.is_wildcard()).then_some(period)
}

/// `every minute`, `every 5 minutes`.
fn every(period: u32, unit: Unit) -> String {
    match period {
        1 => format!("every {}", unit.name),
        _ => format!("every {period} {}", unit.plural),
    }
}

/// What happens too often to be listed.
fn often(hours: &Field, minutes: &Field, seconds: &Field) -> String {
    let whole_minutes = seconds.single() == Some(0);
    if let Some(period) = period(seconds, SECOND) {
        return format!("{}{}{}", every(period, SECOND), in_minutes(minutes), in_hours(hours));
    }
    if whole_minutes && let Some(period) = period(minutes, MINUTE) {
        return format!("{}{}", every(period, MINUTE), in_hours(hours));
    }
    if whole_minutes && let (Some(period), Some(minute)) = (period(hours, HOUR), minutes.single()) {
        let every = every(period, HOUR);
        return match minute {
            0 => every,
            _ => format!("{every} at minute {minute}"),
        };
    }
    if whole_minutes && let (Some((first, last)), Some(minute)) = (range(hours), minutes.single()) {
        return format!("every hour from {first:02}:{minute:02} to {last:02}:{minute:02}");
    }
    let seconds = if whole_minutes {
        String::new()
    } else {
        format!("{} of ", values(seconds, SECOND))
    };
    let minutes = match minutes {
        Field::Any => "every minute".to_owned(),
        Field::List(_) => values(minutes, MINUTE),
    };
    let hours = match hours {
        Field::Any => "every hour".to_owned(),
        Field::List(_) => values(hours, HOUR),
    };
    format!("at {seconds}{minutes} of {hours}")
}

/// `minutes 5 and 10`.
fn values(field: &Field, unit: Unit) -> String {
    let bits = field.bits(unit);
    let name = if bits.is_power_of_two() { unit.name } else { unit.plural };
    format!("{name} {}", runs(bits, "and", |value| value.to_string()))
}

fn in_minutes(minutes: &Field) -> String {
    match minutes {
        Field::Any => String::new(),
        Field::List(_) => format!(" of {}", values(minutes, MINUTE)),
    }
}

/// ` from 09:00 to 17:59`, ` during hours 2 and 5`.
fn in_hours(hours: &Field) -> String {
    if *hours == Field::Any {
        return String::new();
    }
    if let Some((first, last)) = range(hours) {
        return format!(" from {first:02}:00 to {last:02}:59");
    }
    format!(" during {}", values(hours, HOUR))
}

/// The first and the last hour, if there is none missing between them.
fn range(hours: &Field) -> Option<(u32, u32)> {
    let bits = hours.bits(HOUR);
    let (first, count) = (bits.trailing_zeros(), bits.count_ones());
    (bits >> first == (1 << count) - 1).then(|| (first, first + count - 1))
}
