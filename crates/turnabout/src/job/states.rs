//! Words for sets of states.

use super::State;
use crate::error::{Error, Result};

impl State {
    /// The states of jobs that have not ended: waiting, scheduled, running, stuck.
    pub const UNFINISHED: &[Self] = &[Self::Waiting, Self::Scheduled, Self::Running, Self::Stuck];
    /// The final states: success, failed, cancelled.
    pub const ENDED: &[Self] = &[Self::Success, Self::Failed, Self::Cancelled];
    /// The states of jobs in an executor's hands: scheduled, running.
    pub const ACTIVE: &[Self] = &[Self::Scheduled, Self::Running];

    /// The states that a word names: a state itself, or `unfinished`, `ended`, `active`.
    pub fn named(word: &str) -> Result<&'static [Self]> {
        match word {
            "unfinished" => Ok(Self::UNFINISHED),
            "ended" => Ok(Self::ENDED),
            "active" => Ok(Self::ACTIVE),
            _ => {
                let at = Self::ALL.iter().position(|state| state.as_str() == word);
                let state = at.map(|at| &Self::ALL[at..=at]);
                state.ok_or_else(|| {
                    let words: Vec<_> = Self::ALL.iter().map(|state| state.as_str()).collect();
                    let words = words.join(", ");
                    Error::invalid(
                        "State",
                        format!("`{word}` is none of {words}, unfinished, ended, active"),
                    )
                })
            }
        }
    }
}
