//! What handlers tell of themselves: progress, logs.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use uuid::Uuid;

use super::claim::Fence;
use super::{Model, Tables};
use crate::clock::after;
use crate::error::Result;
use crate::hook::{Hooks, Owed};
use crate::job::{Attempt, Claim, Described, Job, JobId};
use crate::lifecycle::{Change, attempt_to_keep};
use crate::log::Line;
use crate::store::{ATTEMPTS_KEPT, LogEnd, LogLines, Report, Reporting, Signal};

#[async_trait]
impl Reporting for Model {
    async fn report(&self, executor: Uuid, reports: Vec<Report>) -> Result<()> {
        self.note_progress(executor, reports);
        Ok(())
    }

    async fn log(&self, executor: Uuid, logs: Vec<LogLines>) -> Result<()> {
        self.write_logs(executor, logs);
        Ok(())
    }

    async fn log_ends(&self, jobs: &[JobId]) -> Result<Vec<LogEnd>> {
        let tables = self.tables();
        Ok(jobs.iter().map(|job| tables.log_end(*job)).collect())
    }

    async fn lines(&self, job: JobId, after: i64, limit: u32) -> Result<Vec<Line>> {
        Ok(self.tables().lines(job, after, limit as usize))
    }
}

impl Model {
    /// Hooks that are owed, given to whoever runs them for a while.
    pub(super) fn give_out(&self, tasks: &[(String, Hooks)], limit: u32, again: Duration) -> Vec<Owed> {
        let now = self.now();
        let mut tables = self.tables();
        let ready = tables.owed.values_mut().filter(|(from, owed)| {
            let theirs = tasks.iter().find(|(task, _)| *task == owed.job.task);
            *from <= now && theirs.is_some_and(|(_, hooks)| hooks.has(owed.hook))
        });
        let given = ready.take(limit as usize).map(|(from, owed)| {
            *from = after(now, again);
            owed.tries += 1;
            owed.clone()
        });
        given.collect()
    }

    pub(super) fn note_progress(&self, executor: Uuid, reports: Vec<Report>) {
        let tables = &mut *self.tables();
        for report in reports {
            let claim = Claim {
                executor,
                number: report.number,
            };
            if let Fence::Held(mut job) = tables.fence(report.id, claim) {
                job.progress = report.percent;
                job.step = report.step;
                tables.feed.tell(self.now(), &job, false);
                tables.put(*job);
                self.signal(Signal::Changed(report.id));
            }
        }
    }

    pub(super) fn write_logs(&self, executor: Uuid, logs: Vec<LogLines>) {
        let tables = &mut *self.tables();
        for log in logs {
            let claim = Claim {
                executor,
                number: log.number,
            };
            if matches!(tables.fence(log.id, claim), Fence::Gone) {
                continue;
            }
            for line in log.lines {
                tables.logs.entry((log.id, line.number)).or_insert(line);
            }
            self.signal(Signal::Logged(log.id));
        }
    }
}

impl Tables {
    /// Keeps the attempt that a change of a held job ends, if the job is to be tried again.
    pub(super) fn keep_attempt(
        &mut self,
        job: &Job,
        change: &Change,
        now: Timestamp,
        error: (Option<String>, Described),
    ) {
        let Some(((number, claim), started)) = attempt_to_keep(change).zip(job.claim).zip(job.started) else {
            return;
        };
        self.keep(
            job.id,
            Attempt {
                number,
                claim,
                executor: None,
                started,
                ended: Some(now),
                reason: change.reason,
                error: error.0,
                error_message: error.1.message,
                error_code: error.1.code,
            },
        );
    }

    pub(super) fn keep(&mut self, job: JobId, attempt: Attempt) {
        let attempts = self.attempts.entry(job).or_default();
        attempts.push(attempt);
        let surplus = attempts.len().saturating_sub(ATTEMPTS_KEPT as usize);
        attempts.drain(..surplus);
    }

    pub(super) fn lines(&self, job: JobId, after: i64, limit: usize) -> Vec<Line> {
        let later = self.logs.range((job, after.saturating_add(1))..=(job, i64::MAX));
        later.take(limit).map(|(_, line)| line.clone()).collect()
    }

    pub(super) fn log_end(&self, job: JobId) -> LogEnd {
        let lines = self.lines(job, i64::MIN, usize::MAX);
        LogEnd {
            number: lines.last().map_or(0, |line| line.number),
            lines: lines.len() as u64,
        }
    }
}
