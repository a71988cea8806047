//! The key under whose rate a job starts, where whoever submitted it has said so.

use super::{Claimed, Job, Meta};
use crate::group::KeyRate;

/// The entry of a job's meta that says it: `10/m for KEY`.
pub const RATE: &str = "turnabout-rate";

impl Job {
    /// Its key, and how often jobs with this key may start. None: it was submitted without one.
    pub fn rate(&self) -> Option<KeyRate> {
        said(&self.meta)
    }
}

impl Claimed {
    /// Its key, and how often jobs with this key may start.
    pub(crate) fn rate(&self) -> Option<KeyRate> {
        said(&self.meta)
    }
}

fn said(meta: &Meta) -> Option<KeyRate> {
    // Anybody can write anything into a job's meta.
    meta.get(RATE)?.parse().ok()
}
