//! PURE: what is said and kept of jobs that end without success.

use super::{Change, Location};
use crate::job::{Described, Reason, State};

/// Whether it is kept how far the job came: one that ends without success tells where it stopped.
pub fn keeps_progress(change: &Change) -> bool {
    change.place == Location::History && change.state != State::Success
}

/// What is said about a job, or an attempt of one, whose end nobody was there to describe: its error, and words for people
/// with a code for programs. `before` is the state in which it was.
pub fn words(before: State, change: &Change) -> Option<(&'static str, Described)> {
    let reason = change.reason?;
    let (error, message) = match (reason, before) {
        (Reason::Expired, State::Waiting) => ("nobody started it before it expired", "It was not started in time."),
        (Reason::Lost, State::Running) => ("its executor fell silent while it ran", "It was interrupted."),
        (Reason::Interrupted, State::Running) => ("its executor shut down while it ran", "It was interrupted."),
        (Reason::TimedOut, State::Running) => ("its time was up", "It took too long and was stopped."),
        _ => return None,
    };
    Some((error, Described::new(reason.as_str(), message)))
}
