//! The kinds of jobs that are submitted, and how each may end.

use serde::{Deserialize, Serialize};
use turnabout::State;

/// A kind of job; each is a task of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Ends within milliseconds.
    Quick,
    /// Takes a while, and stops when it is told to.
    Slow,
    /// Takes a while, and does not stop.
    Stubborn,
    /// Keeps a thread busy, and does not stop.
    Blocking,
    /// Fails or panics at first.
    Flaky,
    /// Fails each time.
    Doomed,
    /// Must not run twice.
    Once,
    /// Asks to be called again later.
    Snoozing,
    /// Kills its process.
    Poison,
    /// Of a task with a limit.
    Narrow,
    /// Writes into the database in one transaction with its success.
    Booking,
}

impl Kind {
    /// The task's name.
    pub fn task(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Slow => "slow",
            Self::Stubborn => "stubborn",
            Self::Blocking => "blocking",
            Self::Flaky => "flaky",
            Self::Doomed => "doomed",
            Self::Once => "once",
            Self::Snoozing => "snoozing",
            Self::Poison => "poison",
            Self::Narrow => "narrow",
            Self::Booking => "booking",
        }
    }

    /// Whether a job of this kind may run a second time.
    pub fn restartable(self) -> bool {
        self != Self::Once
    }

    /// Whether a job that nobody wanted cancelled may end like this.
    pub fn may_end(self, state: State) -> bool {
        match self {
            Self::Doomed | Self::Poison => state == State::Failed,
            // Lost or interrupted, it must not run again.
            Self::Once => matches!(state, State::Success | State::Failed),
            // They may fail any number of times, so whatever befell them, they come through.
            _ => state == State::Success,
        }
    }
}

/// Doomed and poisonous jobs are tried again so often.
pub const FEW_RETRIES: u32 = 2;
