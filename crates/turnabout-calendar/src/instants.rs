//! From the clock on the wall to points in time, where clocks are put forward and back.
//!
//! As Vixie's cron does it:
//!
//! - *Fixed times* (no wildcard among hours, minutes and seconds) happen once. A time that is skipped because clocks go
//!   forward happens right after the gap; of a time that comes twice because clocks go back, the first counts.
//! - *Wildcards* (`*`, `*/5`, `0/5`) stand for "every so often" and go by the clock as it shows: what is skipped does not
//!   happen, and what comes twice happens twice. `*/20 * * * *` so comes every 20 minutes of elapsed time.
//!
//! The whole of a search is bounded: [`MAX_STEPS`] months are looked at, however often the clocks change.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{SignedDuration, Timestamp, ToSpan};

use crate::civil::Pattern;

/// No expression needs a tenth of this: from 1970 to 2199 there are 2,760 months, and a search goes through them once.
/// The limit is there in case that this is a mistake.
pub(crate) const MAX_STEPS: u32 = 50_000;

/// More than the clocks of any two zones differ, and more than a clock was ever changed by.
const FAR: SignedDuration = SignedDuration::from_hours(72);

/// The first match strictly after `after`.
pub(crate) fn next(pattern: &Pattern<'_>, wildcard: bool, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    // Everything happens at whole seconds.
    let after = Timestamp::from_second(after.as_nanosecond().div_euclid(1_000_000_000) as i64).ok()?;
    if wildcard {
        next_shown(pattern, after.checked_add(1.second()).ok()?, zone)
    } else {
        next_fixed(pattern, after, zone)
    }
}

/// The first point in time, from `from` on, at which the clock shows a match.
fn next_shown(pattern: &Pattern<'_>, from: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let mut from = from;
    while pattern.steps.get() < MAX_STEPS {
        // Up to its next change, the clock shows every time exactly once.
        let offset = zone.to_offset(from);
        let change = zone.following(from).next().map(|change| change.timestamp());
        let found = pattern.first_from(offset.to_datetime(from));
        if let Some(found) = found
            && let Ok(time) = offset.to_timestamp(found)
            && change.is_none_or(|change| time < change)
        {
            return Some(time);
        }
        // Go on beyond the change. If that is far away, no clock will show a time again that was shown before `from`; then
        // nothing happens until shortly before what was found, and the changes until there need not be looked at.
        let change = change?;
        from = if change.duration_since(from) > FAR {
            let near = found?.checked_sub(FAR).ok()?;
            change.max(Offset::UTC.to_timestamp(near).ok()?)
        } else {
            change
        };
    }
    None
}

/// The first point in time later than `after` at which a match happens, if each happens once.
fn next_fixed(pattern: &Pattern<'_>, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    // What the clock showed by then has happened, also if it shows it again.
    let mut from = second_later(zone.to_datetime(after))?;
    while pattern.steps.get() < MAX_STEPS {
        let found = pattern.first_from(from)?;
        match zone.to_ambiguous_timestamp(found).offset() {
            AmbiguousOffset::Unambiguous { offset } => return offset.to_timestamp(found).ok(),
            AmbiguousOffset::Gap { after: summer, .. } => {
                // By the clock that goes ahead, what is skipped lies just before the change.
                let before = summer.to_timestamp(found).ok()?;
                return zone.following(before).next().map(|change| change.timestamp());
            }
            AmbiguousOffset::Fold { before: summer, .. } => {
                let first = summer.to_timestamp(found).ok()?;
                if first > after {
                    return Some(first);
                }
                // The clock shows the hour for the second time: go on where that ends.
                let change = zone.preceding(after.checked_add(1.second()).ok()?).next()?.timestamp();
                from = summer.to_datetime(change).max(second_later(found)?);
            }
        }
    }
    None
}

fn second_later(time: DateTime) -> Option<DateTime> {
    time.checked_add(1.second()).ok()
}

#[cfg(test)]
mod tests;
