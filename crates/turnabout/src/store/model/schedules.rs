//! Schedules in the model: a map, and the rules.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use uuid::Uuid;

use super::{Model, Tables};
use crate::clock::until;
use crate::error::{Error, Result};
use crate::job::JobId;
use crate::schedule::{Edit, Edited, Firing, RUNS_KEPT, Run, RunNow, Schedule, ScheduleKey, edited, fire, run_now};
use crate::store::Signal;
use crate::store::schedules::{
    CHANGES_KEPT, Fired, ScheduleEvent, ScheduleEventKind, ScheduleFilter, Schedules, columns, told,
};

/// All schedules, what became of their times, and what happened to them.
#[derive(Debug, Default)]
pub(super) struct Calendar {
    all: BTreeMap<ScheduleKey, Schedule>,
    runs: BTreeMap<(Uuid, i64), Run>,
    changes: Vec<ScheduleEvent>,
    told: i64,
}

impl Calendar {
    fn tell(&mut self, key: &ScheduleKey, kind: ScheduleEventKind, at: Timestamp) {
        self.told += 1;
        self.changes.push(ScheduleEvent {
            number: self.told,
            key: key.clone(),
            kind,
            at,
        });
        let oldest = self.told - CHANGES_KEPT;
        self.changes.retain(|change| change.number > oldest);
    }

    /// How long until the next schedule is due.
    pub(super) fn next(&self, now: Timestamp) -> Option<Duration> {
        let next = self.all.values().filter_map(|schedule| schedule.standing.due).min()?;
        Some(until(now, next))
    }
}

impl Tables {
    fn live_jobs(&self, schedule: &Schedule) -> HashSet<JobId> {
        let jobs = schedule.standing.unfinished.iter().copied();
        jobs.filter(|job| self.live.contains_key(job)).collect()
    }

    /// Stores the jobs of a firing, and what it makes of the schedule.
    fn write_firing(&mut self, mut schedule: Schedule, mut firing: Firing, now: Timestamp) -> Firing {
        let jobs = std::mem::take(&mut firing.jobs);
        let outcomes: Vec<_> = jobs.into_iter().map(|job| self.insert(job, now)).collect();
        firing.conclude(outcomes);
        let before = schedule.clone();
        schedule.standing = firing.standing.clone();
        if schedule.standing.stopped.is_some() && before.standing.stopped.is_none() {
            self.calendar.tell(&schedule.key, ScheduleEventKind::Stopped, now);
        }
        for run in &firing.runs {
            self.calendar.runs.insert((schedule.id, run.number), run.clone());
        }
        let oldest = schedule.standing.runs - RUNS_KEPT;
        let id = schedule.id;
        self.calendar
            .runs
            .retain(|(of, number), _| *of != id || *number > oldest);
        self.calendar.all.insert(schedule.key.clone(), schedule);
        firing
    }
}

#[async_trait]
impl Schedules for Model {
    async fn edit(&self, edits: Vec<(ScheduleKey, Edit)>) -> Result<Vec<Result<Edited>>> {
        let now = self.now();
        let calendar = &mut self.tables().calendar;
        let mut outcomes = Vec::new();
        for (key, edit) in edits {
            let found = calendar.all.get(&key).cloned();
            let outcome = edited(&key, found.as_ref(), &edit, now, Uuid::new_v4());
            if let Ok(edited) = &outcome {
                if let Some(kind) = told(found.as_ref(), edited.schedule.as_ref()) {
                    calendar.tell(&key, kind, now);
                }
                if let Some(schedule) = &edited.schedule {
                    calendar.all.insert(key, schedule.clone());
                } else {
                    calendar.all.remove(&key);
                    let gone = found.map(|schedule| schedule.id);
                    calendar.runs.retain(|(of, _), _| Some(*of) != gone);
                }
            }
            outcomes.push(outcome);
        }
        self.signal(Signal::Schedules);
        Ok(outcomes)
    }

    async fn fire(&self, limit: u32) -> Result<Fired> {
        let now = self.now();
        let tables = &mut *self.tables();
        let due = tables.calendar.all.values();
        let mut due: Vec<Schedule> = due
            .filter(|schedule| schedule.standing.due.is_some_and(|due| due <= now))
            .cloned()
            .collect();
        due.sort_by_key(|schedule| schedule.standing.due);
        due.truncate(limit as usize);
        let mut fired = Fired {
            schedules: due.len() as u32,
            ..Fired::default()
        };
        for schedule in due {
            let firing = fire(&schedule, now, &tables.live_jobs(&schedule));
            let firing = tables.write_firing(schedule, firing, now);
            fired.runs.extend(firing.runs);
            fired.cancel.extend(firing.cancel);
        }
        fired.next = tables.calendar.next(now);
        if !fired.runs.is_empty() {
            self.signal(Signal::Ready);
        }
        Ok(fired)
    }

    async fn run(&self, key: &ScheduleKey, wanted: RunNow) -> Result<Vec<Run>> {
        let now = self.now();
        let tables = &mut *self.tables();
        let Some(schedule) = tables.calendar.all.get(key).cloned() else {
            return Err(Error::NoSchedule(key.to_string()));
        };
        let runs = tables.calendar.runs.iter();
        let taken = runs
            .filter(|((of, _), run)| *of == schedule.id && run.job.is_some())
            .map(|(_, run)| run.time)
            .collect();
        let firing = run_now(&schedule, &wanted, &taken, now, &tables.live_jobs(&schedule))?;
        let firing = tables.write_firing(schedule, firing, now);
        self.signal(Signal::Ready);
        Ok(firing.runs)
    }

    async fn get(&self, key: &ScheduleKey) -> Result<Option<Schedule>> {
        Ok(self.tables().calendar.all.get(key).cloned())
    }

    async fn list(&self, filter: &ScheduleFilter) -> Result<Vec<Schedule>> {
        let tables = self.tables();
        let mut found: Vec<Schedule> = tables
            .calendar
            .all
            .values()
            .filter(|schedule| {
                let key = &schedule.key;
                filter
                    .whose
                    .group
                    .as_deref()
                    .is_none_or(|g| key.group.as_deref() == Some(g))
                    && filter
                        .whose
                        .owner
                        .as_deref()
                        .is_none_or(|o| key.owner.as_deref() == Some(o))
                    && filter
                        .task
                        .as_deref()
                        .is_none_or(|task| schedule.definition.task == task)
                    && filter.after.as_ref().is_none_or(|after| columns(key) > columns(after))
            })
            .cloned()
            .collect();
        found.sort_by(|a, b| columns(&a.key).cmp(&columns(&b.key)));
        found.truncate(filter.limit as usize);
        Ok(found)
    }

    async fn declared(&self, by: &str) -> Result<Vec<ScheduleKey>> {
        let tables = self.tables();
        let theirs = |schedule: &&Schedule| schedule.declared.as_ref().is_some_and(|declared| declared.by == by);
        let found = tables.calendar.all.values().filter(theirs);
        Ok(found.map(|schedule| schedule.key.clone()).collect())
    }

    async fn runs(&self, schedule: Uuid, before: Option<i64>, limit: u32) -> Result<Vec<Run>> {
        let tables = self.tables();
        let runs = tables
            .calendar
            .runs
            .range((schedule, i64::MIN)..(schedule, before.unwrap_or(i64::MAX)));
        Ok(runs.rev().take(limit as usize).map(|(_, run)| run.clone()).collect())
    }

    async fn changes(&self, after: i64, limit: u32) -> Result<Vec<ScheduleEvent>> {
        let tables = self.tables();
        let changes = tables.calendar.changes.iter().filter(|change| change.number > after);
        Ok(changes.take(limit as usize).cloned().collect())
    }

    async fn last_change(&self) -> Result<i64> {
        Ok(self.tables().calendar.told)
    }

    async fn overdue(&self) -> Result<Option<Duration>> {
        let now = self.now();
        let tables = self.tables();
        let due = tables
            .calendar
            .all
            .values()
            .filter_map(|schedule| schedule.standing.due)
            .min();
        Ok(due.filter(|due| *due <= now).map(|due| until(due, now)))
    }
}
