//! Executors: who is registered, who is alive, what they hold, and the tasks that they publish.

use std::collections::HashMap;

use async_trait::async_trait;
use rusqlite::{OptionalExtension, params};
use uuid::Uuid;

use super::SqliteStore;
use super::change;
use super::fault::Fault;
use super::rows::{bytes, code, duration, micros, span, uuid};
use super::tx::Tx;
use crate::error::Result;
use crate::hook::Hooks;
use crate::job::{JobId, Priority};
use crate::lifecycle::{Event, Policy};
use crate::store::{Beat, Changed, ExecutorInfo, Executors, Occupied};
use crate::task::TaskSettings;
use crate::turn::Charge;

#[async_trait]
impl Executors for SqliteStore {
    async fn register(&self, executor: &ExecutorInfo, kind: &str, tasks: &[TaskSettings]) -> Result<()> {
        let (executor, kind, tasks) = (executor.clone(), kind.to_owned(), tasks.to_vec());
        self.write("registering an executor", move |tx| {
            register(tx, &executor, &kind, &tasks)
        })
        .await
    }

    async fn heartbeat(&self, executor: Uuid, beat: i64) -> Result<Beat> {
        self.write("sending a heartbeat", move |tx| heartbeat(tx, executor, beat))
            .await
    }

    async fn reap(&self, executor: Uuid, beat: i64) -> Result<u32> {
        let lost = self
            .write("reaping an executor", move |tx| reap(tx, executor, beat))
            .await?;
        crate::failure_log::lost(executor, lost.iter().filter_map(Changed::done));
        Ok(lost.len() as u32)
    }

    async fn deregister(&self, executor: Uuid) -> Result<()> {
        self.write("deregistering an executor", move |tx| deregister(tx, executor))
            .await
    }

    async fn occupy(&self, id: &str) -> Result<Occupied> {
        Ok(self.occupy_id(id))
    }

    async fn share(&self, kind: &str, charges: Vec<Charge>) -> Result<Vec<(String, f64)>> {
        let kind = kind.to_owned();
        self.write("sharing accounts", move |tx| {
            super::settings::share(tx, &kind, &charges)
        })
        .await
    }
}

pub(super) fn register(
    tx: &mut Tx<'_>,
    executor: &ExecutorInfo,
    kind: &str,
    tasks: &[TaskSettings],
) -> Result<(), Fault> {
    let json = |names: &[String]| {
        serde_json::to_string(names).map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))
    };
    tx.connection.execute(
        sql!("register"),
        params![
            bytes(&executor.incarnation),
            executor.name,
            kind,
            executor.slots,
            json(&executor.queues)?,
            json(&executor.tasks)?,
            executor.version,
            executor.beat,
            micros(tx.now),
        ],
    )?;
    tx.connection.execute(
        sql!("register_name"),
        params![bytes(&executor.incarnation), executor.name, micros(tx.now)],
    )?;
    let mut publish = tx.connection.prepare_cached(sql!("publish"))?;
    for task in tasks {
        let known = self::tasks(tx, Some(&task.name))?.pop();
        if task.max_unfinished.is_some() && known.is_none_or(|known| known.max_unfinished.is_none()) {
            tx.connection.execute(sql!("limit_task"), [&task.name])?;
        }
        publish.execute(params![
            task.name,
            task.queue,
            task.priority.code(),
            task.policy.retries,
            span(task.policy.retry_delay),
            span(task.policy.retry_cap),
            task.policy.jitter,
            task.policy.restartable,
            task.time_limit.map(span),
            task.max_unfinished,
            task.hooks.code(),
        ])?;
    }
    Ok(())
}

/// The published tasks: one, or all.
pub(super) fn tasks(tx: &Tx<'_>, name: Option<&str>) -> Result<Vec<TaskSettings>, Fault> {
    let tasks = tx
        .connection
        .prepare_cached(sql!("tasks"))?
        .query_map([name], |row| {
            Ok(TaskSettings {
                name: row.get(0)?,
                queue: row.get(1)?,
                priority: code(row, 2, Priority::from_code)?,
                policy: Policy {
                    retries: row.get(3)?,
                    retry_delay: duration(row.get(4)?),
                    retry_cap: duration(row.get(5)?),
                    jitter: row.get(6)?,
                    restartable: row.get(7)?,
                },
                time_limit: row.get::<_, Option<i64>>(8)?.map(duration),
                max_unfinished: row.get(9)?,
                hooks: Hooks::from_code(row.get(10)?),
            })
        })?
        .collect::<Result<_, _>>()?;
    Ok(tasks)
}

pub(super) fn is_registered(tx: &Tx<'_>, executor: Uuid) -> Result<bool, Fault> {
    Ok(tx
        .connection
        .prepare_cached(sql!("registered"))?
        .exists([bytes(&executor)])?)
}

pub(super) fn heartbeat(tx: &mut Tx<'_>, executor: Uuid, beat: i64) -> Result<Beat, Fault> {
    let connection = tx.connection;
    let told: Option<(bool, bool)> = connection
        .prepare_cached(sql!("beat"))?
        .query_row(params![bytes(&executor), beat, micros(tx.now)], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let held = connection
        .prepare_cached(sql!("held_by"))?
        .query_map([bytes(&executor)], |row| {
            Ok((JobId(uuid(row, 0)?), row.get(1)?, row.get(2)?))
        })?
        .collect::<Result<_, _>>()?;
    let peers = connection
        .prepare_cached(sql!("peers"))?
        .query_map([], |row| Ok((uuid(row, 0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    Ok(Beat {
        alive: told.is_some(),
        held,
        peers,
        draining: told.is_some_and(|(draining, _)| draining),
        dismissed: told.is_some_and(|(_, dismissed)| dismissed),
    })
}

/// Ends an executor that fell silent. One that has sent another heartbeat since is left alone.
pub(super) fn reap(tx: &mut Tx<'_>, executor: Uuid, beat: i64) -> Result<Vec<Changed>, Fault> {
    let known: Option<i64> = tx
        .connection
        .prepare_cached(sql!("registered"))?
        .query_row([bytes(&executor)], |row| row.get(0))
        .optional()?;
    let lost = match known {
        Some(known) if known != beat => return Ok(Vec::new()),
        Some(_) => {
            deregister(tx, executor)?;
            held_by(tx, executor)?
        }
        None => orphans(tx, executor)?,
    };
    let policies: HashMap<String, Policy> = tasks(tx, None)?.into_iter().map(|t| (t.name, t.policy)).collect();
    let mut changed = Vec::with_capacity(lost.len());
    for (id, task) in &lost {
        let policy = policies.get(task).copied().unwrap_or_default();
        changed.extend(change::change_one(tx, *id, &Event::Lose, &policy)?);
    }
    Ok(changed)
}

fn held_by(tx: &Tx<'_>, executor: Uuid) -> Result<Vec<(JobId, String)>, Fault> {
    lost(tx, sql!("lost_by"), executor)
}

fn orphans(tx: &Tx<'_>, executor: Uuid) -> Result<Vec<(JobId, String)>, Fault> {
    lost(tx, sql!("orphans"), executor)
}

fn lost(tx: &Tx<'_>, sql: &str, executor: Uuid) -> Result<Vec<(JobId, String)>, Fault> {
    let lost = tx
        .connection
        .prepare_cached(sql)?
        .query_map([bytes(&executor)], |row| Ok((JobId(uuid(row, 0)?), row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    Ok(lost)
}

pub(super) fn deregister(tx: &mut Tx<'_>, executor: Uuid) -> Result<(), Fault> {
    tx.connection
        .prepare_cached(sql!("deregister"))?
        .execute([bytes(&executor)])?;
    Ok(())
}
