//! PURE: every promise, held against a history.
//!
//! Each rule says in its own words what it found. Nothing here knows how the library works: only what it promises.

use std::collections::BTreeMap;
use std::fmt;

use turnabout::JobId;

use crate::history::History;

mod ends;
mod fair;
mod health;
mod runs;
mod schedules;
#[cfg(test)]
mod tests;

pub use fair::{BACKLOG, Lag, lags};

/// A promise that was not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which promise.
    pub rule: &'static str,
    /// Which job is concerned.
    pub job: Option<JobId>,
    /// What happened.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.job {
            Some(job) => write!(f, "{}: job {job}: {}", self.rule, self.what),
            None => write!(f, "{}: {}", self.rule, self.what),
        }
    }
}

/// Holds every promise against a history.
pub fn check(history: &History) -> Vec<Violation> {
    let rules: [fn(&History) -> Vec<Violation>; 19] = [
        ends::every_job_ends,
        ends::nothing_is_left,
        ends::a_final_state_stays,
        ends::success_means_a_completed_run,
        ends::jobs_end_as_they_should,
        ends::accepted_cancels_end_cancelled,
        ends::effects_happen_once,
        ends::impostors_are_refused,
        ends::a_unique_job_is_unfinished,
        runs::once_means_once,
        runs::nothing_runs_after_its_end,
        runs::never_two_at_a_time,
        runs::never_more_than_slots_or_caps,
        runs::never_too_early,
        schedules::no_time_has_two_jobs,
        schedules::no_time_is_lost,
        schedules::every_job_of_a_schedule_is_known,
        schedules::no_run_beside_the_previous_one,
        health::health_is_green_again_soon,
    ];
    let mut found: Vec<Violation> = rules.iter().flat_map(|rule| rule(history)).collect();
    found.extend(fair::the_lag_is_bounded(history));
    found
}

/// What is known of each job that was submitted.
pub(crate) fn jobs(history: &History) -> BTreeMap<JobId, Submitted<'_>> {
    use crate::record::Record;
    let mut jobs = BTreeMap::new();
    for record in &history.records {
        if let Record::Submitted {
            from,
            job,
            wanted,
            kind,
            group,
            unique,
            delay,
            ..
        } = record
            && job == wanted
        {
            let submitted = Submitted {
                from: *from,
                kind: *kind,
                group,
                unique: unique.as_deref(),
                delay: *delay,
            };
            jobs.entry(*job).or_insert(submitted);
        }
    }
    jobs
}

/// A job as it was submitted.
pub(crate) struct Submitted<'a> {
    pub(crate) from: crate::record::Moment,
    pub(crate) kind: crate::kind::Kind,
    pub(crate) group: &'a str,
    pub(crate) unique: Option<&'a str>,
    pub(crate) delay: crate::record::Moment,
}

pub(crate) fn violation(rule: &'static str, job: impl Into<Option<JobId>>, what: impl Into<String>) -> Violation {
    Violation {
        rule,
        job: job.into(),
        what: what.into(),
    }
}
