//! Turnabout runs background jobs for applications with many tenants, and is fair to all of them: every group gets its
//! turn, however long the backlog of another one is. Jobs live in the database that you already have, `SQLite` or
//! `PostgreSQL`.
//!
//! # A first job
//!
//! A *task* is a kind of work: a type that holds the arguments of one job, and a name that is the same in every program.
//! Its *handler* is a plain async function.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use turnabout::{Context, Executor, Jobs, Task, TaskResult};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Greet { name: String }
//!
//! impl Task for Greet {
//!     const NAME: &'static str = "greet";
//! }
//!
//! async fn greet(_cx: Context, task: Greet) -> TaskResult<String> {
//!     Ok(format!("Hello, {}!", task.name))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> turnabout::Result<()> {
//! let jobs = Jobs::open("sqlite::memory:").await?;
//! let executor = Executor::new(&jobs).task(greet).slots(4).start().await?;
//!
//! let job = jobs.submit(Greet { name: "Ada".into() }).group("acme").await?;
//! let job = jobs.watch(job.id).ended().await?;
//! assert_eq!(job.result::<String>()?.as_deref(), Some("Hello, Ada!"));
//!
//! executor.shutdown(std::time::Duration::from_secs(30)).await;
//! # Ok(()) }
//! ```
//!
//! Usually submitting and executing are different programs, or at least different places: the one holds [`Jobs`], the
//! other ends in `Executor::new(&jobs).task(greet).run().await`.
//!
//! # Whose turn it is
//!
//! - Each job belongs to a **group**: a tenant, a customer. Groups with ready jobs take turns, one job each (or as many
//!   as their weight); with [`Fairness::Time`] they share the time of the slots instead.
//! - Inside a group, due retries go first, then the **counting scheme** chooses between the priorities: `4,2,1` takes
//!   four high, two normal and one low, then begins again, so that nothing starves.
//! - Inside a priority: first in, first out.
//! - [`Jobs::group`] sets weights, caps and pauses, at once and for all executors. [`Jobs::explain`] says of a job that
//!   waits why it does.
//!
//! # When something goes wrong
//!
//! A handler may use `?` on any error, which means: try again later. [`TaskError`] says something else: a permanent
//! failure, a retry at a certain time, or "not yet". A panic is a failed attempt, nothing more. Retries, delays, the
//! time limit and whether a job may run twice at all are constants of its [`Task`].
//!
//! Jobs run at least once: an executor that dies in the midst of one is noticed by the others, and the job runs again.
//! Handlers whose work must not be repeated set [`Task::RESTARTABLE`] to false.
//!
//! A handler that has to stop (a cancel, its time limit, a shutdown) is told by [`Context::cancelled`], and dropped if it
//! does not within the grace period.
//!
//! # How far it is
//!
//! [`Context::progress`] takes a handler's reports: as many as it likes, whole or in nested parts, with a few words about
//! the present step. Whoever looks at the job sees a percentage that never goes back and is 100 only at success. Reporting
//! also says when to stop: `progress.increment(1)?` ends a handler whose job is being cancelled.
//!
//! [`Context::log`] writes lines that are kept with the job ([`Jobs::logs`], [`Jobs::follow_logs`]); with [`log::layer`]
//! the events of `tracing` inside a handler are such lines, too. [`Jobs::attempts`] tells what became of each attempt.
//! [`Jobs::of_owner`] is a handle for one owner's requests: jobs of others do not exist there.
//!
//! # What belongs to a task
//!
//! - **Arguments.** [`Task::prepare`] checks and completes them when a job is submitted, [`Task::describe`] gives the job
//!   a subject line, [`Task::encode`] chooses how they are stored.
//! - **Limits.** [`Task::MAX_UNFINISHED`] for each owner, [`jobs::SetGroup::max_unfinished`] for a group.
//! - **Hooks** with the application's state: [`Executor::on_error`], [`Executor::on_cancelled`],
//!   [`Executor::before_delete`] run at least once, whoever made it so; [`Executor::describe_error`] finds words for people.
//! - **A transaction**: [`Submit::within`](submit::Submit::within) stores a job in a transaction of the application's own, [`Context::finish_within`]
//!   ends one there; sqlx (features `sqlx-postgres`, `sqlx-sqlite`) and tokio-postgres. On `PostgreSQL`, with
//!   [`Task::TRANSACTION`], a handler has [`Context::transaction`], which the executor begins and ends.
//! - **Blocking handlers** run on threads of their own: [`Executor::blocking_task`].
//!
//! [`Submit::inline`](submit::Submit::inline) runs a job at once, in the caller's process.
//!
//! # By the calendar
//!
//! [`Jobs::schedule`] declares a schedule: jobs that are submitted again and again, by cron, by calendar events, or after so
//! long. Any executor fires those that are due, each time once. [`Jobs::schedules`] looks at them, changes and runs them;
//! [`Context::scheduled_for`] tells a handler for which time it runs.
//!
//! ```
//! # use serde::{Deserialize, Serialize};
//! # #[derive(Serialize, Deserialize)] struct Report;
//! # impl turnabout::Task for Report { const NAME: &'static str = "report"; }
//! # async fn example(jobs: turnabout::Jobs) -> turnabout::Result<()> {
//! jobs.schedule("nightly", Report).cron("0 2 * * *").zone("Europe/Berlin").group("acme").await?;
//! # Ok(()) }
//! ```
//!
//! # In tests
//!
//! [`testing`] has jobs in memory, a clock that is moved by hand, and an executor that runs until all is done.
//!
//! # The map
//!
//! A job's path, left to right:
//!
//! | file | what it is responsible for |
//! |---|---|
//! | `submit.rs` | what may be said about a job, and the one place where that is checked |
//! | `store.rs` | where jobs live: one trait, and a folder for each store with its SQL in files |
//! | `executor/claimer.rs` | asks the store for jobs as slots become free |
//! | `turn.rs` | pure: whose turn it is; rotation, counting scheme, accounts |
//! | `executor/hand.rs` | the jobs in hand, from the claim until their end is written |
//! | `executor/attempt.rs` | one attempt as a straight line |
//! | `context.rs` | what a handler is given |
//! | `progress.rs` | pure: how far it is |
//! | `lifecycle.rs` | pure: every rule about states |
//! | `executor/finisher.rs` | writes what became of jobs, many at a time |
//! | `jobs.rs` | the handle that applications hold: submit, get, list, cancel, watch, explain |
//!
//! Beside the line: `executor/keeper.rs` (heartbeat, cancels, silent peers), `executor/reporter.rs` and
//! `executor/logger.rs` (progress, logs), `executor/sweeper.rs` (due and expired jobs), `executor/scheduler.rs` (fires schedules), `executor/hooks.rs` (runs what is
//! owed), `executor/life.rs` and `executor/shutdown.rs` (from a registration to its end), `executor/registry.rs` (the
//! tasks an executor knows), `executor/transaction.rs` (attempts that have one). The nouns: `job.rs`, `task.rs`, `hook.rs`,
//! `schedule.rs`, `group.rs`, `log.rs`, `clock.rs`, `error.rs`, `transaction.rs`.

// Modules that are hidden are no part of the API and may change with any release: the benchmarks, the laboratory and the tests
// of this repository look into them. What users need of them is named elsewhere; tests/surface.rs lists it.
pub mod clock;
mod context;
mod error;
pub mod executor;
mod failure_log;
pub mod failures;
pub mod group;
pub mod hook;
#[macro_use]
pub mod job;
pub mod jobs;
#[doc(hidden)]
pub mod lifecycle;
pub mod log;
mod meter;
pub mod progress;
pub mod retention;
pub mod schedule;
pub mod shares;
mod statement;
#[doc(hidden)]
pub mod store;
pub mod submit;
pub mod task;
pub mod testing;
#[cfg(feature = "postgres")]
pub mod transaction;
/// Without `PostgreSQL` there are no transactions for handlers.
#[cfg(not(feature = "postgres"))]
mod transaction {
    pub(crate) use crate::statement::is_collision;

    #[derive(Debug)]
    pub enum Transaction {}

    impl Transaction {
        #[expect(clippy::unused_async, reason = "as where there is a transaction")]
        pub(crate) async fn roll_back(&self) {
            match *self {}
        }
    }

    pub(crate) struct Open(pub(crate) Option<std::sync::Arc<Transaction>>);
}
#[doc(hidden)]
pub mod turn;

pub use context::{Context, HookContext};
pub use error::{Error, Result};
pub use executor::{Executor, ExecutorHandle};
pub use job::{Described, Job, JobId, Priority, State};
pub use jobs::Jobs;
pub use progress::Progress;
pub use statement::{Statement, Within};
pub use store::Submitted;
pub use submit::{Submission, Submitting};
pub use task::{Isolation, Refused, Task, TaskError, TaskResult};
#[cfg(feature = "postgres")]
pub use transaction::Transaction;
pub use turn::Fairness;

/// The code in the README and in the guide's pages about the library compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[doc = include_str!("../../../docs/guide/tasks-and-handlers.md")]
#[doc = include_str!("../../../docs/guide/progress-and-cancel.md")]
#[doc = include_str!("../../../docs/guide/testing.md")]
struct Readme;
