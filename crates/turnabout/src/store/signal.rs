//! What a store tells those who wait for something.

use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "postgres")]
use super::NewJob;
use crate::job::JobId;

/// Something happened that someone may be waiting for. Signals may come twice or too often; where they may be lost,
/// a poll stands behind them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Jobs may have become ready, a cap's place may have become free, or settings have changed.
    Ready,
    /// Jobs of these groups have become ready.
    Came(Arc<[String]>),
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

/// So many groups are told apart by a signal at the most.
#[cfg(feature = "postgres")]
const MAX_TOLD: usize = 256;

impl Signal {
    /// These jobs have become ready.
    #[cfg(feature = "postgres")]
    pub(crate) fn came<'a>(jobs: impl Iterator<Item = &'a NewJob>) -> Self {
        let mut groups: Vec<String> = Vec::new();
        for job in jobs {
            // Jobs of one group often come together.
            if groups.last() != Some(&job.group) {
                if groups.len() == MAX_TOLD {
                    return Self::Ready;
                }
                groups.push(job.group.clone());
            }
        }
        Self::Came(groups.into())
    }

    /// Whether jobs may have become ready.
    pub fn is_ready(&self) -> bool {
        matches!(self, Self::Ready | Self::Came(_))
    }
}
