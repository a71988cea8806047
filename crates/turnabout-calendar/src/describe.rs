//! Expressions in words for people: "every weekday at 15:00, Berlin time".
//!
//! What many people write is said as they would say it; everything else exactly, though perhaps clumsily.

mod clock;
mod cron_days;
mod event_days;
mod list;

use jiff::tz::TimeZone;

use crate::calendar::Event;
use crate::cron::Cron;
use clock::Clock;

/// A calendar event, in this zone.
pub(crate) fn event(event: &Event, zone: &TimeZone) -> String {
    let clock = Clock::new(&event.hours, &event.minutes, &event.seconds);
    let days = event_days::describe(event);
    sentence(&clock, &days, zone)
}

/// A cron expression, in this zone.
pub(crate) fn cron(cron: &Cron, zone: &TimeZone) -> String {
    let clock = Clock::new(&cron.hours, &cron.minutes, &cron.seconds);
    let days = cron_days::describe(cron);
    sentence(&clock, &days, zone)
}

/// On which days it happens.
struct Days {
    /// `every weekday`, `on the 13th of every month`.
    which: String,
    /// `, if that is a Friday`, or nothing.
    only_if: String,
}

/// `every weekday` + `at 15:00` + `Berlin time`; `every 15 minutes` + `every weekday` + ..
fn sentence(clock: &Clock, days: &Days, zone: &TimeZone) -> String {
    let Days { which, only_if } = days;
    let when = match clock {
        Clock::At(times) => format!("{which} at {times}{only_if}"),
        // The zone hardly matters to what comes all day and every day.
        Clock::AllDay(often) if which == EVERY_DAY => return often.clone(),
        Clock::Often(often) if which == EVERY_DAY => often.clone(),
        Clock::AllDay(often) | Clock::Often(often) => format!("{often}, {which}{only_if}"),
    };
    match zone_in_words(zone) {
        Some(zone) => format!("{when}, {zone}"),
        None => when,
    }
}

/// What is said of days if nothing is.
const EVERY_DAY: &str = "every day";

/// "Berlin time", "UTC".
fn zone_in_words(zone: &TimeZone) -> Option<String> {
    let Some(name) = zone.iana_name() else {
        return zone.to_fixed_offset().ok().map(|offset| format!("UTC{offset}"));
    };
    let city = name.rsplit('/').next().unwrap_or(name);
    Some(match name {
        "UTC" | "Etc/UTC" => "UTC".to_owned(),
        _ if !name.contains('/') || name.starts_with("Etc/") => format!("time zone {name}"),
        _ => format!("{} time", city.replace('_', " ")),
    })
}
