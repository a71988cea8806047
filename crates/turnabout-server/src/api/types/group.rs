//! Groups: their unfinished jobs, what is set for them, and changes of that.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use turnabout::group::{GroupSettings, Rate};
use turnabout::jobs::GroupSum;
use utoipa::ToSchema;

use super::given;
use super::retention::{RetentionChange, RetentionView};
use super::{Limit, RateLimit, SetBy};

/// What holds where nothing is set.
fn usual_names() -> u32 {
    GroupSettings::MAX_UNKNOWN_TASKS
}

/// Groups and their jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Groups {
    /// In the order of their names.
    pub(crate) groups: Vec<GroupSummary>,
    /// Give this as `after` for the next page. None: this was the last one.
    pub(crate) next: Option<String>,
}

/// One group's unfinished jobs, and what holds for it: what is set for it, or for all groups (`[group-defaults]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct GroupSummary {
    /// The group.
    pub(crate) group: String,
    /// Waiting and ready.
    pub(crate) ready: u64,
    /// Waiting or stuck, and parked.
    pub(crate) parked: u64,
    /// Scheduled or running.
    pub(crate) held: u64,
    /// Units of work in all of them.
    pub(crate) items: u64,
    /// When the oldest of them was submitted.
    pub(crate) oldest: Option<Timestamp>,
    /// How many jobs it gets for each one of a group of weight 1.
    pub(crate) weight: u32,
    /// At most so many of its jobs run at a time, over all executors.
    pub(crate) max_running: Option<u32>,
    /// At most such a share of the slots of each executor have its jobs, in percent.
    #[serde(default)]
    pub(crate) max_share: Option<u32>,
    /// At most so many of its jobs are unfinished at a time.
    pub(crate) max_unfinished: Option<u32>,
    /// So many different tasks that no executor has ever published may its unfinished jobs have.
    #[serde(default = "usual_names")]
    pub(crate) max_unknown_tasks: u32,
    /// How often its jobs may start, over all executors: `100/s`, `10/m burst 20`.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub(crate) rate: Option<Rate>,
    /// Whether no further job of it is taken.
    pub(crate) paused: bool,
    /// How long its ended jobs are kept, as far as that is set.
    #[serde(default)]
    pub(crate) retention: RetentionView,
    /// Who has set this, and when, if anything is set. Only told where one group is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) set: Option<SetBy>,
}

impl GroupSummary {
    pub(crate) fn new(sum: GroupSum, set: GroupSettings) -> Self {
        Self {
            group: sum.group,
            ready: sum.ready,
            parked: sum.parked,
            held: sum.held,
            items: sum.items,
            oldest: sum.oldest,
            weight: set.weight(),
            max_running: set.max_running,
            max_share: set.max_share,
            max_unfinished: set.max_unfinished,
            max_unknown_tasks: set.max_unknown_tasks.unwrap_or_else(usual_names),
            rate: set.rate,
            paused: set.paused,
            retention: set.retention.into(),
            set: None,
        }
    }
}

/// What is to be set for a group. What is left out stays as it is. What is `null` is as `[group-defaults]` says: where that says
/// nothing, there is no limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct GroupChange {
    /// How many jobs it gets for each one of a group of weight 1. `null`: as all groups that have no weight of their own.
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    #[serde(deserialize_with = "given::weight", skip_serializing_if = "Option::is_none")]
    pub(crate) weight: Option<Limit>,
    /// At most so many of its jobs run at a time, over all executors. `null`: as many as there are slots.
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 2_147_483_647)]
    #[serde(deserialize_with = "given::given", skip_serializing_if = "Option::is_none")]
    pub(crate) max_running: Option<Limit>,
    /// At most such a share of the slots of each executor may its jobs have, in percent: one slot at least. `null`: all of them.
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 100)]
    #[serde(deserialize_with = "given::given", skip_serializing_if = "Option::is_none")]
    pub(crate) max_share: Option<Limit>,
    /// At most so many of its jobs may be unfinished; a submit past that is refused. `null`: any number.
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 2_147_483_647)]
    #[serde(deserialize_with = "given::given", skip_serializing_if = "Option::is_none")]
    pub(crate) max_unfinished: Option<Limit>,
    /// So many different tasks that no executor has ever published may its unfinished jobs have; a submit of one more is refused.
    /// `null`: 1000.
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 2_147_483_647)]
    #[serde(deserialize_with = "given::given", skip_serializing_if = "Option::is_none")]
    pub(crate) max_unknown_tasks: Option<Limit>,
    /// How often its jobs may start, over all executors: `100/s`, `10/m`, `5/30s`, `10/m burst 20`. `null`: as often as there are
    /// slots.
    #[schema(value_type = Option<String>)]
    #[serde(deserialize_with = "given::given", skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<RateLimit>,
    /// True: no further job of it is taken; those that run go on. False: jobs are taken again.
    #[schema(value_type = bool)]
    #[serde(deserialize_with = "given::given", skip_serializing_if = "Option::is_none")]
    pub(crate) paused: Option<bool>,
    /// How long its jobs are kept after they have ended.
    #[schema(value_type = RetentionChange)]
    #[serde(deserialize_with = "given::given", skip_serializing_if = "Option::is_none")]
    pub(crate) retention: Option<RetentionChange>,
    /// Why: for whoever finds it later.
    #[schema(value_type = String)]
    #[serde(deserialize_with = "given::given", skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

/// What holds for a group: what is set for it, or for all groups (`[group-defaults]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = GroupSettings)]
pub(crate) struct GroupSet {
    /// The group.
    pub(crate) group: String,
    /// How many jobs it gets for each one of a group of weight 1.
    pub(crate) weight: u32,
    /// At most so many of its jobs run at a time, over all executors.
    pub(crate) max_running: Option<u32>,
    /// At most such a share of the slots of each executor have its jobs, in percent.
    #[serde(default)]
    pub(crate) max_share: Option<u32>,
    /// At most so many of its jobs are unfinished at a time.
    pub(crate) max_unfinished: Option<u32>,
    /// So many different tasks that no executor has ever published may its unfinished jobs have.
    #[serde(default = "usual_names")]
    pub(crate) max_unknown_tasks: u32,
    /// How often its jobs may start, over all executors: `100/s`, `10/m burst 20`.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub(crate) rate: Option<Rate>,
    /// Whether no further job of it is taken.
    pub(crate) paused: bool,
    /// How long its ended jobs are kept, as far as that is set.
    #[serde(default)]
    pub(crate) retention: RetentionView,
}

impl GroupSet {
    pub(crate) fn new(group: String, set: GroupSettings) -> Self {
        Self {
            group,
            weight: set.weight(),
            max_running: set.max_running,
            max_share: set.max_share,
            max_unfinished: set.max_unfinished,
            max_unknown_tasks: set.max_unknown_tasks.unwrap_or_else(usual_names),
            rate: set.rate,
            paused: set.paused,
            retention: set.retention.into(),
        }
    }
}
