//! What operators set for groups and tasks, how many jobs are held under caps, and the accounts that executors share.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::SqliteStore;
use super::fault::Fault;
use super::rows::micros;
use super::tx::Tx;
use crate::clock::nanoseconds;
use crate::error::Result;
use crate::group::{
    Admissions, Cap, GlobalSettings, GroupSettings, KeyRate, QueueSettings, Rate, Settings, TaskLimits,
};
use crate::retention::Retention;
use crate::store::{Configuration, Setting};
use crate::task::TaskSettings;
use crate::turn::Charge;

#[async_trait]
impl Configuration for SqliteStore {
    async fn settings(&self) -> Result<Arc<Settings>> {
        self.read("reading settings", all).await
    }

    async fn set_since(&self, version: i64, setting: Setting) -> Result<bool> {
        self.write("changing settings", move |tx| {
            let unchanged = self::version(tx.connection)? == version;
            if unchanged {
                set(tx, &setting)?;
            }
            Ok(unchanged)
        })
        .await
    }

    async fn tasks(&self) -> Result<Vec<TaskSettings>> {
        self.read("reading tasks", |tx| super::executors::tasks(tx, None)).await
    }
}

/// All settings, for those who ask.
pub(super) fn all(tx: &mut Tx<'_>) -> Result<Arc<Settings>, Fault> {
    tx.settings()
}

/// The version in force.
pub(super) fn version(connection: &Connection) -> Result<i64, Fault> {
    let version = connection
        .prepare_cached(sql!("settings_version"))?
        .query_row([], |row| row.get(0))?;
    Ok(version)
}

/// All settings. Only what is set has a row, so this is short.
pub(super) fn read(connection: &Connection, version: i64) -> Result<Settings, Fault> {
    let mut all = Settings::default();
    let mut groups = connection.prepare_cached(sql!("group_settings"))?;
    let groups = groups.query_map([], |row| {
        let settings = GroupSettings {
            weight: row.get(1)?,
            max_running: row.get(2)?,
            paused: row.get(3)?,
            max_unfinished: row.get(4)?,
            retention: retention(row, 5)?,
            rate: rate(row, 6)?,
            max_share: row.get(7)?,
            max_unknown_tasks: row.get(8)?,
        };
        Ok((row.get(0)?, settings))
    })?;
    for group in groups {
        let (name, settings) = group?;
        all.keep(name, settings);
    }
    let tasks = connection
        .prepare_cached(sql!("task_limits"))?
        .query_map([], |row| {
            let limits = TaskLimits {
                max_running: row.get(1)?,
                paused: row.get(2)?,
                retention: retention(row, 3)?,
                max_running_each: row.get(4)?,
                rate: rate(row, 5)?,
            };
            Ok((row.get(0)?, limits))
        })?
        .collect::<Result<_, _>>()?;
    let queues = connection
        .prepare_cached(sql!("queue_settings"))?
        .query_map([], |row| Ok((row.get(0)?, QueueSettings { paused: row.get(1)? })))?
        .collect::<Result<_, _>>()?;
    let global = connection
        .prepare_cached(sql!("global_settings"))?
        .query_row([], |row| {
            Ok(GlobalSettings {
                retention: retention(row, 0)?,
                paused: row.get(1)?,
            })
        })?;
    Ok(Settings {
        version,
        tasks,
        queues,
        global,
        ..all
    })
}

/// How long something is kept, as it is written.
fn retention(row: &Row<'_>, at: usize) -> rusqlite::Result<Retention> {
    let text: String = row.get(at)?;
    serde_json::from_str(&text).map_err(|e| rusqlite::Error::FromSqlConversionFailure(at, Type::Text, Box::new(e)))
}

/// How often jobs may start, as it is written.
fn rate(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Rate>> {
    let text: Option<String> = row.get(at)?;
    let rate = text.map(|text| text.parse()).transpose();
    rate.map_err(|e: crate::Error| rusqlite::Error::FromSqlConversionFailure(at, Type::Text, Box::new(e)))
}

/// How it is written.
fn written(retention: &Retention) -> rusqlite::Result<String> {
    serde_json::to_string(retention).map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))
}

/// Changes a setting. It holds from the next take on, whoever makes it.
pub(super) fn set(tx: &mut Tx<'_>, setting: &Setting) -> Result<(), Fault> {
    let connection = tx.connection;
    let (rate_of, rated) = match setting {
        Setting::Group(group, settings) => {
            if *settings == GroupSettings::default() {
                connection.execute(sql!("unset_group"), [group])?;
            } else {
                connection.execute(
                    sql!("set_group"),
                    params![
                        group,
                        settings.weight,
                        settings.max_running,
                        settings.paused,
                        settings.max_unfinished,
                        written(&settings.retention)?,
                        settings.rate.map(String::from),
                        settings.max_share,
                        settings.max_unknown_tasks
                    ],
                )?;
            }
            connection.execute(sql!("streams_pause"), params![group, settings.paused])?;
            if settings.max_unfinished.is_some() {
                connection.execute(sql!("limit_group"), [group])?;
            }
            count_caps(tx, group, settings)?;
            if group.is_empty() && settings.rate.is_none() {
                connection.execute(sql!("rates_forget"), [])?;
            }
            let rated = settings.rate.or(tx.settings()?.defaults.rate).is_some();
            (Some(Cap::Group(group.clone())), rated)
        }
        Setting::Task(task, limits) => {
            if *limits == TaskLimits::default() {
                connection.execute(sql!("unset_task"), [task])?;
            } else {
                connection.execute(
                    sql!("set_task"),
                    params![
                        task,
                        limits.max_running,
                        limits.paused,
                        written(&limits.retention)?,
                        limits.max_running_each,
                        limits.rate.map(String::from)
                    ],
                )?;
            }
            let cap = Cap::Task(task.clone());
            count_cap(connection, &cap, limits.max_running.is_some())?;
            (Some(cap), limits.rate.is_some())
        }
        Setting::Queue(queue, settings) => {
            if *settings == QueueSettings::default() {
                connection.execute(sql!("unset_queue"), [queue])?;
            } else {
                connection.execute(sql!("set_queue"), params![queue, settings.paused])?;
            }
            (None, false)
        }
        Setting::Global(settings) => {
            let written = params![written(&settings.retention)?, settings.paused];
            connection.execute(sql!("set_global"), written)?;
            (None, false)
        }
    };
    if let Some(of) = rate_of.filter(|_| !rated) {
        let (kind, name) = key(&of);
        connection.execute(sql!("rate_forget"), params![kind, name])?;
    }
    connection.execute(sql!("settings_changed"), [])?;
    tx.all_ready();
    Ok(())
}

/// Counts what executors hold of a group that gets a cap, by a setting of its own or by the defaults of all groups (no name).
/// Under the defaults, a group without a row holds nothing.
fn count_caps(tx: &mut Tx<'_>, group: &str, set: &GroupSettings) -> Result<(), Fault> {
    let before = tx.settings()?;
    if !group.is_empty() {
        let capped = set.or(&before.defaults).max_running.is_some();
        return count_cap(tx.connection, &Cap::Group(group.to_owned()), capped);
    }
    let own = |name: &String| {
        let own = before.own(name);
        own.max_running.is_some() || own.max_share.is_some()
    };
    let mut statement = tx.connection.prepare_cached(sql!("capped_groups"))?;
    let capped = statement.query_map([], |row| row.get(0))?;
    let capped = capped.collect::<Result<Vec<String>, _>>()?;
    for name in capped.into_iter().filter(|name| !own(name)) {
        count_cap(tx.connection, &Cap::Group(name), set.max_running.is_some())?;
    }
    Ok(())
}

/// Counts anew what executors hold under a cap, or forgets it.
fn count_cap(connection: &Connection, cap: &Cap, capped: bool) -> Result<(), Fault> {
    let (kind, name) = key(cap);
    let sql = if capped { sql!("cap_count") } else { sql!("cap_forget") };
    connection.execute(sql, params![kind, name])?;
    Ok(())
}

/// How many jobs executors hold under a cap.
pub(super) fn running(connection: &Connection, cap: &Cap) -> Result<u32, Fault> {
    let (kind, name) = key(cap);
    let running = connection
        .prepare_cached(sql!("cap"))?
        .query_row(params![kind, name], |row| row.get(0))
        .optional()?;
    Ok(running.unwrap_or(0))
}

/// When the bucket of a rate will be full.
pub(super) fn full_at(connection: &Connection, of: &Cap) -> Result<i64, Fault> {
    let (kind, name) = key(of);
    let full = connection
        .prepare_cached(sql!("rate"))?
        .query_row(params![kind, name], |row| row.get(0))
        .optional()?;
    Ok(full.unwrap_or(0))
}

/// Jobs under a rate were taken: its bucket will be full at that moment.
pub(super) fn move_rate(connection: &Connection, of: &Cap, full: i64) -> Result<(), Fault> {
    let (kind, name) = key(of);
    connection
        .prepare_cached(sql!("rate_move"))?
        .execute(params![kind, name, full])?;
    Ok(())
}

/// Whether a job with this key may start now, or for how long it is put off.
pub(super) fn admit(tx: &mut Tx<'_>, rate: &KeyRate, back: bool) -> Result<Option<Duration>, Fault> {
    let line = |row: &Row<'_>| {
        Ok(Admissions {
            full: row.get(0)?,
            next: row.get(1)?,
            late: row.get(2)?,
        })
    };
    let found = tx
        .connection
        .prepare_cached(sql!("rate_key"))?
        .query_row([&rate.key], line)
        .optional()?;
    let mut line = found.unwrap_or_default();
    let wait = line.admit(rate.rate, nanoseconds(tx.now), back);
    tx.connection
        .prepare_cached(sql!("rate_key_move"))?
        .execute(params![rate.key, line.full, line.next, line.late])?;
    Ok(wait)
}

/// A cap's key in the table.
pub(super) fn key(cap: &Cap) -> (i64, &str) {
    match cap {
        Cap::Group(group) => (0, group),
        Cap::Task(task) => (1, task),
    }
}

/// Adds charges to the accounts of a kind; returns the accounts.
pub(super) fn share(tx: &mut Tx<'_>, kind: &str, charges: &[Charge]) -> Result<Vec<(String, f64)>, Fault> {
    let mut statement = tx.connection.prepare_cached(sql!("account"))?;
    let mut accounts = Vec::with_capacity(charges.len());
    for charge in charges {
        let spent = statement.query_row(
            params![kind, charge.group, charge.floor, charge.add, micros(tx.now)],
            |row| row.get(0),
        )?;
        accounts.push((charge.group.clone(), spent));
    }
    Ok(accounts)
}
