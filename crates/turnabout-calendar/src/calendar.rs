//! Calendar events: filled in next.

use std::fmt;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::error::ParseError;
use crate::zone::Named;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Event(());

impl Event {
    pub(crate) fn parse(text: &str) -> Result<(Self, Option<Named>), ParseError> {
        Err(ParseError::new(
            text,
            0..text.len(),
            "calendar events are not understood yet",
        ))
    }

    pub(crate) fn next_after(&self, _after: Timestamp, _zone: &TimeZone) -> Option<Timestamp> {
        None
    }
}

impl fmt::Display for Event {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}
