//! A job in a transaction: duplicates a table of many rows, all or nothing, and shows how far it is meanwhile.
//!
//! The handler's writes and the job's success are committed together. While it runs, others see its progress but none of
//! its rows; if it fails or is cancelled, it leaves none behind.
//!
//!     PG_URL=postgres://postgres@localhost/postgres cargo run -p turnabout --example duplicate_table
//!
//! Without a server of your own: `scripts/postgres run -- cargo run -p turnabout --example duplicate_table`

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio_postgres::{Client, NoTls};
use turnabout::{Context, Executor, Isolation, Jobs, Refused, State, Submitting, Task, TaskResult};

type Anything = Result<(), Box<dyn std::error::Error>>;

/// Makes a copy of a table, field by field and then row by row, as an application with user-made tables would.
#[derive(Serialize, Deserialize)]
struct Duplicate {
    table: i64,
    name: String,
}

impl Task for Duplicate {
    const NAME: &'static str = "duplicate-table";
    /// The rows must be those of one moment, whatever others write meanwhile.
    const TRANSACTION: Option<Isolation> = Some(Isolation::RepeatableRead);
    /// Nobody needs two copies at a time.
    const MAX_UNFINISHED: Option<u32> = Some(1);

    fn describe(&self) -> Option<String> {
        Some(format!("Duplicate table {} as {}", self.table, self.name))
    }

    async fn prepare(&mut self, _: &Submitting<'_>) -> Result<(), Refused> {
        self.name = self.name.trim().to_owned();
        if self.name.is_empty() {
            return Err(Refused::new("no-name", "The new table needs a name."));
        }
        Ok(())
    }
}

async fn duplicate(cx: Context, task: Duplicate) -> TaskResult<i64> {
    let tx = cx.transaction()?;
    let progress = cx.progress();

    progress.step("creating fields")?;
    let copy = "insert into demo_table (name) values ($1) returning id";
    let copy: i64 = tx.query_one(copy, &[&task.name]).await?.get(0);
    let fields = "insert into demo_field (table_id, name) select $2, name from demo_field where table_id = $1";
    tx.execute(fields, &[&task.table, &copy]).await?;
    progress.increment(20)?;

    progress.step("copying rows")?;
    let count: i64 = tx
        .query_one("select count(*) from demo_row where table_id = $1", &[&task.table])
        .await?
        .get(0);
    // The rows are the other four fifths of the work.
    let rows = progress.child(80, count.unsigned_abs());
    let insert = tx
        .prepare(
            "insert into demo_row (table_id, position, value)
                  select $2, position, value from demo_row where table_id = $1 and position = $3",
        )
        .await?;
    for position in 0..count {
        tx.execute(&insert, &[&task.table, &copy, &position]).await?;
        rows.increment(1)?;
        if task.name == "Broken" && position == count / 2 {
            return Err("the disk is full".into());
        }
    }
    Ok(copy)
}

#[tokio::main]
async fn main() -> Anything {
    let Ok(url) = std::env::var("PG_URL") else {
        println!("set PG_URL to a PostgreSQL database, such as postgres://postgres@localhost/postgres");
        return Ok(());
    };
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
    tokio::spawn(connection);
    make_tables(&client).await?;

    let jobs = Jobs::open(url).schema("turnabout_demo").await?;
    let executor = Executor::new(&jobs).task(duplicate).slots(2).start().await?;
    let copy = |name: &str| Duplicate {
        table: 1,
        name: name.to_owned(),
    };

    println!(
        "refused: {}",
        jobs.submit(copy("  "))
            .owner("ada")
            .await
            .err()
            .map_or_else(String::new, |e| e.to_string())
    );
    let job = jobs.submit(copy("Copy")).owner("ada").await?;
    if let Err(error) = jobs.submit(copy("Another")).owner("ada").await {
        println!("refused: {error}");
    }
    let mut seen = None;
    let job = loop {
        let job = jobs.get(job.id).await?;
        let shown = (job.progress, job.step.clone());
        if seen.as_ref() != Some(&shown) && job.state == State::Running {
            let step = job.step.as_deref().unwrap_or_default();
            println!(
                "{:3} %  {step:16} others see {} tables",
                job.progress,
                tables(&client).await?
            );
            seen = Some(shown);
        }
        if job.state.is_final() {
            break job;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    println!(
        "{}: {}, others see {} tables",
        job.subject.unwrap_or_default(),
        job.state,
        tables(&client).await?
    );

    // One that fails half-way leaves nothing.
    let broken = jobs.submit(copy("Broken")).owner("ada").await?;
    while jobs.get(broken.id).await?.state != State::Stuck {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let error = jobs.get(broken.id).await?.error.unwrap_or_default();
    println!("Broken: {error}; others see {} tables", tables(&client).await?);

    executor.shutdown(Duration::from_secs(5)).await;
    client
        .batch_execute("drop table demo_table, demo_field, demo_row; drop schema turnabout_demo cascade")
        .await?;
    Ok(())
}

async fn tables(client: &Client) -> Result<i64, tokio_postgres::Error> {
    Ok(client.query_one("select count(*) from demo_table", &[]).await?.get(0))
}

/// A table with three fields and five thousand rows.
async fn make_tables(client: &Client) -> Result<(), tokio_postgres::Error> {
    client
        .batch_execute(
            "drop table if exists demo_table, demo_field, demo_row;
             drop schema if exists turnabout_demo cascade;
             create table demo_table (id bigint generated always as identity primary key, name text not null);
             create table demo_field (table_id bigint not null, name text not null);
             create table demo_row (table_id bigint not null, position bigint not null, value text not null,
                 primary key (table_id, position));
             insert into demo_table (name) values ('Customers');
             insert into demo_field values (1, 'name'), (1, 'city'), (1, 'since');
             insert into demo_row select 1, n, 'row ' || n from generate_series(0, 4999) n",
        )
        .await
}
