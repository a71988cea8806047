//! What a store tells those who wait for something.

use std::time::Duration;

use crate::job::JobId;

/// Something happened that someone may be waiting for. Signals may come twice or too often; where they may be lost,
/// a poll stands behind them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Jobs may have become ready, a cap's place may have become free, or settings have changed.
    Ready,
    /// A job was parked that is due so long from now.
    Due(Duration),
    /// A cancel was requested for this job.
    Cancel(JobId),
    /// These jobs have changed.
    Changed(JobId),
    /// Schedules were made, changed or deleted: the next one may be due sooner than was known.
    Schedules,
    /// A hook is owed to someone.
    Owed,
    /// This job's log has new lines.
    Logged(JobId),
    /// Someone asks whether the executor with this id lives: it should beat at once.
    Who(String),
}
