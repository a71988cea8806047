//! Schedules: look at them, make and change them. What makes them run is in `schedules/act.rs`.
//!
//! A schedule is named in the path; whose it is follows from the token, and for those who may see several, from `group`
//! and `owner` behind the question mark. A foreign schedule does not exist.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Deserialize;
use turnabout::jobs::Whose;
use turnabout::schedule::ScheduleFilter;
use turnabout::schedule::{Definition, ScheduleChange, ScheduleKey};
use utoipa::IntoParams;

use super::caller::Caller;
use super::extract::{Ask, Body, Name, no_nul};
use super::state::App;
use super::types::{CheckRequest, Code, NextTimes, Problem, SchedulePage, ScheduleRequest, ScheduleView};

mod act;
mod events;

pub(super) use act::*;
pub(super) use events::*;

/// Times to come are told up to so many.
const MAX_TIMES: u32 = 100;

/// Whose schedule.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct WhoseQuery {
    /// The group that it belongs to. Without: the token's, or the system.
    group: Option<String>,
    /// The owner, inside the group, that it belongs to. Without: the token's, or none.
    owner: Option<String>,
}

/// Which schedules.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct SchedulesQuery {
    /// Those of this group.
    group: Option<String>,
    /// Those of this owner.
    owner: Option<String>,
    /// Those whose jobs run this task.
    task: Option<String>,
    /// The next page: `next` of the page before.
    after: Option<String>,
    /// How many at the most: from 1 to 1000, 100 unless said otherwise.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// The schedule that a caller means, where it exists for them: one of somebody else's does not.
fn key(caller: &Caller, name: String, whose: WhoseQuery) -> Result<ScheduleKey, Problem> {
    let missing = turnabout::Error::NoSchedule(format!("`{name}`"));
    key_to_make(caller, name, whose).map_err(|problem| match problem.code {
        Code::Forbidden => missing.into(),
        _ => problem,
    })
}

/// The schedule that a caller may make.
fn key_to_make(caller: &Caller, name: String, whose: WhoseQuery) -> Result<ScheduleKey, Problem> {
    no_nul("name", &name)?;
    let (group, owner) = caller.place(whose.group, whose.owner)?;
    Ok(ScheduleKey { group, owner, name })
}

/// A cursor: the key of the last schedule of a page.
fn cursor(key: &ScheduleKey) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(serde_json::to_vec(key).unwrap_or_default())
}

fn after(cursor: &str) -> Result<ScheduleKey, Problem> {
    let key = BASE64_URL_SAFE_NO_PAD
        .decode(cursor)
        .ok()
        .and_then(|text| serde_json::from_slice::<ScheduleKey>(&text).ok());
    let key = key.ok_or_else(|| Problem::invalid("after", "give `next` of the page before"))?;
    for part in [Some(&key.name), key.group.as_ref(), key.owner.as_ref()] {
        no_nul("after", part.map_or("", String::as_str))?;
    }
    Ok(key)
}

/// List schedules
#[utoipa::path(get, path = "/api/v1/schedules", tag = "schedules", operation_id = "listSchedules",
    params(SchedulesQuery),
    responses((status = 200, body = SchedulePage, description = "A page of schedules")))]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Ask(query): Ask<SchedulesQuery>,
) -> Result<Json<SchedulePage>, Problem> {
    let (group, owner) = caller.place(query.group, query.owner)?;
    if let Some(task) = &query.task {
        no_nul("task", task)?;
    }
    let filter = ScheduleFilter {
        whose: Whose { group, owner },
        task: query.task,
        after: query.after.as_deref().map(after).transpose()?,
        limit: query.limit.unwrap_or(100),
    };
    let schedules = app.jobs.schedules().list(&filter).await?;
    let full = schedules.len() == filter.limit as usize;
    let next = schedules.last().filter(|_| full).map(|last| cursor(&last.key));
    Ok(Json(SchedulePage {
        schedules: schedules.into_iter().map(Into::into).collect(),
        next,
    }))
}

/// One schedule
#[utoipa::path(get, path = "/api/v1/schedules/{name}", tag = "schedules", operation_id = "schedule",
    params(("name" = String, Path, description = "The schedule"), WhoseQuery),
    responses((status = 200, body = ScheduleView, description = "What is said about it, and how it stands")))]
pub(super) async fn get(
    State(app): State<App>,
    caller: Caller,
    Name(name): Name<String>,
    Ask(whose): Ask<WhoseQuery>,
) -> Result<Json<ScheduleView>, Problem> {
    let key = key(&caller, name, whose)?;
    Ok(Json(app.jobs.schedules().get(&key).await?.into()))
}

/// Make a schedule
///
/// Or make another one of it: what is left out is as by default.
#[utoipa::path(put, path = "/api/v1/schedules/{name}", tag = "schedules", operation_id = "setSchedule",
    params(("name" = String, Path, description = "The schedule"), WhoseQuery), request_body = ScheduleRequest,
    responses((status = 200, body = ScheduleView, description = "It is stored")))]
pub(super) async fn set(
    State(app): State<App>,
    caller: Caller,
    Name(name): Name<String>,
    Ask(whose): Ask<WhoseQuery>,
    Body(request): Body<ScheduleRequest>,
) -> Result<Json<ScheduleView>, Problem> {
    let key = key_to_make(&caller, name, whose)?;
    let change = changes(&app, &caller, request)?;
    let needed = |what: &str, part: &Option<String>| {
        let missing = || Problem::invalid(what, format!("a schedule needs `{what}`"));
        part.clone().ok_or_else(missing)
    };
    let definition = Definition::new(needed("task", &change.task)?, needed("expression", &change.expression)?);
    let schedule = app.jobs.schedules().set(key, definition.with(&change)).await?;
    tracing::info!(by = caller.name, schedule = %schedule.key, "a schedule was set");
    Ok(Json(schedule.into()))
}

/// Change a schedule
///
/// What is left out stays as it is.
#[utoipa::path(patch, path = "/api/v1/schedules/{name}", tag = "schedules", operation_id = "changeSchedule",
    params(("name" = String, Path, description = "The schedule"), WhoseQuery), request_body = ScheduleRequest,
    responses((status = 200, body = ScheduleView, description = "It is changed")))]
pub(super) async fn change(
    State(app): State<App>,
    caller: Caller,
    Name(name): Name<String>,
    Ask(whose): Ask<WhoseQuery>,
    Body(request): Body<ScheduleRequest>,
) -> Result<Json<ScheduleView>, Problem> {
    let key = key(&caller, name, whose)?;
    let change = changes(&app, &caller, request)?;
    let schedule = app.jobs.schedules().change(key, change).await?;
    tracing::info!(by = caller.name, schedule = %schedule.key, "a schedule was changed");
    Ok(Json(schedule.into()))
}

/// Delete a schedule
///
/// Its history goes, too; its jobs stay. One that a deployment has declared comes back with the next: pause it instead.
#[utoipa::path(delete, path = "/api/v1/schedules/{name}", tag = "schedules", operation_id = "deleteSchedule",
    params(("name" = String, Path, description = "The schedule"), WhoseQuery),
    responses((status = 204, description = "It is gone")))]
pub(super) async fn delete(
    State(app): State<App>,
    caller: Caller,
    Name(name): Name<String>,
    Ask(whose): Ask<WhoseQuery>,
) -> Result<StatusCode, Problem> {
    let key = key(&caller, name, whose)?;
    app.jobs.schedules().delete(key.clone()).await?;
    tracing::info!(by = caller.name, schedule = %key, "a schedule was deleted");
    Ok(StatusCode::NO_CONTENT)
}

/// Explain an expression
///
/// In words, and by its next times. Nothing is stored.
#[utoipa::path(post, path = "/api/v1/schedules/check", tag = "schedules", operation_id = "checkSchedule",
    request_body = CheckRequest,
    responses((status = 200, body = NextTimes, description = "It is understood")))]
pub(super) async fn check(
    State(app): State<App>,
    _caller: Caller,
    Body(request): Body<CheckRequest>,
) -> Result<Json<NextTimes>, Problem> {
    let zone = request.zone.as_deref().unwrap_or("UTC");
    let times = app.jobs.schedules().explain(&request.expression, zone)?;
    next_times(&times, request.next).map(Json)
}

fn next_times(times: &turnabout::schedule::Times, count: Option<u32>) -> Result<NextTimes, Problem> {
    let count = count.unwrap_or(5);
    if count > MAX_TIMES {
        return Err(Problem::invalid("next", format!("{count} is more than {MAX_TIMES}")));
    }
    Ok(NextTimes {
        description: times.describe(),
        language: times.language().to_owned(),
        times: times.next(jiff::Timestamp::now(), count as usize),
    })
}

/// What a request says, as the library takes it.
fn changes(app: &App, caller: &Caller, request: ScheduleRequest) -> Result<ScheduleChange, Problem> {
    if let Some(task) = &request.task {
        caller.may_submit(task)?;
    }
    let args = request.args.map(|args| args.get().to_owned());
    // Where the task is known, arguments that it would not take are refused now, and not at each of its times.
    if let (Some(task), args) = (&request.task, args.as_deref().unwrap_or("{}")) {
        let refused = app.live().checks.check(task, args);
        refused.map_err(|why| Problem::new(Code::Refused, why).field("args"))?;
    }
    let missed = request.missed.map(|missed| missed.parse()).transpose()?;
    let jitter = request.jitter.map(|jitter| crate::config::value::duration(&jitter));
    Ok(ScheduleChange {
        task: request.task,
        args,
        queue: request.queue,
        priority: request.priority,
        subject: request.subject,
        expression: request.expression,
        zone: request.zone,
        enabled: request.enabled,
        overlap: request.overlap,
        missed,
        jitter: jitter.transpose().map_err(|why| Problem::invalid("jitter", why))?,
        start: request.start,
        end: request.end,
        exclude: request.exclude,
    })
}
