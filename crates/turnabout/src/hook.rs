//! Hooks: what a task wants to do when something has become of one of its jobs.
//!
//! The store notes what is *owed*, in the same transaction as the change that it is about, and only for tasks that have
//! such a hook. Executors that know the task pay what is owed, at least once, and strike it off. So a hook runs whoever
//! made the change (a handler that failed, a cancel of a job that waited, the reaping of a lost executor, retention),
//! and also if a process dies just then.

use std::panic::AssertUnwindSafe;
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt as _;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::job::Job;
use crate::lifecycle::{self, Change, Location};
use crate::progress::percent_of;
use crate::store::Settle;

/// A hook that nobody has run for so long is forgotten: no executor knows its task any longer.
pub(crate) const OWED_KEPT: Duration = Duration::from_hours(30 * 24);
/// How long a hook may take unless said otherwise.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// What a task may want to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Hook {
    /// An attempt failed, or the job failed without one (it expired, or was lost once too often).
    Error = 1,
    /// The job was cancelled.
    Cancelled = 2,
    /// The job is forgotten: deleted, or kept for long enough.
    Delete = 4,
}

impl Hook {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Error, Self::Cancelled, Self::Delete];

    /// The number that the stores keep.
    pub const fn code(self) -> i16 {
        self as i16
    }

    /// The hook with this number.
    pub fn from_code(code: i16) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.code() == code)
    }
}

/// A set of hooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hooks(u8);

impl Hooks {
    /// None at all, as most tasks have it.
    pub const NONE: Self = Self(0);

    /// Every one.
    pub const ALL: Self = Self::NONE.with(Hook::Error).with(Hook::Cancelled).with(Hook::Delete);

    /// This set and one more.
    #[must_use]
    pub const fn with(self, hook: Hook) -> Self {
        Self(self.0 | hook as u8)
    }

    /// Whether it is among them.
    pub const fn has(self, hook: Hook) -> bool {
        self.0 & hook as u8 != 0
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those that are in both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The number that the stores keep.
    pub const fn code(self) -> i16 {
        self.0 as i16
    }

    /// The set with this number.
    pub const fn from_code(code: i16) -> Self {
        Self(code as u8 & Self::ALL.0)
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = Hook> {
        Hook::ALL.into_iter().filter(move |hook| self.has(*hook))
    }
}

/// What a change of a job owes to a task that has these hooks: each hook, and the job as the change makes it.
pub(crate) fn owed(job: &Job, change: &Change, hooks: Hooks, kept: bool, now: Timestamp) -> Vec<(Hook, Job)> {
    owed_after(job, change, hooks, kept, now, true)
}

/// `unexplained`: nobody was there to say what went wrong.
fn owed_after(
    job: &Job,
    change: &Change,
    hooks: Hooks,
    kept: bool,
    now: Timestamp,
    unexplained: bool,
) -> Vec<(Hook, Job)> {
    let owed = lifecycle::owes(change, kept).and(hooks);
    if owed.is_empty() {
        return Vec::new();
    }
    let mut after = job.clone();
    after.state = change.state;
    after.reason = change.reason;
    after.cancelling = change.cancelling;
    after.priority = change.priority;
    after.attempts = change.attempts;
    after.interruptions = change.interruptions;
    after.losses = change.losses;
    if !lifecycle::keeps_progress(change) {
        after.progress = percent_of(change.state, None);
        after.step = None;
    }
    if let Some((error, described)) = lifecycle::words(job.state, change).filter(|_| unexplained) {
        after.error = Some(error.to_owned());
        after.error_message = described.message;
        after.error_code = described.code;
    }
    if change.place == Location::History {
        after.finished = Some(now);
    }
    owed.iter().map(|hook| (hook, after.clone())).collect()
}

/// As [`owed`], of what an executor writes to a job that it holds. `job` is as it was before.
pub(crate) fn owed_by(job: &Job, settle: &Settle, kept: bool, now: Timestamp) -> Vec<(Hook, Job)> {
    let mut job = job.clone();
    if settle.error.is_some() {
        job.error.clone_from(&settle.error);
        job.error_message.clone_from(&settle.described.message);
        job.error_code.clone_from(&settle.described.code);
    }
    job.result = settle.result.clone().or(job.result);
    if let Some(started) = settle.started {
        job.started = Some(started.min(now));
    }
    let came = settle.kept_progress().cloned().unwrap_or_default();
    (job.progress, job.step) = (came.percent, came.step);
    owed_after(&job, &settle.change, settle.hooks, kept, now, settle.error.is_none())
}

/// A hook that is owed for a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Owed {
    /// The number by which it is struck off.
    pub number: i64,
    /// Which hook.
    pub hook: Hook,
    /// How often it was tried, this time included.
    pub tries: u32,
    /// The job as it was when the hook came to be owed: it may be gone by now, or have been restarted.
    pub job: Job,
}

impl Owed {
    /// As a store has kept it. One that cannot be read (a later version wrote it) is left for others, and must not hold
    /// up the rest.
    pub(crate) fn read(number: i64, hook: Hook, tries: u32, job: &str) -> Option<Self> {
        match serde_json::from_str(job) {
            Ok(job) => Some(Self {
                number,
                hook,
                tries,
                job,
            }),
            Err(error) => {
                tracing::error!(number, ?hook, tries, %error, "the job of a hook that is owed cannot be read");
                None
            }
        }
    }
}

/// Runs what a hook does, but not for ever; a panic ends with it. Says in words what was wrong.
pub(crate) async fn guard<F: Future>(limit: Duration, hook: F) -> Result<F::Output, String> {
    let mut hook = std::pin::pin!(AssertUnwindSafe(hook).catch_unwind());
    // Most hooks do nothing, and need no timer for that.
    let done = match futures_util::poll!(&mut hook) {
        Poll::Ready(done) => done,
        Poll::Pending => match tokio::time::timeout(limit, hook).await {
            Ok(done) => done,
            Err(_) => return Err(format!("took longer than {limit:?}")),
        },
    };
    done.map_err(|panic| format!("panicked: {}", crate::error::panic_message(&*panic)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_holds_nobody_up() {
        assert_eq!(Owed::read(1, Hook::Error, 1, "{\"id\": 7}"), None);
    }

    #[test]
    fn sets_of_hooks_lead_back_to_the_same_number() {
        for code in 0..8 {
            let hooks = Hooks::from_code(code);
            assert_eq!(hooks.code(), code);
            assert_eq!(hooks.iter().fold(Hooks::NONE, Hooks::with), hooks);
        }
        assert_eq!(Hooks::from_code(8), Hooks::NONE, "of a later version");
    }
}
