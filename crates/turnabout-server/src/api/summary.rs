//! How the whole is doing: by task, and how fast.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use turnabout::jobs::{Sum, Whose};
use turnabout::{Priority, State as JobState};
use utoipa::IntoParams;

use super::caller::Caller;
use super::extract::Ask;
use super::state::App;
use super::types::{Problem, Rate, Summary, TaskSummary};

/// Rates are taken over so long.
pub(super) const RATE: Duration = Duration::from_mins(1);
/// Ended jobs are counted if they ended within this time, unless said otherwise.
pub(super) const WINDOW: Duration = Duration::from_hours(1);
const MAX_WINDOW: Duration = Duration::from_hours(24);
/// So many tasks are named.
const TASKS: usize = 1000;

/// Whose jobs, and since when.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct SummaryQuery {
    /// Those of this group.
    group: Option<String>,
    /// Those of this owner.
    owner: Option<String>,
    /// Jobs that succeeded or were cancelled are counted if they ended within this time: `1 hour` unless said otherwise, `1
    /// day` at the most. Failed jobs are all counted that are kept.
    window: Option<String>,
}

/// Sums by task, priority and state
#[utoipa::path(get, path = "/api/v1/summary", tag = "summary", operation_id = "summary", params(SummaryQuery),
    responses((status = 200, body = Summary, description = "Unfinished jobs, those that have ended lately, and rates")))]
pub(super) async fn summary(
    State(app): State<App>,
    caller: Caller,
    Ask(query): Ask<SummaryQuery>,
) -> Result<Json<Summary>, Problem> {
    let window = match &query.window {
        Some(text) => crate::cli::duration(text).map_err(|why| Problem::invalid("window", why))?,
        None => WINDOW,
    };
    if window > MAX_WINDOW {
        return Err(Problem::invalid("window", "at most 1 day is added up"));
    }
    let (group, owner) = caller.place(query.group, query.owner)?;
    let whose = Whose { group, owner };
    let ((tasks, left_out), tally) = tokio::try_join!(app.summaries(&whose, window), app.rates(&whose, RATE))?;
    Ok(Json(Summary {
        tasks,
        left_out,
        rate: Rate {
            seconds: RATE.as_secs(),
            submitted: tally.submitted,
            success: tally.success,
            failed: tally.failed,
            cancelled: tally.cancelled,
        },
    }))
}

/// What there is of each task. Successes and cancelled jobs are those of the window; what failed matters until it is forgotten.
pub(super) fn of_tasks(mut sums: Vec<Sum>, failed: Vec<Sum>, window: Duration) -> Vec<TaskSummary> {
    let lately: HashMap<(String, Priority), Ended> = sums
        .extract_if(.., |sum| sum.state == JobState::Failed)
        .map(|sum| ((sum.task.clone(), sum.priority), Ended::of(&sum)))
        .collect();
    let mut tasks: Vec<TaskSummary> = Vec::with_capacity(sums.len() + failed.len());
    for sum in sums {
        let ended = sum.state.is_final().then(|| Ended::of(&sum));
        tasks.push(task_summary(sum, ended, window));
    }
    for sum in failed {
        let ended = lately.get(&(sum.task.clone(), sum.priority)).copied();
        tasks.push(task_summary(sum, Some(ended.unwrap_or_default()), window));
    }
    tasks.sort_by(|a, b| (&a.task, a.priority, a.state).cmp(&(&b.task, b.priority, b.state)));
    tasks
}

/// The tasks with the most jobs, and how many others were left out: names are the submitters', and a summary is no place to keep
/// them.
pub(super) fn bounded(mut tasks: Vec<TaskSummary>) -> (Vec<TaskSummary>, u64) {
    let mut jobs: HashMap<&str, u64> = HashMap::new();
    for sum in &tasks {
        *jobs.entry(&sum.task).or_default() += sum.jobs;
    }
    if jobs.len() <= TASKS {
        return (tasks, 0);
    }
    let mut largest: Vec<(&str, u64)> = jobs.into_iter().collect();
    largest.sort_unstable_by(|(a, m), (b, n)| n.cmp(m).then(a.cmp(b)));
    let left_out: HashSet<String> = largest.drain(TASKS..).map(|(task, _)| task.to_owned()).collect();
    tasks.retain(|sum| !left_out.contains(&sum.task));
    (tasks, left_out.len() as u64)
}

/// What has ended within the window.
#[derive(Clone, Copy, Default)]
struct Ended {
    jobs: u64,
    items: u64,
}

impl Ended {
    fn of(sum: &Sum) -> Self {
        Self {
            jobs: sum.jobs,
            items: sum.items,
        }
    }
}

fn task_summary(sum: Sum, ended: Option<Ended>, window: Duration) -> TaskSummary {
    let minutes = window.as_secs_f64() / 60.0;
    TaskSummary {
        in_window: ended.map(|ended| ended.jobs),
        items_per_minute: ended
            .filter(|_| minutes > 0.0)
            .map(|ended| ended.items as f64 / minutes),
        failures: sum.failures(),
        average_items: sum.items as f64 / sum.jobs.max(1) as f64,
        task: sum.task,
        priority: sum.priority,
        state: sum.state,
        jobs: sum.jobs,
        items: sum.items,
        oldest: sum.oldest,
        first_reserved: sum.first_started,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_names_the_tasks_with_the_most_jobs() {
        let sum = |task: String, jobs: u64| TaskSummary {
            task,
            priority: Priority::Normal,
            state: JobState::Waiting,
            jobs,
            in_window: None,
            items: jobs,
            average_items: 1.0,
            items_per_minute: None,
            failures: 0,
            oldest: None,
            first_reserved: None,
        };
        let all = |many: usize| {
            let few = (0..many).map(|n| sum(format!("few {n:05}"), 1));
            few.chain((0..3).map(|_| sum("many".to_owned(), 1))).collect::<Vec<_>>()
        };
        let (tasks, left_out) = bounded(all(TASKS - 1));
        assert_eq!((tasks.len(), left_out), (TASKS + 2, 0));
        let (tasks, left_out) = bounded(all(50_000));
        assert_eq!((tasks.len(), left_out), (TASKS + 2, 49_001));
        assert_eq!(tasks.iter().filter(|sum| sum.task == "many").count(), 3);
        assert_eq!(tasks[TASKS - 2].task, "few 00998");
    }
}
