//! Hooks that are owed: noted with the change that they are about, given out, struck off.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use foldhash::HashSet;
use jiff::Timestamp;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::connect::{Mode, Tx, failed};
use super::timeouts::TIMEOUT;
use super::{PostgresStore, rows};
use crate::error::{Error, Result};
use crate::hook::{self, Hook, Hooks, Owed};
use crate::job::{Job, JobId};
use crate::lifecycle::{self, Change};
use crate::retention::Rule;
use crate::store::{OwedHooks, Settle, Signal};

#[async_trait]
impl OwedHooks for PostgresStore {
    async fn owed(&self, tasks: &[(String, Hooks)], limit: u32, again: Duration) -> Result<Vec<Owed>> {
        self.within(TIMEOUT, "looking for hooks", self.give_out(tasks, limit, again))
            .await
    }

    async fn strike(&self, owed: Vec<i64>) -> Result<()> {
        self.within(
            TIMEOUT,
            "striking off hooks",
            self.run("striking off hooks", &self.sql.strike, &[&owed]),
        )
        .await
    }
}

impl PostgresStore {
    fn keeps(&self) -> bool {
        !self.keeps_nothing()
    }

    /// Notes what changes of jobs owe to their tasks, as those have published their hooks. Says whether anything is.
    pub(super) async fn note_changes(&self, tx: &Tx, changes: &[(&Job, &Change)]) -> Result<bool> {
        let concerned: Vec<&(&Job, &Change)> = changes
            .iter()
            .filter(|(_, change)| !lifecycle::owes(change, self.keeps()).is_empty())
            .collect();
        if concerned.is_empty() {
            return Ok(false);
        }
        let tasks: HashSet<&str> = concerned.iter().map(|(job, _)| job.task.as_str()).collect();
        let tasks: Vec<&str> = tasks.into_iter().collect();
        let rows = tx.query(&self.sql.hooked, &[&tasks]).await;
        let rows = rows.map_err(failed("looking for tasks with hooks"))?;
        let hooked: HashMap<String, Hooks> = rows
            .iter()
            .map(|row| (row.get(0), Hooks::from_code(row.get(1))))
            .collect();
        let now = self.now();
        let owed = concerned.iter().flat_map(|(job, change)| {
            let hooks = hooked.get(&job.task).copied().unwrap_or_default();
            hook::owed(job, change, hooks, self.keeps(), now)
        });
        self.note(tx, &owed.collect::<Vec<_>>()).await
    }

    /// The jobs that an executor is about to settle and whose tasks have hooks, as they are now.
    pub(super) async fn look_before(&self, tx: &Tx, settles: &[Settle]) -> Result<HashMap<JobId, Job>> {
        let ids: Vec<Uuid> = settles
            .iter()
            .filter(|settle| {
                !settle
                    .hooks
                    .and(lifecycle::owes(&settle.change, self.keeps()))
                    .is_empty()
            })
            .map(|settle| settle.id.0)
            .collect();
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let rows = tx.query(&self.sql.lock, &[&ids]).await;
        let jobs = rows.map_err(failed("reading jobs with hooks"))?;
        jobs.iter().map(|row| rows::job(row).map(|job| (job.id, job))).collect()
    }

    /// Notes what the settled ones owe. Says whether anything is.
    pub(super) async fn note_settled(
        &self,
        tx: &Tx,
        before: &HashMap<JobId, Job>,
        settles: &[Settle],
        written: &HashSet<JobId>,
    ) -> Result<bool> {
        let now = self.now();
        let settled = settles.iter().filter(|settle| written.contains(&settle.id));
        let owed = settled.filter_map(|settle| Some((before.get(&settle.id)?, settle)));
        let owed = owed.flat_map(|(job, settle)| hook::owed_by(job, settle, self.keeps(), now));
        self.note(tx, &owed.collect::<Vec<_>>()).await
    }

    async fn note(&self, tx: &Tx, owed: &[(Hook, Job)]) -> Result<bool> {
        if owed.is_empty() {
            return Ok(false);
        }
        let now = self.options.clock.manual();
        let tasks: Vec<&str> = owed.iter().map(|(_, job)| job.task.as_str()).collect();
        let hooks: Vec<i16> = owed.iter().map(|(hook, _)| hook.code()).collect();
        let jobs: Vec<String> = owed
            .iter()
            .map(|(_, job)| serde_json::to_string(job).map_err(unreadable))
            .collect::<Result<_>>()?;
        tx.query(&self.sql.note, &[&now, &tasks, &hooks, &jobs])
            .await
            .map_err(failed("noting hooks"))?;
        Ok(true)
    }

    pub(super) async fn give_out(&self, tasks: &[(String, Hooks)], limit: u32, again: Duration) -> Result<Vec<Owed>> {
        let failed = failed("looking for hooks");
        let now = self.options.clock.manual();
        let client = self.client().await?;
        let statement = client.prepare_cached(&self.sql.owed).await.map_err(&failed)?;
        let (names, hooks): (Vec<&str>, Vec<i16>) =
            tasks.iter().map(|(task, hooks)| (task.as_str(), hooks.code())).unzip();
        let limit = i64::from(limit);
        let rows = client
            .query(&statement, &[&now, &names, &limit, &again.as_secs_f64(), &hooks])
            .await
            .map_err(&failed)?;
        let read = |row: &tokio_postgres::Row| {
            let tries = row.get::<_, i32>(2) as u32;
            Owed::read(row.get(0), Hook::from_code(row.get(1))?, tries, row.get(3))
        };
        let mut given: Vec<Owed> = rows.iter().filter_map(read).collect();
        given.sort_unstable_by_key(|owed| owed.number);
        Ok(given)
    }

    /// Tasks that want to know which of their jobs are forgotten are told of those that a rule covers and that are past their
    /// time, and these go. Says how many there were.
    pub(super) async fn forget_hooked(&self, rule: &Rule, from: Option<Timestamp>, end: Timestamp) -> Result<u64> {
        /// So many at a time: they are read whole.
        const PORTION: i64 = 1000;
        let failed = failed("forgetting jobs with hooks");
        let hook = Hook::Delete.code();
        let rows = self
            .look("looking for tasks with hooks", &self.sql.hooked_tasks, &[&hook])
            .await?;
        let tasks = rows.iter().map(|row| row.get::<_, String>(0));
        let tasks: Vec<String> = match &rule.tasks {
            Some(covered) => tasks.filter(|task| covered.contains(task)).collect(),
            None => tasks.collect(),
        };
        let mut forgotten = 0;
        while !tasks.is_empty() {
            let tx = Tx::on(self.client().await?);
            tx.open(Mode::Durable).await.map_err(&failed)?;
            let states = rule.codes();
            let (groups, not_groups, not_tasks) = (&rule.groups, &rule.except_groups, &rule.except_tasks);
            let params: [&(dyn ToSql + Sync); 8] =
                [&states, &from, &end, groups, &tasks, not_groups, not_tasks, &PORTION];
            let rows = tx.query(&self.sql.past, &params).await.map_err(&failed)?;
            let jobs: Vec<(Hook, Job)> = rows
                .iter()
                .map(|row| rows::job(row).map(|job| (Hook::Delete, job)))
                .collect::<Result<_>>()?;
            let ids: Vec<Uuid> = jobs.iter().map(|(_, job)| job.id.0).collect();
            if !ids.is_empty() {
                self.note(&tx, &jobs).await?;
                tx.execute(&self.sql.delete, &[&ids]).await.map_err(&failed)?;
            }
            tx.commit().await.map_err(&failed)?;
            forgotten += ids.len() as u64;
            if !ids.is_empty() {
                self.signal(Signal::Owed);
            }
            if (ids.len() as i64) < PORTION {
                break;
            }
        }
        Ok(forgotten)
    }
}

fn unreadable(error: serde_json::Error) -> Error {
    Error::Store {
        doing: "reading or writing a job as JSON",
        cause: Box::new(error),
        transient: false,
    }
}
