//! One line of the side log, and the log itself: a file that every process appends to, one write a line.
//!
//! Times are nanoseconds of the machine's monotonic clock, which all processes share.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use turnabout::job::Reason;
use turnabout::{JobId, State};
use uuid::Uuid;

use crate::kind::Kind;

/// A moment of the machine's monotonic clock, in nanoseconds.
pub type Moment = u64;

/// The present moment.
pub fn now() -> Moment {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A duration in the unit of [`Moment`].
pub const fn millis(millis: u64) -> Moment {
    millis * 1_000_000
}

/// How a handler ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// It returned a result.
    Done,
    /// It returned an error.
    Failed,
    /// It was about to panic.
    Panicking,
    /// Its future was dropped.
    Dropped,
}

/// What a cancel was answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// It is cancelled, or will be.
    Accepted,
    /// It has ended in another way.
    NotCancellable,
    /// No answer: it may or may not have been noted.
    Unknown,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Record {
    /// What the run was begun with.
    Run {
        /// Decides everything that is decided by chance.
        seed: u64,
        /// Which store.
        store: String,
        /// How long a lease lasts.
        lease: Moment,
        /// Groups with a cap.
        group_caps: Vec<(String, usize)>,
        /// Tasks with a cap.
        task_caps: Vec<(String, usize)>,
    },
    /// A worker process begins.
    Process {
        /// When.
        at: Moment,
        /// Which: counted through the run.
        process: u32,
        /// The executor's id.
        name: String,
        /// How many jobs it may run at a time.
        slots: usize,
    },
    /// A worker process is gone.
    Gone {
        /// When that was noticed.
        at: Moment,
        /// Which.
        process: u32,
        /// How it ended.
        how: String,
    },
    /// A second executor with the id of a living one was started.
    Impostor {
        /// When it was done.
        at: Moment,
        /// The id.
        name: String,
        /// Its process.
        process: u32,
        /// The process of the living one.
        first: u32,
    },
    /// A lease was renewed.
    Renewed {
        /// Whose process.
        process: u32,
        /// Whose lease.
        incarnation: Uuid,
        /// As of when.
        at: Moment,
    },
    /// A handler began.
    Began {
        /// When.
        at: Moment,
        /// In which process.
        process: u32,
        /// By which lease.
        incarnation: Uuid,
        /// Counted through the process.
        run: u32,
        /// Which job.
        job: JobId,
        /// The attempt's number, as the handler sees it.
        attempt: u32,
    },
    /// A handler ended.
    Ended {
        /// When.
        at: Moment,
        /// In which process.
        process: u32,
        /// Which of its runs.
        run: u32,
        /// How.
        how: How,
    },
    /// A submit was answered.
    Submitted {
        /// When it was first sent.
        from: Moment,
        /// When it was answered.
        at: Moment,
        /// The job that was asked for.
        wanted: JobId,
        /// The job that was given.
        job: JobId,
        /// Whether it is new.
        new: bool,
        /// Its kind.
        kind: Kind,
        /// Its group.
        group: String,
        /// Its unique key.
        unique: Option<String>,
        /// How long after the submit it may start.
        delay: Moment,
    },
    /// A cancel was answered.
    Cancel {
        /// When it was sent.
        from: Moment,
        /// When it was answered.
        at: Moment,
        /// Which job.
        job: JobId,
        /// How.
        answer: Answer,
    },
    /// Someone looked, and the job had ended.
    Seen {
        /// When the answer came.
        at: Moment,
        /// Which job.
        job: JobId,
        /// How it had ended.
        state: State,
    },
    /// The job as the store has it in the end.
    Final {
        /// Which job.
        job: JobId,
        /// Its state.
        state: State,
        /// Why.
        reason: Option<Reason>,
        /// Its attempts.
        attempts: u32,
        /// How often it was lost.
        losses: u32,
        /// What its handler returned: the job's id.
        result: Option<String>,
        /// Why it waits, if it does.
        note: Option<String>,
    },
    /// What the store holds in the end.
    Left {
        /// Jobs in executors' hands.
        held: u64,
        /// Jobs that have not ended.
        unfinished: u64,
    },
    /// An effect of a handler's transaction, as the store has it in the end.
    Effect {
        /// Which job.
        job: JobId,
        /// How often it is there.
        times: u64,
    },
    /// What became of a time of a schedule (or of several missed ones), as the store has it.
    Fired {
        /// The schedule's name.
        schedule: String,
        /// Counted through the schedule.
        number: i64,
        /// The time, in seconds of the calendar.
        time: i64,
        /// How many times.
        count: u32,
        /// What became of it.
        became: String,
        /// The job.
        job: Option<JobId>,
    },
    /// A schedule as the store has it in the end.
    Schedule {
        /// Its name.
        schedule: String,
        /// Its first time, in seconds of the calendar.
        first: i64,
        /// The last time that has come.
        last: i64,
        /// How many seconds lie between two times.
        every: i64,
    },
    /// A job that says that a schedule submitted it.
    Scheduled {
        /// The schedule's name.
        schedule: String,
        /// For which time, in seconds of the calendar.
        time: i64,
        /// Which job.
        job: JobId,
    },
    /// The nemesis did something.
    Fault {
        /// When.
        at: Moment,
        /// What kind of thing.
        kind: String,
        /// To whom, and for how long.
        note: String,
    },
    /// After a fault by itself, all workers are well again, or have not been for long.
    Recovered {
        /// When.
        at: Moment,
        /// What the fault was.
        deed: String,
        /// How long that took.
        took: Moment,
        /// Who is not well, and why.
        ill: Option<String>,
    },
    /// A part of the run begins.
    Phase {
        /// When.
        at: Moment,
        /// Its name.
        name: String,
        /// Whether everyone is left in peace.
        calm: bool,
    },
}

/// The side log, to be written.
#[derive(Debug)]
pub struct SideLog {
    file: File,
}

impl SideLog {
    /// Opens it, and makes it if there is none.
    pub fn open(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        Ok(Self {
            file: file.with_context(|| format!("cannot open {}", path.display()))?,
        })
    }

    /// Appends a record. Panics if that fails: a history with gaps proves nothing.
    pub fn write(&self, record: &Record) {
        let mut line = serde_json::to_vec(record).expect("a record can be written as JSON");
        line.push(b'\n');
        // A single write to a file opened for appending is not torn apart by those of others.
        let written = (&self.file).write(&line).expect("the side log can be written");
        assert_eq!(written, line.len(), "the side log took a part of a line");
    }
}

/// Reads a whole side log.
pub fn read(path: &Path) -> Result<Vec<Record>> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    BufReader::new(file)
        .lines()
        .enumerate()
        .map(|(number, line)| serde_json::from_str(&line?).with_context(|| format!("line {}", number + 1)))
        .collect()
}
