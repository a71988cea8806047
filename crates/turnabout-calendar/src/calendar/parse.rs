//! Reads calendar events: which parts there are, shorthands, weekdays and the zone. `reader.rs` reads dates and times.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::reader::Reader;
use super::{Event, EventDays, WHOLE_WEEK};
use crate::civil::{WEEKDAYS, named};
use crate::error::ParseError;
use crate::field::{DAY, DAY_FROM_END, Field, HOUR, MINUTE, MONTH, SECOND, YEAR};
use crate::scan::{Found, Scanner, words};
use crate::zone::Named;

/// The event, and the zone that it names.
pub(super) fn parse(text: &str) -> Result<(Event, Option<Named>), ParseError> {
    let mut words = words(text);
    let zone = take_zone(text, &mut words)?;
    if let [moment] = words.as_slice()
        && moment.value.starts_with('@')
        && zone.as_ref().is_none_or(|zone| zone.zone == TimeZone::UTC)
    {
        return at_moment(text, moment);
    }
    if let [word] = words.as_slice()
        && let Some(canonical) = shorthand(word.value)
    {
        return parse(canonical).map(|(event, _)| (event, zone));
    }
    let mut rest = words.iter().peekable();
    let weekdays = rest.next_if(|word| word.value.starts_with(|c: char| c.is_ascii_alphabetic()));
    let date = rest.next_if(|word| word.value.contains(['-', '~']) && !word.value.contains(':'));
    let time = rest.next_if(|word| word.value.contains(':'));
    if let Some(word) = rest.next() {
        return Err(ParseError::new(
            text,
            word.span.clone(),
            out_of_place(word.value, words.len()),
        ));
    }
    if words.is_empty() {
        let message = "nothing is here; write for example `daily`, `Mon..Fri 15:00` or `*-*-1 02:30`";
        return Err(ParseError::new(text, 0..text.len(), message));
    }
    let weekdays = weekdays.map_or(Ok(WHOLE_WEEK), |word| read_weekdays(text, word))?;
    let (years, months, days, from_end) = date.map_or(Ok((Field::Any, Field::Any, Field::Any, false)), |word| {
        read_date(text, word)
    })?;
    let [hours, minutes, seconds] = time.map_or(Ok([0; 3].map(Field::one)), |word| read_time(text, word))?;
    let event = Event {
        years,
        months,
        days: EventDays {
            weekdays,
            days,
            from_end,
        },
        hours,
        minutes,
        seconds,
    };
    Ok((event, zone))
}

/// What systemd calls them, in its canonical form.
fn shorthand(word: &str) -> Option<&'static str> {
    Some(match word.to_ascii_lowercase().as_str() {
        "minutely" => "*-*-* *:*:00",
        "hourly" => "*-*-* *:00:00",
        "daily" => "*-*-* 00:00:00",
        "weekly" => "Mon *-*-* 00:00:00",
        "monthly" => "*-*-01 00:00:00",
        "quarterly" => "*-01,04,07,10-01 00:00:00",
        "semiannually" | "semi-annually" | "biannually" | "bi-annually" => "*-01,07-01 00:00:00",
        "yearly" | "annually" => "*-01-01 00:00:00",
        _ => return None,
    })
}

/// `@1893456000`: seconds since 1970. One point in time, as systemd has it.
fn at_moment(text: &str, word: &Found<&str>) -> Result<(Event, Option<Named>), ParseError> {
    let wrong = || {
        let message = "after the @ come seconds since 1970, until 2199";
        ParseError::new(text, word.span.clone(), message)
    };
    let digits = Some(&word.value[1..]).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    let seconds = digits.and_then(|digits| digits.parse().ok()).ok_or_else(wrong)?;
    let time = Timestamp::from_second(seconds)
        .map_err(|_| wrong())?
        .to_zoned(TimeZone::UTC);
    if time.year() as u32 > YEAR.max {
        return Err(wrong());
    }
    let event = Event {
        years: Field::one(time.year() as u32),
        months: Field::one(time.month() as u32),
        days: EventDays {
            weekdays: WHOLE_WEEK,
            days: Field::one(time.day() as u32),
            from_end: false,
        },
        hours: Field::one(time.hour() as u32),
        minutes: Field::one(time.minute() as u32),
        seconds: Field::one(time.second() as u32),
    };
    Ok((event, Named::find("UTC").ok()))
}

/// Takes the zone off the words: a name that does not stand first.
fn take_zone(text: &str, words: &mut Vec<Found<&str>>) -> Result<Option<Named>, ParseError> {
    let named_last = |last: &&Found<&str>| last.value.starts_with(|c: char| c.is_ascii_alphabetic());
    let Some(last) = words.last().filter(|_| words.len() > 1).filter(named_last) else {
        return Ok(None);
    };
    let first_name = last.value.split([',', '.', '-']).next().unwrap_or_default();
    let message = match Named::find(last.value) {
        Ok(zone) => {
            words.pop();
            return Ok(Some(zone));
        }
        Err(_) if named(&WEEKDAYS, first_name).is_some() => {
            "weekdays come first, in one word: `Mon,Tue 10:00`".to_owned()
        }
        Err(_) if shorthand(last.value).is_some() => {
            format!("\"{}\" stands alone, or with a time zone behind it", last.value)
        }
        Err(error) => error.to_string(),
    };
    Err(ParseError::new(text, last.span.clone(), message))
}

/// The message for a word that is neither weekdays nor date nor time, or stands in the wrong place.
fn out_of_place(word: &str, words: usize) -> String {
    if word.contains(':') || word.contains(['-', '~']) {
        "the order is: weekdays, date, time, time zone, each at most once".to_owned()
    } else if words == 1 {
        format!(
            "\"{word}\" is neither a time (10:00), nor a date (*-*-10), nor weekdays (Mon..Fri), nor a word like daily"
        )
    } else {
        format!(
            "\"{word}\" is neither a time (10:00) nor a date (*-*-10); a calendar event is `Mon..Fri *-*-* 10:00 \
             Europe/Berlin`, a cron expression has 5 or 6 fields"
        )
    }
}

/// `Mon,Wed..Fri`.
fn read_weekdays(text: &str, word: &Found<&str>) -> Result<u64, ParseError> {
    let mut scanner = Scanner::new(text, word.span.clone());
    let mut days = 0;
    let mut from: Option<u32> = None;
    loop {
        let letters = scanner.letters();
        let Some(day) = named(&WEEKDAYS, letters.value) else {
            let span = if letters.value.is_empty() {
                scanner.word_here().span
            } else {
                letters.span
            };
            let message =
                "a weekday is expected here: Mon, Tue, Wed, Thu, Fri, Sat, Sun; also lists Mon,Fri and ranges Mon..Fri";
            return Err(scanner.error(span, message));
        };
        // Perhaps across the end of the week.
        let first = from.take().unwrap_or(day);
        let last = if first > day { day + 7 } else { day };
        days |= (first..=last).fold(0, |days, day| days | 1 << (day % 7));
        let in_range = first != day;
        if scanner.is_done() {
            return Ok(days);
        }
        if scanner.eat(",") {
            // systemd lets a comma stand at the end.
            if scanner.is_done() {
                return Ok(days);
            }
        } else if !in_range && (scanner.eat("..") || scanner.eat("-")) {
            from = Some(day);
        } else {
            return Err(scanner.error_here("weekdays are separated by , (both) or .. (from, to)"));
        }
    }
}

/// Year, month, day, and whether the day is counted from the end.
type DateParts = (Field, Field, Field, bool);

/// `2026-1-5`, `*-*~1`, `12-24`: two parts are month and day.
fn read_date(text: &str, word: &Found<&str>) -> Result<DateParts, ParseError> {
    // The parts are known by their number, so they are counted before they are read.
    let separators = word.value.bytes().filter(|b| matches!(b, b'-' | b'~')).count();
    let mut reader = Reader(Scanner::new(text, word.span.clone()));
    let years = match separators {
        1 => Field::Any,
        2 => {
            let years = reader.chain(YEAR)?;
            reader.separator("-")?;
            years
        }
        _ => {
            let message = "a date is year-month-day or month-day, such as *-*-1 or 12-24; ranges are written with ..";
            return Err(ParseError::new(text, word.span.clone(), message));
        }
    };
    let months = reader.chain(MONTH)?;
    let from_end = reader.0.eat("~");
    if !from_end {
        reader.separator("-")?;
    }
    let days = reader.chain(if from_end { DAY_FROM_END } else { DAY })?;
    reader.end()?;
    // Every day is every day, from whichever end; there is one way to say so.
    let from_end = from_end && days != Field::Any;
    Ok((years, months, days, from_end))
}

/// `15:00`, `*:0/15:30`.
fn read_time(text: &str, word: &Found<&str>) -> Result<[Field; 3], ParseError> {
    let mut reader = Reader(Scanner::new(text, word.span.clone()));
    let hours = reader.chain(HOUR)?;
    reader.separator(":")?;
    let minutes = reader.chain(MINUTE)?;
    if reader.0.is_done() {
        return Ok([hours, minutes, Field::one(0)]);
    }
    reader.separator(":")?;
    let seconds = reader.chain(SECOND)?;
    reader.end()?;
    Ok([hours, minutes, seconds])
}
