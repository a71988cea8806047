//! What handlers tell of themselves: progress, logs.

use uuid::Uuid;

use super::claim::Fence;
use super::{Model, Tables};
use crate::job::{Claim, JobId};
use crate::log::Line;
use crate::store::{LogEnd, LogLines, Report, Signal};

impl Model {
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
