//! Executors: registration, heartbeat, and the end of those that fell silent.

use std::collections::{HashMap, HashSet};

use async_trait::async_trait;
use jiff::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use super::PostgresStore;
use super::connect::{Mode, Tx, failed, no_connection};
use super::timeouts::{Doubt, TIMEOUT};
use crate::error::Result;
use crate::hook::Hooks;
use crate::job::{JobId, Priority};
use crate::lifecycle::Policy;
use crate::store::{Beat, ExecutorInfo, Executors, Occupied};
use crate::task::TaskSettings;
use crate::turn::Charge;

#[async_trait]
impl Executors for PostgresStore {
    async fn register(&self, executor: &ExecutorInfo, kind: &str, tasks: &[TaskSettings]) -> Result<()> {
        self.again("registering", || self.register_executor(executor, kind, tasks))
            .await
    }

    async fn heartbeat(&self, executor: Uuid, beat: i64) -> Result<Beat> {
        Box::pin(self.beat(executor, beat)).await
    }

    async fn reap(&self, executor: Uuid, beat: i64) -> Result<u32> {
        self.again("reaping a silent executor", || {
            Box::pin(self.reap_executor(executor, beat))
        })
        .await
    }

    async fn deregister(&self, executor: Uuid) -> Result<()> {
        self.forget_executor(executor);
        self.note_sleep(executor, false).await?;
        // The process may be about to end.
        self.feed.catch_up().await;
        self.within(
            TIMEOUT,
            "leaving",
            self.run("leaving", &self.sql.deregister, &[&executor]),
        )
        .await
    }

    async fn occupy(&self, id: &str) -> Result<Occupied> {
        self.occupy_id(id).await
    }

    async fn share(&self, kind: &str, charges: Vec<Charge>) -> Result<Vec<(String, f64)>> {
        self.within(TIMEOUT, "sharing accounts", self.share_accounts(kind, charges))
            .await
    }
}

impl PostgresStore {
    pub(super) async fn register_executor(
        &self,
        executor: &ExecutorInfo,
        kind: &str,
        tasks: &[TaskSettings],
    ) -> Result<()> {
        let failed = failed("registering");
        let limited: Vec<&str> = tasks
            .iter()
            .filter(|task| task.max_unfinished.is_some())
            .map(|task| task.name.as_str())
            .collect();
        self.limit_tasks(&limited).await?;
        self.have_connections().await?;
        let tx = Tx::on(self.client().await?);
        tx.open(Mode::Durable).await.map_err(&failed)?;
        let slots = executor.slots as i32;
        let joined = tx
            .query(&self.sql.join_kind, &[&kind, &executor.queues, &executor.tasks])
            .await
            .map_err(&failed)?;
        let joined: Option<i32> = joined.first().map(|row| row.get(0));
        let now = self.options.clock.manual();
        let params: &[&(dyn tokio_postgres::types::ToSql + Sync)] = &[
            &executor.incarnation,
            &executor.name,
            &slots,
            &executor.queues,
            &executor.tasks,
            &executor.version,
            &executor.beat,
            &now,
            &joined,
        ];
        tx.execute(&self.sql.register, params).await.map_err(&failed)?;
        // In the order of their names, so that two who publish the same tasks never wait for each other.
        let mut sorted: Vec<&TaskSettings> = tasks.iter().collect();
        sorted.sort_by(|a, b| a.name.cmp(&b.name));
        for task in sorted {
            let Policy {
                retries,
                retry_delay,
                retry_cap,
                jitter,
                restartable,
            } = task.policy;
            tx.execute(
                &self.sql.publish,
                &[
                    &task.name,
                    &task.queue,
                    &task.priority.code(),
                    &(retries as i32),
                    &retry_delay.as_secs_f64(),
                    &retry_cap.as_secs_f64(),
                    &jitter,
                    &restartable,
                    &task.time_limit.map(|d| d.as_secs_f64()),
                    &task.max_unfinished.map(|n| i32::try_from(n).unwrap_or(i32::MAX)),
                    &task.hooks.code(),
                ],
            )
            .await
            .map_err(&failed)?;
        }
        let executors = tx.query(&self.sql.peers, &[]).await.map_err(&failed)?.len();
        tx.commit().await.map_err(&failed)?;
        self.quota.came(executor.incarnation);
        self.share_connections(executors);
        Ok(())
    }

    pub(super) async fn beat(&self, executor: Uuid, beat: i64) -> Result<Beat> {
        let failed = failed("keeping the lease");
        // Whoever waits for this gives up in time for another try, which must not get the same connection.
        let doubt = Doubt::about(&self.pulse);
        let client = self.wrapped(self.pulse.get().await.map_err(no_connection)?);
        let now = self.options.clock.manual();
        let echo = self.listener.beat();
        let (update, drop_holds, sweep, held, peers) = (
            client.prepare_cached(&self.sql.beat).await.map_err(&failed)?,
            client.prepare_cached(&self.sql.drop_holds).await.map_err(&failed)?,
            client.prepare_cached(&self.sql.sweep_holds).await.map_err(&failed)?,
            client.prepare_cached(&self.sql.held).await.map_err(&failed)?,
            client.prepare_cached(&self.sql.peers).await.map_err(&failed)?,
        );
        let (empty, seen_empty) = self.holds.empty(executor);
        let claims = self.holds.claims(executor);
        // Mostly there are none, and nothing is sent.
        let on = async |statement, claims: &Vec<i64>| {
            if claims.is_empty() {
                return Ok(0);
            }
            client.execute(statement, &[&executor, claims]).await
        };
        let (updated, dropped, swept, held, peers) = futures_util::join!(
            async { client.query_opt(&update, &[&executor, &beat, &now, &echo]).await },
            on(&drop_holds, &empty),
            on(&sweep, &seen_empty),
            async { client.query(&held, &[&executor, &claims]).await },
            client.query(&peers, &[]),
        );
        // What was only seen is seen again.
        drop(swept);
        if dropped.is_err() {
            self.holds.still_empty(executor, empty);
        }
        let updated = updated.map_err(&failed)?;
        doubt.dispel();
        if let Some(row) = &updated {
            self.watched_until(row.try_get(1).ok());
        }
        let (held, peers) = (held.map_err(&failed)?, peers.map_err(&failed)?);
        self.share_connections(peers.len());
        let in_hand = |row: &Row| Some((JobId(row.get::<_, Option<Uuid>>(0)?), row.get(1), row.get(2)));
        let full: HashSet<i64> = held.iter().filter_map(in_hand).map(|(_, claim, _)| claim).collect();
        let empty = held.iter().filter(|row| in_hand(row).is_none());
        self.holds
            .seen_empty(executor, empty.map(|row| row.get(1)).collect(), &full);
        Ok(Beat {
            alive: updated.is_some(),
            draining: updated.as_ref().is_some_and(|row| row.get(0)),
            dismissed: updated.as_ref().is_some_and(|row| row.get(3)),
            held: held.iter().filter_map(in_hand).collect(),
            peers: peers.iter().map(|row| (row.get(0), row.get(1))).collect(),
        })
    }

    pub(super) async fn reap_executor(&self, executor: Uuid, beat: i64) -> Result<u32> {
        let failed = failed("reaping a silent executor");
        let policies = self.policies().await?;
        let tx = Tx::on(self.client().await?);
        tx.open(Mode::Durable).await.map_err(&failed)?;
        let known = tx.query(&self.sql.peers, &[]).await.map_err(&failed)?;
        let mut heard = None;
        let dead: Vec<Uuid> = if known.iter().any(|row| row.get::<_, Uuid>(0) == executor) {
            let buried = tx.query(&self.sql.bury, &[&executor, &beat]).await.map_err(&failed)?;
            heard = buried.first().map(|row| (executor, row.get(0)));
            // None: its heartbeat has moved on.
            vec![executor; buried.len()]
        } else {
            let orphans = tx.query(&self.sql.orphans, &[]).await.map_err(&failed)?;
            orphans.iter().map(|row| row.get(0)).collect()
        };
        tx.query(&self.sql.lock_all_caps, &[]).await.map_err(&failed)?;
        let (mut lost, mut changed) = (Vec::new(), Vec::new());
        for &executor in &dead {
            let (jobs, how) = self.lose_jobs(&tx, executor, &policies).await?;
            lost.extend(jobs);
            changed.extend(how);
            tx.execute(&self.sql.deregister, &[&executor]).await.map_err(&failed)?;
            self.forget_executor(executor);
        }
        // On another connection, which sees them still.
        let told = self.last_of(&lost).await;
        tx.commit().await.map_err(&failed)?;
        crate::failure_log::lost(executor, changed.iter().map(|(job, change)| (job, change)));
        let ids = lost.iter().map(|job| job.id).collect();
        self.announce(&lost, &ids, !lost.is_empty());
        self.hint_last(told, &ids);
        self.look_after(dead, heard);
        Ok(lost.len() as u32)
    }

    /// Looks, beside whatever else goes on, whether executors that were buried had more jobs than their holds tell, which are then
    /// found by whoever looks for orphans next; and tells what the one that was heard of then did not live to tell.
    fn look_after(&self, dead: Vec<Uuid>, heard: Option<(Uuid, Timestamp)>) {
        let (Some(store), Ok(runtime)) = (self.me.upgrade(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        runtime.spawn(async move {
            if let Some((executor, heard)) = heard
                && let Err(error) = store.hint_once_more(executor, heard).await
            {
                tracing::warn!(error = %error.chain(), "those who watch may miss what a lost executor did last");
            }
            for executor in dead {
                let sql = &store.sql.hold_strays;
                if let Err(error) = store.run("looking for strays", sql, &[&executor]).await {
                    tracing::warn!(error = %error.chain(), "could not look for more jobs of a lost executor");
                }
            }
        });
    }

    async fn policies(&self) -> Result<HashMap<String, Policy>> {
        Ok(self
            .read_tasks(None)
            .await?
            .into_iter()
            .map(|task| (task.name, task.policy))
            .collect())
    }

    /// Published tasks: all, or those with these names.
    pub(super) async fn read_tasks(&self, names: Option<&[&str]>) -> Result<Vec<TaskSettings>> {
        let failed = failed("reading tasks");
        let client = self.client().await?;
        let statement = client.prepare_cached(&self.sql.tasks).await.map_err(&failed)?;
        let rows = client.query(&statement, &[&names]).await.map_err(&failed)?;
        Ok(rows
            .iter()
            .map(|row| TaskSettings {
                name: row.get(0),
                queue: row.get(1),
                priority: Priority::from_code(row.get(2)).unwrap_or(Priority::Normal),
                policy: Policy {
                    retries: row.get::<_, i32>(3) as u32,
                    retry_delay: seconds(row.get(4)),
                    retry_cap: seconds(row.get(5)),
                    jitter: row.get(6),
                    restartable: row.get(7),
                },
                time_limit: row.get::<_, Option<f64>>(8).map(seconds),
                max_unfinished: row.get::<_, Option<i32>>(9).map(|n| n as u32),
                hooks: Hooks::from_code(row.get(10)),
            })
            .collect())
    }
}

fn seconds(seconds: f64) -> std::time::Duration {
    std::time::Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
