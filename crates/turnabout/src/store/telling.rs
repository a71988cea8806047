//! What handlers tell of themselves while they run, as stores are given it.

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
