//! A schedule about to be declared, and all that can be said about it.

use std::future::IntoFuture;
use std::time::Duration;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use turnabout_calendar::Expression;

use crate::error::{Error, Result};
use crate::job::{JobId, Priority};
use crate::jobs::Jobs;
use crate::schedule::{Definition, Edit, Missed, Overlap, Schedule, ScheduleChange, ScheduleKey};
use crate::submit::{Submission, subject};

/// Who has declared schedules that were declared one by one.
const CODE: &str = "code";

/// A schedule about to be declared: say more about it, then await it.
#[derive(Debug)]
#[must_use = "nothing is declared until it is awaited"]
pub struct SetSchedule {
    jobs: Jobs,
    key: ScheduleKey,
    job: Submission,
    expression: Option<Result<String>>,
    change: ScheduleChange,
}

impl SetSchedule {
    pub(super) fn new(jobs: Jobs, name: String, job: Submission) -> Self {
        Self {
            jobs,
            key: ScheduleKey::new(name),
            job,
            expression: None,
            change: ScheduleChange::default(),
        }
    }

    fn at_times(mut self, text: &str, parsed: Result<Expression, turnabout_calendar::ParseError>) -> Self {
        let wrong = |error: turnabout_calendar::ParseError| Error::invalid("expression", error.to_string());
        self.expression = Some(parsed.map(|_| text.to_owned()).map_err(wrong));
        self
    }

    /// At the times of a cron expression: `0 2 * * *`, `*/15 * * * * *`, `@daily`.
    pub fn cron(self, text: &str) -> Self {
        self.at_times(text, Expression::cron(text))
    }

    /// At the times of a calendar event as systemd's timers have it: `Mon..Fri 15:00`.
    pub fn calendar(self, text: &str) -> Self {
        self.at_times(text, Expression::calendar(text))
    }

    /// Again and again after so long: `10 minutes`.
    pub fn every(self, interval: &str) -> Self {
        let text = format!("every {interval}");
        let parsed = Expression::interval(&text);
        self.at_times(&text, parsed)
    }

    /// At the times of an expression in any of these languages.
    pub fn expression(self, text: &str) -> Self {
        self.at_times(text, Expression::parse(text))
    }

    /// The group that the schedule belongs to, and its jobs. Without: it is the system's.
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.key.group = Some(group.into());
        self
    }

    /// The owner, inside the group, that it belongs to.
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.key.owner = Some(owner.into());
        self
    }

    /// The time zone, by its IANA name. `UTC` unless said otherwise, here or in the expression.
    pub fn zone(mut self, zone: impl Into<String>) -> Self {
        self.change.zone = Some(zone.into());
        self
    }

    /// Which executors may take its jobs.
    pub fn queue(mut self, queue: impl Into<String>) -> Self {
        self.change.queue = Some(Some(queue.into()));
        self
    }

    /// How urgent its jobs are inside their group.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.change.priority = Some(Some(priority));
        self
    }

    /// A line that tells people what its jobs are about.
    pub fn subject(mut self, text: &str) -> Self {
        self.change.subject = Some(subject(text));
        self
    }

    /// What becomes of a time that comes while the previous job is unfinished: it is skipped unless said otherwise.
    pub fn overlap(mut self, overlap: Overlap) -> Self {
        self.change.overlap = Some(overlap);
        self
    }

    /// What becomes of times at which no executor was there: one job for all unless said otherwise.
    pub fn missed(mut self, missed: Missed) -> Self {
        self.change.missed = Some(missed);
        self
    }

    /// Fires up to so much later: always by the same for this schedule, and differently for others.
    pub fn jitter(mut self, jitter: Duration) -> Self {
        self.change.jitter = Some(jitter);
        self
    }

    /// No time before this one counts. Intervals count from here.
    pub fn start(mut self, start: Timestamp) -> Self {
        self.change.start = Some(Some(start));
        self
    }

    /// No time after this one counts.
    pub fn end(mut self, end: Timestamp) -> Self {
        self.change.end = Some(Some(end));
        self
    }

    /// Leaves out days (`2026-12-24`, `2026-12-24..2027-01-01`), or the times of another expression.
    pub fn exclude(mut self, what: impl Into<String>) -> Self {
        self.change.exclude.get_or_insert_default().push(what.into());
        self
    }

    /// Whether it is fired at all.
    pub fn enabled(mut self, enabled: bool) -> Self {
        self.change.enabled = Some(enabled);
        self
    }

    /// What is declared, or what is wrong with it.
    pub(crate) fn checked(self) -> Result<(ScheduleKey, Definition)> {
        let expression = self
            .expression
            .ok_or_else(|| Error::invalid("expression", "say when: by `cron`, `calendar` or `every`"))??;
        let job = self.job.check(self.jobs.inner.max_args, JobId::new)?;
        let mut definition = Definition::new(job.task, expression);
        (definition.args, definition.queue, definition.priority) = (job.args, job.queue, job.priority);
        let definition = definition.with(&self.change);
        let now = self.jobs.store().clock().now();
        definition.check(&self.key, self.jobs.inner.max_args, now)?;
        Ok((self.key, definition))
    }
}

impl IntoFuture for SetSchedule {
    type Output = Result<Schedule>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let schedules = self.jobs.schedules();
            let (key, definition) = self.checked()?;
            let by = CODE.to_owned();
            schedules.edit_to(key, Edit::Declare { by, definition }).await
        })
    }
}
