//! When a job may start, or no longer.

use std::time::Duration;

use jiff::Timestamp;

/// No delay is longer, in seconds: some 6000 years. A moment that clocks cannot show could not be read again.
pub(crate) const LONGEST: f64 = 2e11;

/// A moment as every store can write it: `PostgreSQL` knows none before 4713 BC. What is earlier than all jobs stays so.
pub(crate) fn writable(moment: Timestamp) -> Timestamp {
    const EARLIEST: Timestamp = Timestamp::constant(-62_135_596_800, 0); // The year 1.
    moment.max(EARLIEST)
}

/// When a job may start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum When {
    /// At once.
    #[default]
    Now,
    /// So long after it was submitted.
    After(Duration),
    /// Not before this moment.
    At(Timestamp),
}

impl When {
    /// The moment, if it is after `now`.
    pub(crate) fn moment(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Now => None,
            Self::After(delay) => Some(crate::clock::after(now, delay)),
            Self::At(moment) => Some(moment),
        }
        .filter(|moment| *moment > now)
    }

    /// A moment, or seconds from now by the store's clock: what statements are told.
    pub(crate) fn parts(self) -> (Option<Timestamp>, Option<f64>) {
        match self {
            Self::Now => (None, None),
            Self::After(delay) => (None, Some(delay.as_secs_f64().min(LONGEST))),
            Self::At(moment) => (Some(writable(moment)), None),
        }
    }

    /// The moment as an expiry: one that has passed counts too, such a job expires at once. `Now` means never.
    pub(crate) fn expiry(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Now => None,
            Self::After(delay) => Some(crate::clock::after(now, delay)),
            Self::At(moment) => Some(writable(moment)),
        }
    }
}
