//! Migrations: numbered files, applied under a lock.

use tokio_postgres::Client;

use super::sql::in_schema;
use crate::error::{Error, Result};

/// Every migration, in order. A released one is never changed.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_begin.sql"),
    include_str!("migrations/0002_submit.sql"),
    include_str!("migrations/0003_finish.sql"),
    include_str!("migrations/0004_take.sql"),
    include_str!("migrations/0005_forget.sql"),
];

/// The newest schema that this program knows.
pub(super) const NEWEST: i64 = MIGRATIONS.len() as i64;
/// The oldest program (by the newest schema that it knows) that can work with the newest schema.
const OLDEST_PROGRAM: i64 = 2;

/// Brings the schema up to date, or refuses if it is too new for this program.
pub(super) async fn migrate(client: &mut Client, schema: &str, store: &str) -> Result<()> {
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
    let row = tx
        .query_one(
            &in_schema(
                "select coalesce(max(version), 0), coalesce(max(oldest_program), 0) from turnabout.migration",
                schema,
            ),
            &[],
        )
        .await
        .map_err(&failed)?;
    let (found, oldest_program): (i64, i64) = (row.get(0), row.get(1));
    if oldest_program > NEWEST {
        return Err(Error::NewerSchema {
            store: format!("{store}, schema `{schema}`"),
            found,
            known: NEWEST,
        });
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
