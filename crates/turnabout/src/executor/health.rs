//! What the loops of an executor say about themselves: what fails, and what takes long.
//!
//! A report tells how it is *now*. Whoever reports a trouble takes it back with the next success, or as soon as there is
//! nothing left to do: otherwise one failure would keep an executor from being ready for ever.

use std::collections::BTreeMap;
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::life::Life;
use crate::error::{Error, Result};

/// What all lives of an executor have in common.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    pub(super) registered: bool,
    pub(super) renewed: Option<Instant>,
    pub(super) restarts: u32,
}

/// What the loops of one life say. It ends with that life: what a lost one could not do is no trouble of the next one.
#[derive(Debug, Default)]
pub(super) struct Reports {
    /// What fails at present, by what was being done.
    failing: BTreeMap<&'static str, String>,
    /// What each loop is at work on at present, and since when.
    at_work: BTreeMap<&'static str, Instant>,
}

impl Life {
    fn reports(&self) -> MutexGuard<'_, Reports> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what goes wrong; says so in the log when it begins.
    pub(super) fn trouble(&self, doing: &'static str, error: &Error) {
        let chain = error.chain();
        let mut reports = self.reports();
        if reports.failing.get(doing) != Some(&chain) {
            tracing::warn!(executor = %self.plan.name, doing, error = %chain, "the executor has trouble and goes on trying");
            reports.failing.insert(doing, chain);
        }
    }

    /// Notes that something works (again), or that there is nothing left to do.
    pub(super) fn fine(&self, doing: &'static str) {
        let mut reports = self.reports();
        if !reports.failing.is_empty() && reports.failing.remove(doing).is_some() {
            tracing::info!(executor = %self.plan.name, doing, "works again");
        }
    }

    /// Notes how something went, and says whether it went well.
    pub(super) fn note<T>(&self, doing: &'static str, outcome: &Result<T>) -> bool {
        match outcome {
            Ok(_) => self.fine(doing),
            Err(error) => self.trouble(doing, error),
        }
        outcome.is_ok()
    }

    /// The executor itself has ended, which is a fault of ours.
    pub(super) fn collapsed(&self, message: &str) {
        let message = format!("it panicked: {message}");
        self.reports().failing.insert("living", message);
    }

    /// A loop is at work on something, until this is dropped: should it take long, health tells.
    pub(super) fn at_work(&self, what: &'static str) -> AtWork<'_> {
        self.reports().at_work.insert(what, Instant::now());
        AtWork { life: self, what }
    }

    /// What fails at present.
    pub(super) fn failing(&self) -> BTreeMap<&'static str, String> {
        self.reports().failing.clone()
    }

    /// Which loops have been at work on one thing for longer than a heartbeat.
    pub(super) fn behind(&self) -> BTreeMap<&'static str, Duration> {
        let reports = self.reports();
        let times = reports.at_work.iter().map(|(what, since)| (*what, since.elapsed()));
        times.filter(|(_, time)| *time > self.plan.heartbeat).collect()
    }
}

/// Something that a loop is at work on.
pub(super) struct AtWork<'a> {
    life: &'a Life,
    what: &'static str,
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.life.reports().at_work.remove(self.what);
    }
}
