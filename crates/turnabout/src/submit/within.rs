//! Submitting inside a caller's own transaction: the job exists if and only if that commits.

use super::Submit;
use crate::error::Result;
use crate::statement::{self, Statement, Within};
use crate::store::Submitted;

impl Submit {
    /// Submits inside a transaction of the caller's, in the database of the jobs: the job is seen, and executors are woken,
    /// when it commits; if it does not, the job never existed. The arguments are prepared and limits hold as for any submit.
    ///
    /// It takes transactions of `tokio-postgres` and, with the features `sqlx-postgres` and `sqlx-sqlite`, of sqlx. For other
    /// drivers there is [`Submit::statement`].
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
    ///
    /// A client is no transaction: each of its statements commits by itself. That does not compile:
    ///
    /// ```compile_fail,E0277
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize)] struct Mail { to: String }
    /// # impl turnabout::Task for Mail { const NAME: &'static str = "mail"; }
    /// # async fn example(jobs: turnabout::Jobs, client: &mut tokio_postgres::Client) -> turnabout::Result<()> {
    /// jobs.submit(Mail { to: "ada@example.org".into() }).within(client).await?;
    /// # Ok(()) }
    /// ```
    pub async fn within<W: Within>(self, transaction: W) -> Result<Submitted> {
        let statements = statement::of(&self.jobs, Some(W::DATABASE))?;
        let now = self.jobs.store().clock().now();
        let (job, _) = self.jobs.accept(self.submission).await?;
        let statement = statement::submit(&statements, &job, now, false);
        statement::submitted(statement::run(transaction, &statement).await?.as_deref(), &job)
    }

    /// The SQL that submits this job, for a driver that [`Submit::within`] does not know (diesel, SeaORM): run it inside a
    /// transaction, on the database of the jobs. The job exists when that commits, and not if it is rolled back; executors
    /// are woken by the commit.
    ///
    /// The arguments are prepared now. A limit on unfinished jobs is checked when the statement runs, which then fails; on
    /// `PostgreSQL` that ends the transaction. A second job with the same unique key is not stored, and no error.
    ///
    /// To know the job's id, give it one: `.id(JobId::new())`.
    pub async fn statement(self) -> Result<Statement> {
        let statements = statement::of(&self.jobs, None)?;
        let now = self.jobs.store().clock().now();
        let (job, _) = self.jobs.accept(self.submission).await?;
        Ok(statement::submit(&statements, &job, now, true))
    }
}

#[cfg(all(test, feature = "postgres"))]
mod tests;
