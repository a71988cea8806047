//! Migrations: numbered files, applied under a lock.

use tokio_postgres::{Client, Config, GenericClient};

use super::PostgresStore;
use super::sql::{check_schema, in_schema};
use super::tls::Tls;
use crate::error::{Error, Result};
use crate::store::{SchemaStatus, StoreOptions};

/// Every migration, in order. A released one is never changed.
const MIGRATIONS: &[&str] = &[concat!(
    include_str!("migrations/0001/tables.sql"),
    include_str!("migrations/0001/days.sql"),
    include_str!("migrations/0001/streams.sql"),
    include_str!("migrations/0001/submit.sql"),
    include_str!("migrations/0001/take.sql"),
    include_str!("migrations/0001/settle.sql"),
    include_str!("migrations/0001/schedules.sql"),
)];

/// The newest schema that this program knows.
pub(super) const NEWEST: i64 = MIGRATIONS.len() as i64;
/// The oldest program (by the newest schema that it knows) that can work with the newest schema.
const OLDEST_PROGRAM: i64 = 1;

/// Connects once, outside the pool, to bring the schema up to date; errors here are what a new user sees first.
pub(super) async fn prepare(config: &Config, tls: &Tls, options: &StoreOptions, name: &str) -> Result<()> {
    let schema = options.schema.as_str();
    let (mut client, connection) = connect(config, tls, name).await?;
    let row = client
        .query_one("select current_setting('server_version_num')::int", &[])
        .await;
    let version: i32 = row
        .map_err(super::connect::failed("asking for the server's version"))?
        .get(0);
    if version < 140_000 {
        return Err(Error::Open {
            store: name.to_owned(),
            hint: format!(
                "the server is PostgreSQL {}; version 14 or newer is needed",
                version / 10_000
            ),
            cause: None,
        });
    }
    if options.migrate {
        migrate(&mut client, schema, name).await?;
    } else {
        check(&client, schema, name).await?;
    }
    drop(client);
    let _ = connection.await;
    Ok(())
}

impl PostgresStore {
    /// How the tables are, without changing anything.
    pub async fn status(url: &str, schema: &str) -> Result<SchemaStatus> {
        check_schema(schema)?;
        let (config, tls) = super::connect::config(url)?;
        let name = super::connect::name(&config);
        status(&config, &tls, schema, &name).await
    }
}

/// How the schema is, without changing anything.
async fn status(config: &Config, tls: &Tls, schema: &str, name: &str) -> Result<SchemaStatus> {
    let (client, connection) = connect(config, tls, name).await?;
    let (found, _) = found(&client, schema).await?;
    drop(client);
    let _ = connection.await;
    Ok(SchemaStatus { found, known: NEWEST })
}

async fn connect(
    config: &Config,
    tls: &Tls,
    name: &str,
) -> Result<(
    Client,
    tokio::task::JoinHandle<std::result::Result<(), tokio_postgres::Error>>,
)> {
    let (client, connection) = config.connect(tls.clone()).await.map_err(|e| Error::Open {
        store: name.to_owned(),
        hint: super::tls::hint(&e).to_owned(),
        cause: Some(Box::new(e)),
    })?;
    Ok((client, tokio::spawn(connection)))
}

/// The version of the schema (0: there is none), and the oldest program that can work with it.
async fn found(client: &impl GenericClient, schema: &str) -> Result<(i64, i64)> {
    let failed = super::connect::failed("looking at the schema");
    let exists: bool = client
        .query_one("select to_regclass($1) is not null", &[&format!("{schema}.migration")])
        .await
        .map_err(&failed)?
        .get(0);
    if !exists {
        return Ok((0, 0));
    }
    let sql = "select coalesce(max(version), 0), coalesce(max(oldest_program), 0) from turnabout.migration";
    let row = client.query_one(&in_schema(sql, schema), &[]).await.map_err(&failed)?;
    Ok((row.get(0), row.get(1)))
}

/// Refuses if the schema is not one that this program can work with.
async fn check(client: &Client, schema: &str, store: &str) -> Result<()> {
    let (found, oldest_program) = found(client, schema).await?;
    if oldest_program > NEWEST {
        return Err(too_new(store, schema, found));
    }
    match (SchemaStatus { found, known: NEWEST }).hint() {
        Some(hint) => Err(Error::Open {
            store: format!("{store}, schema `{schema}`"),
            hint,
            cause: None,
        }),
        None => Ok(()),
    }
}

fn too_new(store: &str, schema: &str, found: i64) -> Error {
    Error::NewerSchema {
        store: format!("{store}, schema `{schema}`"),
        found,
        known: NEWEST,
    }
}

/// Brings the schema up to date, or refuses if it is too new for this program.
async fn migrate(client: &mut Client, schema: &str, store: &str) -> Result<()> {
    let failed = super::connect::failed("preparing the schema");
    // A lock of its own for each schema, held until the end of the transaction: others wait and find it done.
    let tx = client.transaction().await.map_err(&failed)?;
    tx.execute("select pg_advisory_xact_lock(hashtextextended($1, 7878))", &[&schema])
        .await
        .map_err(&failed)?;
    let exists: bool = tx
        .query_one("select to_regclass($1) is not null", &[&format!("{schema}.migration")])
        .await
        .map_err(&failed)?
        .get(0);
    if !exists {
        tx.batch_execute(&format!("create schema if not exists {schema}"))
            .await
            .map_err(&failed)?;
        tx.batch_execute(&in_schema(
            "create table turnabout.migration (
                 version        bigint primary key,
                 oldest_program bigint not null,
                 applied        timestamptz not null default now()
             );",
            schema,
        ))
        .await
        .map_err(&failed)?;
    }
    let (found, oldest_program) = found(&tx, schema).await?;
    if oldest_program > NEWEST {
        return Err(too_new(store, schema, found));
    }
    for (version, sql) in (1i64..).zip(MIGRATIONS).skip(usize::try_from(found).unwrap_or(0)) {
        tx.batch_execute(&in_schema(sql, schema)).await.map_err(&failed)?;
        tx.execute(
            &in_schema(
                "insert into turnabout.migration (version, oldest_program) values ($1, $2)",
                schema,
            ),
            &[&version, &OLDEST_PROGRAM],
        )
        .await
        .map_err(&failed)?;
        tracing::info!(schema, version, "migrated");
    }
    tx.commit().await.map_err(&failed)
}
