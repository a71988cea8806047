//! Forgetting jobs that ended longer ago than they are kept.

use super::Model;
use crate::clock::after;
use crate::hook::Hook;
use crate::job::Job;
use crate::retention;
use crate::store::{NAMES_KEPT, Signal};

impl Model {
    /// Forgets what is past its time; says how many jobs that were.
    pub(super) fn forget_old(&self) -> u64 {
        let now = self.now();
        let tables = &mut *self.tables();
        let settings = tables.settings.clone();
        let past = |job: &Job| {
            let kept = retention::kept(&settings, self.options.retention, &job.group, &job.task, job.state);
            job.finished.is_some_and(|finished| after(finished, kept) <= now)
        };
        let old: Vec<Job> = tables
            .ended
            .extract_if(.., |_, job| past(job))
            .map(|(_, job)| job)
            .collect();
        let count = old.len() as u64;
        let (live, ended) = (&tables.live, &tables.ended);
        tables
            .logs
            .retain(|(job, _), _| live.contains_key(job) || ended.contains_key(job));
        tables
            .attempts
            .retain(|job, _| live.contains_key(job) || ended.contains_key(job));
        let executors = &tables.executors;
        tables
            .names
            .retain(|id, (_, since)| executors.contains_key(id) || after(*since, NAMES_KEPT) > now);
        let owed = old.into_iter().filter(|job| tables.hooks(&job.task).has(Hook::Delete));
        let owed = owed.map(|job| (Hook::Delete, job)).collect();
        if tables.note(owed, now) {
            self.signal(Signal::Owed);
        }
        count
    }
}
