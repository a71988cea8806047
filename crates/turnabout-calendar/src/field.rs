//! One part of an expression (the minutes, the months ..): everything, or a list of values, ranges and repetitions.

use std::fmt;

/// What a part counts: its name in messages, and how far it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) name: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) min: u32,
    pub(crate) max: u32,
}

impl Unit {
    const fn new(name: &'static str, plural: &'static str, min: u32, max: u32) -> Self {
        Self { name, plural, min, max }
    }

    /// Why a number is no value of this unit, if it is none.
    pub(crate) fn refuses(&self, value: u32) -> Option<String> {
        let Self { name, plural, min, max } = self;
        (!(*min..=*max).contains(&value)).then(|| format!("{value} is no {name}: {plural} go from {min} to {max}"))
    }
}

pub(crate) const SECOND: Unit = Unit::new("second", "seconds", 0, 59);
pub(crate) const MINUTE: Unit = Unit::new("minute", "minutes", 0, 59);
pub(crate) const HOUR: Unit = Unit::new("hour", "hours", 0, 23);
pub(crate) const DAY: Unit = Unit::new("day of a month", "days", 1, 31);
/// Every month has this many days, so that counting from the end never leaves the month.
pub(crate) const DAY_FROM_END: Unit = Unit::new("day counted from the end of a month", "they", 1, 28);
pub(crate) const MONTH: Unit = Unit::new("month", "months", 1, 12);
/// Cron's: 0 and 7 are both Sunday.
pub(crate) const WEEKDAY: Unit = Unit::new("weekday", "weekdays", 0, 7);
/// As systemd has it. Searches end with the last of them.
pub(crate) const YEAR: Unit = Unit::new("year", "years", 1970, 2199);

/// `5`, `5..9`, `5..9/2` or `5/2`. The order is the one that lists are printed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Item {
    pub(crate) start: u32,
    /// Larger than `start`, and reached by the step.
    pub(crate) end: Option<u32>,
    /// None for a single value; at least 1.
    pub(crate) step: Option<u32>,
}

impl Item {
    pub(crate) fn one(value: u32) -> Self {
        Self {
            start: value,
            end: None,
            step: None,
        }
    }

    /// From `start` to `end`, which is not smaller, in steps of at least 1.
    pub(crate) fn range(start: u32, end: u32, step: u32) -> Self {
        let end = end - (end - start) % step;
        if end == start {
            return Self::one(start);
        }
        Self {
            start,
            end: Some(end),
            step: Some(step),
        }
    }

    /// From `start` to whatever is the end, in steps of at least 1.
    pub(crate) fn open(start: u32, step: u32) -> Self {
        Self {
            start,
            end: None,
            step: Some(step),
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.end.is_none() && self.step.is_some()
    }

    /// Its values, none of which is larger than `max`.
    pub(crate) fn values(self, max: u32) -> impl Iterator<Item = u32> {
        let end = match (self.end, self.step) {
            (Some(end), _) => end.min(max),
            (None, Some(_)) => max,
            (None, None) => self.start.min(max),
        };
        (self.start..=end).step_by(self.step.unwrap_or(1) as usize)
    }
}

/// All values of a unit, or the ones in a sorted list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Field {
    /// `*`
    Any,
    /// Sorted, without repetitions.
    List(Vec<Item>),
}

impl Field {
    pub(crate) fn list(mut items: Vec<Item>) -> Self {
        items.sort_unstable();
        items.dedup();
        Self::List(items)
    }

    pub(crate) fn one(value: u32) -> Self {
        Self::List(vec![Item::one(value)])
    }

    pub(crate) fn items(&self) -> &[Item] {
        match self {
            Self::Any => &[],
            Self::List(items) => items,
        }
    }

    /// Whether it goes on and on (`*`, `*/5`, `0/5`), and so stands for "every so often", not for fixed times.
    pub(crate) fn is_wildcard(&self) -> bool {
        *self == Self::Any || self.items().iter().any(Item::is_open)
    }

    /// Whether it is or repeats a star (`*`, `*/5`): it holds for the whole unit.
    pub(crate) fn has_star(&self, unit: Unit) -> bool {
        let star = |item: &Item| item.is_open() && item.start == unit.min;
        *self == Self::Any || self.items().iter().any(star)
    }

    /// The only value, if there is only one.
    pub(crate) fn single(&self) -> Option<u32> {
        match self.items() {
            [Item { start, step: None, .. }] => Some(*start),
            _ => None,
        }
    }

    /// One bit for each value of a unit whose values are below 64.
    pub(crate) fn bits(&self, unit: Unit) -> u64 {
        match self {
            Self::Any => (unit.min..=unit.max).fold(0, |bits, value| bits | 1 << value),
            Self::List(items) => items
                .iter()
                .flat_map(|item| item.values(unit.max))
                .fold(0, |bits, value| bits | 1 << value),
        }
    }

    /// Whether the value is one of these, for units with many values.
    pub(crate) fn contains(&self, value: u32) -> bool {
        match self {
            Self::Any => true,
            Self::List(items) => items.iter().any(|item| {
                let offset = value.checked_sub(item.start);
                let inside = item.end.is_none_or(|end| value <= end);
                offset.is_some_and(|offset| match item.step {
                    Some(step) => inside && offset % step == 0,
                    None => offset == 0,
                })
            }),
        }
    }

    /// As this language writes it.
    pub(crate) fn print<'f>(&'f self, unit: Unit, notation: &'f Notation) -> impl fmt::Display + 'f {
        fmt::from_fn(move |f| {
            if *self == Self::Any {
                return f.write_str("*");
            }
            for (nth, item) in self.items().iter().enumerate() {
                if nth > 0 {
                    f.write_str(",")?;
                }
                item.print(f, unit, notation)?;
            }
            Ok(())
        })
    }
}

/// How a language writes lists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notation {
    /// Between the ends of a range.
    pub(crate) to: &'static str,
    /// Numbers have at least this many digits.
    pub(crate) width: usize,
    /// Whether a repetition from the first value on begins with a `*`.
    pub(crate) star: bool,
}

impl Item {
    fn print(self, f: &mut fmt::Formatter<'_>, unit: Unit, notation: &Notation) -> fmt::Result {
        let Notation { to, width, star } = *notation;
        if star && self.is_open() && self.start == unit.min {
            f.write_str("*")?;
        } else {
            write!(f, "{:0width$}", self.start)?;
        }
        if let Some(end) = self.end {
            write!(f, "{to}{end:0width$}")?;
        }
        match self.step {
            Some(step) if step > 1 || self.end.is_none() => write!(f, "/{step}"),
            _ => Ok(()),
        }
    }
}
