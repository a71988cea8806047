//! Statements in transactions of tokio-postgres, and in those that the executor begins for handlers.

use tokio_postgres::types::Type;

use super::{Statement, Within, sealed};
use crate::store::Database;
use crate::task::BoxError;
use crate::transaction::Transaction;

/// With the type of its parameter a statement is one round trip: the server need not be asked for it.
macro_rules! within {
    ($($type:ty),+) => {$(
        impl sealed::Sealed for $type {}

        impl Within for $type {
            const DATABASE: Database = Database::Postgres;

            async fn run(self, statement: &Statement) -> Result<Option<String>, BoxError> {
                let parameter = (&statement.parameter as _, Type::TEXT);
                let row = self.query_typed_one(&statement.sql, &[parameter]).await?;
                Ok(row.try_get(0)?)
            }
        }
    )+};
}

within![
    &mut tokio_postgres::Transaction<'_>,
    &mut deadpool_postgres::Transaction<'_>,
    &Transaction
];

/// What the server says of an error.
pub(super) fn told(error: &(dyn std::error::Error + 'static)) -> Option<(String, String)> {
    let error = error.downcast_ref::<tokio_postgres::Error>()?.as_db_error()?;
    Some((error.code().code().to_owned(), error.message().to_owned()))
}
