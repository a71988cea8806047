//! The ceilings of `PostgreSQL`.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use futures_util::future::BoxFuture;
use futures_util::{SinkExt, StreamExt};
use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, Client, NoTls, Statement};
use uuid::Uuid;

use super::{ARGS, BATCH, HandedOver, INSERTS, rate};
use crate::place::Place;

/// A table on the server.
struct Table {
    client: Client,
    name: String,
}

pub(super) async fn drain(place: &Place, jobs: u64) -> Result<f64> {
    let table = Table::new(place).await?;
    table.copy(jobs, 10_000).await?;
    table.client.batch_execute(&table.sql("analyze {}")).await?;
    let claim = table.claim(BATCH).await?;
    let delete = table.sql("delete from {} where id = any($1)");
    let delete = table.client.prepare(&delete).await?;
    let begin = Instant::now();
    loop {
        let rows = table.client.query(&claim, &[]).await?;
        if rows.is_empty() {
            break;
        }
        let ids: Vec<_> = rows.iter().map(|row| row.get::<_, Uuid>(0)).collect();
        table.client.execute(&delete, &[&ids]).await?;
    }
    let rate = rate(jobs, begin);
    table.drop().await?;
    Ok(rate)
}

pub(super) async fn insert(place: &Place, jobs: u64) -> Result<f64> {
    let table = Table::new(place).await?;
    let rate = table.copy(jobs, INSERTS).await?;
    table.drop().await?;
    Ok(rate)
}

pub(super) async fn insert_single(place: &Place, callers: u64, jobs: u64) -> Result<f64> {
    let table = Table::new(place).await?;
    let insert = table.insert();
    let once: Once = |client, statements| {
        Box::pin(async move {
            client.execute(&statements[0], &[&Uuid::now_v7(), &ARGS]).await?;
            Ok(())
        })
    };
    let rate = concurrently(place, callers, jobs, &[&insert], once).await?;
    table.drop().await?;
    Ok(rate)
}

pub(super) async fn insert_within(place: &Place, callers: u64, jobs: u64) -> Result<f64> {
    let table = Table::new(place).await?;
    table
        .client
        .batch_execute(&table.sql("create table {}_account (id uuid primary key, name text not null)"))
        .await?;
    let statements = [table.sql("insert into {}_account values ($1, 'ada')"), table.insert()];
    let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
    let once: Once = |client, statements| {
        Box::pin(async move {
            let tx = client.transaction().await?;
            tx.execute(&statements[0], &[&Uuid::now_v7()]).await?;
            tx.execute(&statements[1], &[&Uuid::now_v7(), &ARGS]).await?;
            tx.commit().await
        })
    };
    let rate = concurrently(place, callers, jobs, &statements, once).await?;
    table.client.batch_execute(&table.sql("drop table {}_account")).await?;
    table.drop().await?;
    Ok(rate)
}

pub(super) async fn hand_over(place: &Place, jobs: u64, apart: Duration) -> Result<HandedOver> {
    let table = Table::new(place).await?;
    let (listener, mut connection) = tokio_postgres::connect(place.url(), NoTls).await?;
    let (tell, mut told) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut messages = futures_util::stream::poll_fn(move |cx| connection.poll_message(cx));
        while let Some(Ok(message)) = messages.next().await {
            if matches!(message, AsyncMessage::Notification(_)) && tell.send(()).is_err() {
                return;
            }
        }
    });
    listener.batch_execute(&table.sql("listen {}")).await?;
    let insert = table.sql(
        "with job as (insert into {} values ($1, 'g1', 'work', $2::text::jsonb, now(), now(), 0))
         select pg_notify('{}', '')",
    );
    let insert = table.client.prepare(&insert).await?;
    // The claimer asks on a connection of its own, as an executor does.
    let claimer = Table {
        client: listener,
        name: table.name.clone(),
    };
    let claim = claimer.claim(1).await?;
    let mut handed = HandedOver::default();
    for _ in 0..jobs {
        let begin = Instant::now();
        let (sent, taken) = tokio::join!(
            async {
                let sent = table.client.query(&insert, &[&Uuid::now_v7(), &ARGS]).await;
                sent.map(|_| begin.elapsed())
            },
            async {
                told.recv().await.context("the listener is gone")?;
                Ok::<_, anyhow::Error>(claimer.client.query(&claim, &[]).await?)
            }
        );
        handed.stored.push(sent?);
        taken?;
        handed.claimed.push(begin.elapsed());
        tokio::time::sleep(apart).await;
    }
    drop(claimer);
    table.drop().await?;
    Ok(handed)
}

/// What a caller does, with statements that were prepared.
type Once = for<'a> fn(&'a mut Client, &'a [Statement]) -> BoxFuture<'a, Result<(), tokio_postgres::Error>>;

/// So many times the same, by several callers with a connection each.
async fn concurrently(place: &Place, callers: u64, times: u64, statements: &[&str], once: Once) -> Result<f64> {
    let mut ready = Vec::new();
    for _ in 0..callers {
        let client = place.connect().await?;
        let mut prepared = Vec::new();
        for statement in statements {
            prepared.push(client.prepare(statement).await?);
        }
        ready.push((client, prepared));
    }
    let next = Arc::new(AtomicU64::new(0));
    let begin = Instant::now();
    let mut tasks = Vec::new();
    for (mut client, prepared) in ready {
        let next = Arc::clone(&next);
        tasks.push(tokio::spawn(async move {
            while next.fetch_add(1, Relaxed) < times {
                once(&mut client, &prepared).await?;
            }
            Ok::<_, tokio_postgres::Error>(())
        }));
    }
    for task in tasks {
        task.await??;
    }
    Ok(rate(times, begin))
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
                 run_at timestamptz not null, created_at timestamptz not null, state smallint not null default 0);
             create index on {} (run_at, id) where state = 0",
        );
        table.client.batch_execute(&sql).await?;
        Ok(table)
    }

    fn sql(&self, text: &str) -> String {
        text.replace("{}", &self.name)
    }

    fn insert(&self) -> String {
        self.sql("insert into {} values ($1, 'g1', 'work', $2::text::jsonb, now(), now(), 0)")
    }

    async fn claim(&self, jobs: u64) -> Result<Statement> {
        let claim = self.sql(&format!(
            "update {{}} set state = 1 where id = any(array(
                 select id from {{}} where state = 0 order by run_at, id for update skip locked limit {jobs}))
             returning id, grp, task, args::text"
        ));
        Ok(self.client.prepare(&claim).await?)
    }

    async fn copy(&self, jobs: u64, batch: u64) -> Result<f64> {
        let now = "2026-01-01 00:00:00+00";
        let mut texts = Vec::new();
        for from in (0..jobs).step_by(batch as usize) {
            let mut text = String::new();
            for n in from..jobs.min(from + batch) {
                writeln!(text, "{}\tg{}\twork\t{ARGS}\t{now}\t{now}\t0", Uuid::now_v7(), n % 100)?;
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

    async fn drop(self) -> Result<()> {
        self.client.batch_execute(&self.sql("drop table {}")).await?;
        Ok(())
    }
}
