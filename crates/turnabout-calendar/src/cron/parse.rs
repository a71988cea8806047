//! Reads cron expressions: which fields there are, nicknames, and the zone. `reader.rs` reads the fields.

use super::Cron;
use super::days::CronDays;
use super::reader::Reader;
use crate::error::ParseError;
use crate::field::{DAY, Field, HOUR, MINUTE, MONTH, SECOND, WEEKDAY, YEAR};
use crate::scan::{Found, words};
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
            let ends = other.first().zip(other.last());
            let span = ends.map_or(0..text.len(), |(first, last)| first.span.start..last.span.end);
            let message = format!(
                "a cron expression has 5 fields (minute, hour, day, month, weekday), 6 with seconds in front, or 7 with years \
                 behind; here are {}",
                other.len()
            );
            return Err(ParseError::new(text, span, message));
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
