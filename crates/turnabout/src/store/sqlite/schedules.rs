//! Schedules: read, decided on by the rules, and written, by the one who writes.

use std::collections::HashSet;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, params};
use uuid::Uuid;

use super::fault::Fault;
use super::rows::{bytes, code, duration, micros, moment, parent, span, uuid};
use super::tx::Tx;
use super::{SqliteStore, insert};
use crate::clock::until;
use crate::error::{Error, Result};
use crate::job::JobId;
use crate::schedule::{
    Edit, Edited, Firing, RUNS_KEPT, Run, RunKind, RunNow, Schedule, ScheduleKey, edited, fire, run_now,
};
use crate::store::schedules::{
    CHANGES_KEPT, Fired, Record, ScheduleEvent, ScheduleEventKind, ScheduleFilter, Schedules, columns, key, readable,
    standing_text, told, unfinished, wanted_times,
};

#[async_trait]
impl Schedules for SqliteStore {
    async fn edit(&self, edits: Vec<(ScheduleKey, Edit)>) -> Result<Vec<Result<Edited>>> {
        self.write("changing schedules", move |tx| {
            let outcomes = edits.iter().map(|(key, edit)| edit_one(tx, key, edit));
            let outcomes = outcomes.collect::<Result<_, Fault>>()?;
            forget_events(tx)?;
            tx.schedules_changed();
            Ok(outcomes)
        })
        .await
    }

    async fn fire(&self, limit: u32) -> Result<Fired> {
        self.write("firing schedules", move |tx| fire_due(tx, limit)).await
    }

    async fn run(&self, key: &ScheduleKey, wanted: RunNow) -> Result<Vec<Run>> {
        let key = key.clone();
        self.write("running a schedule", move |tx| run(tx, &key, &wanted)).await
    }

    async fn get(&self, key: &ScheduleKey) -> Result<Option<Schedule>> {
        let key = key.clone();
        self.read("reading a schedule", move |tx| get(tx, &key)).await
    }

    async fn list(&self, filter: &ScheduleFilter) -> Result<Vec<Schedule>> {
        let filter = filter.clone();
        self.read("listing schedules", move |tx| list(tx, &filter)).await
    }

    async fn declared(&self, by: &str) -> Result<Vec<ScheduleKey>> {
        let by = by.to_owned();
        self.read("looking for declared schedules", move |tx| {
            let mut statement = tx.connection.prepare_cached(sql!("schedule_declared"))?;
            let keys = statement.query_map([by], |row| Ok(key(row.get(0)?, row.get(1)?, row.get(2)?)))?;
            Ok(keys.collect::<Result<_, _>>()?)
        })
        .await
    }

    async fn runs(&self, schedule: Uuid, before: Option<i64>, limit: u32) -> Result<Vec<Run>> {
        self.read("reading the runs of a schedule", move |tx| {
            let mut statement = tx.connection.prepare_cached(sql!("schedule_runs"))?;
            let before = before.unwrap_or(i64::MAX);
            let runs = statement.query_map(params![bytes(&schedule), before, limit], run_of)?;
            Ok(runs.collect::<Result<_, _>>()?)
        })
        .await
    }

    async fn changes(&self, after: i64, limit: u32) -> Result<Vec<ScheduleEvent>> {
        self.read("reading what happened to schedules", move |tx| {
            let mut statement = tx.connection.prepare_cached(sql!("schedule_events"))?;
            let events = statement.query_map(params![after, limit], |row| {
                Ok(ScheduleEvent {
                    number: row.get(0)?,
                    key: key(row.get(1)?, row.get(2)?, row.get(3)?),
                    kind: code(row, 4, ScheduleEventKind::from_code)?,
                    at: moment(row.get(5)?),
                })
            })?;
            Ok(events.collect::<Result<_, _>>()?)
        })
        .await
    }

    async fn last_change(&self) -> Result<i64> {
        self.read("reading what happened to schedules", |tx| {
            let mut statement = tx.connection.prepare_cached(sql!("schedule_last_event"))?;
            Ok(statement.query_row([], |row| row.get(0))?)
        })
        .await
    }

    async fn overdue(&self) -> Result<Option<Duration>> {
        self.read("looking for due schedules", |tx| {
            let due = next(tx)?.filter(|due| *due <= tx.now);
            Ok(due.map(|due| until(due, tx.now)))
        })
        .await
    }
}

fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    Ok(Record {
        id: uuid(row, 0)?,
        group: row.get(1)?,
        owner: row.get(2)?,
        name: row.get(3)?,
        said: row.get(4)?,
        standing: row.get(5)?,
    })
}

fn run_of(row: &Row<'_>) -> rusqlite::Result<Run> {
    Ok(Run {
        number: row.get(0)?,
        time: moment(row.get(1)?),
        count: row.get(2)?,
        kind: code(row, 3, RunKind::from_code)?,
        at: moment(row.get(4)?),
        late: duration(row.get(5)?),
        job: parent(row, 6)?,
        why: row.get(7)?,
    })
}

fn get(tx: &Tx<'_>, key: &ScheduleKey) -> Result<Option<Schedule>, Fault> {
    let [group, owner, name] = columns(key);
    let found = tx
        .connection
        .prepare_cached(sql!("schedule_get"))?
        .query_row([group, owner, name], record)
        .optional()?;
    Ok(found.map(Record::schedule).transpose()?)
}

fn list(tx: &Tx<'_>, filter: &ScheduleFilter) -> Result<Vec<Schedule>, Fault> {
    let sql = match filter.whose.group {
        Some(_) => sql!("schedule_list_of_group"),
        None => sql!("schedule_list"),
    };
    let [group, owner, name] = filter.after.as_ref().map_or(["", "", ""], columns);
    let mut statement = tx.connection.prepare_cached(sql)?;
    let whose = &filter.whose;
    let rows = statement.query_map(
        params![group, owner, name, whose.group, whose.owner, filter.task, filter.limit],
        record,
    )?;
    let mut found = Vec::new();
    for row in rows {
        found.push(row?.schedule()?);
    }
    Ok(found)
}

fn edit_one(tx: &mut Tx<'_>, key: &ScheduleKey, edit: &Edit) -> Result<Result<Edited>, Fault> {
    let found = get(tx, key)?;
    let edited = match edited(key, found.as_ref(), edit, tx.now, Uuid::new_v4()) {
        Ok(edited) => edited,
        Err(error) => return Ok(Err(error)),
    };
    if let Some(kind) = told(found.as_ref(), edited.schedule.as_ref()) {
        tell(tx, key, kind)?;
    }
    match (&edited.schedule, &found) {
        (Some(schedule), _) if edited.changed => set(tx, schedule)?,
        (None, Some(gone)) => {
            tx.connection
                .prepare_cached(sql!("schedule_delete"))?
                .execute([bytes(&gone.id)])?;
            forget_runs(tx, gone.id, i64::MAX)?;
        }
        _ => {}
    }
    Ok(Ok(edited))
}

fn set(tx: &Tx<'_>, schedule: &Schedule) -> Result<(), Fault> {
    let record = Record::of(schedule)?;
    let standing = &schedule.standing;
    tx.connection.prepare_cached(sql!("schedule_set"))?.execute(params![
        bytes(&record.id),
        record.group,
        record.owner,
        record.name,
        schedule.definition.task,
        schedule.declared.as_ref().map(|declared| &declared.by),
        standing.next.map(micros),
        standing.due.map(micros),
        record.said,
        record.standing,
    ])?;
    Ok(())
}

fn tell(tx: &Tx<'_>, key: &ScheduleKey, kind: ScheduleEventKind) -> Result<(), Fault> {
    let [group, owner, name] = columns(key);
    tx.connection.prepare_cached(sql!("schedule_tell"))?.execute(params![
        group,
        owner,
        name,
        kind.code(),
        micros(tx.now)
    ])?;
    Ok(())
}

fn forget_events(tx: &Tx<'_>) -> Result<(), Fault> {
    tx.connection
        .prepare_cached(sql!("schedule_forget_events"))?
        .execute([CHANGES_KEPT])?;
    Ok(())
}

fn forget_runs(tx: &Tx<'_>, schedule: Uuid, up_to: i64) -> Result<(), Fault> {
    tx.connection
        .prepare_cached(sql!("schedule_forget_runs"))?
        .execute(params![bytes(&schedule), up_to])?;
    Ok(())
}

/// When the next schedule is due.
pub(super) fn next(tx: &Tx<'_>) -> Result<Option<Timestamp>, Fault> {
    let due: Option<i64> = tx
        .connection
        .prepare_cached(sql!("schedule_next"))?
        .query_row([], |row| row.get(0))
        .optional()?;
    Ok(due.map(moment))
}

/// Which of the jobs of these schedules have not ended.
fn live(tx: &Tx<'_>, schedules: &[Schedule]) -> Result<HashSet<JobId>, Fault> {
    let mut statement = tx.connection.prepare_cached(sql!("schedule_live"))?;
    let mut live = HashSet::new();
    for job in unfinished(schedules) {
        if statement.exists([bytes(&job.0)])? {
            live.insert(job);
        }
    }
    Ok(live)
}

fn fire_due(tx: &mut Tx<'_>, limit: u32) -> Result<Fired, Fault> {
    let records: Vec<Record> = tx
        .connection
        .prepare_cached(sql!("schedule_due"))?
        .query_map(params![micros(tx.now), limit], record)?
        .collect::<Result<_, _>>()?;
    let due = readable(records.into_iter().map(Record::schedule));
    let mut fired = Fired {
        schedules: due.len() as u32,
        ..Fired::default()
    };
    if !due.is_empty() {
        let live = live(tx, &due)?;
        let firings = due.iter().map(|schedule| fire(schedule, tx.now, &live)).collect();
        for firing in write_firings(tx, &due, firings)? {
            fired.runs.extend(firing.runs);
            fired.cancel.extend(firing.cancel);
        }
    }
    fired.next = next(tx)?.map(|due| until(tx.now, due));
    Ok(fired)
}

fn run(tx: &mut Tx<'_>, key: &ScheduleKey, wanted: &RunNow) -> Result<Vec<Run>, Fault> {
    let Some(schedule) = get(tx, key)? else {
        return Err(Error::NoSchedule(key.to_string()).into());
    };
    let mut taken = HashSet::new();
    {
        let mut statement = tx.connection.prepare_cached(sql!("schedule_taken"))?;
        for time in wanted_times(wanted, tx.now) {
            if statement.exists(params![bytes(&schedule.id), micros(time)])? {
                taken.insert(time);
            }
        }
    }
    let schedules = [schedule];
    let live = live(tx, &schedules)?;
    let firing = run_now(&schedules[0], wanted, &taken, tx.now, &live)?;
    let firings = write_firings(tx, &schedules, vec![firing])?;
    Ok(firings.into_iter().flat_map(|firing| firing.runs).collect())
}

/// Stores the jobs of firings, and what they make of their schedules.
fn write_firings(tx: &mut Tx<'_>, schedules: &[Schedule], mut firings: Vec<Firing>) -> Result<Vec<Firing>, Fault> {
    let mut jobs = Vec::new();
    let counts: Vec<usize> = firings.iter().map(|firing| firing.jobs.len()).collect();
    for firing in &mut firings {
        jobs.append(&mut firing.jobs);
    }
    let mut outcomes = insert::insert(tx, &jobs)?.into_iter();
    for ((schedule, firing), count) in schedules.iter().zip(&mut firings).zip(counts) {
        firing.conclude(outcomes.by_ref().take(count));
        let standing = &firing.standing;
        tx.connection.prepare_cached(sql!("schedule_move"))?.execute(params![
            bytes(&schedule.id),
            standing.next.map(micros),
            standing.due.map(micros),
            standing_text(standing)?,
        ])?;
        for run in &firing.runs {
            note(tx, schedule.id, run)?;
        }
        if standing.runs > RUNS_KEPT && !firing.runs.is_empty() {
            forget_runs(tx, schedule.id, standing.runs - RUNS_KEPT)?;
        }
        if standing.stopped.is_some() && schedule.standing.stopped.is_none() {
            tell(tx, &schedule.key, ScheduleEventKind::Stopped)?;
            tx.schedules_changed();
        }
    }
    Ok(firings)
}

fn note(tx: &Tx<'_>, schedule: Uuid, run: &Run) -> Result<(), Fault> {
    tx.connection.prepare_cached(sql!("schedule_note"))?.execute(params![
        bytes(&schedule),
        run.number,
        micros(run.time),
        run.count,
        run.kind.code(),
        micros(run.at),
        span(run.late),
        run.job.as_ref().map(|job| bytes(&job.0)),
        run.why,
    ])?;
    Ok(())
}
