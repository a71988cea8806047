//! Lists, executors and sums, for those who look after the whole.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{Row, params};
use uuid::Uuid;

use super::fault::Fault;
use super::rows::{bytes, code, micros, moment, uuid};
use super::tx::Tx;
use super::{SqliteStore, read};
use crate::clock::before;
use crate::error::Result;
use crate::job::{Job, JobId, Priority, State};
use crate::store::overview::{COUNTED, GroupSum, Member, SigningKey, Sum, Tally, Whose};
use crate::store::{Counts, ExecutorInfo, Filter, Overview, Standpoint};

#[async_trait]
impl Overview for SqliteStore {
    async fn executors(&self) -> Result<Vec<Member>> {
        self.read("looking at executors", |tx| executors(tx)).await
    }

    async fn drain(&self, executor: Uuid, drain: bool) -> Result<bool> {
        self.write("draining an executor", move |tx| {
            let mut statement = tx.connection.prepare_cached(sql!("drain"))?;
            Ok(statement.execute(params![bytes(&executor), drain])? > 0)
        })
        .await
    }

    async fn dismiss(&self, executor: Uuid) -> Result<bool> {
        self.write("dismissing an executor", move |tx| {
            let mut statement = tx.connection.prepare_cached(sql!("dismiss"))?;
            Ok(statement.execute([bytes(&executor)])? > 0)
        })
        .await
    }

    async fn sums(&self, whose: &Whose, since: Timestamp) -> Result<Vec<Sum>> {
        let whose = whose.clone();
        self.read("adding up jobs", move |tx| sums(tx, &whose, since)).await
    }

    async fn failed_sums(&self, whose: &Whose) -> Result<Vec<Sum>> {
        let whose = whose.clone();
        self.read("adding up failed jobs", move |tx| failed_sums(tx, &whose))
            .await
    }

    async fn groups(&self, whose: &Whose, after: &str, limit: u32) -> Result<Vec<GroupSum>> {
        let (whose, after) = (whose.clone(), after.to_owned());
        self.read("adding up groups", move |tx| groups(tx, &whose, &after, limit))
            .await
    }

    async fn count(&self, filter: &Filter) -> Result<u64> {
        let filter = filter.clone();
        self.read("counting jobs", move |tx| read::count(tx, &filter)).await
    }

    async fn tally(&self, whose: &Whose, since: Timestamp) -> Result<Tally> {
        let whose = whose.clone();
        self.read("counting jobs", move |tx| tally(tx, &whose, since)).await
    }

    async fn list(&self, filter: &Filter) -> Result<Vec<Job>> {
        let filter = filter.clone();
        self.read("listing jobs", move |tx| read::list(tx, &filter)).await
    }

    async fn depth(&self, filter: &Filter, looks: u32) -> Result<Option<JobId>> {
        let filter = filter.clone();
        self.read("listing jobs", move |tx| read::depth(tx, &filter, looks))
            .await
    }

    async fn counts(&self) -> Result<Counts> {
        self.read("counting jobs", read::counts).await
    }

    async fn standpoint(&self, id: JobId) -> Result<Option<Standpoint>> {
        self.read("looking at why a job waits", move |tx| read::standpoint(tx, id))
            .await
    }

    async fn keys(&self) -> Result<Vec<SigningKey>> {
        self.read("reading signing keys", |tx| keys(tx)).await
    }

    async fn renew_keys(&self, secret: &[u8], renew: Duration, forget: Duration) -> Result<Vec<SigningKey>> {
        let secret = secret.to_vec();
        self.write("renewing signing keys", move |tx| {
            let since = |age| micros(before(tx.now, age));
            tx.connection.execute(sql!("key_forget"), [since(forget)])?;
            let new = params![secret, micros(tx.now), since(renew)];
            tx.connection.execute(sql!("key_add"), new)?;
            keys(tx)
        })
        .await
    }
}

fn executors(tx: &Tx<'_>) -> Result<Vec<Member>, Fault> {
    let names = |row: &Row<'_>, at: usize| -> rusqlite::Result<Vec<String>> {
        let text: String = row.get(at)?;
        Ok(serde_json::from_str(&text).unwrap_or_default())
    };
    let members = tx
        .connection
        .prepare_cached(sql!("executors"))?
        .query_map([], |row| {
            Ok(Member {
                info: ExecutorInfo {
                    incarnation: uuid(row, 0)?,
                    name: row.get(1)?,
                    slots: row.get(2)?,
                    queues: names(row, 3)?,
                    tasks: names(row, 4)?,
                    version: row.get(5)?,
                    beat: row.get(6)?,
                },
                seen: moment(row.get(7)?),
                held: row.get::<_, i64>(8)? as u64,
                draining: row.get(9)?,
            })
        })?
        .collect::<Result<_, _>>()?;
    Ok(members)
}

fn sum(row: &Row<'_>) -> rusqlite::Result<Sum> {
    let time = |at: usize| -> rusqlite::Result<Option<Timestamp>> { Ok(row.get::<_, Option<i64>>(at)?.map(moment)) };
    Ok(Sum {
        task: row.get(0)?,
        priority: code(row, 1, Priority::from_code)?,
        state: code(row, 2, State::from_code)?,
        jobs: row.get::<_, i64>(3)? as u64,
        items: row.get::<_, i64>(4)? as u64,
        attempts: row.get::<_, i64>(5)? as u64,
        oldest: time(6)?,
        first_started: time(7)?,
    })
}

fn failed_sums(tx: &Tx<'_>, whose: &Whose) -> Result<Vec<Sum>, Fault> {
    let mut failed = tx.connection.prepare_cached(sql!("sums_failed"))?;
    let sums = failed.query_map(params![whose.group, whose.owner], sum)?;
    Ok(sums.collect::<Result<_, _>>()?)
}

fn sums(tx: &Tx<'_>, whose: &Whose, since: Timestamp) -> Result<Vec<Sum>, Fault> {
    let mut sums: Vec<Sum> = tx
        .connection
        .prepare_cached(sql!("sums_live"))?
        .query_map(params![whose.group, whose.owner], sum)?
        .collect::<Result<_, _>>()?;
    let mut ended = tx.connection.prepare_cached(sql!("sums_ended"))?;
    for row in ended.query_map(params![whose.group, whose.owner, micros(since)], sum)? {
        sums.push(row?);
    }
    sums.sort_by(|a, b| (&a.task, a.priority, a.state).cmp(&(&b.task, b.priority, b.state)));
    Ok(sums)
}

fn keys(tx: &Tx<'_>) -> Result<Vec<SigningKey>, Fault> {
    let keys = tx
        .connection
        .prepare_cached(sql!("keys"))?
        .query_map([], |row| {
            Ok(SigningKey {
                number: row.get(0)?,
                secret: row.get(1)?,
                made: moment(row.get(2)?),
            })
        })?
        .collect::<Result<_, _>>()?;
    Ok(keys)
}

fn groups(tx: &Tx<'_>, whose: &Whose, after: &str, limit: u32) -> Result<Vec<GroupSum>, Fault> {
    let groups = tx
        .connection
        .prepare_cached(sql!("group_sums"))?
        .query_map(params![whose.group, whose.owner, after, limit], |row| {
            let count = |at: usize| row.get::<_, i64>(at).map(|n| n as u64);
            Ok(GroupSum {
                group: row.get(0)?,
                ready: count(1)?,
                parked: count(2)?,
                held: count(3)?,
                items: count(4)?,
                oldest: row.get::<_, Option<i64>>(5)?.map(moment),
            })
        })?
        .collect::<Result<_, _>>()?;
    Ok(groups)
}

fn tally(tx: &Tx<'_>, whose: &Whose, since: Timestamp) -> Result<Tally, Fault> {
    let floor = JobId::floor(since);
    let new = params![whose.group, whose.owner, micros(since), bytes(&floor.0), COUNTED];
    let submitted: i64 = tx
        .connection
        .prepare_cached(sql!("tally_new"))?
        .query_row(new, |row| row.get(0))?;
    let mut tally = Tally {
        submitted: submitted as u64,
        ..Tally::default()
    };
    let mut ended = tx.connection.prepare_cached(sql!("tally_ended"))?;
    let mut rows = ended.query(params![whose.group, whose.owner, micros(since), COUNTED])?;
    while let Some(row) = rows.next()? {
        let jobs = row.get::<_, i64>(1)? as u64;
        match code(row, 0, State::from_code)? {
            State::Success => tally.success = jobs,
            State::Failed => tally.failed = jobs,
            State::Cancelled => tally.cancelled = jobs,
            _ => {}
        }
    }
    Ok(tally)
}
