//! What operators ask on a bad day: who holds slots, who waits, what ended and failed lately, how the server is doing.

use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::PostgresStore;
use super::connect::failed;
use super::migrate::NEWEST;
use crate::error::{Error, Result};
use crate::job::{JobId, Lane, Reason, State};
use crate::store::insight::{
    Backlog, Checkup, Connections, ERROR_READ, Ended, FAILURES_READ, Failure, Head, Held, HeldBy, Insight,
    OpenTransaction, ReadyPlace, TableRows,
};
use crate::store::overview::Whose;

fn damaged(what: &'static str) -> Error {
    Error::Store {
        doing: "looking at jobs",
        cause: format!("a {what} in the database is none that this program knows").into(),
        transient: false,
    }
}

fn state(code: i16) -> Result<State> {
    State::from_code(code).ok_or_else(|| damaged("state"))
}

/// Seconds; a negative number (a clock was set back) is none at all.
fn span(seconds: Option<f64>) -> Option<Duration> {
    seconds.map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or_default())
}

#[async_trait]
impl Insight for PostgresStore {
    fn moment(&self) -> Timestamp {
        self.now()
    }

    async fn held(&self) -> Result<Vec<Held>> {
        let running = State::Running.code();
        let rows = self
            .look("looking at what is held", &self.sql.held_groups, &[&running])
            .await?;
        let held = |row: &Row| Held {
            group: row.get(0),
            task: row.get(1),
            queue: row.get(2),
            jobs: row.get::<_, i64>(3) as u64,
            started: row.get::<_, i64>(4) as u64,
            since: row.get(5),
        };
        Ok(rows.iter().map(held).collect())
    }

    async fn held_by(&self) -> Result<Vec<HeldBy>> {
        let rows = self.look("looking at what is held", &self.sql.held_tasks, &[]).await?;
        let held = |row: &Row| HeldBy {
            task: row.get(0),
            executor: row.get(1),
            jobs: row.get::<_, i64>(2) as u64,
        };
        Ok(rows.iter().map(held).collect())
    }

    async fn heads(&self, limit: u32) -> Result<Vec<Head>> {
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let rows = self
            .look("looking at who waits", &self.sql.stream_heads, &[&limit])
            .await?;
        rows.iter()
            .map(|row| {
                Ok(Head {
                    queue: row.get(0),
                    group: row.get(1),
                    lane: Lane::from_code(row.get(2)).ok_or_else(|| damaged("lane"))?,
                    task: row.get(3),
                    seq: row.get(4),
                    submitted: row.get(5),
                })
            })
            .collect()
    }

    async fn ready(&self, places: &[ReadyPlace], limit: u32) -> Result<Vec<u64>> {
        let queues: Vec<&str> = places.iter().map(|place| place.queue.as_str()).collect();
        let groups: Vec<&str> = places.iter().map(|place| place.group.as_str()).collect();
        let tasks: Vec<Option<&str>> = places.iter().map(|place| place.task.as_deref()).collect();
        let params: [&(dyn ToSql + Sync); 4] = [&queues, &groups, &tasks, &i64::from(limit)];
        let rows = self.look("counting ready jobs", &self.sql.ready_of, &params).await?;
        Ok(rows.iter().map(|row| row.get::<_, i64>(0) as u64).collect())
    }

    async fn backlog(&self, limit: u32) -> Result<Backlog> {
        let most = i64::from(limit);
        let rows = self.look("counting ready jobs", &self.sql.backlog, &[&most]).await?;
        let number = |at: usize| {
            let number = rows.first().and_then(|row| row.get::<_, Option<i64>>(at));
            number.unwrap_or(0).max(0) as u64
        };
        let (counted, live, parked) = (number(0), number(1), number(2));
        let exact = counted < u64::from(limit);
        Ok(Backlog {
            ready: if exact {
                counted
            } else {
                counted.max(live.saturating_sub(parked))
            },
            exact,
        })
    }

    async fn ended(&self, from: Timestamp, until: Timestamp, limit: u32) -> Result<Vec<Ended>> {
        let params: [&(dyn ToSql + Sync); 3] = [&from, &until, &i64::from(limit)];
        let rows = self
            .look("looking at what has ended", &self.sql.ended_since, &params)
            .await?;
        rows.iter()
            .map(|row| {
                Ok(Ended {
                    group: row.get(0),
                    task: row.get(1),
                    state: state(row.get(2))?,
                    reason: row.get::<_, Option<i16>>(3).and_then(Reason::from_code),
                    waited: span(row.get(4)),
                    ran: span(row.get(5)),
                    attempts: row.get::<_, i32>(6) as u32,
                    at: row.get(7),
                })
            })
            .collect()
    }

    async fn failures(&self, whose: &Whose, since: Timestamp, until: Option<Timestamp>) -> Result<Vec<Failure>> {
        let (limit, length) = (i64::from(FAILURES_READ), ERROR_READ as i32);
        let params: [&(dyn ToSql + Sync); 6] = [&whose.group, &whose.owner, &since, &until, &limit, &length];
        let rows = self.look("looking at failures", &self.sql.failures, &params).await?;
        rows.iter()
            .map(|row| {
                Ok(Failure {
                    id: JobId(row.get(0)),
                    task: row.get(1),
                    state: state(row.get(2))?,
                    reason: row.get::<_, Option<i16>>(3).and_then(Reason::from_code),
                    code: row.get(4),
                    message: row.get(5),
                    at: row.get(6),
                })
            })
            .collect()
    }

    fn connections(&self) -> Option<Connections> {
        let pool = self.pool.status();
        Some(Connections {
            busy: pool.size.saturating_sub(pool.available),
            idle: pool.available,
            most: pool.max_size,
            waiting: pool.waiting,
        })
    }

    async fn checkup(&self) -> Result<Checkup> {
        let failed = failed("looking at the server");
        let client = self.client().await?;
        let asked = Timestamp::now();
        let row = client.query_one(&self.sql.checkup, &[]).await.map_err(&failed)?;
        let took = Timestamp::now().duration_since(asked);
        let there = SignedDuration::try_from_secs_f64(row.get::<_, f64>(5)).unwrap_or_default();
        // The server looked at its clock somewhere between the question and the answer.
        let here = asked.duration_since(Timestamp::UNIX_EPOCH) + took / 2;
        let tables = client.query(&self.sql.dead_rows, &[]).await.map_err(&failed)?;
        let oldest = client
            .query_opt(&self.sql.open_transaction, &[])
            .await
            .map_err(&failed)?;
        let number = |at: usize| row.get::<_, Option<i64>>(at).unwrap_or(0).max(0) as u64;
        let rows = |row: &Row| TableRows {
            table: row.get(0),
            live: row.get::<_, i64>(1) as u64,
            dead: row.get::<_, i64>(2) as u64,
        };
        Ok(Checkup {
            schema: (row.get::<_, Option<i64>>(0).unwrap_or(0), NEWEST),
            clock_ahead: there - here,
            connections: Some((number(1), number(2))),
            tables: tables.iter().map(rows).collect(),
            oldest: oldest.map(|row| OpenTransaction {
                who: row.get(0),
                age: span(row.get(1)).unwrap_or_default(),
                statement: row.get::<_, Option<String>>(2).unwrap_or_default(),
            }),
            bytes: (number(3), None),
            file: None,
            read_only: row.get(4),
        })
    }
}
