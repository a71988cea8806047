//! What a store does about schedules: a trait of its own beside [`Store`](super::Store), since a job's life knows nothing of
//! them. What a schedule becomes is decided by the rules in [`schedule`](crate::schedule); stores write it.

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::overview::Whose;
use crate::error::{Error, Result};
use crate::job::JobId;
use crate::schedule::{Declared, Definition, Edit, Edited, Run, RunNow, Schedule, ScheduleKey, Standing};

/// So many changes of schedules are kept, for those who follow them.
pub(crate) const CHANGES_KEPT: i64 = 1000;

/// Which schedules to list. Everything that is given must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScheduleFilter {
    /// Of this group, of this owner.
    pub whose: Whose,
    /// With jobs of this task.
    pub task: Option<String>,
    /// After this one, in the order of group, owner and name: the cursor of the next page.
    pub after: Option<ScheduleKey>,
    /// How many at the most.
    pub limit: u32,
}

/// What firing brought.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fired {
    /// How many schedules were due and are moved on.
    pub schedules: u32,
    /// What became of their times.
    pub runs: Vec<Run>,
    /// Jobs that are to be cancelled now, so that others may come after them.
    pub cancel: Vec<JobId>,
    /// How long until the next schedule is due. Zero: more are, though perhaps in others' hands.
    pub next: Option<Duration>,
}

coded! {
    /// What happened to a schedule.
    ScheduleEventKind {
        /// It is new.
        Added = 1 "added",
        /// It is other than before.
        Changed = 2 "changed",
        /// It is gone.
        Deleted = 3 "deleted",
        /// It is paused.
        Paused = 4 "paused",
        /// It is no longer paused.
        Resumed = 5 "resumed",
        /// It has no next time.
        Stopped = 6 "stopped",
    }
}

/// Something happened to a schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScheduleEvent {
    /// Grows.
    pub number: i64,
    /// Which schedule.
    pub key: ScheduleKey,
    /// What happened.
    pub kind: ScheduleEventKind,
    /// When.
    pub at: Timestamp,
}

/// What a store does about schedules.
#[async_trait]
pub trait Schedules: Send + Sync {
    /// Something happens to schedules: each is read, decided on and written in one transaction. One outcome for each, in
    /// their order; an error on one does not touch the others.
    async fn edit(&self, edits: Vec<(ScheduleKey, Edit)>) -> Result<Vec<Result<Edited>>>;

    /// Fires up to `limit` schedules that are due and in nobody else's hands: moves them on, stores their jobs, and notes
    /// what became of their times, all in one transaction.
    async fn fire(&self, limit: u32) -> Result<Fired>;

    /// Runs a schedule outside of the calendar, in one transaction as well.
    async fn run(&self, key: &ScheduleKey, wanted: RunNow) -> Result<Vec<Run>>;

    /// A schedule.
    async fn get(&self, key: &ScheduleKey) -> Result<Option<Schedule>>;

    /// Schedules that match, in the order of group, owner and name; those of the system come first.
    async fn list(&self, filter: &ScheduleFilter) -> Result<Vec<Schedule>>;

    /// All schedules that this deployment has declared.
    async fn declared(&self, by: &str) -> Result<Vec<ScheduleKey>>;

    /// What became of the times of a schedule, newest first: those with a number below `before`.
    async fn runs(&self, schedule: Uuid, before: Option<i64>, limit: u32) -> Result<Vec<Run>>;

    /// What happened to schedules after this number, in order. Of very many, the newest.
    async fn changes(&self, after: i64, limit: u32) -> Result<Vec<ScheduleEvent>>;

    /// The number of the last thing that happened to any schedule.
    async fn last_change(&self) -> Result<i64>;

    /// How long the schedule has been due that has been so for longest. None: none is.
    async fn overdue(&self) -> Result<Option<Duration>>;
}

/// What is stored of a schedule beside its key and its standing.
#[derive(Serialize, Deserialize)]
struct Said {
    definition: Definition,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    declared: Option<Declared>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    set_by_operator: BTreeSet<String>,
    created: Timestamp,
}

/// A schedule as stores keep it: what is looked for in columns, the rest as JSON.
pub(crate) struct Record {
    pub(crate) id: Uuid,
    /// Empty: none.
    pub(crate) group: String,
    pub(crate) owner: String,
    pub(crate) name: String,
    pub(crate) said: String,
    pub(crate) standing: String,
}

/// The parts of a key as stores keep them: what is not there is empty.
pub(crate) fn columns(key: &ScheduleKey) -> [&str; 3] {
    let [group, owner] = [&key.group, &key.owner].map(|part| part.as_deref().unwrap_or(""));
    [group, owner, &key.name]
}

/// A key from such columns.
pub(crate) fn key(group: String, owner: String, name: String) -> ScheduleKey {
    let part = |part: String| (!part.is_empty()).then_some(part);
    ScheduleKey {
        group: part(group),
        owner: part(owner),
        name,
    }
}

/// What is stored of a standing.
pub(crate) fn standing_text(standing: &Standing) -> Result<String> {
    serde_json::to_string(standing).map_err(|error| damaged(Box::new(error)))
}

impl Record {
    pub(crate) fn of(schedule: &Schedule) -> Result<Self> {
        let said = Said {
            definition: schedule.definition.clone(),
            declared: schedule.declared.clone(),
            set_by_operator: schedule.set_by_operator.clone(),
            created: schedule.created,
        };
        let [group, owner, name] = columns(&schedule.key).map(ToOwned::to_owned);
        Ok(Self {
            id: schedule.id,
            group,
            owner,
            name,
            said: serde_json::to_string(&said).map_err(|error| damaged(Box::new(error)))?,
            standing: standing_text(&schedule.standing)?,
        })
    }

    pub(crate) fn schedule(self) -> Result<Schedule> {
        let said: Said = serde_json::from_str(&self.said).map_err(|error| damaged(Box::new(error)))?;
        let standing = serde_json::from_str(&self.standing).map_err(|error| damaged(Box::new(error)))?;
        Ok(Schedule {
            id: self.id,
            key: key(self.group, self.owner, self.name),
            definition: said.definition,
            declared: said.declared,
            set_by_operator: said.set_by_operator,
            created: said.created,
            standing,
        })
    }
}

/// Those that can be read. One that a newer program has written in its own way is left to that, and stops no other.
pub(crate) fn readable(schedules: impl IntoIterator<Item = Result<Schedule>>) -> Vec<Schedule> {
    let readable = |schedule: Result<Schedule>| match schedule {
        Ok(schedule) => Some(schedule),
        Err(error) => {
            tracing::error!(error = %error.chain(), "a schedule is due, but this program cannot read it; use a newer one");
            None
        }
    };
    schedules.into_iter().filter_map(readable).collect()
}

fn damaged(cause: Box<dyn std::error::Error + Send + Sync>) -> Error {
    Error::Store {
        doing: "reading a schedule",
        cause,
        transient: false,
    }
}

/// What those who follow schedules are told of a change.
pub(crate) fn told(before: Option<&Schedule>, after: Option<&Schedule>) -> Option<ScheduleEventKind> {
    let paused = |schedule: &Schedule| schedule.standing.paused.is_some();
    Some(match (before, after) {
        (None, None) => return None,
        (None, Some(_)) => ScheduleEventKind::Added,
        (Some(_), None) => ScheduleEventKind::Deleted,
        (Some(before), Some(after)) if before == after => return None,
        (Some(before), Some(after)) if !paused(before) && paused(after) => ScheduleEventKind::Paused,
        (Some(before), Some(after)) if paused(before) && !paused(after) => ScheduleEventKind::Resumed,
        (Some(_), Some(after)) if after.standing.stopped.is_some() => ScheduleEventKind::Stopped,
        (Some(_), Some(_)) => ScheduleEventKind::Changed,
    })
}

/// The times that a run wants, which may have had their job.
pub(crate) fn wanted_times(wanted: &RunNow, now: Timestamp) -> Vec<Timestamp> {
    match wanted {
        RunNow::Once { .. } => (0..10)
            .filter_map(|more| Timestamp::from_microsecond(now.as_microsecond() + more).ok())
            .collect(),
        RunNow::For(times) => times.clone(),
    }
}

/// All jobs of these schedules that may be unfinished.
pub(crate) fn unfinished<'a>(schedules: impl IntoIterator<Item = &'a Schedule>) -> Vec<JobId> {
    let all: HashSet<JobId> = schedules
        .into_iter()
        .flat_map(|schedule| schedule.standing.unfinished.iter().copied())
        .collect();
    all.into_iter().collect()
}
