//! What failed, by kind.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use turnabout::JobId;
use turnabout::failures::FailureKind;
use utoipa::ToSchema;

/// What failed, by kind: the most frequent first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[expect(
    clippy::struct_field_names,
    reason = "what a page lists is called as the page is, everywhere in this API"
)]
pub(crate) struct Failures {
    /// Kinds of failures.
    pub(crate) failures: Vec<FailureView>,
    /// How many jobs were looked at.
    pub(crate) looked_at: u64,
    /// Give this as `before` for what failed earlier. None: that was all, in the time that was asked for.
    pub(crate) next: Option<Timestamp>,
}

/// Failures of the same kind: of one task, with one code, or with messages that differ in numbers and ids only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = FailureKind)]
pub(crate) struct FailureView {
    /// The task.
    pub(crate) task: String,
    /// The error for programs, if there is one.
    pub(crate) code: Option<String>,
    /// What went wrong, with `#` in place of numbers and ids.
    pub(crate) message: String,
    /// Why, where it was not the handler that said so: `timed-out`, `lost`, `expired`, ..
    pub(crate) reason: Option<String>,
    /// How many jobs failed like this.
    pub(crate) count: u64,
    /// How many jobs are stuck because of this, and will be tried again.
    pub(crate) stuck: u64,
    /// When the first of them failed that were looked at.
    pub(crate) first: Timestamp,
    /// When the last one failed.
    pub(crate) last: Timestamp,
    /// One of the jobs: the last.
    #[schema(value_type = Uuid)]
    pub(crate) example: JobId,
}

impl From<FailureKind> for FailureView {
    fn from(kind: FailureKind) -> Self {
        Self {
            task: kind.task,
            code: kind.code,
            message: kind.message,
            reason: kind.reason.map(|reason| reason.to_string()),
            count: kind.failed,
            stuck: kind.stuck,
            first: kind.first,
            last: kind.last,
            example: kind.example,
        }
    }
}
