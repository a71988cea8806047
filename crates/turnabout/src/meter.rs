//! Numbers about this process, for whoever has installed a recorder of the crate `metrics`. Without the feature of that name
//! there are none; without a recorder they cost next to nothing.
//!
//! What is labelled is bounded: of tasks, which callers can name as they like, so many have numbers of their own.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::error::{Error, Result};
use crate::job::{Job, Reason, State};
use crate::lifecycle::Change;
use crate::store::{Changed, Submitted};

/// So many tasks have numbers of their own; the others have theirs together.
const TASKS: usize = 200;
/// What those are called.
const OTHERS: &str = "(others)";

macro_rules! count {
    ($by:expr, $name:literal $(, $label:literal => $value:expr)*) => {{
        #[cfg(feature = "metrics")]
        metrics::counter!($name $(, $label => $value)*).increment($by);
        #[cfg(not(feature = "metrics"))]
        let _ = ($by $(, $value)*);
    }};
}

/// A task, as it is labelled.
fn label(task: &str) -> String {
    static NAMED: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
    let named = named.get_or_insert_default();
    if named.contains(task) || (named.len() < TASKS && named.insert(task.to_owned())) {
        task.to_owned()
    } else {
        OTHERS.to_owned()
    }
}

/// Why, as it is labelled.
pub(crate) fn why(reason: Option<Reason>) -> &'static str {
    reason.map_or("none", Reason::as_str)
}

/// Jobs of these tasks were submitted, and this became of them.
pub(crate) fn submitted<'a>(tasks: impl Iterator<Item = &'a str>, answers: &[Result<Submitted>]) {
    let mut new = tasks
        .zip(answers)
        .filter(|(_, answer)| matches!(answer, Ok(answer) if answer.new))
        .map(|(task, _)| task)
        .peekable();
    while let Some(task) = new.next() {
        let mut jobs: u64 = 1;
        while new.next_if_eq(&task).is_some() {
            jobs += 1;
        }
        count!(jobs, "turnabout_jobs_submitted_total", "task" => label(task));
    }
}

/// A job has ended.
pub(crate) fn ended(task: &str, state: State, reason: Option<Reason>) {
    count!(1, "turnabout_jobs_ended_total", "task" => label(task), "state" => state.as_str(), "reason" => why(reason));
}

/// Something happened to jobs: some of them have ended by that.
pub(crate) fn changed(jobs: &[Changed]) {
    jobs.iter()
        .filter_map(Changed::done)
        .for_each(|(job, change)| became(job, change));
}

fn became(job: &Job, change: &Change) {
    if change.state.is_final() && !job.state.is_final() {
        ended(&job.task, change.state, change.reason);
    }
}

/// A job was lost with its executor. If it ran it had an attempt, which nobody else counts.
pub(crate) fn lost(job: &Job, change: &Change) {
    if job.state == State::Running {
        count!(1, "turnabout_attempts_ended_total", "task" => label(&job.task),
            "state" => change.state.as_str(), "reason" => why(change.reason));
    }
    became(job, change);
}

/// An executor fell silent, or was started anew before anyone noticed.
pub(crate) fn executor_lost() {
    count!(1, "turnabout_executors_lost_total");
}

/// Lines of jobs' logs were dropped.
pub(crate) fn lines_dropped(lines: usize) {
    if lines > 0 {
        count!(lines as u64, "turnabout_log_lines_dropped_total");
    }
}

/// Failures were not told in the program's own log, since there were so many.
pub(crate) fn failures_untold(failures: u64) {
    count!(failures, "turnabout_failures_untold_total");
}

/// Calls the store: counts, and looks at the clock.
pub(crate) async fn call<T>(doing: &'static str, call: impl Future<Output = Result<T>>) -> Result<T> {
    let begun = Instant::now();
    let answer = call.await;
    let errors = u64::from(matches!(answer, Err(Error::Store { .. })));
    count!(1, "turnabout_store_calls_total", "call" => doing);
    count!(errors, "turnabout_store_errors_total", "call" => doing);
    #[cfg(feature = "metrics")]
    metrics::histogram!("turnabout_store_call_seconds").record(begun.elapsed());
    #[cfg(not(feature = "metrics"))]
    let _ = begun;
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_tasks_have_numbers_of_their_own() {
        let labels: HashSet<String> = (0..10_000).map(|task| label(&format!("task-{task}"))).collect();
        assert_eq!(labels.len(), TASKS + 1);
        assert!(labels.contains(OTHERS));
        assert_eq!(label("task-0"), "task-0", "who had one keeps it");
    }
}
