//! Reads one field of a cron expression.

use super::days::{DayOfMonth, DayOfWeek, SpecialDay, SpecialWeekday};
use crate::civil::{MONTHS, WEEKDAYS, named};
use crate::error::ParseError;
use crate::field::{DAY, Field, Item, MONTH, Unit, WEEKDAY};
use crate::scan::{Found, Scanner};

/// Reads one field.
pub(super) struct Reader<'t> {
    scanner: Scanner<'t>,
    unit: Unit,
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str, word: &Found<&'t str>, unit: Unit) -> Self {
        Self {
            scanner: Scanner::new(text, word.span.clone()),
            unit,
        }
    }

    /// Reads a list; `special` is asked first about each part of it, and says whether it took it.
    fn list(&mut self, mut special: impl FnMut(&mut Self) -> Result<bool, ParseError>) -> Result<Field, ParseError> {
        let mut items = Vec::new();
        let mut any = false;
        loop {
            if !special(self)? {
                any |= self.part(&mut items)?;
            }
            if self.scanner.is_done() {
                return Ok(if any { Field::Any } else { Field::list(items) });
            }
            if !self.scanner.eat(",") {
                return Err(self.not_understood());
            }
        }
    }

    pub(super) fn field(&mut self) -> Result<Field, ParseError> {
        self.list(|_| Ok(false))
    }

    pub(super) fn days_of_month(&mut self) -> Result<DayOfMonth, ParseError> {
        if self.is_question_mark() {
            return Ok(DayOfMonth::ANY);
        }
        let mut special = Vec::new();
        let days = self.list(|reader| {
            Ok(reader.special_day()?.is_some_and(|found| {
                special.push(found);
                true
            }))
        })?;
        if days == Field::Any {
            return Ok(DayOfMonth::ANY);
        }
        special.sort_unstable();
        special.dedup();
        Ok(DayOfMonth { days, special })
    }

    pub(super) fn days_of_week(&mut self) -> Result<DayOfWeek, ParseError> {
        if self.is_question_mark() {
            return Ok(DayOfWeek::ANY);
        }
        let mut special = Vec::new();
        let days = self.list(|reader| {
            Ok(reader.special_weekday()?.is_some_and(|found| {
                special.push(found);
                true
            }))
        })?;
        if days == Field::Any {
            return Ok(DayOfWeek::ANY);
        }
        special.sort_unstable();
        special.dedup();
        Ok(DayOfWeek { days, special })
    }

    /// Quartz's "no specific value".
    fn is_question_mark(&self) -> bool {
        self.scanner.rest() == "?"
    }

    /// `L`, `L-3`, `LW`, `15W`, if that is what comes next.
    fn special_day(&mut self) -> Result<Option<SpecialDay>, ParseError> {
        let back = self.scanner.clone();
        if let Some(day) = self.scanner.number()? {
            if self.eat_letter("w") {
                self.check(&day)?;
                return Ok(Some(SpecialDay::Nearest(day.value)));
            }
            self.scanner = back;
            return Ok(None);
        }
        if !self.eat_letter("l") {
            return Ok(None);
        }
        if self.eat_letter("w") {
            return Ok(Some(SpecialDay::LastWeekday));
        }
        if !self.scanner.eat("-") {
            return Ok(Some(SpecialDay::BeforeLast(0)));
        }
        match self.scanner.number()? {
            Some(offset) if offset.value <= 30 => Ok(Some(SpecialDay::BeforeLast(offset.value))),
            Some(offset) => Err(self
                .scanner
                .error(offset.span, "no month has a day that is this far from its last")),
            None => Err(self.not_understood()),
        }
    }

    /// `5#2`, `FRI#2`, `5L`, `FRIL`, `L5`, if that is what comes next.
    fn special_weekday(&mut self) -> Result<Option<SpecialWeekday>, ParseError> {
        let back = self.scanner.clone();
        if self.eat_letter("l") {
            let Some(weekday) = self.scanner.number()? else {
                let message = "the last which weekday of the month? Write `5L` or `FRIL` for the last Friday";
                return Err(self.scanner.error(back.word_here().span, message));
            };
            self.check(&weekday)?;
            return Ok(Some(SpecialWeekday::Last(weekday.value % 7)));
        }
        let weekday = match self.scanner.number()? {
            Some(number) => number,
            None => match self.weekday_before_l() {
                Some(weekday) => weekday,
                None => return Ok(None),
            },
        };
        if self.eat_letter("l") {
            self.check(&weekday)?;
            return Ok(Some(SpecialWeekday::Last(weekday.value % 7)));
        }
        if !self.scanner.eat("#") {
            self.scanner = back;
            return Ok(None);
        }
        self.check(&weekday)?;
        match self.scanner.number()? {
            Some(nth) if (1..=5).contains(&nth.value) => Ok(Some(SpecialWeekday::Nth {
                weekday: weekday.value % 7,
                nth: nth.value,
            })),
            Some(nth) => Err(self
                .scanner
                .error(nth.span, "a weekday comes one to five times a month")),
            None => Err(self.not_understood()),
        }
    }

    /// The name of a weekday, without the L that may stand right behind it.
    fn weekday_before_l(&mut self) -> Option<Found<u32>> {
        let letters = self.scanner.clone().letters();
        let name = letters.value;
        let shorter = &name[..name.len().saturating_sub(1)];
        for name in [name, shorter] {
            if let Some(at) = named(&WEEKDAYS, name) {
                let span = letters.span.start..letters.span.start + name.len();
                self.scanner.eat(name);
                return Some(Found {
                    value: (at + 1) % 7,
                    span,
                });
            }
        }
        None
    }

    /// One part of a list. Whether it was a bare `*`, which needs no items.
    fn part(&mut self, items: &mut Vec<Item>) -> Result<bool, ParseError> {
        if self.scanner.eat("*") {
            let Some(step) = self.step()? else {
                return Ok(true);
            };
            items.push(Item::open(self.unit.min, step));
            return Ok(false);
        }
        let start = self.value()?;
        // Sunday has two numbers; as a single day and as a beginning it is 0.
        let first = if self.unit == WEEKDAY {
            start.value % 7
        } else {
            start.value
        };
        if !self.scanner.eat("-") {
            items.push(match self.step()? {
                None => Item::one(first),
                // Weekdays go on to Saturday; Sunday would be there twice otherwise.
                Some(step) if self.unit == WEEKDAY && first > 0 => Item::range(first, 6, step),
                Some(step) => Item::open(first, step),
            });
            return Ok(false);
        }
        let end = self.value()?;
        let step = self.step()?.unwrap_or(1);
        if first <= end.value {
            items.push(Item::range(first, end.value, step));
        } else if self.unit == WEEKDAY {
            // Across the end of the week: Friday to Monday.
            let days = (first..=end.value + 7).step_by(step as usize);
            items.extend(days.map(|day| Item::one(day % 7)));
        } else {
            let Unit { min, max, .. } = self.unit;
            let message = format!(
                "a range goes upwards; write {}-{max},{min}-{} instead",
                start.value, end.value
            );
            return Err(self.scanner.error(start.span.start..end.span.end, message));
        }
        Ok(false)
    }

    /// `/5`, if that comes next.
    fn step(&mut self) -> Result<Option<u32>, ParseError> {
        if !self.scanner.eat("/") {
            return Ok(None);
        }
        let Some(step) = self.scanner.number()? else {
            return Err(self
                .scanner
                .error_here("after a / comes a number: how many to go on by"));
        };
        let Unit { plural, min, max, .. } = self.unit;
        let message = match step.value {
            0 => "a step is at least 1".to_owned(),
            steps if steps <= max - min => return Ok(Some(steps)),
            // Whoever writes */90 means an interval.
            steps if matches!(self.unit.name, "second" | "minute" | "hour") => format!(
                "a step of {steps} goes beyond {max}, where {plural} begin again; write `every {steps} {plural}` for an \
                 interval"
            ),
            steps => format!("a step of {steps} goes beyond the {plural} there are, {min} to {max}"),
        };
        Err(self.scanner.error(step.span, message))
    }

    /// A number or a name.
    fn value(&mut self) -> Result<Found<u32>, ParseError> {
        if let Some(number) = self.scanner.number()? {
            self.check(&number)?;
            return Ok(number);
        }
        let here = self.scanner.clone();
        let letters = self.scanner.letters();
        let value = match self.unit {
            MONTH => named(&MONTHS, letters.value).map(|at| at + 1),
            WEEKDAY => named(&WEEKDAYS, letters.value).map(|at| (at + 1) % 7),
            _ => None,
        };
        let Some(value) = value else {
            self.scanner = here;
            return Err(self.not_understood());
        };
        Ok(Found {
            value,
            span: letters.span,
        })
    }

    fn check(&self, number: &Found<u32>) -> Result<(), ParseError> {
        match self.unit.refuses(number.value) {
            Some(message) => Err(self.scanner.error(number.span.clone(), message)),
            None => Ok(()),
        }
    }

    /// Letters count in upper and lower case.
    fn eat_letter(&mut self, letter: &str) -> bool {
        self.scanner.eat(letter) || self.scanner.eat(&letter.to_ascii_uppercase())
    }

    /// The error for anything unexpected.
    fn not_understood(&self) -> ParseError {
        let Unit { name, min, max, .. } = self.unit;
        let more = match self.unit {
            DAY => ", L for the last day, LW for the last weekday, 15W for the weekday nearest to the 15th",
            MONTH => " or JAN to DEC",
            WEEKDAY => " (0 and 7 are Sunday) or SUN to SAT, 5#2 for the second Friday, 5L for the last Friday",
            _ => "",
        };
        let message = format!("a {name} is expected here: {min} to {max}{more}; also lists 1,2, ranges 1-5, steps */5");
        self.scanner.error(self.scanner.word_here().span, message)
    }
}
