//! What handlers have to tell, as far as the loops that write it must know: that there is something.
//!
//! Flags and not wake-ups: whoever is woken by a handler that keeps its thread to itself waits for that thread, and would
//! not see what it tells. So the loops look, while jobs are in hand.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::clock::Clock;
use crate::log::LogLimits;

/// Between two looks, while jobs are in hand.
pub(super) const LOOK: Duration = Duration::from_millis(25);

/// Whether there is something to write.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// Somebody has reported progress.
    pub(crate) progress: AtomicBool,
    /// Somebody has written a line.
    pub(crate) lines: AtomicBool,
    /// Somebody has written many lines.
    pub(crate) lines_soon: AtomicBool,
    pub(crate) limits: LogLimits,
    /// What lines are dated by.
    pub(crate) clock: Clock,
}
