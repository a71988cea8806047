//! The last hour in numbers.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The last hour, as far as this server has seen it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Trends {
    /// Points are so many seconds apart.
    pub(crate) step_seconds: u64,
    /// Oldest first.
    pub(crate) points: Vec<Point>,
}

/// How things stood, and what had happened since the point before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Point {
    /// When.
    pub(crate) at: Timestamp,
    /// Jobs that were ready: counted up to 10,000, and estimated beyond on `PostgreSQL`.
    pub(crate) ready: u64,
    /// Jobs in executors' hands.
    pub(crate) running: u64,
    /// Slots of the executors that were there.
    pub(crate) slots: u64,
    /// Jobs that were started since the point before: those that ended, and those that executors hold in addition.
    pub(crate) started: u64,
    /// Jobs that ended since then, in whatever way.
    pub(crate) ended: u64,
    /// Of these, those that failed.
    pub(crate) failed: u64,
}
