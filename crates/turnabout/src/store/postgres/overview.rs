//! Lists, executors and sums, for those who look after the whole.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::PostgresStore;
use super::connect::{Mode, Tx, failed};
use super::timeouts::TIMEOUT;
use crate::error::{Error, Result};
use crate::job::{Job, JobId, Priority, State};
use crate::store::overview::{COUNTED, GroupSum, Member, SigningKey, Sum, Tally, Whose};
use crate::store::{Counts, ExecutorInfo, Filter, Overview, Standpoint};

impl PostgresStore {
    /// Rows for operators: planned for what is asked, and not kept prepared.
    pub(super) async fn look(
        &self,
        doing: &'static str,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>> {
        let client = self.client().await?;
        client.query(sql, params).await.map_err(failed(doing))
    }
}

fn damaged(what: &'static str) -> Error {
    Error::Store {
        doing: "adding up jobs",
        cause: format!("a {what} in the database is none that this program knows").into(),
        transient: false,
    }
}

fn signing_key(row: &Row) -> SigningKey {
    SigningKey {
        number: row.get(0),
        secret: row.get(1),
        made: row.get(2),
    }
}

fn info(row: &Row) -> ExecutorInfo {
    ExecutorInfo {
        incarnation: row.get(0),
        name: row.get(1),
        slots: row.get::<_, i32>(2) as u32,
        queues: row.get(3),
        tasks: row.get(4),
        version: row.get(5),
        beat: row.get(6),
    }
}

#[async_trait]
impl Overview for PostgresStore {
    async fn executors(&self) -> Result<Vec<Member>> {
        let rows = self.look("looking at executors", &self.sql.executors, &[]).await?;
        let member = |row: &Row| Member {
            info: info(row),
            seen: row.get(7),
            held: row.get::<_, i64>(8) as u64,
            draining: row.get(9),
        };
        Ok(rows.iter().map(member).collect())
    }

    async fn named(&self, name: &str) -> Result<Vec<ExecutorInfo>> {
        let rows = self.look("looking at executors", &self.sql.named, &[&name]).await?;
        Ok(rows.iter().map(info).collect())
    }

    async fn drain(&self, executor: Uuid, drain: bool) -> Result<bool> {
        let client = self.client().await?;
        let drained = client.execute(&self.sql.drain, &[&executor, &drain]).await;
        Ok(drained.map_err(failed("draining an executor"))? > 0)
    }

    async fn dismiss(&self, executor: Uuid) -> Result<bool> {
        let client = self.client().await?;
        let dismissed = client.execute(&self.sql.dismiss, &[&executor]).await;
        Ok(dismissed.map_err(failed("dismissing an executor"))? > 0)
    }

    async fn sums(&self, whose: &Whose, since: Timestamp) -> Result<Vec<Sum>> {
        let params: [&(dyn ToSql + Sync); 3] = [&whose.group, &whose.owner, &since];
        let rows = self.look("adding up jobs", &self.sql.sums, &params).await?;
        rows.iter().map(sum).collect()
    }

    async fn failed_sums(&self, whose: &Whose) -> Result<Vec<Sum>> {
        let params: [&(dyn ToSql + Sync); 2] = [&whose.group, &whose.owner];
        let rows = self
            .look("adding up failed jobs", &self.sql.failed_sums, &params)
            .await?;
        rows.iter().map(sum).collect()
    }

    async fn groups(&self, whose: &Whose, after: &str, limit: u32) -> Result<Vec<GroupSum>> {
        let limit = i64::from(limit);
        let params: [&(dyn ToSql + Sync); 4] = [&whose.group, &whose.owner, &after, &limit];
        let rows = self.look("adding up groups", &self.sql.group_sums, &params).await?;
        let sum = |row: &Row| {
            let count = |at: usize| row.get::<_, Option<i64>>(at).unwrap_or(0) as u64;
            GroupSum {
                group: row.get(0),
                ready: count(1),
                parked: count(2),
                held: count(3),
                items: count(4),
                oldest: row.get(5),
            }
        };
        Ok(rows.iter().map(sum).collect())
    }

    async fn count(&self, filter: &Filter) -> Result<u64> {
        self.count_matching(filter).await
    }

    async fn tally(&self, whose: &Whose, since: Timestamp) -> Result<Tally> {
        let limit = i64::from(COUNTED);
        let states = [State::Success, State::Failed, State::Cancelled].map(State::code);
        let params: [&(dyn ToSql + Sync); 5] = [&whose.group, &whose.owner, &since, &limit, &states.as_slice()];
        let rows = self.look("counting jobs", &self.sql.tally, &params).await?;
        let count = |at: usize| rows.first().map_or(0, |row| row.get::<_, i64>(at) as u64);
        Ok(Tally {
            submitted: count(0),
            success: count(1),
            failed: count(2),
            cancelled: count(3),
        })
    }

    async fn list(&self, filter: &Filter) -> Result<Vec<Job>> {
        self.within(TIMEOUT, "listing jobs", self.page(filter)).await
    }

    async fn depth(&self, filter: &Filter, looks: u32) -> Result<Option<JobId>> {
        self.within(TIMEOUT, "listing jobs", self.depth_of(filter, looks)).await
    }

    async fn counts(&self) -> Result<Counts> {
        self.within(TIMEOUT, "counting jobs", self.count()).await
    }

    async fn standpoint(&self, id: JobId) -> Result<Option<Standpoint>> {
        self.within(TIMEOUT, "looking at why a job waits", self.explain_wait(id))
            .await
    }

    async fn keys(&self) -> Result<Vec<SigningKey>> {
        let rows = self.look("reading signing keys", &self.sql.keys, &[]).await?;
        Ok(rows.iter().map(signing_key).collect())
    }

    async fn renew_keys(&self, secret: &[u8], renew: Duration, forget: Duration) -> Result<Vec<SigningKey>> {
        let failed = failed("renewing signing keys");
        let now = self.options.clock.manual();
        let (renew, forget) = (renew.as_secs_f64(), forget.as_secs_f64());
        let tx = Tx::on(self.client().await?);
        tx.open(Mode::Durable).await.map_err(&failed)?;
        tx.execute(&self.sql.key_forget, &[&now, &forget])
            .await
            .map_err(&failed)?;
        tx.execute(&self.sql.key_add, &[&now, &secret, &renew])
            .await
            .map_err(&failed)?;
        let rows = tx.query(&self.sql.keys, &[]).await.map_err(&failed)?;
        tx.commit().await.map_err(&failed)?;
        Ok(rows.iter().map(signing_key).collect())
    }
}

/// A row of `sums.sql` or `failed_sums.sql`.
fn sum(row: &Row) -> Result<Sum> {
    let count = |at: usize| row.get::<_, Option<i64>>(at).unwrap_or(0) as u64;
    Ok(Sum {
        task: row.get(0),
        priority: Priority::from_code(row.get(1)).ok_or_else(|| damaged("priority"))?,
        state: State::from_code(row.get(2)).ok_or_else(|| damaged("state"))?,
        jobs: count(3),
        items: count(4),
        attempts: count(5),
        oldest: row.get(6),
        first_started: row.get(7),
    })
}
