//! Lists of jobs, and changes of many at once.

use jiff::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use turnabout::{JobId, Priority};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::{JobView, PriorityWord};

/// Which jobs. Everything that is said must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, IntoParams, ToSchema)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
#[schema(as = Filter)]
pub(crate) struct ListQuery {
    /// These jobs, by id and separated by commas, in this order; at most 1000. Ids that name no job are left out. An address
    /// holds about 800: for more, `POST /api/v1/jobs/find` takes the same as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ids: Option<String>,
    /// States, separated by commas: in one of them. `unfinished`, `ended` and `active` (scheduled or running) name several.
    /// With `!` before each: in none of them, as in `!success`. `states` is the same, and may be repeated:
    /// `states=!success&states=!failed`.
    #[serde(skip_serializing_if = "Option::is_none", alias = "states")]
    #[param(example = "!success")]
    pub(crate) state: Option<String>,
    /// Of this task. With `!` before it, as also before a group, an owner, a queue, a reason and a code: all but these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) task: Option<String>,
    /// Of this group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<String>,
    /// Of this owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<String>,
    /// In this queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) queue: Option<String>,
    /// Whose subject contains this text; capital and small letters (of a to z) are the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) search: Option<String>,
    /// Submitted at this moment or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<Timestamp>,
    /// Submitted before this moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<Timestamp>,
    /// For this reason in their state: `error`, `permanent`, `timed-out`, `interrupted`, `lost`, `expired`,
    /// `cancel-requested`, `restarted`, `snoozed`, `released` or `rate-limited`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(example = "timed-out")]
    pub(crate) reason: Option<String>,
    /// Whose last error has this code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<String>,
    /// The children of this job.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Uuid>)]
    #[param(value_type = Option<Uuid>)]
    pub(crate) parent: Option<JobId>,
    /// Held by this executor, or ended by it: its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) executor: Option<Uuid>,
    /// With so many attempts, or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) attempts: Option<u32>,
    /// With these entries in their meta: `key=value`, several separated by commas.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(example = "order=4711")]
    pub(crate) meta: Option<String>,
    /// The next page: `next` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Uuid>)]
    #[param(value_type = Option<Uuid>)]
    pub(crate) before: Option<JobId>,
    /// How many at the most: from 1 to 1000, 100 unless said otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000)]
    #[param(minimum = 1, maximum = 1000)]
    pub(crate) limit: Option<u32>,
    /// Also count how many there are on all pages together (up to a limit).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) count: bool,
    /// Look at about so many jobs for this page, and no more. Where few match among many, a page may then have fewer jobs than its
    /// limit, or none, and yet a `next`. Unless this is said, it looks until the page is full.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    #[param(minimum = 1)]
    pub(crate) looks: Option<u32>,
    /// `false`: with arguments and results, which may be large: a page ends where they have a million bytes together. They are
    /// null unless this is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(default = true)]
    #[schema(default = true)]
    pub(crate) brief: Option<bool>,
}

/// One page of a list.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct JobPage {
    /// The jobs, newest first (or in the order of the ids asked for).
    pub(crate) jobs: Vec<JobView>,
    /// Give this as `before` for the next page. None: this was the last one.
    #[schema(value_type = Option<Uuid>)]
    pub(crate) next: Option<JobId>,
    /// How many there are on all pages together, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) count: Option<Count>,
}

/// How many jobs match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Count {
    /// So many.
    pub(crate) jobs: u64,
    /// Whether there are more: counting stopped.
    pub(crate) more: bool,
}

/// What is done to many jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum BulkVerb {
    /// Cancel those that have not ended.
    Cancel,
    /// Make those that have ended wait again.
    Restart,
    /// Forget those that have ended.
    Delete,
    /// Try those now that are stuck or delayed.
    Retry,
    /// Make those that wait more or less urgent: see `priority`.
    Priority,
    /// Have those that wait or are stuck start later: see `delay`.
    Delay,
    /// Give those that wait or are stuck another queue: see `queue`.
    Queue,
    /// Give those that wait or are stuck other arguments: see `args`. The filter has to name the task.
    Args,
}

impl BulkVerb {
    /// As the audit log calls it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Restart => "restart",
            Self::Delete => "delete",
            Self::Retry => "retry",
            Self::Priority => "set-priority",
            Self::Delay => "delay",
            Self::Queue => "set-queue",
            Self::Args => "set-args",
        }
    }
}

/// Something to be done to all jobs that match.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BulkRequest {
    /// What.
    pub(crate) action: BulkVerb,
    /// To which jobs. What it says, it says: an empty text or `null` is an error.
    #[serde(default, deserialize_with = "said")]
    pub(crate) filter: ListQuery,
    /// To all jobs that the caller may see. Has to be said where the filter says nothing.
    #[serde(default)]
    pub(crate) all: bool,
    /// How urgent, where the action is `priority`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PriorityWord>)]
    pub(crate) priority: Option<Priority>,
    /// They start so long from now at the earliest, where the action is `delay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) delay: Option<String>,
    /// Which executors may take them, where the action is `queue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queue: Option<String>,
    /// Their arguments, where the action is `args`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub(crate) args: Option<Box<RawValue>>,
    /// Do it in the background, and answer at once with an operation (202): see `/api/v1/operations`.
    #[serde(default)]
    pub(crate) background: bool,
    /// In the background: so many jobs a second, if the store can. Unless given, it works a tenth of the time, so that others have
    /// the store for the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 100_000)]
    pub(crate) pace: Option<u32>,
    /// Why: for the audit log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
    /// Only count which ones that would be.
    #[serde(default)]
    pub(crate) dry_run: bool,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct BulkOutcome {
    /// How many jobs match and are in a state that allows it.
    pub(crate) matched: u64,
    /// How many were changed. None in a dry run.
    pub(crate) changed: u64,
    /// How many were not, because their state had changed meanwhile or their unique key is held by another job.
    pub(crate) skipped: u64,
    /// Whether there are more: so many are changed by one call at the most. Call again with `next`.
    pub(crate) more: bool,
    /// Give this as `before` in the filter of the next call, so that no job is changed twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Uuid>)]
    pub(crate) next: Option<JobId>,
}

/// A filter in which everything that is there says something: whoever writes `"group": null` has meant a group.
fn said<'de, D: Deserializer<'de>>(from: D) -> Result<ListQuery, D::Error> {
    let fields = serde_json::Map::deserialize(from)?;
    for (name, value) in &fields {
        let empty = match value {
            Value::Null => true,
            Value::String(text) => text.split(',').all(|part| part.trim().is_empty()),
            _ => false,
        };
        if empty {
            return Err(D::Error::custom(format!(
                "`{name}` in the filter is empty; leave it out, and say `\"all\": true` if all jobs are meant"
            )));
        }
    }
    serde_json::from_value(Value::Object(fields)).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_seems_to_say_something_and_does_not_is_refused() {
        for filter in [
            r#"{"group":null}"#,
            r#"{"state":""}"#,
            r#"{"state":","}"#,
            r#"{"state":" , "}"#,
            r#"{"task":"a","owner":""}"#,
            r#"{"ids":null}"#,
            r#"{"since":null}"#,
            r#"{"grop":"a"}"#,
            "null",
            "[]",
        ] {
            let text = format!(r#"{{"action":"cancel","filter":{filter}}}"#);
            let error = serde_json::from_str::<BulkRequest>(&text)
                .expect_err(filter)
                .to_string();
            assert!(
                error.contains("empty") || error.contains("grop") || error.contains("invalid type"),
                "{error}"
            );
        }
        let text = r#"{"action":"cancel","filter":{"group":"a","state":"waiting,stuck"}}"#;
        let request: BulkRequest = serde_json::from_str(text).expect("a request");
        assert_eq!(request.filter.group.as_deref(), Some("a"));
        assert!(!request.all);
    }
}
