//! What a store tells those who wait for something.

use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::broadcast;
use uuid::Uuid;

use crate::error::Result;
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

/// How those who wait learn that something happened. What has a default concerns only stores that other machines share.
#[async_trait]
pub trait Wake {
    /// A new receiver of signals.
    fn signals(&self) -> broadcast::Receiver<Signal>;

    /// Whether the store takes jobs for those who [`stand_by`](super::Store::stand_by), as soon as any are ready. Where it
    /// does, they need not be woken by [`Signal::Ready`].
    fn serves(&self) -> bool {
        false
    }

    /// Notes whether an executor sleeps, so that a submit knows whether anyone needs waking.
    async fn doze(&self, _executor: Uuid, _asleep: bool) -> Result<()> {
        Ok(())
    }

    /// Whether signals of other processes get through. Where they do not, the store is asked more often.
    fn hears(&self) -> bool {
        true
    }

    /// The store was out of reach: connections of before are not to be trusted.
    fn refresh(&self) {}
}
