//! Reads cron expressions.

use super::Cron;
use super::days::{CronDays, DayOfMonth, DayOfWeek, SpecialDay, SpecialWeekday};
use crate::civil::{MONTHS, WEEKDAYS, named};
use crate::error::ParseError;
use crate::field::{DAY, Field, HOUR, Item, MINUTE, MONTH, SECOND, Unit, WEEKDAY, YEAR};
use crate::scan::{Found, Scanner, words};
use crate::zone::{Named, is_known};

/// The expression, and the zone that it names.
pub(super) fn parse(text: &str) -> Result<(Cron, Option<Named>), ParseError> {
    let mut words = words(text);
    let zone = take_zone(text, &mut words)?;
    let cron = match words.as_slice() {
        [word, rest @ ..] if word.value.starts_with('@') => nickname(text, word, rest)?,
        [minutes, hours, days, months, weekdays] => fields(text, None, [minutes, hours, days, months, weekdays], None)?,
        [seconds, minutes, hours, days, months, weekdays] => {
            fields(text, Some(seconds), [minutes, hours, days, months, weekdays], None)?
        }
        [seconds, minutes, hours, days, months, weekdays, years] => fields(
            text,
            Some(seconds),
            [minutes, hours, days, months, weekdays],
            Some(years),
        )?,
        other => {
            let (start, end) = match other {
                [] => (0, text.len()),
                [first, .., last] | [first @ last] => (first.span.start, last.span.end),
            };
            let message = format!(
                "a cron expression has 5 fields (minute, hour, day, month, weekday), 6 with seconds in front, or 7 with years \
                 behind; here are {}",
                other.len()
            );
            return Err(ParseError::new(text, start..end, message));
        }
    };
    Ok((cron, zone))
}

/// Takes the zone off the words: `CRON_TZ=Europe/Berlin ..` or `.. Europe/Berlin`.
fn take_zone(text: &str, words: &mut Vec<Found<&str>>) -> Result<Option<Named>, ParseError> {
    let find = |name: &str, start: usize| {
        Named::find(name).map_err(|error| ParseError::new(text, start..start + name.len(), error.to_string()))
    };
    if let Some(first) = words.first()
        && let Some((variable, name)) = first.value.split_once('=')
    {
        let start = first.span.end - name.len();
        if !matches!(variable, "CRON_TZ" | "TZ") {
            let message = "only a time zone can stand here: `CRON_TZ=Europe/Berlin 0 2 * * *`";
            return Err(ParseError::new(text, first.span.clone(), message));
        }
        let zone = find(name, start)?;
        words.remove(0);
        return Ok(Some(zone));
    }
    let Some(last) = words.last().filter(|last| words.len() > 1 && is_zone_like(last.value)) else {
        return Ok(None);
    };
    let zone = find(last.value, last.span.start)?;
    words.pop();
    Ok(Some(zone))
}

/// Whether a last word is meant as a zone: `Europe/Berlin`, also if it is misspelled, or a known name such as `UTC`.
fn is_zone_like(word: &str) -> bool {
    let lettered = |part: &str| part.starts_with(|c: char| c.is_ascii_alphabetic());
    if word.contains('/') {
        word.split('/').all(lettered)
    } else {
        lettered(word) && is_known(word)
    }
}

/// `@daily` and the like.
fn nickname(text: &str, word: &Found<&str>, rest: &[Found<&str>]) -> Result<Cron, ParseError> {
    let canonical = match word.value.to_ascii_lowercase().as_str() {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        wrong => {
            let message = match wrong {
                "@reboot" => "@reboot is no time; submit a job where your program starts",
                "@every" => "intervals are written without the @, such as `every 10 minutes`",
                _ => "there is no such nickname; @hourly, @daily, @weekly, @monthly and @yearly are",
            };
            return Err(ParseError::new(text, word.span.clone(), message));
        }
    };
    if let Some(more) = rest.first() {
        let message = "a nickname stands alone, or with a time zone behind it";
        return Err(ParseError::new(text, more.span.clone(), message));
    }
    parse(canonical).map(|(cron, _)| cron)
}

/// All fields, of which seconds and years may be missing.
fn fields(
    text: &str,
    seconds: Option<&Found<&str>>,
    [minutes, hours, days, months, weekdays]: [&Found<&str>; 5],
    years: Option<&Found<&str>>,
) -> Result<Cron, ParseError> {
    let plain = |word: &Found<&str>, unit| Reader::new(text, word, unit).field();
    Ok(Cron {
        seconds: seconds.map_or(Ok(Field::one(0)), |word| plain(word, SECOND))?,
        minutes: plain(minutes, MINUTE)?,
        hours: plain(hours, HOUR)?,
        days: CronDays {
            of_month: Reader::new(text, days, DAY).days_of_month()?,
            of_week: Reader::new(text, weekdays, WEEKDAY).days_of_week()?,
        },
        months: plain(months, MONTH)?,
        years: years.map_or(Ok(Field::Any), |word| plain(word, YEAR))?,
    })
}

/// Reads one field.
struct Reader<'t> {
    scanner: Scanner<'t>,
    unit: Unit,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str, word: &Found<&'t str>, unit: Unit) -> Self {
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

    fn field(&mut self) -> Result<Field, ParseError> {
        self.list(|_| Ok(false))
    }

    fn days_of_month(&mut self) -> Result<DayOfMonth, ParseError> {
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

    fn days_of_week(&mut self) -> Result<DayOfWeek, ParseError> {
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
