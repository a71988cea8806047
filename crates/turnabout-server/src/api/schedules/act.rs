//! What makes schedules run, or not: pause and resume, now, for times of the past; and what became of their times.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use super::{WhoseQuery, key, next_times};
use crate::api::caller::Caller;
use crate::api::extract::{Ask, Body, Name};
use crate::api::state::App;
use crate::api::types::{BackfillRequest, NextTimes, PauseRequest, Problem, RunRequest, RunView, Runs, ScheduleView};

/// Pause a schedule
///
/// Times that come meanwhile have no job, also later.
#[utoipa::path(post, path = "/api/v1/schedules/{name}/pause", tag = "schedules", operation_id = "pauseSchedule",
    params(("name" = String, Path, description = "The schedule"), WhoseQuery), request_body = PauseRequest,
    responses((status = 200, body = ScheduleView, description = "It is paused")))]
pub(in crate::api) async fn pause(
    State(app): State<App>,
    caller: Caller,
    Name(name): Name<String>,
    Ask(whose): Ask<WhoseQuery>,
    Body(PauseRequest { note }): Body<PauseRequest>,
) -> Result<Json<ScheduleView>, Problem> {
    let key = key(&caller, name, whose)?;
    let by = Some(caller.name.as_str());
    Ok(Json(app.jobs.schedules().pause(key, note.as_deref(), by).await?.into()))
}

/// Resume a schedule
///
/// From its next time on.
#[utoipa::path(post, path = "/api/v1/schedules/{name}/resume", tag = "schedules", operation_id = "resumeSchedule",
    params(("name" = String, Path, description = "The schedule"), WhoseQuery),
    responses((status = 200, body = ScheduleView, description = "It goes on")))]
pub(in crate::api) async fn resume(
    State(app): State<App>,
    caller: Caller,
    Name(name): Name<String>,
    Ask(whose): Ask<WhoseQuery>,
) -> Result<Json<ScheduleView>, Problem> {
    let key = key(&caller, name, whose)?;
    Ok(Json(app.jobs.schedules().resume(key).await?.into()))
}

/// Reset a schedule
///
/// Forgets what operators have set: a declared schedule is again as it was declared, and not paused.
#[utoipa::path(post, path = "/api/v1/schedules/{name}/reset", tag = "schedules", operation_id = "resetSchedule",
    params(("name" = String, Path, description = "The schedule"), WhoseQuery),
    responses((status = 200, body = ScheduleView, description = "It is as it was declared")))]
pub(in crate::api) async fn reset(
    State(app): State<App>,
    caller: Caller,
    Name(name): Name<String>,
    Ask(whose): Ask<WhoseQuery>,
) -> Result<Json<ScheduleView>, Problem> {
    let key = key(&caller, name, whose)?;
    Ok(Json(app.jobs.schedules().reset(key).await?.into()))
}

/// Run a schedule now
///
/// Submits one of its jobs, beside its times.
#[utoipa::path(post, path = "/api/v1/schedules/{name}/run", tag = "schedules", operation_id = "runSchedule",
    params(("name" = String, Path, description = "The schedule"), WhoseQuery), request_body = RunRequest,
    responses((status = 200, body = RunView, description = "The job is submitted")))]
pub(in crate::api) async fn run(
    State(app): State<App>,
    caller: Caller,
    Name(name): Name<String>,
    Ask(whose): Ask<WhoseQuery>,
    Body(RunRequest { force }): Body<RunRequest>,
) -> Result<Json<RunView>, Problem> {
    let key = key(&caller, name, whose)?;
    Ok(Json(app.jobs.schedules().run(&key, force).await?.into()))
}

/// Make up for times of the past
///
/// Submits a job for each time from one moment to another, all at once, except for times whose job is still in the history.
#[utoipa::path(post, path = "/api/v1/schedules/{name}/backfill", tag = "schedules", operation_id = "backfillSchedule",
    params(("name" = String, Path, description = "The schedule"), WhoseQuery), request_body = BackfillRequest,
    responses((status = 200, body = Runs, description = "The jobs are submitted")))]
pub(in crate::api) async fn backfill(
    State(app): State<App>,
    caller: Caller,
    Name(name): Name<String>,
    Ask(whose): Ask<WhoseQuery>,
    Body(BackfillRequest { from, to }): Body<BackfillRequest>,
) -> Result<Json<Runs>, Problem> {
    let key = key(&caller, name, whose)?;
    let runs = app.jobs.schedules().backfill(&key, from, to).await?;
    Ok(Json(Runs {
        runs: runs.into_iter().map(Into::into).collect(),
        next: None,
    }))
}

/// How many times to come.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(in crate::api) struct NextQuery {
    /// The group that it belongs to.
    group: Option<String>,
    /// The owner, inside the group, that it belongs to.
    owner: Option<String>,
    /// How many: 5 unless said otherwise, 100 at the most.
    #[param(maximum = 100)]
    count: Option<u32>,
}

/// The next times of a schedule
#[utoipa::path(get, path = "/api/v1/schedules/{name}/next", tag = "schedules", operation_id = "nextTimes",
    params(("name" = String, Path, description = "The schedule"), NextQuery),
    responses((status = 200, body = NextTimes, description = "Its next times, whether it is paused or not")))]
pub(in crate::api) async fn next(
    State(app): State<App>,
    caller: Caller,
    Name(name): Name<String>,
    Ask(query): Ask<NextQuery>,
) -> Result<Json<NextTimes>, Problem> {
    let whose = WhoseQuery {
        group: query.group,
        owner: query.owner,
    };
    let key = key(&caller, name, whose)?;
    let times = app.jobs.schedules().get(&key).await?.times()?;
    next_times(&times, query.count).map(Json)
}

/// Which part of a history.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(in crate::api) struct HistoryQuery {
    /// The group that it belongs to.
    group: Option<String>,
    /// The owner, inside the group, that it belongs to.
    owner: Option<String>,
    /// The next page: `next` of the page before.
    before: Option<i64>,
    /// How many at the most: 20 unless said otherwise, 100 at the most.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<u32>,
}

/// What became of the times of a schedule
///
/// The last 100, newest first: fired, skipped, missed or refused, how late, and what became of the jobs.
#[utoipa::path(get, path = "/api/v1/schedules/{name}/history", tag = "schedules", operation_id = "scheduleHistory",
    params(("name" = String, Path, description = "The schedule"), HistoryQuery),
    responses((status = 200, body = Runs, description = "A page of its history")))]
pub(in crate::api) async fn history(
    State(app): State<App>,
    caller: Caller,
    Name(name): Name<String>,
    Ask(query): Ask<HistoryQuery>,
) -> Result<Json<Runs>, Problem> {
    let limit = query.limit.unwrap_or(20);
    if !(1..=100).contains(&limit) {
        return Err(Problem::invalid("limit", "from 1 to 100 runs fit on a page"));
    }
    let whose = WhoseQuery {
        group: query.group,
        owner: query.owner,
    };
    let key = key(&caller, name, whose)?;
    let runs = app.jobs.schedules().history(&key, query.before, limit).await?;
    let full = runs.len() == limit as usize;
    Ok(Json(Runs {
        next: runs.last().filter(|_| full).map(|past| past.run.number),
        runs: runs.into_iter().map(Into::into).collect(),
    }))
}
