//! What operators set, and the accounts that executors share.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use async_trait::async_trait;

use super::PostgresStore;
use super::client::Object;
use super::connect::{Mode, Tx, failed};
use super::timeouts::{LONG_TIMEOUT, TIMEOUT};
use crate::error::{Error, Result};
use crate::group::{GlobalSettings, GroupSettings, QueueSettings, Rate, Settings, TaskLimits};
use crate::retention::Retention;
use crate::store::{Configuration, Setting};
use crate::task::TaskSettings;
use crate::turn::Charge;

#[async_trait]
impl Configuration for PostgresStore {
    async fn settings(&self) -> Result<Arc<Settings>> {
        self.within(TIMEOUT, "reading settings", self.read_settings()).await
    }

    async fn set_since(&self, version: i64, setting: Setting) -> Result<bool> {
        let written = self.write_setting(setting, version);
        self.within(LONG_TIMEOUT, "changing a setting", written).await
    }

    async fn tasks(&self) -> Result<Vec<TaskSettings>> {
        self.within(TIMEOUT, "reading tasks", self.read_tasks(None)).await
    }
}

/// So often a setting is tried, while transactions of others stand in its way.
const TRIES: u64 = 20;

impl PostgresStore {
    pub(super) async fn read_settings(&self) -> Result<Arc<Settings>> {
        self.read_settings_on(&self.client().await?).await
    }

    /// As [`Self::read_settings`], on a connection that the caller has: waiting for a second one while holding a first
    /// could wait for ever.
    pub(super) async fn read_settings_on(&self, client: &Object) -> Result<Arc<Settings>> {
        let failed = failed("reading settings");
        let statement = client.prepare_cached(&self.sql.settings).await.map_err(&failed)?;
        let mut settings = Settings::default();
        for row in client.query(&statement, &[]).await.map_err(&failed)? {
            let name: String = row.get(1);
            let number = row.get::<_, Option<i64>>(2);
            let max_running = row.get::<_, Option<i32>>(3).map(|n| n as u32);
            let paused = row.get(4);
            let max_unfinished = row.get::<_, Option<i32>>(5).map(|n| n as u32);
            let retention = retention(row.get(6))?;
            let max_running_each = row.get::<_, Option<i32>>(7).map(|n| n as u32);
            let rate: Option<Rate> = row.get::<_, Option<&str>>(8).map(str::parse).transpose()?;
            let max_share = row.get::<_, Option<i32>>(9).map(|n| n as u32);
            let max_unknown_tasks = row.get::<_, Option<i32>>(10).map(|n| n as u32);
            match row.get::<_, i16>(0) {
                0 => {
                    let group = GroupSettings {
                        weight: number.map(|n| n as u32),
                        max_running,
                        max_share,
                        max_unfinished,
                        max_unknown_tasks,
                        paused,
                        retention,
                        rate,
                    };
                    settings.keep(name, group);
                }
                1 => {
                    let limits = TaskLimits {
                        max_running,
                        max_running_each,
                        rate,
                        paused,
                        retention,
                    };
                    settings.tasks.insert(name, limits);
                }
                2 => {
                    settings.version = number.unwrap_or(0);
                    settings.global = GlobalSettings { paused, retention };
                }
                _ => drop(settings.queues.insert(name, QueueSettings { paused })),
            }
        }
        let settings = Arc::new(settings);
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner) = settings.clone();
        Ok(settings)
    }

    /// The settings as last read.
    pub(super) fn known_settings(&self) -> Arc<Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The settings of this version or a later one.
    pub(super) async fn settings_of(&self, client: &Object, version: i64) -> Result<Arc<Settings>> {
        let known = self.known_settings();
        if known.version == version {
            return Ok(known);
        }
        self.read_settings_on(client).await
    }

    /// Whether no ended job is kept, as far as known.
    pub(super) fn keeps_nothing(&self) -> bool {
        let default = self.options.retention;
        default.is_zero() && crate::retention::keeps_nothing(&self.known_settings(), default)
    }

    /// Whether anything is capped, as far as known.
    pub(super) fn has_caps(&self) -> bool {
        self.known_settings().any_cap()
    }

    pub(super) async fn write_setting(&self, setting: Setting, version: i64) -> Result<bool> {
        let mut tries = 0;
        let limited = match &setting {
            Setting::Group(name, s) if s.max_unfinished.is_some() => Some(name),
            _ => None,
        };
        loop {
            tries += 1;
            match self.try_write_setting(&setting, version).await {
                Ok(false) => return Ok(false),
                Ok(true) => {
                    // The jobs that there are count too, once they are marked as such. Not under the lock: there may be
                    // many of them.
                    if let Some(group) = limited {
                        self.run("limiting a group", &self.sql.limit_group, &[group]).await?;
                    }
                    return Ok(true);
                }
                // Someone's transaction stands in the way of counting: stepping back lets those behind us pass.
                Err(error) if error.is_transient() && tries < TRIES => {
                    tokio::time::sleep(Duration::from_millis(100 * tries)).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// `false`: some setting has changed since that version.
    async fn try_write_setting(&self, setting: &Setting, version: i64) -> Result<bool> {
        let failed = failed("changing a setting");
        let known = self.read_settings().await?;
        // Whether there is a cap, whichever.
        let (before, after) = match setting {
            Setting::Group(name, s) => {
                let own = if name.is_empty() { *s } else { s.or(&known.defaults) };
                (known.group(name).max_running.is_some(), own.max_running.is_some())
            }
            Setting::Task(name, s) => (known.task(name).max_running.is_some(), s.max_running.is_some()),
            Setting::Queue(..) | Setting::Global(_) => (false, false),
        };
        let resumed = match setting {
            Setting::Group(name, s) => known.group(name).paused && !s.paused,
            Setting::Task(name, s) => known.task(name).paused && !s.paused,
            Setting::Queue(name, s) => known.queue(name).paused && !s.paused,
            Setting::Global(s) => known.global.paused && !s.paused,
        };
        let tx = Tx::on(self.client().await?);
        tx.open(Mode::Durable).await.map_err(&failed)?;
        // First, so that whoever changes a setting at the same time waits, and then finds that it is too late.
        if tx.execute(&self.sql.set_version, &[&version]).await.map_err(&failed)? == 0 {
            tx.commit().await.map_err(&failed)?;
            return Ok(false);
        }
        if resumed {
            // Arrivals of what is paused are filed as such: nobody may do that between our look at jobs and the commit.
            // Nor may a kind come meanwhile, which would not be among those that are locked.
            let lock = super::sql::in_schema("lock table turnabout.kind in share mode", self.schema());
            tx.client().batch_execute(&lock).await.map_err(&failed)?;
            tx.query(&self.sql.lock_kinds, &[]).await.map_err(&failed)?;
        }
        if before != after {
            // Claims and finishes wait while held jobs are counted, so that a cap begins with the true number; and we do
            // not wait long for an open transaction, since everyone would wait behind us.
            let lock = "set local lock_timeout = '1s'; lock table turnabout.job in share row exclusive mode";
            let lock = super::sql::in_schema(lock, self.schema());
            tx.client().batch_execute(&lock).await.map_err(&failed)?;
        }
        let everything = String::new();
        let (kind, name) = match setting {
            Setting::Group(name, s) if *s == GroupSettings::default() => {
                tx.execute(&self.sql.unset_group, &[name]).await.map_err(&failed)?;
                (0i16, name)
            }
            Setting::Task(name, s) if *s == TaskLimits::default() => {
                tx.execute(&self.sql.unset_task, &[name]).await.map_err(&failed)?;
                (1, name)
            }
            Setting::Group(name, s) => {
                let cap = s.max_running.map(|n| n as i32);
                let [weight, share] = [s.weight, s.max_share].map(|n| n.map(|n| n as i32));
                let [unfinished, unknown] =
                    [s.max_unfinished, s.max_unknown_tasks].map(|n| n.map(|n| i32::try_from(n).unwrap_or(i32::MAX)));
                tx.execute(
                    &self.sql.set_group,
                    &[
                        name,
                        &weight,
                        &cap,
                        &s.paused,
                        &unfinished,
                        &written(&s.retention)?,
                        &s.rate.map(String::from),
                        &share,
                        &unknown,
                    ],
                )
                .await
                .map_err(&failed)?;
                (0i16, name)
            }
            Setting::Task(name, s) => {
                let cap = s.max_running.map(|n| n as i32);
                let each = s.max_running_each.map(|n| n as i32);
                let (kept, rate) = (written(&s.retention)?, s.rate.map(String::from));
                tx.execute(&self.sql.set_task, &[name, &cap, &s.paused, &kept, &each, &rate])
                    .await
                    .map_err(&failed)?;
                (1, name)
            }
            Setting::Queue(name, s) => {
                if *s == QueueSettings::default() {
                    tx.execute(&self.sql.unset_queue, &[name]).await.map_err(&failed)?;
                } else {
                    tx.execute(&self.sql.set_queue, &[name, &s.paused])
                        .await
                        .map_err(&failed)?;
                }
                (0, &everything)
            }
            Setting::Global(s) => {
                tx.execute(&self.sql.set_global, &[&written(&s.retention)?, &s.paused])
                    .await
                    .map_err(&failed)?;
                (0, &everything)
            }
        };
        let rated = match setting {
            Setting::Group(_, s) => s.rate.or(known.defaults.rate.filter(|_| !name.is_empty())).is_some(),
            Setting::Task(_, s) => s.rate.is_some(),
            Setting::Queue(..) | Setting::Global(_) => true,
        };
        if !rated {
            tx.execute(&self.sql.forget_rate, &[&kind, name])
                .await
                .map_err(&failed)?;
        }
        // Counted under the lock only: whatever else is set, a cap that stays one keeps its count.
        if before != after {
            tx.execute(&self.sql.forget_freed, &[&kind, name])
                .await
                .map_err(&failed)?;
            tx.execute(&self.sql.set_cap, &[&kind, name, &after])
                .await
                .map_err(&failed)?;
        }
        if resumed {
            let (queue, group, task) = match setting {
                Setting::Queue(name, _) => (Some(name), None, None),
                Setting::Group(name, _) => (None, Some(name), None),
                Setting::Task(name, _) => (None, None, Some(name)),
                Setting::Global(_) => (None, None, None),
            };
            tx.query(&self.sql.announce, &[&queue, &group, &task])
                .await
                .map_err(&failed)?;
        }
        tx.commit().await.map_err(&failed)?;
        self.made_ready();
        // So that this process obeys it at once. It is set, whatever comes of this.
        drop(self.read_settings().await);
        Ok(true)
    }

    pub(super) async fn share_accounts(&self, kind: &str, charges: Vec<Charge>) -> Result<Vec<(String, f64)>> {
        let failed = failed("sharing accounts");
        let now = self.options.clock.manual();
        let groups: Vec<&str> = charges.iter().map(|c| c.group.as_str()).collect();
        let floors: Vec<f64> = charges.iter().map(|c| c.floor).collect();
        let adds: Vec<f64> = charges.iter().map(|c| c.add).collect();
        let tx = Tx::on(self.client().await?);
        tx.open(Mode::Forgettable).await.map_err(&failed)?;
        tx.execute(&self.sql.open_accounts, &[&kind, &now, &groups, &floors])
            .await
            .map_err(&failed)?;
        let rows = tx
            .query(&self.sql.share, &[&kind, &now, &groups, &floors, &adds])
            .await
            .map_err(&failed)?;
        tx.commit().await.map_err(&failed)?;
        let shared: HashMap<String, f64> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        Ok(charges
            .iter()
            .filter_map(|c| Some((c.group.clone(), *shared.get(&c.group)?)))
            .collect())
    }
}

/// How long something is kept, as it is written.
fn retention(text: &str) -> Result<Retention> {
    serde_json::from_str(text).map_err(unreadable)
}

/// How it is written.
fn written(retention: &Retention) -> Result<String> {
    serde_json::to_string(retention).map_err(unreadable)
}

fn unreadable(error: serde_json::Error) -> Error {
    Error::Store {
        doing: "reading or writing how long jobs are kept",
        cause: Box::new(error),
        transient: false,
    }
}
