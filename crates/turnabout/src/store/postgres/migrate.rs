//! Migrations: numbered files, applied under a lock.

use std::time::Duration;

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, GenericClient, SimpleQueryMessage};

use super::PostgresStore;
use super::pooler::{Pooler, Probe};
use super::sql::{check_schema, in_schema};
use super::tls::Tls;
use crate::error::{Error, Result};
use crate::store::{SchemaStatus, StoreOptions};

/// Every migration, in order. A released one is never changed. From the second on, programs run while one is applied: it
/// adds columns without rewriting a table, and the program of the version before can work with what it makes.
pub(super) const MIGRATIONS: &[&str] = &[concat!(
    include_str!("migrations/0001/tables.sql"),
    include_str!("migrations/0001/days.sql"),
    include_str!("migrations/0001/streams.sql"),
    include_str!("migrations/0001/submit.sql"),
    include_str!("migrations/0001/take.sql"),
    include_str!("migrations/0001/settle.sql"),
    include_str!("migrations/0001/schedules.sql"),
    include_str!("migrations/0001/rights.sql"),
)];

/// The newest schema that this program knows.
pub(super) const NEWEST: i64 = MIGRATIONS.len() as i64;
/// The oldest program (by the newest schema that it knows) that can work with the newest schema.
const OLDEST_PROGRAM: i64 = 1;
/// A migration waits so long for a table that others use. Whoever comes after it waits as long, so it is short: a backup that
/// reads all tables must not stop everybody because a migration stands behind it.
const LOCK: Duration = Duration::from_secs(1);
/// Then it lets the others go first, and tries again after this time ..
const PAUSE: Duration = Duration::from_secs(2);
/// .. so often.
const TRIES: u32 = 100;

/// What the first connection has found out about the server.
pub(super) struct Server {
    /// Whether a pooler that hands out sessions by the transaction stands before it.
    pub(super) pooled: bool,
    /// How many connections it accepts, as far as we may use them.
    pub(super) connections: u32,
}

/// Connects once, outside the pool, to bring the schema up to date; errors here are what a new user sees first.
pub(super) async fn prepare(
    config: &Config,
    tls: &Tls,
    told: Pooler,
    options: &StoreOptions,
    name: &str,
) -> Result<Server> {
    let schema = options.schema.as_str();
    let failed = super::connect::failed("asking what server this is");
    let refused = |e: tokio_postgres::Error| Error::Open {
        store: name.to_owned(),
        hint: super::connect::hint(&e).to_owned(),
        cause: Some(Box::new(e)),
    };
    let probe = (told == Pooler::Unknown).then(Probe::new);
    let asked = match &probe {
        Some(probe) => probe.ask(config).connect(tls.clone()).await,
        None => config.connect(tls.clone()).await,
    };
    let (mut pooled, asked) = match asked {
        Err(error) if probe.is_some() && Probe::is_refused(&error) => (true, config.connect(tls.clone()).await),
        asked => (told == Pooler::Transaction, asked),
    };
    let (mut client, connection) = asked.map_err(refused)?;
    let connection = tokio::spawn(connection);
    if let Some(probe) = probe.filter(|_| !pooled) {
        pooled = !probe.is_answered(&client).await.map_err(&failed)?;
    }
    let numbers = numbers(&client).await.map_err(&failed)?;
    let [version, most, reserved] = numbers[..] else {
        return Err(Error::Store {
            doing: "asking what server this is",
            cause: "it did not say".into(),
            transient: false,
        });
    };
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
        migrate(&mut client, schema, name, MIGRATIONS).await?;
    } else {
        check(&mut client, schema, name).await?;
    }
    drop(client);
    let _ = connection.await;
    if pooled {
        tracing::info!("behind a pooler: nothing is prepared, and without listen-url jobs are looked for every second");
    }
    let connections = most.saturating_sub(reserved);
    Ok(Server { pooled, connections })
}

/// The server's version, how many connections it accepts, and how many of these are not for us. Asked for without a
/// prepared statement.
async fn numbers(client: &Client) -> Result<Vec<u32>, tokio_postgres::Error> {
    let settings = [
        "server_version_num",
        "max_connections",
        "superuser_reserved_connections",
    ];
    let settings = settings.map(|name| format!("current_setting('{name}')"));
    let answer = client.simple_query(&format!("select {}", settings.join(", "))).await?;
    let row = answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    Ok(row
        .into_iter()
        .flat_map(|row| (0..row.len()).filter_map(|column| row.get(column)?.parse().ok()))
        .collect())
}

impl PostgresStore {
    /// How the tables are, without changing anything.
    pub async fn status(url: &str, schema: &str) -> Result<SchemaStatus> {
        check_schema(schema)?;
        let (config, tls, _) = super::connect::config(url)?;
        let name = super::connect::name(&config);
        status(&config, &tls, schema, &name).await
    }
}

/// How the schema is, without changing anything.
async fn status(config: &Config, tls: &Tls, schema: &str, name: &str) -> Result<SchemaStatus> {
    let (mut client, connection) = connect(config, tls, name).await?;
    // In a transaction, since a statement is prepared.
    let failed = super::connect::failed("looking at the schema");
    let tx = client.transaction().await.map_err(&failed)?;
    let (found, _) = found(&tx, schema).await?;
    tx.rollback().await.map_err(&failed)?;
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
        hint: super::connect::hint(&e).to_owned(),
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
async fn check(client: &mut Client, schema: &str, store: &str) -> Result<()> {
    let failed = super::connect::failed("looking at the schema");
    let tx = client.transaction().await.map_err(&failed)?;
    let (found, oldest_program) = found(&tx, schema).await?;
    tx.rollback().await.map_err(&failed)?;
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
pub(super) async fn migrate(client: &mut Client, schema: &str, store: &str, migrations: &[&str]) -> Result<()> {
    for _ in 1..TRIES {
        match try_migrate(client, schema, store, migrations).await {
            Err(Error::Store { cause, .. }) if is_locked(&*cause) => {
                tracing::warn!(
                    schema,
                    "others use the tables; the migration is tried again in {PAUSE:?} (a backup, or a transaction that was left open?)"
                );
                tokio::time::sleep(PAUSE).await;
            }
            done => return done,
        }
    }
    try_migrate(client, schema, store, migrations).await
}

/// Whether a table was in use for too long.
fn is_locked(error: &(dyn std::error::Error + 'static)) -> bool {
    let error = error.downcast_ref::<tokio_postgres::Error>();
    error.and_then(tokio_postgres::Error::code) == Some(&SqlState::LOCK_NOT_AVAILABLE)
}

async fn try_migrate(client: &mut Client, schema: &str, store: &str, migrations: &[&str]) -> Result<()> {
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
    // Not before: whoever makes the first tables beside us may take longer.
    tx.batch_execute(&format!("set local lock_timeout = {}", LOCK.as_millis()))
        .await
        .map_err(&failed)?;
    for (version, sql) in (1i64..).zip(migrations).skip(usize::try_from(found).unwrap_or(0)) {
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
