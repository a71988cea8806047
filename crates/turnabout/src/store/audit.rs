//! The audit log: who did what to jobs, groups, tasks, schedules and executors, and when.
//!
//! Entries are only added, and forgotten after a time of their own. The newest entry about something is kept as long as
//! nothing newer is said about it: it tells who paused a group, however long ago that was.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::error::Result;

/// A page of entries holds no more.
pub const MAX_ENTRIES: u32 = 1000;

/// Something that was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deed {
    /// Who did it: the name of a token, or of a user of the machine.
    pub by: String,
    /// What they may do: `admin`, `group`, `owner`, or another word for how they came to do it.
    pub role: String,
    /// The address that they called from.
    pub address: Option<String>,
    /// What was done: `cancel`, `restart`, `set-group`, ..
    pub action: String,
    /// What it was done to: `job:ID`, `group:NAME`, `task:NAME`, ..; none: to all that match the filter.
    pub target: Option<String>,
    /// The group whose jobs or settings these are, if it is one.
    pub group: Option<String>,
    /// Which jobs, as JSON.
    pub filter: Option<String>,
    /// How many were changed.
    pub count: Option<u64>,
    /// What was so before, as JSON.
    pub before: Option<String>,
    /// What is so since, as JSON.
    pub after: Option<String>,
    /// Why, in the words of whoever did it.
    pub note: Option<String>,
}

/// Something that was done, as it stands in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Grows.
    pub number: i64,
    /// When.
    pub at: Timestamp,
    /// What, and by whom.
    pub deed: Deed,
}

/// Which entries. Everything that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entries {
    /// By whom.
    pub by: Option<String>,
    /// What was done.
    pub action: Option<String>,
    /// To what.
    pub target: Option<String>,
    /// In which group.
    pub group: Option<String>,
    /// Then or later.
    pub since: Option<Timestamp>,
    /// Older than this one: the cursor of the next page.
    pub before: Option<i64>,
    /// How many at the most.
    pub limit: u32,
}

/// The audit log.
#[async_trait]
pub trait Audit: Send + Sync {
    /// Adds an entry.
    async fn add(&self, deed: Deed) -> Result<()>;

    /// Entries that match, newest first.
    async fn entries(&self, which: &Entries) -> Result<Vec<Entry>>;

    /// The newest entry about each of these targets, if there is one.
    async fn newest(&self, targets: &[String]) -> Result<Vec<Entry>>;
}
