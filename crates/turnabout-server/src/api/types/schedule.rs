//! Schedules: what is said about one, what it is, and what became of its times.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use turnabout::jobs::PastRun;
use turnabout::schedule::Overlap;
use turnabout::schedule::{Run, RunKind, Schedule};
use turnabout::schedule::{ScheduleEvent, ScheduleEventKind};
use turnabout::{JobId, Priority, State};
use utoipa::ToSchema;
use uuid::Uuid;

use super::given::given;
use super::job::raw;
use super::{PriorityWord, StateWord};

/// The words for what becomes of a time that comes while the previous job is unfinished.
#[derive(ToSchema)]
#[schema(as = Overlap)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "describes the library's type")]
pub(crate) enum OverlapWord {
    Skip,
    Wait,
    Cancel,
    Allow,
}

/// The words for what became of a time.
#[derive(ToSchema)]
#[schema(as = RunKind)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "describes the library's type")]
pub(crate) enum RunWord {
    Fired,
    Skipped,
    Missed,
    Refused,
}

/// What is said about a schedule. A new one needs `task` and `expression`; in a change, what is left out stays as it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::option_option, reason = "left out is something else than null")]
pub(crate) struct ScheduleRequest {
    /// The task that its jobs run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) task: Option<String>,
    /// Their arguments: an empty object unless said otherwise.
    #[schema(value_type = Value)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) args: Option<Box<RawValue>>,
    /// Which executors may take them; null: as the task says.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub(crate) queue: Option<Option<String>>,
    /// How urgent they are inside their group; null: as the task says.
    #[schema(value_type = Option<PriorityWord>)]
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub(crate) priority: Option<Option<Priority>>,
    /// A line about them, for people.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub(crate) subject: Option<Option<String>>,
    /// When: cron (`0 2 * * *`), a calendar event (`Mon..Fri 15:00`), or an interval (`every 10 minutes`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expression: Option<String>,
    /// The time zone, by its IANA name. `UTC` unless said otherwise, here or in the expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) zone: Option<String>,
    /// Whether it is fired at all. To stop it for a while, pause it instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) enabled: Option<bool>,
    /// What becomes of a time that comes while the previous job is unfinished: `skip` unless said otherwise.
    #[schema(value_type = Option<OverlapWord>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) overlap: Option<Overlap>,
    /// What becomes of times at which no executor was there: `one` (one job for all, unless said otherwise), `skip`, or
    /// `each N` (each has its job, the last N at the most).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) missed: Option<String>,
    /// It is fired up to so much later: `10 minutes`. By how much is always the same for one schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) jitter: Option<String>,
    /// No time before this one counts. Intervals count from here.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub(crate) start: Option<Option<Timestamp>>,
    /// No time after this one counts.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub(crate) end: Option<Option<Timestamp>>,
    /// Days (`2026-12-24`, `2026-12-24..2027-01-01`) or times (another expression) that are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exclude: Option<Vec<String>>,
}

/// A schedule: what is said about it, and how it stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Schedule)]
pub(crate) struct ScheduleView {
    /// Never changes, and is never used again.
    pub(crate) id: Uuid,
    /// Its name.
    pub(crate) name: String,
    /// The group that it belongs to. None: it is the system's.
    pub(crate) group: Option<String>,
    /// The owner, inside the group, that it belongs to.
    pub(crate) owner: Option<String>,
    /// The task that its jobs run.
    pub(crate) task: String,
    /// Their arguments.
    #[schema(value_type = Value)]
    pub(crate) args: Box<RawValue>,
    /// Which executors may take them.
    pub(crate) queue: Option<String>,
    /// How urgent they are inside their group.
    #[schema(value_type = Option<PriorityWord>)]
    pub(crate) priority: Option<Priority>,
    /// A line about them, for people.
    pub(crate) subject: Option<String>,
    /// When.
    pub(crate) expression: String,
    /// When, in words.
    pub(crate) description: String,
    /// The time zone.
    pub(crate) zone: String,
    /// Whether it is fired at all.
    pub(crate) enabled: bool,
    /// What becomes of a time that comes while the previous job is unfinished.
    #[schema(value_type = OverlapWord)]
    pub(crate) overlap: Overlap,
    /// What becomes of times at which no executor was there.
    pub(crate) missed: String,
    /// It is fired up to so many seconds later.
    pub(crate) jitter_seconds: f64,
    /// No time before this one counts.
    pub(crate) start: Option<Timestamp>,
    /// No time after this one counts.
    pub(crate) end: Option<Timestamp>,
    /// What is left out.
    pub(crate) exclude: Vec<String>,
    /// Whether it is paused, and why.
    pub(crate) paused: Option<PausedView>,
    /// The next time by its expression.
    pub(crate) next: Option<Timestamp>,
    /// When it will be fired for that.
    pub(crate) due: Option<Timestamp>,
    /// Why there is no next time, although it is not paused.
    pub(crate) stopped: Option<String>,
    /// Times that have come and wait for the previous job to end.
    pub(crate) waiting: Vec<Timestamp>,
    /// The last time that brought a job.
    pub(crate) last_time: Option<Timestamp>,
    /// That job.
    #[schema(value_type = Option<Uuid>)]
    pub(crate) last_job: Option<JobId>,
    /// The deployment that declared it. None: it was made by hand.
    pub(crate) declared_by: Option<String>,
    /// The parts of a declared schedule that an operator has set. They survive the next deployment.
    pub(crate) set_by_operator: Vec<String>,
    /// When it was made.
    pub(crate) created: Timestamp,
}

/// A schedule that is paused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Paused)]
pub(crate) struct PausedView {
    /// Since when.
    pub(crate) since: Timestamp,
    /// Why.
    pub(crate) note: Option<String>,
    /// Who paused it: the name of a token.
    pub(crate) by: Option<String>,
}

impl From<Schedule> for ScheduleView {
    fn from(schedule: Schedule) -> Self {
        let description = schedule
            .times()
            .map_or_else(|error| error.to_string(), |times| times.describe());
        let (said, standing) = (schedule.definition, schedule.standing);
        Self {
            id: schedule.id,
            name: schedule.key.name,
            group: schedule.key.group,
            owner: schedule.key.owner,
            task: said.task,
            args: raw(&said.args),
            queue: said.queue,
            priority: said.priority,
            subject: said.subject,
            expression: said.expression,
            description,
            zone: said.zone,
            enabled: said.enabled,
            overlap: said.overlap,
            missed: said.missed.to_string(),
            jitter_seconds: said.jitter.as_secs_f64(),
            start: said.start,
            end: said.end,
            exclude: said.exclude,
            paused: standing.paused.map(|paused| PausedView {
                since: paused.since,
                note: paused.note,
                by: paused.by,
            }),
            next: standing.next,
            due: standing.due,
            stopped: standing.stopped,
            waiting: standing.waiting,
            last_time: standing.last.map(|(time, _)| time),
            last_job: standing.last.map(|(_, job)| job),
            declared_by: schedule.declared.map(|declared| declared.by),
            set_by_operator: schedule.set_by_operator.into_iter().collect(),
            created: schedule.created,
        }
    }
}

/// A page of schedules.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct SchedulePage {
    /// In the order of group, owner and name; those of the system come first.
    pub(crate) schedules: Vec<ScheduleView>,
    /// Give this as `after` for the next page. None: this was the last one.
    pub(crate) next: Option<String>,
}

/// A wish to pause a schedule.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PauseRequest {
    /// Why, for people.
    pub(crate) note: Option<String>,
}

/// A wish to run a schedule now.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RunRequest {
    /// Also while one of its jobs is unfinished.
    pub(crate) force: bool,
}

/// A wish to make up for times of the past.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BackfillRequest {
    /// From this moment on.
    pub(crate) from: Timestamp,
    /// Up to this one.
    pub(crate) to: Timestamp,
}

/// A time of a schedule (or several missed ones), and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Run)]
pub(crate) struct RunView {
    /// Counts up.
    pub(crate) number: i64,
    /// The time; of several missed ones the first.
    pub(crate) time: Timestamp,
    /// How many times: more than one only if they were missed.
    pub(crate) count: u32,
    /// What became of it.
    #[schema(value_type = RunWord)]
    pub(crate) kind: RunKind,
    /// When that was decided.
    pub(crate) at: Timestamp,
    /// How many seconds later that was than it should have been.
    pub(crate) late_seconds: f64,
    /// The job.
    #[schema(value_type = Option<Uuid>)]
    pub(crate) job: Option<JobId>,
    /// The job's state, where it is still known.
    #[schema(value_type = Option<StateWord>)]
    pub(crate) state: Option<State>,
    /// When the job ended.
    pub(crate) finished: Option<Timestamp>,
    /// Why there is no job, or why this one came otherwise than by the calendar.
    pub(crate) why: Option<String>,
}

impl From<Run> for RunView {
    fn from(run: Run) -> Self {
        Self {
            number: run.number,
            time: run.time,
            count: run.count,
            kind: run.kind,
            at: run.at,
            late_seconds: run.late.as_secs_f64(),
            job: run.job,
            state: None,
            finished: None,
            why: run.why,
        }
    }
}

impl From<PastRun> for RunView {
    fn from(past: PastRun) -> Self {
        Self {
            state: past.state,
            finished: past.finished,
            ..Self::from(past.run)
        }
    }
}

/// What became of times of a schedule.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct Runs {
    /// The times. A history has the newest first.
    pub(crate) runs: Vec<RunView>,
    /// Give this as `before` for the next page of a history. None: this was the last one.
    pub(crate) next: Option<i64>,
}

/// Times to come.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct NextTimes {
    /// When, in words.
    pub(crate) description: String,
    /// The language of the expression: `cron`, `calendar` or `interval`.
    pub(crate) language: String,
    /// The next times. None: no time lies ahead.
    pub(crate) times: Vec<Timestamp>,
}

/// An expression to be explained.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckRequest {
    /// The expression.
    pub(crate) expression: String,
    /// The time zone: `UTC` unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) zone: Option<String>,
    /// How many times: 5 unless said otherwise, 100 at the most.
    #[schema(maximum = 100)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<u32>,
}

/// Something happened to a schedule.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = ScheduleEvent)]
pub(crate) struct ScheduleEventView {
    /// What: `added`, `changed`, `deleted`, `paused`, `resumed`, `stopped` (there is no next time).
    #[schema(value_type = String)]
    pub(crate) kind: ScheduleEventKind,
    /// Its name.
    pub(crate) name: String,
    /// The group that it belongs to.
    pub(crate) group: Option<String>,
    /// The owner that it belongs to.
    pub(crate) owner: Option<String>,
    /// When.
    pub(crate) at: Timestamp,
}

impl From<ScheduleEvent> for ScheduleEventView {
    fn from(event: ScheduleEvent) -> Self {
        Self {
            kind: event.kind,
            name: event.key.name,
            group: event.key.group,
            owner: event.key.owner,
            at: event.at,
        }
    }
}
