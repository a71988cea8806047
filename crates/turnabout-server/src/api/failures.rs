//! What failed, by kind.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use turnabout::State as JobState;
use turnabout::failures::kinds;
use turnabout::store::insight::FAILURES_READ;
use turnabout::store::overview::Whose;
use utoipa::IntoParams;

use super::caller::Caller;
use super::extract::Ask;
use super::state::App;
use super::types::{Failures, Problem};

const WINDOW: Duration = Duration::from_hours(24);
const MAX_WINDOW: Duration = Duration::from_hours(31 * 24);
const MAX_KINDS: u32 = 1000;

/// Which failures.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct FailuresQuery {
    /// Of jobs of this group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<String>,
    /// Of jobs of this owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<String>,
    /// Of jobs of this task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) task: Option<String>,
    /// Of the last so long: `1 day` unless said otherwise, `31 days` at the most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) window: Option<String>,
    /// Only what failed before then: `next` of the page before. Without it, stuck jobs are counted, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<Timestamp>,
    /// How many kinds at the most: from 1 to 1000, 100 unless said otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000)]
    pub(crate) limit: Option<u32>,
}

/// What failed, by kind
///
/// Jobs that failed, by task and by code or message; numbers and ids in messages do not count. The last 10,000 failed jobs
/// are looked at, and as many that wait to be tried again; `next` goes on to older ones.
#[utoipa::path(get, path = "/api/v1/failures", tag = "summary", operation_id = "failures", params(FailuresQuery),
    responses((status = 200, body = Failures, description = "The most frequent first")))]
pub(super) async fn failures(
    State(app): State<App>,
    caller: Caller,
    Ask(query): Ask<FailuresQuery>,
) -> Result<Json<Failures>, Problem> {
    let window = match &query.window {
        Some(text) => crate::cli::duration(text).map_err(|why| Problem::invalid("window", why))?,
        None => WINDOW,
    };
    if window > MAX_WINDOW {
        return Err(Problem::invalid("window", "at most 31 days are looked at"));
    }
    let limit = query.limit.unwrap_or(100);
    if !(1..=MAX_KINDS).contains(&limit) {
        return Err(Problem::invalid(
            "limit",
            format!("{limit} is not from 1 to {MAX_KINDS}"),
        ));
    }
    let (group, owner) = caller.place(query.group, query.owner)?;
    if owner.is_some() && group.is_none() {
        return Err(Problem::invalid(
            "owner",
            "an owner is one inside a group; give the group, too",
        ));
    }
    let insight = app.jobs.insight();
    let since = insight.moment().checked_sub(window).unwrap_or(Timestamp::MIN);
    let mut found = insight.failures(&Whose { group, owner }, since, query.before).await?;
    let failed = found.iter().filter(|failure| failure.state == JobState::Failed);
    let more = failed.clone().count() >= FAILURES_READ as usize;
    let next = failed.map(|failure| failure.at).min().filter(|_| more);
    let looked_at = found.len() as u64;
    if let Some(task) = &query.task {
        found.retain(|failure| failure.task == *task);
    }
    let kinds = kinds(&found).into_iter().take(limit as usize);
    Ok(Json(Failures {
        failures: kinds.map(Into::into).collect(),
        looked_at,
        next,
    }))
}
