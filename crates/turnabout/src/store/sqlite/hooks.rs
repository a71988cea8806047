//! Hooks that are owed: noted with the change that they are about, given out, struck off.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::params;

use super::SqliteStore;
use super::executors;
use super::fault::Fault;
use super::rows::{code, micros};
use super::tx::Tx;
use crate::clock::after;
use crate::error::Result;
use crate::hook::{self, Hook, Hooks, Owed};
use crate::job::Job;
use crate::lifecycle::{self, Change};
use crate::store::OwedHooks;

#[async_trait]
impl OwedHooks for SqliteStore {
    async fn owed(&self, tasks: &[(String, Hooks)], limit: u32, again: Duration) -> Result<Vec<Owed>> {
        let tasks = tasks.to_vec();
        self.write("looking for hooks", move |tx| owed(tx, &tasks, limit, again))
            .await
    }

    async fn strike(&self, owed: Vec<i64>) -> Result<()> {
        self.write("striking off hooks", move |tx| strike(tx, &owed)).await
    }
}

/// Notes what a change of a job owes to its task, as that has published its hooks.
pub(super) fn note_change(tx: &mut Tx<'_>, job: &Job, change: &Change) -> Result<(), Fault> {
    let kept = !tx.keeps_nothing()?;
    if lifecycle::owes(change, kept).is_empty() {
        return Ok(());
    }
    let Some(task) = executors::tasks(tx, Some(&job.task))?.pop() else {
        return Ok(());
    };
    let owed = hook::owed(job, change, task.hooks, kept, tx.now);
    note(tx, &owed)
}

/// Whether a task has a hook.
pub(super) fn has(tx: &Tx<'_>, task: &str, hook: Hook) -> Result<bool, Fault> {
    Ok(executors::tasks(tx, Some(task))?
        .pop()
        .is_some_and(|task| task.hooks.has(hook)))
}

pub(super) fn note(tx: &mut Tx<'_>, owed: &[(Hook, Job)]) -> Result<(), Fault> {
    for (hook, job) in owed {
        let text = serde_json::to_string(job).map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))?;
        tx.connection
            .prepare_cached(sql!("note"))?
            .execute(params![job.task, hook.code(), micros(tx.now), text])?;
        tx.owed();
    }
    Ok(())
}

pub(super) fn owed(
    tx: &mut Tx<'_>,
    tasks: &[(String, Hooks)],
    limit: u32,
    again: Duration,
) -> Result<Vec<Owed>, Fault> {
    let tasks: BTreeMap<&str, i16> = tasks
        .iter()
        .map(|(task, hooks)| (task.as_str(), hooks.code()))
        .collect();
    let tasks = serde_json::to_string(&tasks).map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))?;
    let until = micros(after(tx.now, again));
    let mut statement = tx.connection.prepare_cached(sql!("owed"))?;
    let mut rows = statement.query(params![micros(tx.now), tasks, limit, until])?;
    let mut given: Vec<Owed> = Vec::new();
    while let Some(row) = rows.next()? {
        let (number, text) = (row.get(0)?, row.get::<_, String>(3)?);
        given.extend(Owed::read(number, code(row, 1, Hook::from_code)?, row.get(2)?, &text));
    }
    given.sort_unstable_by_key(|owed| owed.number);
    Ok(given)
}

pub(super) fn strike(tx: &mut Tx<'_>, owed: &[i64]) -> Result<(), Fault> {
    let mut statement = tx.connection.prepare_cached(sql!("strike"))?;
    for number in owed {
        statement.execute([number])?;
    }
    Ok(())
}
