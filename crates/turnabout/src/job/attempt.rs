//! The history of a job: one attempt after the other.

use jiff::Timestamp;
use serde::Serialize;

use super::{Claim, Job, Reason};
use crate::lifecycle::attempt_number;

/// One attempt of a job: one that runs, or has ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Attempt {
    /// Which attempt it was, as its handler was told. One that did not count (a shutdown came in between) leaves its number
    /// to the next; after a restart they begin again with 1.
    pub number: u32,
    /// Which executor ran it, and by which claim.
    pub claim: Claim,
    /// The name of that executor, also after it has left.
    pub executor: Option<String>,
    /// When it started.
    pub started: Timestamp,
    /// When it ended. None: it runs.
    pub ended: Option<Timestamp>,
    /// Why it ended as it did. None: it succeeded, or it runs.
    pub reason: Option<Reason>,
    /// What went wrong, with its causes.
    pub error: Option<String>,
    /// What went wrong, for people.
    pub error_message: Option<String>,
    /// What went wrong, for programs.
    pub error_code: Option<String>,
}

impl Attempt {
    /// The attempt of a job that stands in the job itself: the one that runs, or the one that ended it. Earlier ones are
    /// kept apart, so that a job that succeeds at once costs nothing more.
    pub(crate) fn last(job: &Job) -> Option<Self> {
        let over = job.state.is_final();
        // An error may be that of an earlier attempt.
        let failed = over && job.reason.is_some();
        let of_this = |text: &Option<String>| text.clone().filter(|_| failed);
        Some(Self {
            number: attempt_number(&job.standing()),
            claim: job.claim?,
            executor: job.executor.clone(),
            started: job.started?,
            ended: job.finished,
            reason: job.reason.filter(|_| over),
            error: of_this(&job.error),
            error_message: of_this(&job.error_message),
            error_code: of_this(&job.error_code),
        })
    }
}
