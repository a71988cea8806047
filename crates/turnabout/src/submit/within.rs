//! Submitting inside a caller's own `PostgreSQL` transaction: the job exists if and only if the transaction commits.

use jiff::Timestamp;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{GenericClient, Row};

use super::Submit;
use crate::error::{Error, Result};
use crate::group::Quota;
use crate::job::{JobId, When};
use crate::store::{MaxUnfinished, NewJob, Submitted};
use crate::task::BoxError;
use crate::transaction::Transaction;

/// The arguments of the SQL function, in its order.
const CALL: &str = "select job, is_new, over, allowed from {function}($1, $2, $3, $4, $5, $6, $7::float8 * interval '1 second', $8, \
     $9::float8 * interval '1 second', $10, $11, $12, $13, $14, $15, $16, $17)";

impl Submit {
    /// Submits inside a transaction of the caller's, on a connection of its own to the same database: the job is seen
    /// (and executors are woken) when it commits, and never existed if it does not. Users of other drivers call the
    /// SQL function `turnabout.submit(...)`, which is the same.
    ///
    /// ```no_run
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize)] struct Mail { to: String }
    /// # impl turnabout::Task for Mail { const NAME: &'static str = "mail"; }
    /// # async fn example(jobs: turnabout::Jobs, client: &mut tokio_postgres::Client)
    /// # -> Result<(), Box<dyn std::error::Error>> {
    /// let mut tx = client.transaction().await?;
    /// tx.execute("insert into account (name) values ('ada')", &[]).await?;
    /// jobs.submit(Mail { to: "ada@example.org".into() }).group("acme").within(&mut tx).await?;
    /// tx.commit().await?;
    /// # Ok(()) }
    /// ```
    ///
    /// Inside a handler that has a [transaction](crate::Context::transaction): `cx.submit(..).within(cx.transaction()?)`.
    pub async fn within(self, transaction: impl Within) -> Result<Submitted> {
        let function = self.jobs.store().transactions().ok_or_else(|| {
            Error::invalid(
                "transaction",
                "only a PostgreSQL store can submit inside a caller's transaction",
            )
        })?;
        let function = function.submit_function();
        let (job, _) = self.jobs.accept(self.submission).await?;
        call(transaction, &CALL.replace("{function}", &function), &job).await
    }
}

/// A transaction in which a job can be submitted: one of `tokio_postgres` (`&mut tx`), or a handler's own.
pub trait Within: sealed::Sealed + Send {
    /// Runs a statement that returns one row. With the types of its parameters, that is one round trip: the server need not
    /// be asked for them.
    #[doc(hidden)]
    fn query_typed_one(
        self,
        sql: &str,
        params: &[(&(dyn ToSql + Sync), Type)],
    ) -> impl Future<Output = std::result::Result<Row, BoxError>> + Send;
}

mod sealed {
    pub trait Sealed {}

    impl<C: tokio_postgres::GenericClient> Sealed for &mut C {}
    impl Sealed for &crate::transaction::Transaction {}
}

impl<C: GenericClient + Send + Sync> Within for &mut C {
    async fn query_typed_one(
        self,
        sql: &str,
        params: &[(&(dyn ToSql + Sync), Type)],
    ) -> std::result::Result<Row, BoxError> {
        Ok(GenericClient::query_typed_one(self, sql, params).await?)
    }
}

impl Within for &Transaction {
    async fn query_typed_one(
        self,
        sql: &str,
        params: &[(&(dyn ToSql + Sync), Type)],
    ) -> std::result::Result<Row, BoxError> {
        Ok(Transaction::query_typed_one(self, sql, params).await?)
    }
}

async fn call(client: impl Within, sql: &str, job: &NewJob) -> Result<Submitted> {
    let (at, delay) = job.when.parts();
    let expires = match job.expires {
        When::Now => None,
        When::After(delay) => Some(delay.as_secs_f64()),
        When::At(moment) => Some(moment.duration_since(Timestamp::now()).as_secs_f64()),
    };
    let priority = job.priority.map(crate::job::Priority::as_str);
    let items = i32::try_from(job.items).unwrap_or(i32::MAX);
    let meta = (!job.meta.is_empty()).then(|| serde_json::to_string(&job.meta).unwrap_or_default());
    let max_unfinished = match job.max_unfinished {
        MaxUnfinished::AsPublished => None,
        MaxUnfinished::Any => Some(0),
        MaxUnfinished::AtMost(limit) => Some(i32::try_from(limit).unwrap_or(i32::MAX)),
    };
    let (parent, id) = (job.parent.map(|p| p.0), job.id_given.then_some(job.id.0));
    let row = client
        .query_typed_one(
            sql,
            &[
                (&job.task, Type::TEXT),
                (&job.args, Type::TEXT),
                (&job.group, Type::TEXT),
                (&job.owner, Type::TEXT),
                (&job.queue, Type::TEXT),
                (&priority, Type::TEXT),
                (&delay, Type::FLOAT8),
                (&at, Type::TIMESTAMPTZ),
                (&expires, Type::FLOAT8),
                (&job.unique, Type::TEXT),
                (&items, Type::INT4),
                (&meta, Type::TEXT),
                (&parent, Type::UUID),
                (&id, Type::UUID),
                (&job.subject, Type::TEXT),
                (&job.prepared, Type::BOOL),
                (&max_unfinished, Type::INT4),
            ],
        )
        .await
        .map_err(refused)?;
    if let Some(over) = row.get::<_, Option<&str>>(2) {
        let quota = match over {
            "group" => Quota::group(&job.group),
            _ => Quota::owner(&job.group, &job.task, job.owner.as_deref()),
        };
        return Err(quota.exceeded(row.get::<_, i32>(3) as u32));
    }
    Ok(Submitted {
        id: JobId(row.get(0)),
        new: row.get(1),
    })
}

fn refused(error: BoxError) -> Error {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&*error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<tokio_postgres::Error>() {
            match error.code() {
                Some(&SqlState::UNIQUE_VIOLATION) => return Error::Conflict("job id"),
                Some(&SqlState::INVALID_PARAMETER_VALUE) => {
                    return Error::invalid("job", error.as_db_error().map_or("it was refused", |e| e.message()));
                }
                _ => break,
            }
        }
        cause = error.source();
    }
    Error::Store {
        doing: "submitting inside a transaction",
        cause: error,
        transient: false,
    }
}

#[cfg(test)]
mod tests;
