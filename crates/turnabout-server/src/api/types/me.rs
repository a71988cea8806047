//! Who asks, and what pages show beside jobs.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::auth::Scope;

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Me {
    /// What the token is called.
    pub(crate) name: String,
    /// What it can allow: `admin`, `operator`, `viewer`, `group` or `owner`.
    pub(crate) role: String,
    /// What it allows of that.
    pub(crate) scopes: Vec<Scope>,
    /// The only tasks that it may submit: names, or beginnings of names with a `*`. None: all.
    pub(crate) tasks: Option<Vec<String>>,
    /// The only queues that it may submit to. None: all.
    pub(crate) queues: Option<Vec<String>>,
    /// The only group that they see, if not all.
    pub(crate) group: Option<String>,
    /// The only owner that they see, if not all.
    pub(crate) owner: Option<String>,
    /// Whether a token was needed.
    pub(crate) token: bool,
    /// The program's version.
    pub(crate) version: String,
    /// The server's time.
    pub(crate) time: Timestamp,
    /// Addresses of other programs that know more.
    pub(crate) links: Links,
}

/// Addresses of other programs, with a place for what they are about. None: there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Links {
    /// About a job: `{id}`, `{task}`, `{group}`, `{owner}`.
    pub(crate) job: Option<String>,
    /// About a task: `{task}`.
    pub(crate) task: Option<String>,
    /// About a group: `{group}`.
    pub(crate) group: Option<String>,
    /// About an executor: `{name}`, `{id}`.
    pub(crate) executor: Option<String>,
    /// About a trace: `{trace}`.
    pub(crate) trace: Option<String>,
}
