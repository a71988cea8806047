//! What handlers write about their work: lines with a level, in order, kept with the job.
//!
//! A line goes into the buffer of its job, which has a bound; the executor stores what has gathered, many lines and many
//! jobs at a time. Where lines come faster than they can be stored the oldest are dropped, and a line in their place says
//! how many. With [`layer`] the events of `tracing` inside a handler are lines, too.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

mod buffer;
#[cfg(feature = "log-layer")]
mod layer;
#[cfg(test)]
mod tests;

#[cfg(feature = "log-layer")]
pub use layer::{LogLayer, layer};

pub(crate) use buffer::{Buffer, Taken};
#[cfg(feature = "log-layer")]
pub(crate) use layer::entering;

/// The target of the events that [`JobLog`] sends to `tracing`.
const TARGET: &str = "turnabout::log";

coded! {
    /// How much a line matters.
    Level {
        /// Every single step.
        Trace = 1 "trace",
        /// What helps to find a fault.
        Debug = 2 "debug",
        /// What is done.
        Info = 3 "info",
        /// What is not as it should be.
        Warn = 4 "warn",
        /// What has gone wrong.
        Error = 5 "error",
    }
}

/// One line of a job's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Line {
    /// Its number in the log of its job. Later lines have higher ones; numbers that are missing were dropped.
    pub number: i64,
    /// Which attempt wrote it.
    pub attempt: u32,
    /// When it was written.
    pub time: Timestamp,
    /// How much it matters.
    pub level: Level,
    /// What it says.
    pub message: String,
}

/// How much is kept of what handlers write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogLimits {
    /// So many lines of a job wait to be stored; then the oldest are dropped (500).
    pub buffer: usize,
    /// A line has no more bytes; what is longer is cut (4096).
    pub line: usize,
    /// A job has no more lines; further ones are dropped (10,000).
    pub job: usize,
}

impl Default for LogLimits {
    fn default() -> Self {
        Self {
            buffer: 500,
            line: 4096,
            job: 10_000,
        }
    }
}

/// Writes to a job's log. Cheap to clone, and to be used from anywhere: a spawned task, a thread.
///
/// ```
/// # use turnabout::{Context, TaskResult};
/// async fn read(cx: Context, pages: Vec<String>) -> TaskResult {
///     cx.log().info(format_args!("there are {} pages", pages.len()));
///     for (number, page) in pages.iter().enumerate() {
///         if page.is_empty() {
///             cx.log().warn(format_args!("page {number} is empty"));
///         }
///     }
///     Ok(())
/// }
/// ```
///
/// Each line is an event of `tracing` as well.
#[derive(Clone)]
pub struct JobLog {
    buffer: Arc<Buffer>,
}

impl JobLog {
    pub(crate) fn new(buffer: Buffer) -> Self {
        Self {
            buffer: Arc::new(buffer),
        }
    }

    pub(crate) fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Writes a line.
    pub fn log(&self, level: Level, message: impl fmt::Display) {
        let message = message.to_string();
        match level {
            Level::Trace => tracing::trace!(target: TARGET, "{message}"),
            Level::Debug => tracing::debug!(target: TARGET, "{message}"),
            Level::Info => tracing::info!(target: TARGET, "{message}"),
            Level::Warn => tracing::warn!(target: TARGET, "{message}"),
            Level::Error => tracing::error!(target: TARGET, "{message}"),
        }
        self.buffer.push(level, message);
    }

    /// Every single step.
    pub fn trace(&self, message: impl fmt::Display) {
        self.log(Level::Trace, message);
    }

    /// What helps to find a fault.
    pub fn debug(&self, message: impl fmt::Display) {
        self.log(Level::Debug, message);
    }

    /// What is done.
    pub fn info(&self, message: impl fmt::Display) {
        self.log(Level::Info, message);
    }

    /// What is not as it should be.
    pub fn warn(&self, message: impl fmt::Display) {
        self.log(Level::Warn, message);
    }

    /// What has gone wrong.
    pub fn error(&self, message: impl fmt::Display) {
        self.log(Level::Error, message);
    }
}

impl fmt::Debug for JobLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JobLog")
    }
}
