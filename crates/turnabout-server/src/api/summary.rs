//! How the whole is doing: by task, and how fast.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use turnabout::jobs::{Sum, Whose};
use utoipa::IntoParams;

use super::caller::Caller;
use super::extract::Ask;
use super::state::App;
use super::types::{Problem, Rate, Summary, TaskSummary};

/// Rates are taken over so long.
const RATE: Duration = Duration::from_mins(1);
/// Ended jobs are counted if they ended within this time, unless said otherwise.
const WINDOW: Duration = Duration::from_hours(1);
const MAX_WINDOW: Duration = Duration::from_hours(24);

/// Whose jobs, and since when.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct SummaryQuery {
    /// Those of this group.
    group: Option<String>,
    /// Those of this owner.
    owner: Option<String>,
    /// Ended jobs are counted if they ended within this time: `1 hour` unless said otherwise, `1 day` at the most.
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
    let (sums, tally) = tokio::try_join!(app.task_sums(&whose, window), app.rates(&whose, RATE))?;
    Ok(Json(Summary {
        tasks: sums.into_iter().map(|sum| task_summary(sum, window)).collect(),
        rate: Rate {
            seconds: RATE.as_secs(),
            submitted: tally.submitted,
            success: tally.success,
            failed: tally.failed,
            cancelled: tally.cancelled,
        },
    }))
}

/// What there is of a task; ended jobs are those of this time.
fn task_summary(sum: Sum, window: Duration) -> TaskSummary {
    let minutes = window.as_secs_f64() / 60.0;
    let ended = sum.state.is_final() && minutes > 0.0;
    TaskSummary {
        items_per_minute: ended.then(|| sum.items as f64 / minutes),
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
