//! What the bare storage engine does on this machine at this moment, in the simplest table and with the fewest
//! statements that a queue of any design needs: one connection, no fairness, no retries, no history.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use anyhow::Result;
use futures_util::SinkExt;
use rusqlite::Connection;
use tokio_postgres::Client;
use turnabout::JobId;

use crate::place::{Place, Store};

const ARGS: &str = r#"{"n": 12345, "document": "0192f0c0-0000-7000-8000-000000000000", "note": "forty"}"#;
/// Jobs are claimed and deleted in batches of this size ..
const BATCH: u64 = 500;
/// .. and inserted in batches of this size.
const INSERTS: u64 = 1000;

/// Jobs claimed and then deleted in a second.
pub(crate) async fn drain(place: &Place, jobs: u64) -> Result<f64> {
    match place.store {
        Store::Postgres => {
            let table = Table::new(place).await?;
            table.copy(jobs, 10_000).await?;
            table.client.batch_execute(&table.sql("analyze {}")).await?;
            let rate = table.drain(jobs).await?;
            table.drop().await?;
            Ok(rate)
        }
        Store::Sqlite => {
            in_file(place, move |mut file| {
                fill(&mut file, jobs, 10_000)?;
                sqlite_drain(&mut file, jobs)
            })
            .await
        }
    }
}

/// Jobs inserted in batches in a second.
pub(crate) async fn insert(place: &Place, jobs: u64) -> Result<f64> {
    match place.store {
        Store::Postgres => {
            let table = Table::new(place).await?;
            let rate = table.copy(jobs, INSERTS).await?;
            table.drop().await?;
            Ok(rate)
        }
        Store::Sqlite => in_file(place, move |mut file| fill(&mut file, jobs, INSERTS)).await,
    }
}

/// Jobs inserted one by one in a second: each its own commit, by so many connections (`SQLite`: one, which is faster
/// than several).
pub(crate) async fn insert_single(place: &Place, callers: u64, jobs: u64) -> Result<f64> {
    match place.store {
        Store::Postgres => {
            let table = Table::new(place).await?;
            let rate = table.insert_single(place, callers, jobs).await?;
            table.drop().await?;
            Ok(rate)
        }
        Store::Sqlite => in_file(place, move |mut file| fill(&mut file, jobs, 1)).await,
    }
}

fn rate(jobs: u64, since: Instant) -> f64 {
    jobs as f64 / since.elapsed().as_secs_f64()
}

/// A table on the server.
struct Table {
    client: Client,
    name: String,
}

impl Table {
    async fn new(place: &Place) -> Result<Self> {
        let table = Self {
            client: place.connect().await?,
            name: format!("bench_ceiling_{}", std::process::id()),
        };
        table
            .client
            .batch_execute("set client_min_messages = warning; checkpoint")
            .await?;
        let sql = table.sql(
            "drop table if exists {};
             create table {} (id uuid primary key, grp text not null, task text not null, args jsonb not null,
                 run_at timestamptz not null, created_at timestamptz not null, state smallint not null);
             create index on {} (run_at, id) where state = 0",
        );
        table.client.batch_execute(&sql).await?;
        Ok(table)
    }

    fn sql(&self, text: &str) -> String {
        text.replace("{}", &self.name)
    }

    async fn copy(&self, jobs: u64, batch: u64) -> Result<f64> {
        let now = "2026-01-01 00:00:00+00";
        let mut texts = Vec::new();
        for from in (0..jobs).step_by(batch as usize) {
            let mut text = String::new();
            for n in from..jobs.min(from + batch) {
                writeln!(text, "{}\tg{}\twork\t{ARGS}\t{now}\t{now}\t0", JobId::new(), n % 100)?;
            }
            texts.push(text);
        }
        let begin = Instant::now();
        for text in texts {
            let sink = self.client.copy_in(&self.sql("copy {} from stdin")).await?;
            let mut sink = std::pin::pin!(sink);
            sink.send(std::io::Cursor::new(text.into_bytes())).await?;
            sink.finish().await?;
        }
        Ok(rate(jobs, begin))
    }

    async fn drain(&self, jobs: u64) -> Result<f64> {
        let claim = self.sql(&format!(
            "update {{}} set state = 1 where id = any(array(
                 select id from {{}} where state = 0 order by run_at, id for update skip locked limit {BATCH}))
             returning id, grp, task, args::text"
        ));
        let claim = self.client.prepare(&claim).await?;
        let delete = self
            .client
            .prepare(&self.sql("delete from {} where id = any($1)"))
            .await?;
        let begin = Instant::now();
        loop {
            let rows = self.client.query(&claim, &[]).await?;
            if rows.is_empty() {
                return Ok(rate(jobs, begin));
            }
            let ids: Vec<_> = rows.iter().map(|row| JobId(row.get(0)).0).collect();
            self.client.execute(&delete, &[&ids]).await?;
        }
    }

    async fn insert_single(&self, place: &Place, callers: u64, jobs: u64) -> Result<f64> {
        let sql = self.sql("insert into {} values ($1, 'g1', 'work', $2::text::jsonb, now(), now(), 0)");
        let mut ready = Vec::new();
        for _ in 0..callers {
            let client = place.connect().await?;
            let insert = client.prepare(&sql).await?;
            ready.push((client, insert));
        }
        let next = Arc::new(AtomicU64::new(0));
        let begin = Instant::now();
        let mut tasks = Vec::new();
        for (client, insert) in ready {
            let next = Arc::clone(&next);
            tasks.push(tokio::spawn(async move {
                while next.fetch_add(1, Relaxed) < jobs {
                    client.execute(&insert, &[&JobId::new().0, &ARGS]).await?;
                }
                Ok::<_, tokio_postgres::Error>(())
            }));
        }
        for task in tasks {
            task.await??;
        }
        Ok(rate(jobs, begin))
    }

    async fn drop(self) -> Result<()> {
        self.client.batch_execute(&self.sql("drop table {}")).await?;
        Ok(())
    }
}

/// Measures something on a fresh file, on a thread that may block.
async fn in_file<F>(place: &Place, measure: F) -> Result<f64>
where
    F: FnOnce(Connection) -> Result<f64> + Send + 'static,
{
    let folder = place.folder()?;
    let path = folder.path().join("ceiling.db");
    tokio::task::spawn_blocking(move || {
        let file = Connection::open(path)?;
        file.execute_batch(
            "pragma journal_mode = wal; pragma synchronous = full;
             create table ceiling (id blob primary key, grp text not null, task text not null, args text not null,
                 run_at integer not null, created_at integer not null, state integer not null) without rowid;
             create index ready on ceiling (run_at, id) where state = 0;",
        )?;
        measure(file)
    })
    .await?
}

fn fill(file: &mut Connection, jobs: u64, batch: u64) -> Result<f64> {
    let begin = Instant::now();
    for from in (0..jobs).step_by(batch as usize) {
        let tx = file.transaction()?;
        {
            let mut insert = tx.prepare_cached("insert into ceiling values (?1, ?2, 'work', ?3, ?4, ?4, 0)")?;
            for n in from..jobs.min(from + batch) {
                let group = format!("g{}", n % 100);
                insert.execute(rusqlite::params![&JobId::new().0.as_bytes()[..], group, ARGS, n as i64])?;
            }
        }
        tx.commit()?;
    }
    Ok(rate(jobs, begin))
}

fn sqlite_drain(file: &mut Connection, jobs: u64) -> Result<f64> {
    let claim = format!(
        "update ceiling set state = 1 where id in (
             select id from ceiling where state = 0 order by run_at, id limit {BATCH})
         returning id, grp, task, args"
    );
    let begin = Instant::now();
    loop {
        let claimed: Vec<(Vec<u8>, String, String, String)> = file
            .prepare_cached(&claim)?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?
            .collect::<Result<_, _>>()?;
        if claimed.is_empty() {
            return Ok(rate(jobs, begin));
        }
        let tx = file.transaction()?;
        {
            let mut delete = tx.prepare_cached("delete from ceiling where id = ?1")?;
            for (id, ..) in &claimed {
                delete.execute([id])?;
            }
        }
        tx.commit()?;
    }
}
