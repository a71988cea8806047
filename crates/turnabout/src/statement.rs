//! Statements for transactions of an application's own: they submit one job, or end one well. Each has one parameter, a text: the
//! job as JSON. So every driver can run it, and what runs in the database is one function or trigger for all of them.
//!
//! The library itself runs them through [`Within`]; who has another driver gets the [`Statement`].

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::group::{Quota, unknown_tasks};
use crate::job::{JobId, Priority};
use crate::jobs::Jobs;
use crate::store::{Database, MaxUnfinished, NewJob, Start, Statements, Submitted, check_time};
use crate::task::BoxError;

/// SQL for a driver that the library does not know, see [`Submit::statement`](crate::submit::Submit::statement).
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use = "nothing happens until it is run inside a transaction"]
pub struct Statement {
    /// The SQL, with one parameter: `$1` on `PostgreSQL`, `?1` on `SQLite`.
    pub sql: String,
    /// The value of the parameter, a text.
    pub parameter: String,
    /// What to ask afterwards in the same transaction, where the statement itself returns nothing.
    #[cfg_attr(
        not(feature = "sqlx-sqlite"),
        expect(
            dead_code,
            reason = "only SQLite has to be asked, and only sqlx runs its statements here"
        )
    )]
    outcome: Option<&'static str>,
}

/// A transaction in which a job can be submitted or finished: `&mut tx` of `tokio_postgres` or `deadpool_postgres`, of sqlx
/// with the features `sqlx-postgres` and `sqlx-sqlite`, or a handler's own ([`Context::transaction`](crate::Context::transaction)).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no transaction in which a job can be submitted",
    note = "give `&mut tx`, a transaction of tokio-postgres or, with the features `sqlx-postgres` and `sqlx-sqlite`, of sqlx; \
            a client, connection or pool commits each statement by itself",
    note = "for other drivers there is `.statement()`"
)]
pub trait Within: sealed::Sealed + Send {
    /// Whose transaction it is.
    #[doc(hidden)]
    const DATABASE: Database;

    /// Runs a statement, asks for its outcome if that is to be asked for, and returns the only column of the only row.
    #[doc(hidden)]
    fn run(self, statement: &Statement) -> impl Future<Output = Result<Option<String>, BoxError>> + Send;
}

mod sealed {
    pub trait Sealed {}
}

#[cfg(feature = "postgres")]
mod postgres;

#[cfg(any(feature = "sqlx-postgres", feature = "sqlx-sqlite"))]
mod sqlx;

/// The statements of the store, if it has some, and if they are for this database.
pub(crate) fn of(jobs: &Jobs, within: Option<Database>) -> Result<Statements> {
    let statements = jobs.store().statements().ok_or_else(|| {
        Error::invalid(
            "transaction",
            "jobs in memory cannot be part of another connection's transaction; open them on a file, or on PostgreSQL",
        )
    })?;
    match within {
        Some(theirs) if theirs != statements.database => Err(Error::invalid(
            "transaction",
            format!(
                "it is one of {theirs}, and the jobs are in {}; both have to be in one database",
                statements.database
            ),
        )),
        _ => Ok(statements),
    }
}

/// A new job as the databases read it.
#[derive(Serialize)]
struct Described<'a> {
    id: JobId,
    /// 0: the id is a new one; 1: the caller gave it; 2: and its time cannot be right, unless the job is known.
    given: u8,
    task: &'a str,
    args: &'a str,
    group: &'a str,
    owner: Option<&'a str>,
    queue: Option<&'a str>,
    priority: Option<&'static str>,
    /// Seconds.
    delay: Option<f64>,
    /// Microseconds since 1970.
    at: Option<i64>,
    /// Seconds from now.
    expires: Option<f64>,
    unique_key: Option<&'a str>,
    items: u32,
    meta: Option<String>,
    parent: Option<JobId>,
    subject: Option<&'a str>,
    prepared: bool,
    /// Null: as its task has published; 0: any number.
    max_unfinished: Option<u32>,
    /// Whether a job that is refused is an error of the statement.
    strict: bool,
}

/// The statement that submits a job.
pub(crate) fn submit(statements: &Statements, job: &NewJob, now: Timestamp, strict: bool) -> Statement {
    let (at, delay) = job.when.parts();
    let (expiry, expires) = job.expires.parts();
    let described = Described {
        id: job.id,
        given: match job.id_given {
            false => 0,
            true if check_time(job.id, now).is_ok() => 1,
            true => 2,
        },
        task: &job.task,
        args: &job.args,
        group: &job.group,
        owner: job.owner.as_deref(),
        queue: job.queue.as_deref(),
        priority: job.priority.map(Priority::as_str),
        delay,
        at: at.map(Timestamp::as_microsecond),
        expires: expires.or(expiry.map(|moment| moment.duration_since(now).as_secs_f64())),
        unique_key: job.unique.as_deref(),
        items: job.items,
        meta: (!job.meta.is_empty()).then(|| json(&job.meta)),
        parent: job.parent,
        subject: job.subject.as_deref(),
        prepared: job.prepared,
        max_unfinished: match job.max_unfinished {
            MaxUnfinished::AsPublished => None,
            MaxUnfinished::Any => Some(0),
            MaxUnfinished::AtMost(limit) => Some(limit.min(i32::MAX as u32)),
        },
        strict,
    };
    Statement {
        sql: statements.submit.clone(),
        parameter: json(&described),
        outcome: statements.outcome,
    }
}

/// The statement that ends a job well.
pub(crate) fn finish(statements: &Statements, executor: Uuid, start: &Start, result: Option<&str>) -> Statement {
    let parameter = serde_json::json!({
        "job": start.id,
        "claim": format!("{executor}/{}", start.number),
        "executor": executor,
        "number": start.number,
        "attempts": start.attempts,
        "started": start.at.as_microsecond(),
        "result": result,
    });
    Statement {
        sql: statements.finish.clone(),
        parameter: parameter.to_string(),
        outcome: None,
    }
}

/// Texts and numbers can always be written.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Runs a statement; what the database refuses is told in our words.
pub(crate) async fn run(transaction: impl Within, statement: &Statement) -> Result<Option<String>> {
    transaction.run(statement).await.map_err(refused)
}

/// What the databases answer to a submit.
#[derive(Deserialize)]
struct Answer {
    job: Option<JobId>,
    outcome: String,
    allowed: Option<u32>,
}

/// What became of a submit.
pub(crate) fn submitted(answer: Option<&str>, job: &NewJob) -> Result<Submitted> {
    let not_understood = |cause: BoxError| Error::Store {
        doing: "submitting inside a transaction",
        cause,
        transient: false,
    };
    let answer: Answer = serde_json::from_str(answer.unwrap_or_default()).map_err(|e| not_understood(e.into()))?;
    let allowed = answer.allowed.unwrap_or_default();
    let quota = match answer.outcome.as_str() {
        "new" | "known" => {
            return Ok(Submitted {
                id: answer.job.ok_or_else(|| not_understood("no job was named".into()))?,
                new: answer.outcome == "new",
            });
        }
        "taken" => return Err(Error::Conflict("job id")),
        "untimely" => {
            let why = "a given id must be a UUID of version 7, made within the last 7 days; make a new id";
            return Err(Error::invalid("job id", why));
        }
        "tasks" => return Err(unknown_tasks(&job.group, &job.task, allowed)),
        "group" => Quota::group(&job.group),
        _ => Quota::owner(&job.group, &job.task, job.owner.as_deref()),
    };
    Err(quota.exceeded(allowed))
}

/// What a database says of an error: its code, and its words.
fn told(error: &(dyn std::error::Error + 'static)) -> Option<(String, String)> {
    let mut next = Some(error);
    while let Some(error) = next {
        #[cfg(feature = "postgres")]
        if let Some(told) = postgres::told(error) {
            return Some(told);
        }
        #[cfg(any(feature = "sqlx-postgres", feature = "sqlx-sqlite"))]
        if let Some(told) = self::sqlx::told(error) {
            return Some(told);
        }
        next = error.source();
    }
    None
}

/// Whether this is because two transactions were in each other's way, so that the same may work when tried again: a serialization
/// failure or a deadlock; on `SQLite`, a file that someone else writes to.
pub(crate) fn is_collision(error: &(dyn std::error::Error + 'static)) -> bool {
    told(error).is_some_and(|(code, _)| matches!(code.as_str(), "40001" | "40P01" | "5" | "261" | "517"))
}

fn refused(error: BoxError) -> Error {
    match told(&*error) {
        Some((code, _)) if code == "23505" => Error::Conflict("job id"),
        Some((code, message)) if code == "22023" => Error::invalid("job", message),
        // PostgreSQL: not in a state that allows this; SQLite: a constraint, by a trigger.
        Some((code, message)) if code == "55000" || code == "1811" => {
            Error::invalid("transaction", message.trim_start_matches("turnabout: "))
        }
        Some((code, message))
            if matches!(code.as_str(), "3F000" | "42883") || message.contains("no such table: turnabout_") =>
        {
            let why =
                "its database has no jobs in it; open the jobs and the application's own connections on the same one";
            Error::invalid("transaction", why)
        }
        _ => Error::Store {
            doing: "submitting or finishing inside a transaction",
            transient: is_collision(&*error),
            cause: error,
        },
    }
}
