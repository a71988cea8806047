//! How the whole is doing: by task, by group, and how fast.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use turnabout::store::overview::{GroupSum, Sum, Whose};
use utoipa::IntoParams;

use super::caller::Caller;
use super::extract::Ask;
use super::state::App;
use super::types::{GroupSummary, Groups, Problem, Rate, Summary, TaskSummary};

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
    let (sums, tally) = tokio::try_join!(app.jobs.summary(&whose, window), app.jobs.tally(&whose, RATE))?;
    Ok(Json(Summary {
        tasks: sums.into_iter().map(Into::into).collect(),
        rate: Rate {
            seconds: RATE.as_secs(),
            submitted: tally.submitted,
            success: tally.success,
            failed: tally.failed,
            cancelled: tally.cancelled,
        },
    }))
}

impl From<Sum> for TaskSummary {
    fn from(sum: Sum) -> Self {
        Self {
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
}

/// Which groups.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct GroupsQuery {
    /// The next page: `next` of the page before.
    after: Option<String>,
    /// How many at the most: from 1 to 1000, 100 unless said otherwise.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// Groups with unfinished jobs
#[utoipa::path(get, path = "/api/v1/groups", tag = "summary", operation_id = "groups", params(GroupsQuery),
    responses((status = 200, body = Groups, description = "A page of groups, by name")))]
pub(super) async fn groups(
    State(app): State<App>,
    caller: Caller,
    Ask(query): Ask<GroupsQuery>,
) -> Result<Json<Groups>, Problem> {
    let (group, owner) = caller.place(None, None)?;
    let limit = query.limit.unwrap_or(100);
    let after = query.after.unwrap_or_default();
    super::extract::no_nul("after", &after)?;
    let whose = Whose { group, owner };
    let (sums, settings) = tokio::try_join!(app.jobs.groups(&whose, &after, limit), app.jobs.settings())?;
    let next = sums
        .last()
        .filter(|_| sums.len() == limit as usize)
        .map(|sum| sum.group.clone());
    let view = |sum: GroupSum| {
        let set = settings.group(&sum.group);
        GroupSummary {
            group: sum.group,
            ready: sum.ready,
            parked: sum.parked,
            held: sum.held,
            items: sum.items,
            oldest: sum.oldest,
            weight: set.weight,
            max_running: set.max_running,
            max_unfinished: set.max_unfinished,
            paused: set.paused,
        }
    };
    Ok(Json(Groups {
        groups: sums.into_iter().map(view).collect(),
        next,
    }))
}
