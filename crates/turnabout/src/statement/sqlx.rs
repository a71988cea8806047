//! Statements in transactions of sqlx.

use sqlx::AssertSqlSafe;

use super::{Statement, Within, sealed};
use crate::store::Database;
use crate::task::BoxError;

#[cfg(feature = "sqlx-postgres")]
impl sealed::Sealed for &mut sqlx::Transaction<'_, sqlx::Postgres> {}

#[cfg(feature = "sqlx-postgres")]
impl Within for &mut sqlx::Transaction<'_, sqlx::Postgres> {
    const DATABASE: Database = Database::Postgres;

    async fn run(self, statement: &Statement) -> Result<Option<String>, BoxError> {
        let query = sqlx::query_scalar(AssertSqlSafe(statement.sql.clone())).bind(&statement.parameter);
        Ok(query.fetch_one(&mut **self).await?)
    }
}

#[cfg(feature = "sqlx-sqlite")]
impl sealed::Sealed for &mut sqlx::Transaction<'_, sqlx::Sqlite> {}

#[cfg(feature = "sqlx-sqlite")]
impl Within for &mut sqlx::Transaction<'_, sqlx::Sqlite> {
    const DATABASE: Database = Database::Sqlite;

    async fn run(self, statement: &Statement) -> Result<Option<String>, BoxError> {
        let query = sqlx::query(AssertSqlSafe(statement.sql.clone())).bind(&statement.parameter);
        query.execute(&mut **self).await?;
        match statement.outcome {
            Some(outcome) => Ok(sqlx::query_scalar(outcome).fetch_one(&mut **self).await?),
            None => Ok(None),
        }
    }
}

/// What the database says of an error.
pub(super) fn told(error: &(dyn std::error::Error + 'static)) -> Option<(String, String)> {
    let error = error.downcast_ref::<sqlx::Error>()?.as_database_error()?;
    Some((error.code()?.into_owned(), error.message().to_owned()))
}
