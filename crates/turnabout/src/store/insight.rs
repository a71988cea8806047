//! What operators ask of a store on a bad day: who holds slots, who waits, what ended and failed lately, and how the
//! database itself is doing. Every question is bounded: none costs more because the backlog is long.

use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::overview::Whose;
use crate::error::Result;
use crate::job::{JobId, Lane, Reason, State};

/// So many jobs of each kind are looked at to find out what failed.
pub const FAILURES_READ: u32 = 10_000;
/// Of an error, so many characters are read.
pub(crate) const ERROR_READ: usize = 400;

/// Jobs of one group and task that executors hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The group.
    pub group: String,
    /// The task.
    pub task: String,
    /// The queue.
    pub queue: String,
    /// How many jobs executors hold.
    pub jobs: u64,
    /// How many of these are known to have started.
    pub started: u64,
    /// When the first of these started.
    pub since: Option<Timestamp>,
}

/// Jobs of one task that one executor holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeldBy {
    /// The task.
    pub task: String,
    /// The executor.
    pub executor: Uuid,
    /// How many jobs of the task it holds.
    pub jobs: u64,
}

/// The first job of a stream: the next one of its queue, group, lane and task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The queue.
    pub queue: String,
    /// The group.
    pub group: String,
    /// The lane.
    pub lane: Lane,
    /// The task.
    pub task: String,
    /// The job's place: it changes when the stream moves on.
    pub seq: i64,
    /// When the job was submitted.
    pub submitted: Timestamp,
}

/// Where jobs are ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyPlace {
    /// The queue.
    pub queue: String,
    /// The group.
    pub group: String,
    /// The task; none: any.
    pub task: Option<String>,
}

/// A job that has ended lately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its group.
    pub group: String,
    /// Its task.
    pub task: String,
    /// How it ended.
    pub state: State,
    /// Why.
    pub reason: Option<Reason>,
    /// From the submit to the start of its last attempt, if it had one.
    pub waited: Option<Duration>,
    /// How long its last attempt ran.
    pub ran: Option<Duration>,
    /// How many attempts counted.
    pub attempts: u32,
    /// When it ended.
    pub at: Timestamp,
}

/// How many jobs are ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// So many.
    pub ready: u64,
    /// Whether they were counted. Otherwise this is an estimate: there are too many to count.
    pub exact: bool,
}

/// A job that has failed: for good, or until it is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The job.
    pub id: JobId,
    /// Its task.
    pub task: String,
    /// Failed or stuck.
    pub state: State,
    /// Why.
    pub reason: Option<Reason>,
    /// The error, for programs.
    pub code: Option<String>,
    /// The error for people, or else its beginning.
    pub message: Option<String>,
    /// When it failed; of a stuck job, when its last attempt began.
    pub at: Timestamp,
}

/// A transaction that has been open for long: while it is, dead rows cannot be cleaned up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenTransaction {
    /// Whose it is: user, program and process.
    pub who: String,
    /// For how long.
    pub age: Duration,
    /// The beginning of its last statement.
    pub statement: String,
}

/// Rows of a table that are in use, and such as are dead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableRows {
    /// The table.
    pub table: String,
    /// About so many are in use.
    pub live: u64,
    /// About so many are dead.
    pub dead: u64,
}

/// How the database itself is doing. What a store does not have is left empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checkup {
    /// The version of its schema, and the newest that this program knows.
    pub schema: (i64, i64),
    /// How far its clock is ahead of this machine's.
    pub clock_ahead: SignedDuration,
    /// Connections in use, and how many there may be.
    pub connections: Option<(u64, u64)>,
    /// The tables that every take reads.
    pub tables: Vec<TableRows>,
    /// The oldest open transaction that keeps dead rows from being cleaned up.
    pub oldest: Option<OpenTransaction>,
    /// The bytes of the database, and of its write-ahead log if that is a file beside it.
    pub bytes: (u64, Option<u64>),
    /// Where the database is on this machine's disk, if it is.
    pub file: Option<std::path::PathBuf>,
    /// Whether nothing can be written.
    pub read_only: bool,
}

/// The connections that this process has to its database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Connections {
    /// In use.
    pub busy: usize,
    /// Open, and used by nobody.
    pub idle: usize,
    /// There may be so many.
    pub most: usize,
    /// So many callers wait for one.
    pub waiting: usize,
}

/// What operators ask of a store on a bad day.
#[async_trait]
pub trait Insight: Send + Sync {
    /// The present moment by the clock by which jobs end.
    fn moment(&self) -> Timestamp;

    /// What executors hold, by group and task, the most first.
    async fn held(&self) -> Result<Vec<Held>>;

    /// What executors hold, by task and executor.
    async fn held_by(&self) -> Result<Vec<HeldBy>>;

    /// The streams of ready jobs, by queue, group, lane and task, and the head of each. Paused ones are among them.
    async fn heads(&self, limit: u32) -> Result<Vec<Head>>;

    /// How many jobs are ready in these places; each counted up to `limit`.
    async fn ready(&self, places: &[ReadyPlace], limit: u32) -> Result<Vec<u64>>;

    /// How many jobs are ready in all: counted up to `limit`.
    async fn backlog(&self, limit: u32) -> Result<Backlog>;

    /// Jobs that ended from one moment (included) to another, up to `limit` of them.
    async fn ended(&self, from: Timestamp, until: Timestamp, limit: u32) -> Result<Vec<Ended>>;

    /// Jobs that failed before `until`, newest first, up to `limit`; and, unless a page is asked for, those that are stuck.
    async fn failures(&self, whose: &Whose, since: Timestamp, until: Option<Timestamp>) -> Result<Vec<Failure>>;

    /// How the database itself is doing.
    async fn checkup(&self) -> Result<Checkup>;

    /// The connections of this process, where a store has a pool of them.
    fn connections(&self) -> Option<Connections> {
        None
    }
}
