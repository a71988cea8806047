//! Who gets which share of the slots.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Who gets which share of the slots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Shares)]
pub(crate) struct SharesView {
    /// Over the last so many minutes.
    pub(crate) minutes: u32,
    /// How many of the seconds of these minutes this server has looked at.
    pub(crate) observed_seconds: f64,
    /// Slots of all executors that are there. Null for whoever sees one group only.
    pub(crate) slots: Option<u32>,
    /// How many of them were in use, on average. Null for whoever sees one group only.
    pub(crate) busy: Option<f64>,
    /// Jain's index of what the groups got that had to wait: 1 if each got what it was entitled to. Null for whoever sees one
    /// group only.
    pub(crate) jain: Option<f64>,
    /// How long it takes until every group that waits has had its turn. Null: nobody knows, no job was started.
    pub(crate) rotation_ms: Option<u64>,
    /// A row for each group that was active in these minutes, as sorted.
    pub(crate) groups: Vec<ShareView>,
    /// The groups that are not shown: too many, or beyond the limit.
    pub(crate) rest: Rest,
    /// Who has the oldest ready job, of all groups that match.
    #[serde(default)]
    pub(crate) oldest: Option<OldestReady>,
}

/// The group that has the oldest ready job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct OldestReady {
    /// The group.
    pub(crate) group: String,
    /// For so many milliseconds that job has been ready.
    pub(crate) ready_ms: u64,
}

/// Groups that are not shown, added up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = SharesRest)]
pub(crate) struct Rest {
    /// How many of those that match. (Groups beyond the first 10,000 are not counted.)
    pub(crate) groups: u64,
    /// The share that they used together, with all that are not told apart.
    pub(crate) used: f64,
}

/// One group's share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Share)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says something of its own about a group"
)]
pub(crate) struct ShareView {
    /// The group.
    pub(crate) group: String,
    /// Its weight.
    pub(crate) weight: u32,
    /// The share that it was entitled to, by its weight among the groups that were active.
    pub(crate) entitled: f64,
    /// The share of the slot time in use that it had.
    pub(crate) used: f64,
    /// Slot seconds that it used.
    pub(crate) slot_seconds: f64,
    /// Jobs that are ready; counted up to a limit.
    pub(crate) ready: u64,
    /// Whether there are more: counting stopped.
    pub(crate) ready_more: bool,
    /// Jobs in executors' hands.
    pub(crate) running: u64,
    /// How long ago the oldest of its next jobs was submitted.
    pub(crate) oldest_ready_ms: Option<u64>,
    /// For how long it has been waiting for its turn, if it is.
    pub(crate) waiting_ms: Option<u64>,
    /// Half of its jobs that ended waited no longer.
    pub(crate) wait_p50_ms: Option<u64>,
    /// 95 in 100 of them waited no longer.
    pub(crate) wait_p95_ms: Option<u64>,
    /// Whether it has had more than its share while others waited.
    pub(crate) noisy: bool,
    /// Whether it has been waiting for its turn for longer than one rotation.
    pub(crate) harmed: bool,
    /// Whether no further job of it is taken.
    pub(crate) paused: bool,
    /// At most so many of its jobs run at a time.
    pub(crate) max_running: Option<u32>,
    /// Who has set its weight, its limits or its pause, if anything is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) set: Option<SetBy>,
}

/// Who has set something, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SetBy {
    /// Who.
    pub(crate) by: String,
    /// When.
    pub(crate) at: Timestamp,
    /// Why, in their words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

impl From<turnabout::store::audit::Entry> for SetBy {
    fn from(entry: turnabout::store::audit::Entry) -> Self {
        Self {
            by: entry.deed.by,
            at: entry.at,
            note: entry.deed.note,
        }
    }
}
