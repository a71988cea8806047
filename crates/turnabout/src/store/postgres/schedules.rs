//! Schedules: read under a lock, decided on by the rules, and written, in one transaction.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::connect::{Mode, Tx, failed};
use super::timeouts::{LONG_TIMEOUT, TIMEOUT};
use super::{PostgresStore, rows};
use crate::error::{Error, Result};
use crate::job::JobId;
use crate::schedule::{
    Edit, Edited, Firing, RUNS_KEPT, Run, RunKind, RunNow, Schedule, ScheduleKey, edited, fire, run_now,
};
use crate::store::schedules::{
    CHANGES_KEPT, Fired, Record, ScheduleEvent, ScheduleEventKind, ScheduleFilter, Schedules, columns, key, readable,
    standing_text, told, unfinished, wanted_times,
};
use crate::store::{NewJob, Signal, Submitted};

#[async_trait]
impl Schedules for PostgresStore {
    async fn edit(&self, edits: Vec<(ScheduleKey, Edit)>) -> Result<Vec<Result<Edited>>> {
        self.within(LONG_TIMEOUT, "changing schedules", self.edit_schedules(&edits))
            .await
    }

    async fn fire(&self, limit: u32) -> Result<Fired> {
        self.again("firing schedules", || Box::pin(self.fire_schedules(limit)))
            .await
    }

    async fn run(&self, key: &ScheduleKey, wanted: RunNow) -> Result<Vec<Run>> {
        self.again("running a schedule", || Box::pin(self.run_schedule(key, &wanted)))
            .await
    }

    async fn get(&self, key: &ScheduleKey) -> Result<Option<Schedule>> {
        let [group, owner, name] = columns(key);
        let rows = self
            .ask("reading a schedule", &self.sql.schedule_get, &[&group, &owner, &name])
            .await?;
        rows.first().map(schedule).transpose()
    }

    async fn list(&self, filter: &ScheduleFilter) -> Result<Vec<Schedule>> {
        let [group, owner, name] = filter.after.as_ref().map_or(["", "", ""], columns);
        let (whose, limit) = (&filter.whose, i64::from(filter.limit));
        let params: [&(dyn ToSql + Sync); 7] =
            [&group, &owner, &name, &whose.group, &whose.owner, &filter.task, &limit];
        let rows = self.ask("listing schedules", &self.sql.schedule_list, &params).await?;
        rows.iter().map(schedule).collect()
    }

    async fn declared(&self, by: &str) -> Result<Vec<ScheduleKey>> {
        let doing = "looking for declared schedules";
        let rows = self.ask(doing, &self.sql.schedule_declared, &[&by]).await?;
        Ok(rows.iter().map(|row| key(row.get(0), row.get(1), row.get(2))).collect())
    }

    async fn runs(&self, schedule: Uuid, before: Option<i64>, limit: u32) -> Result<Vec<Run>> {
        let params: [&(dyn ToSql + Sync); 3] = [&schedule, &before.unwrap_or(i64::MAX), &i64::from(limit)];
        let doing = "reading the runs of a schedule";
        let rows = self.ask(doing, &self.sql.schedule_runs, &params).await?;
        rows.iter().map(run_of).collect()
    }

    async fn changes(&self, after: i64, limit: u32) -> Result<Vec<ScheduleEvent>> {
        let doing = "reading what happened to schedules";
        let params: [&(dyn ToSql + Sync); 2] = [&after, &i64::from(limit)];
        let rows = self.ask(doing, &self.sql.schedule_events, &params).await?;
        let event = |row: &Row| {
            Ok(ScheduleEvent {
                number: row.get(0),
                key: key(row.get(1), row.get(2), row.get(3)),
                kind: rows::coded("event", row.get(4), ScheduleEventKind::from_code)?,
                at: row.get(5),
            })
        };
        rows.iter().map(event).collect()
    }

    async fn last_change(&self) -> Result<i64> {
        let doing = "reading what happened to schedules";
        let rows = self.ask(doing, &self.sql.schedule_last_event, &[]).await?;
        Ok(rows.first().map_or(0, |row| row.get(0)))
    }

    async fn overdue(&self) -> Result<Option<Duration>> {
        let seconds = self.until_next_schedule().await?;
        Ok(seconds
            .filter(|seconds| *seconds <= 0.0)
            .map(|seconds| Duration::try_from_secs_f64(-seconds).unwrap_or(Duration::MAX)))
    }
}

impl PostgresStore {
    /// Rows, by a statement that is planned for what is asked, within bounds of time.
    async fn ask(&self, doing: &'static str, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
        self.within(TIMEOUT, doing, self.look(doing, sql, params)).await
    }

    async fn until_next_schedule(&self) -> Result<Option<f64>> {
        let now = self.options.clock.manual();
        let doing = "looking for due schedules";
        let rows = self.look(doing, &self.sql.schedule_next, &[&now]).await?;
        Ok(rows.first().and_then(|row| row.get(0)))
    }

    async fn edit_schedules(&self, edits: &[(ScheduleKey, Edit)]) -> Result<Vec<Result<Edited>>> {
        let failed = failed("changing schedules");
        let tx = Tx::on(self.client().await?);
        tx.open(Mode::Durable).await.map_err(&failed)?;
        tx.client()
            .batch_execute(&self.sql.schedule_gate)
            .await
            .map_err(&failed)?;
        let keys: HashSet<&ScheduleKey> = edits.iter().map(|(key, _)| key).collect();
        let keys: Vec<&ScheduleKey> = keys.into_iter().collect();
        let mut present: HashMap<ScheduleKey, Schedule> = HashMap::new();
        let [groups, owners, names] = key_columns(&keys);
        for row in tx
            .query(&self.sql.schedule_lock, &[&groups, &owners, &names])
            .await
            .map_err(&failed)?
        {
            let schedule = schedule(&row)?;
            present.insert(schedule.key.clone(), schedule);
        }
        let now = self.now();
        let mut outcomes = Vec::with_capacity(edits.len());
        let mut changed: BTreeMap<&ScheduleKey, Schedule> = BTreeMap::new();
        let mut gone = Vec::new();
        let mut events = Vec::new();
        for (key, edit) in edits {
            let found = present.get(key);
            let outcome = edited(key, found, edit, now, Uuid::new_v4());
            if let Ok(edited) = &outcome {
                events.extend(told(found, edited.schedule.as_ref()).map(|kind| (key, kind)));
                if let Some(schedule) = &edited.schedule {
                    if edited.changed {
                        changed.insert(key, schedule.clone());
                    }
                    present.insert(key.clone(), schedule.clone());
                } else {
                    changed.remove(key);
                    gone.extend(present.remove(key).map(|schedule| schedule.id));
                }
            }
            outcomes.push(outcome);
        }
        // First those that go, since a new one may have the key of one of them.
        if !gone.is_empty() {
            tx.execute(&self.sql.schedule_delete, &[&gone]).await.map_err(&failed)?;
        }
        let changed: Vec<Schedule> = changed.into_values().collect();
        self.set_schedules(&tx, &changed).await?;
        self.tell_of_schedules(&tx, &events).await?;
        tx.commit().await.map_err(&failed)?;
        if !events.is_empty() {
            self.signal(Signal::Schedules);
        }
        Ok(outcomes)
    }

    async fn set_schedules(&self, tx: &Tx, schedules: &[Schedule]) -> Result<()> {
        if schedules.is_empty() {
            return Ok(());
        }
        let records: Vec<Record> = schedules.iter().map(Record::of).collect::<Result<_>>()?;
        let ids: Vec<Uuid> = records.iter().map(|r| r.id).collect();
        let groups: Vec<&str> = records.iter().map(|r| r.group.as_str()).collect();
        let owners: Vec<&str> = records.iter().map(|r| r.owner.as_str()).collect();
        let names: Vec<&str> = records.iter().map(|r| r.name.as_str()).collect();
        let tasks: Vec<&str> = schedules.iter().map(|s| s.definition.task.as_str()).collect();
        let declared: Vec<Option<&str>> = schedules
            .iter()
            .map(|s| s.declared.as_ref().map(|declared| declared.by.as_str()))
            .collect();
        let next: Vec<Option<Timestamp>> = schedules.iter().map(|s| s.standing.next).collect();
        let due: Vec<Option<Timestamp>> = schedules.iter().map(|s| s.standing.due).collect();
        let said: Vec<&str> = records.iter().map(|r| r.said.as_str()).collect();
        let standing: Vec<&str> = records.iter().map(|r| r.standing.as_str()).collect();
        let params: [&(dyn ToSql + Sync); 10] = [
            &ids, &groups, &owners, &names, &tasks, &declared, &next, &due, &said, &standing,
        ];
        tx.execute(&self.sql.schedule_set, &params)
            .await
            .map_err(failed("storing schedules"))?;
        Ok(())
    }

    /// Under the lock on the table. Other processes hear of it, too.
    async fn tell_of_schedules(&self, tx: &Tx, events: &[(&ScheduleKey, ScheduleEventKind)]) -> Result<()> {
        if events.is_empty() {
            return Ok(());
        }
        let failed = failed("telling of schedules");
        let now = self.options.clock.manual();
        let keys: Vec<&ScheduleKey> = events.iter().map(|(key, _)| *key).collect();
        let [groups, owners, names] = key_columns(&keys);
        let kinds: Vec<i16> = events.iter().map(|(_, kind)| kind.code()).collect();
        let params: [&(dyn ToSql + Sync); 5] = [&now, &groups, &owners, &names, &kinds];
        tx.execute(&self.sql.schedule_tell, &params).await.map_err(&failed)?;
        tx.execute(&self.sql.schedule_forget_events, &[&CHANGES_KEPT])
            .await
            .map_err(&failed)?;
        tx.execute(&self.sql.notify, &[&"schedules"]).await.map_err(&failed)?;
        Ok(())
    }

    async fn fire_schedules(&self, limit: u32) -> Result<Fired> {
        let failed = failed("firing schedules");
        let tx = Tx::on(self.client().await?);
        let due = tx.prepare(&self.sql.schedule_due).await.map_err(&failed)?;
        let (manual, limit) = (self.options.clock.manual(), i64::from(limit));
        let (begun, rows) = futures_util::join!(tx.open(Mode::Durable), async {
            tx.client().query(&due, &[&manual, &limit]).await
        });
        begun.map_err(&failed)?;
        let rows = rows.map_err(&failed)?;
        let now: Timestamp = rows.first().map_or_else(|| self.now(), |row| row.get("now"));
        let due = readable(rows.iter().map(schedule));
        let mut fired = Fired {
            schedules: due.len() as u32,
            ..Fired::default()
        };
        if due.is_empty() {
            tx.commit().await.map_err(&failed)?;
        } else {
            let live = self.live_jobs(&tx, &due).await?;
            let firings = due.iter().map(|schedule| fire(schedule, now, &live)).collect();
            for firing in self.write_firings(tx, &due, firings).await? {
                fired.runs.extend(firing.runs);
                fired.cancel.extend(firing.cancel);
            }
        }
        fired.next = self.until_next_schedule().await?.map(seconds);
        Ok(fired)
    }

    async fn run_schedule(&self, key: &ScheduleKey, wanted: &RunNow) -> Result<Vec<Run>> {
        let failed = failed("running a schedule");
        let tx = Tx::on(self.client().await?);
        tx.open(Mode::Durable).await.map_err(&failed)?;
        let [groups, owners, names] = key_columns(&[key]);
        let rows = tx
            .query(&self.sql.schedule_lock, &[&groups, &owners, &names])
            .await
            .map_err(&failed)?;
        let schedules: Vec<Schedule> = rows.iter().map(schedule).collect::<Result<_>>()?;
        let Some(found) = schedules.first() else {
            tx.commit().await.map_err(&failed)?;
            return Err(Error::NoSchedule(key.to_string()));
        };
        let now = self.now();
        let times = wanted_times(wanted, now);
        let taken = tx
            .query(&self.sql.schedule_taken, &[&found.id, &times])
            .await
            .map_err(&failed)?;
        let taken = taken.iter().map(|row| row.get(0)).collect();
        let live = self.live_jobs(&tx, &schedules).await?;
        let firing = match run_now(found, wanted, &taken, now, &live) {
            Ok(firing) => firing,
            Err(error) => {
                tx.commit().await.map_err(&failed)?;
                return Err(error);
            }
        };
        let firings = self.write_firings(tx, &schedules, vec![firing]).await?;
        Ok(firings.into_iter().flat_map(|firing| firing.runs).collect())
    }

    async fn live_jobs(&self, tx: &Tx, schedules: &[Schedule]) -> Result<HashSet<JobId>> {
        let jobs: Vec<Uuid> = unfinished(schedules).into_iter().map(|job| job.0).collect();
        if jobs.is_empty() {
            return Ok(HashSet::new());
        }
        let rows = tx
            .query(&self.sql.schedule_live, &[&jobs])
            .await
            .map_err(failed("looking for the jobs of schedules"))?;
        Ok(rows.iter().map(|row| JobId(row.get(0))).collect())
    }

    /// Stores the jobs of firings, and what they make of their schedules, which are locked; and commits.
    async fn write_firings(&self, tx: Tx, schedules: &[Schedule], mut firings: Vec<Firing>) -> Result<Vec<Firing>> {
        let failed = failed("firing schedules");
        let counts: Vec<usize> = firings.iter().map(|firing| firing.jobs.len()).collect();
        let mut jobs: Vec<NewJob> = firings.iter_mut().flat_map(|f| std::mem::take(&mut f.jobs)).collect();
        let outcomes = self.insert_within(&tx, &mut jobs).await?;
        let stored: Vec<Result<Submitted>> = outcomes.iter().map(copied).collect();
        let mut outcomes = outcomes.into_iter();
        let mut stopped = Vec::new();
        for ((schedule, firing), count) in schedules.iter().zip(&mut firings).zip(counts) {
            firing.conclude(outcomes.by_ref().take(count));
            if firing.standing.stopped.is_some() && schedule.standing.stopped.is_none() {
                stopped.push((&schedule.key, ScheduleEventKind::Stopped));
            }
        }
        self.move_schedules(&tx, schedules, &firings).await?;
        if !stopped.is_empty() {
            tx.client()
                .batch_execute(&self.sql.schedule_gate)
                .await
                .map_err(&failed)?;
            self.tell_of_schedules(&tx, &stopped).await?;
        }
        tx.commit().await.map_err(&failed)?;
        self.tell_new(&jobs, &stored);
        if !stopped.is_empty() {
            self.signal(Signal::Schedules);
        }
        Ok(firings)
    }

    async fn move_schedules(&self, tx: &Tx, schedules: &[Schedule], firings: &[Firing]) -> Result<()> {
        let failed = failed("moving schedules on");
        let ids: Vec<Uuid> = schedules.iter().map(|schedule| schedule.id).collect();
        let next: Vec<Option<Timestamp>> = firings.iter().map(|f| f.standing.next).collect();
        let due: Vec<Option<Timestamp>> = firings.iter().map(|f| f.standing.due).collect();
        let texts = firings.iter().map(|f| standing_text(&f.standing));
        let texts: Vec<String> = texts.collect::<Result<_>>()?;
        tx.execute(&self.sql.schedule_move, &[&ids, &next, &due, &texts])
            .await
            .map_err(&failed)?;
        let runs: Vec<(Uuid, &Run)> = (ids.iter().zip(firings))
            .flat_map(|(id, firing)| firing.runs.iter().map(|run| (*id, run)))
            .collect();
        if runs.is_empty() {
            return Ok(());
        }
        let of: Vec<Uuid> = runs.iter().map(|(id, _)| *id).collect();
        let numbers: Vec<i64> = runs.iter().map(|(_, run)| run.number).collect();
        let times: Vec<Timestamp> = runs.iter().map(|(_, run)| run.time).collect();
        let counts: Vec<i32> = runs.iter().map(|(_, run)| run.count as i32).collect();
        let kinds: Vec<i16> = runs.iter().map(|(_, run)| run.kind.code()).collect();
        let at: Vec<Timestamp> = runs.iter().map(|(_, run)| run.at).collect();
        let late: Vec<f64> = runs.iter().map(|(_, run)| run.late.as_secs_f64()).collect();
        let jobs: Vec<Option<Uuid>> = runs.iter().map(|(_, run)| run.job.map(|job| job.0)).collect();
        let why: Vec<Option<&str>> = runs.iter().map(|(_, run)| run.why.as_deref()).collect();
        let params: [&(dyn ToSql + Sync); 9] = [&of, &numbers, &times, &counts, &kinds, &at, &late, &jobs, &why];
        tx.execute(&self.sql.schedule_note, &params).await.map_err(&failed)?;
        let (full, up_to): (Vec<Uuid>, Vec<i64>) = (ids.iter().zip(firings))
            .map(|(id, firing)| (*id, firing.standing.runs - RUNS_KEPT))
            .filter(|(_, up_to)| *up_to > 0)
            .unzip();
        if !full.is_empty() {
            tx.execute(&self.sql.schedule_forget_runs, &[&full, &up_to])
                .await
                .map_err(&failed)?;
        }
        Ok(())
    }
}

/// What was stored, without the words about what was not.
fn copied(outcome: &Result<Submitted>) -> Result<Submitted> {
    outcome.as_ref().copied().map_err(|_| Error::Conflict("job id"))
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)
}

fn key_columns<'a>(keys: &[&'a ScheduleKey]) -> [Vec<&'a str>; 3] {
    let column = |at: usize| keys.iter().map(|key| columns(key)[at]).collect();
    [column(0), column(1), column(2)]
}

fn schedule(row: &Row) -> Result<Schedule> {
    let record = Record {
        id: row.get("id"),
        group: row.get("group"),
        owner: row.get("owner"),
        name: row.get("name"),
        said: row.get("said"),
        standing: row.get("standing"),
    };
    record.schedule()
}

fn run_of(row: &Row) -> Result<Run> {
    Ok(Run {
        number: row.get(0),
        time: row.get(1),
        count: row.get::<_, i32>(2) as u32,
        kind: rows::coded("run", row.get(3), RunKind::from_code)?,
        at: row.get(4),
        late: seconds(row.get(5)),
        job: row.get::<_, Option<Uuid>>(6).map(JobId),
        why: row.get(7),
    })
}
