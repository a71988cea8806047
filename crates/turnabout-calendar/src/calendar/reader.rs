//! Reads the parts of dates and times in calendar events.

use crate::error::ParseError;
use crate::field::{DAY_FROM_END, Field, Item, SECOND, Unit, YEAR};
use crate::scan::{Found, Scanner};

/// Reads the parts of dates and times.
pub(super) struct Reader<'t>(pub(super) Scanner<'t>);

impl Reader<'_> {
    /// `*`, or a list of `5`, `5..9`, `5..9/2` and `5/2`.
    pub(super) fn chain(&mut self, unit: Unit) -> Result<Field, ParseError> {
        if self.0.eat("*") {
            return match self.0.peek() {
                Some(b'/') => {
                    let first = unit.min;
                    Err(self.0.error_here(format!(
                        "a repetition begins with a number: write {first}/.. instead of */.."
                    )))
                }
                _ => Ok(Field::Any),
            };
        }
        let mut items = Vec::new();
        loop {
            items.push(self.item(unit)?);
            if !self.0.eat(",") {
                // systemd writes every second as a star.
                let every_second = unit == SECOND && items == [Item::open(0, 1)];
                return Ok(if every_second { Field::Any } else { Field::list(items) });
            }
        }
    }

    fn item(&mut self, unit: Unit) -> Result<Item, ParseError> {
        let start = self.value(unit)?;
        let end = if self.0.eat("..") {
            Some(self.value(unit)?)
        } else {
            None
        };
        let step = if self.0.eat("/") { Some(self.step(unit)?) } else { None };
        Ok(match (end, step) {
            (None, None) => Item::one(start.value),
            (None, Some(step)) => {
                // Days that are counted from the end go on to the last one, which is 1.
                let beyond = if unit == DAY_FROM_END {
                    start.value <= step.value
                } else {
                    start.value + step.value > unit.max
                };
                if beyond {
                    let message = format!(
                        "this never repeats: a step of {} from {} leaves the {}",
                        step.value,
                        start.value,
                        whole(unit)
                    );
                    return Err(self.0.error(start.span.start..step.span.end, message));
                }
                Item::open(start.value, step.value)
            }
            (Some(end), step) => {
                if end.value < start.value {
                    let Unit { min, max, .. } = unit;
                    let message = format!(
                        "a range goes upwards; write {}..{max},{min}..{} instead",
                        start.value, end.value
                    );
                    return Err(self.0.error(start.span.start..end.span.end, message));
                }
                Item::range(start.value, end.value, step.map_or(1, |step| step.value))
            }
        })
    }

    fn value(&mut self, unit: Unit) -> Result<Found<u32>, ParseError> {
        let Some(mut found) = self.0.number()? else {
            let Unit { name, min, max, .. } = unit;
            let message =
                format!("a {name} is expected here: * or {min} to {max}; also lists 1,2, ranges 1..5, repetitions 1/5");
            return Err(self.0.error_here(message));
        };
        if unit == YEAR {
            found.value = match found.value {
                short @ 0..70 => short + 2000,
                short @ 70..100 => short + 1900,
                year => year,
            };
        }
        if unit == SECOND {
            self.fraction()?;
        }
        match unit.refuses(found.value) {
            Some(message) => Err(self.0.error(found.span, message)),
            None => Ok(found),
        }
    }

    /// A fraction of a second, which must be zero.
    fn fraction(&mut self) -> Result<(), ParseError> {
        let mut ahead = self.0.clone();
        if !ahead.eat(".") || ahead.peek() == Some(b'.') {
            return Ok(());
        }
        match ahead.number()? {
            Some(zero) if zero.value == 0 => {
                self.0 = ahead;
                Ok(())
            }
            _ => Err(self.0.error_here("seconds are whole here; leave the fraction out")),
        }
    }

    fn step(&mut self, unit: Unit) -> Result<Found<u32>, ParseError> {
        let Some(step) = self.0.number()? else {
            return Err(self.0.error_here("after a / comes a number: how many to go on by"));
        };
        if unit == SECOND {
            self.fraction()?;
        }
        match step.value {
            0 => Err(self.0.error(step.span, "a step is at least 1")),
            steps if steps > unit.max - unit.min => {
                let message = format!("a step of {steps} leaves the {}", whole(unit));
                Err(self.0.error(step.span, message))
            }
            _ => Ok(step),
        }
    }

    pub(super) fn separator(&mut self, separator: &str) -> Result<(), ParseError> {
        if self.0.eat(separator) {
            return Ok(());
        }
        let message = format!("a {separator} is expected here; ranges are written with .. and repetitions with /");
        Err(self.0.error_here(message))
    }

    pub(super) fn end(&self) -> Result<(), ParseError> {
        if self.0.is_done() {
            return Ok(());
        }
        Err(self
            .0
            .error_here("nothing more is expected here; ranges are written with .. and repetitions with /"))
    }
}

/// What a unit's values fill.
fn whole(unit: Unit) -> &'static str {
    match unit.name {
        "second" => "minute",
        "minute" => "hour",
        "hour" => "day",
        "month" => "year",
        "year" => "years up to 2199",
        _ => "month",
    }
}
