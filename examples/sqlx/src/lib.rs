//! An application that uses sqlx: its rows and its jobs are stored together, or not at all. The same on both databases, with
//! the jobs in the database (on `SQLite`: in the file) of the application's own tables.
//!
//! `.within` takes a transaction. A pool and a connection commit each statement by itself, and do not compile:
//!
//! ```compile_fail,E0277
//! # async fn example(jobs: turnabout::Jobs, pool: sqlx::PgPool) -> turnabout::Result<()> {
//! # let mail = turnabout_example_sqlx::Mail { to: "ada@example.org".into() };
//! jobs.submit(mail).within(&pool).await?;
//! # Ok(()) }
//! ```
//!
//! ```compile_fail,E0277
//! # async fn example(jobs: turnabout::Jobs, mut connection: sqlx::SqliteConnection) -> turnabout::Result<()> {
//! # let mail = turnabout_example_sqlx::Mail { to: "ada@example.org".into() };
//! jobs.submit(mail).within(&mut connection).await?;
//! # Ok(()) }
//! ```
//!
//! A transaction does:
//!
//! ```no_run
//! # async fn example(jobs: turnabout::Jobs, mut tx: sqlx::SqliteTransaction<'static>) -> turnabout::Result<()> {
//! # let mail = turnabout_example_sqlx::Mail { to: "ada@example.org".into() };
//! jobs.submit(mail).within(&mut tx).await?;
//! # Ok(()) }
//! ```

use serde::{Deserialize, Serialize};
use turnabout::{Refused, Submitting, Task};

/// A task that greets somebody, at most two at a time for each owner.
#[derive(Debug, Serialize, Deserialize)]
pub struct Mail {
    /// To whom.
    pub to: String,
}

impl Task for Mail {
    const NAME: &'static str = "mail";
    const MAX_UNFINISHED: Option<u32> = Some(2);

    async fn prepare(&mut self, _: &Submitting<'_>) -> Result<(), Refused> {
        if !self.to.contains('@') {
            return Err(Refused::new("no-address", "There is no @ in the address."));
        }
        self.to = self.to.to_lowercase();
        Ok(())
    }
}

/// A task whose handler writes to the application's tables.
#[derive(Debug, Serialize, Deserialize)]
pub struct Pay {
    /// Who is paid.
    pub name: String,
    /// What happens before the end, for the tests.
    pub fails: bool,
}

impl Task for Pay {
    const NAME: &'static str = "pay";
    const RETRIES: u32 = 0;
}

/// The same code for a database of sqlx.
macro_rules! application {
    ($(#[$doc:meta])* $module:ident, $pool:ty, $begin:literal) => {
        $(#[$doc])*
        pub mod $module {
            use sqlx::{Executor as _, Row as _};
            use turnabout::{Context, Jobs, Submitted, TaskResult};

            use super::{Mail, Pay};

            /// How a transaction that writes begins.
            pub const BEGIN: &str = $begin;

            /// Makes the application's only table.
            pub async fn prepare(pool: &$pool) -> Result<(), sqlx::Error> {
                pool.execute("create table if not exists customer (name text primary key, paid text)").await?;
                Ok(())
            }

            /// The names of all customers, and what they were paid for.
            pub async fn customers(pool: &$pool) -> Result<Vec<(String, Option<String>)>, sqlx::Error> {
                let rows = sqlx::query("select name, paid from customer order by name").fetch_all(pool).await?;
                rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
            }

            /// Stores a customer, and submits the mail that welcomes them: both, or neither.
            pub async fn sign_up(
                jobs: &Jobs, pool: &$pool, name: &str, to: &str,
            ) -> Result<Submitted, Box<dyn std::error::Error + Send + Sync>> {
                let mut tx = pool.begin_with(BEGIN).await?;
                sqlx::query("insert into customer (name) values ($1)").bind(name).execute(&mut *tx).await?;
                let mail = jobs.submit(Mail { to: to.to_owned() }).group("acme").within(&mut tx).await?;
                tx.commit().await?;
                Ok(mail)
            }

            /// Pays, tells so, and ends its job: all of it, or nothing.
            pub async fn pay(cx: Context<$pool>, task: Pay) -> TaskResult<()> {
                let mut tx = cx.state().begin_with(BEGIN).await?;
                let update = "update customer set paid = $1 where name = $2";
                sqlx::query(update).bind(cx.job().to_string()).bind(&task.name).execute(&mut *tx).await?;
                cx.submit(Mail { to: format!("{}@example.org", task.name) }).within(&mut tx).await?;
                if task.fails {
                    return Err("no money".into());
                }
                cx.finish_within(&mut tx, &"paid").await?;
                tx.commit().await?;
                Ok(())
            }
        }
    };
}

application!(
    /// On `PostgreSQL`.
    postgres, sqlx::PgPool, "begin"
);
application!(
    /// On `SQLite`. A transaction that writes says so when it begins: one that reads first may find that it can no longer write.
    sqlite, sqlx::SqlitePool, "begin immediate"
);

/// The code in the guide's page about transactions compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/transactions.md")]
struct Guide;
