//! PURE: which hooks a change is about.

use super::{Change, Location};
use crate::hook::{Hook, Hooks};
use crate::job::State;

/// The hooks that a change is about. `kept`: whether jobs that have ended are kept at all.
pub fn owes(change: &Change, kept: bool) -> Hooks {
    let hooks = match (change.state, change.place) {
        (_, Location::Gone) => return Hooks::NONE.with(Hook::Delete),
        (State::Cancelled, Location::History) => Hooks::NONE.with(Hook::Cancelled),
        // A stuck job that is parked has just failed; when it is promoted or changes its priority it is not.
        (State::Failed, Location::History) | (State::Stuck, Location::Parked(_)) => Hooks::NONE.with(Hook::Error),
        _ => Hooks::NONE,
    };
    if change.place == Location::History && !kept {
        hooks.with(Hook::Delete)
    } else {
        hooks
    }
}
