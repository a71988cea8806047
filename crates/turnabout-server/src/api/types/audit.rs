//! Who did what, and when.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use turnabout::store::audit::Entry;
use utoipa::ToSchema;

use super::job::raw;

/// A page of the audit log.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct AuditPage {
    /// Newest first.
    pub(crate) entries: Vec<AuditEntry>,
    /// Give this as `before` for the next page. None: this was the last one.
    pub(crate) next: Option<i64>,
}

/// Something that was done.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct AuditEntry {
    /// Grows.
    pub(crate) number: i64,
    /// When.
    pub(crate) at: Timestamp,
    /// Who: the name of a token, or of a user of the machine.
    pub(crate) by: String,
    /// Their role: `admin`, `group`, `owner`, or `configuration` for what the configuration file says.
    pub(crate) role: String,
    /// The address that they called from. Only administrators see it.
    pub(crate) address: Option<String>,
    /// What: `cancel`, `restart`, `delete`, `retry`, `set-priority`, `set-group`, `set-task`, `drain`, `schedule-pause`, ..
    pub(crate) action: String,
    /// What it was done to: `job:ID`, `group:NAME`, `task:NAME`, `executor:ID`, `schedule:NAME`. None: see the filter.
    pub(crate) target: Option<String>,
    /// The group that it concerns, if it is one.
    pub(crate) group: Option<String>,
    /// Which jobs were meant, if many were.
    #[schema(value_type = Option<Value>)]
    pub(crate) filter: Option<Box<RawValue>>,
    /// How many jobs were changed.
    pub(crate) count: Option<u64>,
    /// How it was before.
    #[schema(value_type = Option<Value>)]
    pub(crate) before: Option<Box<RawValue>>,
    /// How it is since.
    #[schema(value_type = Option<Value>)]
    pub(crate) after: Option<Box<RawValue>>,
    /// Why, in their words.
    pub(crate) note: Option<String>,
}

impl From<Entry> for AuditEntry {
    fn from(entry: Entry) -> Self {
        let Entry { number, at, deed, .. } = entry;
        let json = |text: Option<String>| text.map(|text| raw(&text));
        Self {
            number,
            at,
            by: deed.by,
            role: deed.role,
            address: deed.address,
            action: deed.action,
            target: deed.target,
            group: deed.group,
            filter: json(deed.filter),
            count: deed.count,
            before: json(deed.before),
            after: json(deed.after),
            note: deed.note,
        }
    }
}
