//! At which times a schedule is due: its expression between start and end, without what is excluded, and with its jitter.
//!
//! Every search is bounded: whoever may write an expression must not be able to keep an executor busy.

use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use turnabout_calendar::Expression;

use super::ScheduleKey;
use super::definition::{Definition, Exclusion};
use crate::clock::{after, before};
use crate::error::Result;

/// A search for the next time gives up after so many excluded ones.
const EXCLUDED: usize = 1000;
/// So many times are counted one by one; past that there are just "many".
pub(super) const COUNTED: usize = 1000;

/// The times of a schedule.
#[derive(Clone, Debug)]
pub struct Times {
    expression: Expression,
    zone: TimeZone,
    anchor: Timestamp,
    start: Option<Timestamp>,
    end: Option<Timestamp>,
    exclude: Vec<Exclusion>,
    offset: Duration,
}

/// The times that have come.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Come {
    /// The last ones, oldest first.
    pub(super) times: Vec<Timestamp>,
    /// How many there were before those, counted up to a limit.
    pub(super) before: u32,
}

impl Times {
    /// The times of what is said about a schedule that was made then, or what is wrong with it.
    pub fn new(definition: &Definition, key: &ScheduleKey, created: Timestamp) -> Result<Self> {
        let expression = definition.parsed()?;
        let zone = definition.time_zone()?;
        let exclude = definition.exclude.iter().map(|text| text.parse());
        let jitter = u64::try_from(definition.jitter.as_millis()).unwrap_or(u64::MAX);
        let offset = key.hash().checked_rem(jitter).unwrap_or(0);
        Ok(Self {
            zone: expression.zone().cloned().unwrap_or(zone),
            expression,
            anchor: definition.start.unwrap_or(created),
            start: definition.start,
            end: definition.end,
            exclude: exclude.collect::<Result<_>>()?,
            offset: Duration::from_millis(offset),
        })
    }

    /// The first time after this one. None: there is none, or none was found within bounds.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        let mut after = match self.start {
            // Strictly after; the start itself may be a time.
            Some(start) => after.max(start.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(start)),
            None => after,
        };
        for _ in 0..EXCLUDED {
            let time = self.expression.next_after(after, &self.zone, self.anchor)?;
            if time <= after || self.end.is_some_and(|end| time > end) {
                return None;
            }
            match self.excluded_until(time) {
                None => return Some(time),
                Some(until) => after = until.max(time),
            }
        }
        None
    }

    /// The next times after this one.
    pub fn next(&self, mut after: Timestamp, count: usize) -> Vec<Timestamp> {
        let mut times = Vec::new();
        while times.len() < count
            && let Some(time) = self.next_after(after)
        {
            times.push(time);
            after = time;
        }
        times
    }

    /// How much later than its times the schedule is fired.
    pub fn offset(&self) -> Duration {
        self.offset
    }

    /// When the schedule is fired for a time.
    pub(super) fn due(&self, time: Timestamp) -> Timestamp {
        after(time, self.offset)
    }

    /// In words.
    pub fn describe(&self) -> String {
        self.expression.describe(&self.zone)
    }

    /// In which language the expression is written: `cron`, `calendar`, `interval`.
    pub fn language(&self) -> &'static str {
        match self.expression.language() {
            turnabout_calendar::Language::Cron => "cron",
            turnabout_calendar::Language::Interval => "interval",
            _ => "calendar",
        }
    }

    /// Why there is no time after this one.
    pub(super) fn why_none(&self, now: Timestamp) -> String {
        match self.end {
            Some(end) if end <= now => format!("its end, {end}, has passed"),
            Some(end) => format!("no time of its expression lies before its end, {end}"),
            None if self.exclude.is_empty() => "no time of its expression lies ahead".to_owned(),
            None => "no time of its expression lies ahead that is not excluded".to_owned(),
        }
    }

    /// The times from `first`, which is one, up to those that are due by now: the last `keep` of them.
    pub(super) fn come(&self, first: Timestamp, now: Timestamp, keep: usize) -> Come {
        let until = before(now, self.offset);
        let mut times = vec![first];
        while times.len() < COUNTED
            && let Some(next) = times.last().and_then(|last| self.next_after(*last))
            && next <= until
        {
            times.push(next);
        }
        let mut counted = times.len();
        // Very many: only the last ones are looked for, by a time from which on there are about enough of them.
        if counted >= COUNTED
            && let Some(last) = self.last_until(times[counted - 1], until)
        {
            counted += 1;
            // Behind those that were counted, of which some are kept where few have come since.
            times.extend(self.last_times(times[COUNTED - 1], last, keep));
            times.dedup();
        }
        let keep = keep.min(times.len());
        let times = times.split_off(times.len() - keep);
        let before = u32::try_from(counted.max(keep) - keep).unwrap_or(u32::MAX);
        Come { times, before }
    }

    /// The last time that is not after `until`, if there is one after `from`.
    fn last_until(&self, from: Timestamp, until: Timestamp) -> Option<Timestamp> {
        let comes = |after: i64| {
            let after = Timestamp::from_second(after).unwrap_or(until);
            self.next_after(after).filter(|time| *time <= until)
        };
        let (mut low, mut high) = (from.as_second(), until.as_second() + 1);
        let mut found = comes(low)?;
        // The later we begin to look, the later is what we find, until there is nothing.
        while high - low > 1 {
            let middle = low.midpoint(high);
            match comes(middle) {
                Some(time) => (found, low) = (time, middle),
                None => high = middle,
            }
        }
        // Two within one second.
        Some(
            self.next(found, 10)
                .into_iter()
                .rfind(|time| *time <= until)
                .unwrap_or(found),
        )
    }

    /// So many times up to `last`, or all since `from`.
    fn last_times(&self, from: Timestamp, last: Timestamp, keep: usize) -> Vec<Timestamp> {
        let mut window = SignedDuration::from_secs(1);
        let mut found = vec![last];
        for _ in 0..40 {
            if found.len() >= keep {
                break;
            }
            let begin = last.checked_sub(window).unwrap_or(from).max(from);
            let mut times = Vec::new();
            let mut time = begin;
            while times.len() < 4 * COUNTED
                && let Some(next) = self.next_after(time)
                && next <= last
            {
                times.push(next);
                time = next;
            }
            // Too many to reach the last: what was found before has to do.
            if times.last() != Some(&last) {
                break;
            }
            found = times;
            if begin == from {
                break;
            }
            window = window.saturating_mul(2);
        }
        found
    }

    /// Until when everything is excluded, if this time is.
    fn excluded_until(&self, time: Timestamp) -> Option<Timestamp> {
        self.exclude.iter().find_map(|exclusion| match exclusion {
            Exclusion::Days(first, last) => {
                let day = self.zone.to_datetime(time).date();
                if !(*first..=*last).contains(&day) {
                    return None;
                }
                let over = last.tomorrow().ok()?.to_zoned(self.zone.clone()).ok()?.timestamp();
                // The first moment of the day after may itself be a time.
                Some(over.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(over))
            }
            Exclusion::Times(expression) => {
                let before = time.checked_sub(SignedDuration::from_nanos(1)).ok()?;
                let zone = expression.zone().unwrap_or(&self.zone);
                (expression.next_after(before, zone, self.anchor) == Some(time)).then_some(time)
            }
        })
    }
}
