//! Failures in the program's own log: a line for each, but only so many in a while, so that an operator sees what goes wrong
//! and a task that always fails does not fill the disk. How many were left out is told as well.

use std::fmt::Display;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::job::{Job, JobId, State};
use crate::lifecycle::{Change, words};
use crate::meter;

/// So many are told ..
const LINES: u32 = 50;
/// .. in so long.
const WHILE: Duration = Duration::from_secs(10);
/// Of an error, so many bytes.
const ERROR: usize = 500;

static TOLD: Mutex<Window> = Mutex::new(Window::new());

/// What was told lately, by this process.
struct Window {
    begun: Option<Instant>,
    told: u32,
    untold: u64,
}

impl Window {
    const fn new() -> Self {
        Self {
            begun: None,
            told: 0,
            untold: 0,
        }
    }

    /// Whether one more may be told.
    fn admits(&mut self, now: Instant) -> bool {
        self.told += 1;
        let tell = self.told <= LINES;
        self.begun.get_or_insert(now);
        self.untold += u64::from(!tell);
        tell
    }

    /// How many were not told, once the while is over.
    fn roll(&mut self, now: Instant) -> u64 {
        if self.begun.is_none_or(|begun| now.duration_since(begun) < WHILE) {
            return 0;
        }
        std::mem::replace(self, Self::new()).untold
    }
}

/// An attempt has failed, or its job has.
pub(crate) fn tell(id: JobId, task: &str, executor: impl Display, change: &Change, error: &str) {
    tell_rest();
    let admitted = {
        let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
        told.admits(Instant::now())
    };
    if !admitted {
        meter::failures_untold(1);
        return;
    }
    let mut error = error.replace(char::is_control, " ");
    if error.len() > ERROR {
        error.truncate(error.floor_char_boundary(ERROR));
        error.push_str(" ..");
    }
    let (attempt, reason) = (change.attempts, meter::why(change.reason));
    let what = match change.state {
        State::Failed => "a job has failed",
        _ => "an attempt has failed; the job is tried again",
    };
    tracing::warn!(job = %id, task, executor = %executor, attempt, reason, error, "{what}");
}

/// Says how many were not told lately, if that is over. Called now and then.
pub(crate) fn tell_rest() {
    let untold = {
        let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
        told.roll(Instant::now())
    };
    if untold > 0 {
        tracing::warn!("{untold} more failures were not told here, since there were so many; see `turnabout failures`");
    }
}

/// Jobs were lost with their executor: they are counted, and told.
pub(crate) fn lost<'a>(executor: Uuid, jobs: impl Iterator<Item = (&'a Job, &'a Change)>) {
    for (job, change) in jobs {
        meter::lost(job, change);
        if job.state == State::Running || change.state == State::Failed {
            let error = words(job.state, change).map_or("its executor fell silent", |(error, _)| error);
            tell(job.id, &job.task, executor, change, error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_failures_are_told_and_then_how_many_were_not() {
        let mut window = Window::new();
        let begin = Instant::now();
        let told = (0..1000).filter(|_| window.admits(begin)).count();
        assert_eq!(told, LINES as usize);
        assert_eq!(window.roll(begin + WHILE / 2), 0, "the while is not over");
        assert_eq!(window.roll(begin + WHILE), 1000 - u64::from(LINES));
        assert_eq!(window.roll(begin + WHILE * 3), 0, "once");
        assert!(window.admits(begin + WHILE * 3), "another while has begun");
    }
}
