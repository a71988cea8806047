//! What handlers tell of themselves while they run, as stores are given it.

use async_trait::async_trait;
use uuid::Uuid;

use crate::error::Result;
use crate::job::JobId;
use crate::log::Line;

/// How far a held job is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The job.
    pub id: JobId,
    /// The number of the claim by which it is held.
    pub number: i64,
    /// Whole percent.
    pub percent: u8,
    /// What is being done at present.
    pub step: Option<String>,
}

/// Lines for the log of a held job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLines {
    /// The job.
    pub id: JobId,
    /// The number of the claim by which it is held.
    pub number: i64,
    /// The lines, with their numbers.
    pub lines: Vec<Line>,
}

/// What a job's log holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogEnd {
    /// The number of its last line; 0 if it has none.
    pub number: i64,
    /// How many lines there are.
    pub lines: u64,
}

/// What handlers tell of themselves, and who reads it.
#[async_trait]
pub trait Reporting {
    /// Writes how far held jobs are, for those who look. Need not survive a crash of the store; for a job that is no longer
    /// held by that claim nothing is written.
    async fn report(&self, executor: Uuid, reports: Vec<Report>) -> Result<()>;

    /// Adds lines to the logs of held jobs, or of jobs that have ended by that very claim. Lines that are there already are
    /// passed over, and so are those of jobs that others hold.
    async fn log(&self, executor: Uuid, logs: Vec<LogLines>) -> Result<()>;

    /// What the logs of these jobs hold; one answer for each, in their order.
    async fn log_ends(&self, jobs: &[JobId]) -> Result<Vec<LogEnd>>;

    /// The lines of a job's log after this number, in order.
    async fn lines(&self, job: JobId, after: i64, limit: u32) -> Result<Vec<Line>>;
}
