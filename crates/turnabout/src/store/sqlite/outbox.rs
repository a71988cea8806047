//! What a transaction has to tell once it has committed: signals, and for whom jobs have become ready.

use std::time::Duration;

use tokio::sync::broadcast;

use super::feed::Told;
use crate::store::{Signal, Take};

/// So many tasks are told apart in one transaction; past that anyone may find something.
const TASKS: usize = 32;

/// Signals that wait for a commit: one `Ready` and the nearest `Due`, however many jobs there were.
#[derive(Default)]
pub(super) struct Outbox {
    pub(super) ready: Ready,
    pub(super) owed: bool,
    pub(super) due: Option<Duration>,
    pub(super) jobs: Vec<Signal>,
    pub(super) told: Vec<Told>,
}

impl Outbox {
    pub(super) fn add(&mut self, mut other: Self) {
        self.ready.add(other.ready);
        self.owed |= other.owed;
        self.due = self.due.into_iter().chain(other.due).min();
        self.jobs.append(&mut other.jobs);
        self.told.append(&mut other.told);
    }

    /// Nobody listening is no error.
    pub(super) fn send(self, signals: &broadcast::Sender<Signal>) {
        let due = self.due.map(Signal::Due);
        let ready = self.ready.any().then_some(Signal::Ready);
        let owed = self.owed.then_some(Signal::Owed);
        for signal in self.jobs.into_iter().chain(owed).chain(due).chain(ready) {
            let _ = signals.send(signal);
        }
    }
}

/// For whom something may have become ready.
#[derive(Debug, Default)]
pub(super) enum Ready {
    #[default]
    Nobody,
    /// Those who know one of these tasks.
    Tasks(Vec<String>),
    All,
}

impl Ready {
    pub(super) fn any(&self) -> bool {
        !matches!(self, Self::Nobody)
    }

    pub(super) fn note(&mut self, task: &str) {
        match self {
            Self::Nobody => *self = Self::Tasks(vec![task.to_owned()]),
            Self::Tasks(tasks) if tasks.iter().any(|known| known == task) => {}
            Self::Tasks(tasks) if tasks.len() < TASKS => tasks.push(task.to_owned()),
            Self::Tasks(_) => *self = Self::All,
            Self::All => {}
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        match other {
            Self::Nobody => {}
            Self::Tasks(tasks) => tasks.iter().for_each(|task| self.note(task)),
            Self::All => *self = Self::All,
        }
    }

    pub(super) fn concerns(&self, take: &Take) -> bool {
        match self {
            Self::Nobody => false,
            Self::Tasks(tasks) => tasks.iter().any(|task| take.tasks.contains(task.as_str())),
            Self::All => true,
        }
    }
}
