//! Looking at what is there: lists, counts, why a job waits.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::{Model, Tables};
use crate::group::Cap;
use crate::job::{Job, JobId, State};
use crate::store::{Counts, Filter, Standpoint};

impl Tables {
    /// A job with the name of its executor.
    pub(super) fn named(&self, job: Job) -> Job {
        let executor = job.claim.and_then(|claim| self.name_of(claim.executor));
        Job { executor, ..job }
    }

    /// What an executor is called, or was.
    pub(super) fn name_of(&self, executor: Uuid) -> Option<String> {
        self.names.get(&executor).map(|(name, _)| name.clone())
    }

    pub(super) fn matching(&self, filter: &Filter) -> Vec<Job> {
        let mut jobs: Vec<Job> = self
            .live
            .values()
            .chain(self.ended.values())
            .filter(|job| filter.includes(job))
            .cloned()
            .collect();
        jobs.sort_by_key(|job| std::cmp::Reverse(job.id));
        jobs.truncate(filter.limit as usize);
        if filter.brief {
            jobs.iter_mut().for_each(Job::shorten);
        }
        jobs
    }

    /// Where a list is after so many looks at unfinished jobs, or at ended ones of the group.
    pub(super) fn depth(&self, filter: &Filter, looks: u32) -> Option<JobId> {
        let (floor, ceiling) = filter.range();
        let nth = |jobs: Vec<&Job>| {
            let mut ids: Vec<JobId> = jobs.iter().map(|job| job.id).collect();
            ids.retain(|id| floor.is_none_or(|floor| *id >= floor) && ceiling.is_none_or(|ceiling| *id < ceiling));
            ids.sort_unstable_by_key(|id| std::cmp::Reverse(*id));
            ids.get(looks as usize).copied()
        };
        let live = filter.wants(false).then(|| nth(self.live.values().collect()));
        let ended = self.ended.values().filter(|job| {
            filter.group.as_ref().is_none_or(|group| job.group == *group)
                && (!filter.wants_failed() || job.state == State::Failed)
        });
        let ended = filter.wants(true).then(|| nth(ended.collect()));
        live.flatten().max(ended.flatten())
    }

    pub(super) fn counts(&self) -> Counts {
        let held = self.held().count() as u64;
        let ready = self.ready.len() as u64;
        Counts {
            ready,
            parked: self.live.len() as u64 - held - ready,
            held,
            ended: self.ended.len() as u64,
        }
    }

    pub(super) fn standpoint(&self, id: JobId, now: i64) -> Option<Standpoint> {
        let job = self.named(self.job(id)?.clone());
        let ahead = match super::place(&job) {
            Some(place) => {
                let first = (place.0.clone(), place.1.clone(), place.2, place.3.clone(), i64::MIN);
                self.ready.range(first..place).count() as u64
            }
            None => 0,
        };
        let groups: BTreeSet<&String> = self.ready.keys().filter(|p| p.0 == job.queue).map(|p| &p.1).collect();
        let settings = (self.settings.group(&job.group), self.settings.task(&job.task));
        let caps = [
            settings.0.max_running.map(|max| (Cap::Group(job.group.clone()), max)),
            settings.1.max_running.map(|max| (Cap::Task(job.task.clone()), max)),
        ];
        let running = caps.into_iter().flatten().map(|(cap, max)| {
            let running = self.running(&cap);
            (cap, running, max)
        });
        Some(Standpoint {
            ahead,
            groups: groups.len() as u64,
            running: running.collect(),
            heard: self
                .executors
                .values()
                .filter(|e| e.queues.contains(&job.queue) && e.tasks.contains(&job.task))
                .filter(|e| !self.draining.contains(&e.incarnation))
                .filter_map(|e| self.seen.get(&e.incarnation).copied())
                .max(),
            rates: self
                .settings
                .rates(&job.group, &job.task)
                .map(|(of, rate)| {
                    let full = self.rates.get(&of).copied().unwrap_or(0);
                    (of, rate, rate.wait(full, now))
                })
                .collect(),
            settings,
            queue: self.settings.queue(&job.queue),
            global: self.settings.global,
            job: job.clone(),
        })
    }
}

impl Model {
    /// No job is in two places, and the indexes say what the jobs say.
    pub(crate) fn check(&self) {
        self.tables().check();
    }
}

impl Tables {
    fn check(&self) {
        assert!(
            self.live.keys().all(|id| !self.ended.contains_key(id)),
            "a job is live and ended"
        );
        let lanes = self.live.values().filter(|job| job.lane.is_some()).count();
        assert_eq!(lanes, self.ready.len(), "the ready index has lost a job");
        for job in self.live.values() {
            let held = matches!(job.state, State::Scheduled | State::Running);
            assert!(!job.state.is_final(), "{} has ended and is live", job.id);
            assert_eq!(
                held,
                job.claim.is_some(),
                "{} is held by nobody, or not held by someone",
                job.id
            );
            let places = [held, job.lane.is_some(), job.due.is_some()];
            assert_eq!(places.iter().filter(|p| **p).count(), 1, "{} is in one place", job.id);
        }
    }
}
