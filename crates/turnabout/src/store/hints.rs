//! Hints of which jobs have changed, for those who follow many.
//!
//! While someone watches, stores note which jobs have changed, after (or with) each change. A hint names the
//! job and no more: whoever reads it looks the job up, so that what is told is never older than what was told before.
//! Nobody watches for ever: watching is asked for again and again, and where it stops, so do the hints, and an epoch
//! ends. Hints that were lost end it, too. Within an epoch no hint is missing, except for those of a process that had
//! not heard yet of the watching, and of one that has died and ran no jobs; for these, watchers look at what they follow now
//! and then regardless.

use std::time::Duration;

use async_trait::async_trait;

use crate::error::Result;
use crate::job::{Brief, JobId};

/// Hints are kept so long.
pub(crate) const HINTS_KEPT: Duration = Duration::from_mins(5);
/// How the hints stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// Grows whenever hints may be missing.
    pub epoch: i64,
    /// The number of the newest hint.
    pub newest: i64,
    /// Hints up to this number are forgotten.
    pub forgotten: i64,
}

/// A job has changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Hint {
    /// Grows; numbers may be missing.
    pub number: i64,
    /// The job.
    pub job: JobId,
    /// Its group.
    pub group: String,
    /// Its owner.
    pub owner: Option<String>,
    /// What it was at its end, if it was forgotten at once.
    pub last: Option<Brief>,
}

/// The hints that a store notes while someone watches.
#[async_trait]
pub trait Hints {
    /// Someone watches, for so long at least: hints are noted until then.
    async fn watch(&self, hold: Duration) -> Result<Watched>;

    /// Hints after this number, in order.
    async fn hints(&self, after: i64, limit: u32) -> Result<Vec<Hint>>;
}
