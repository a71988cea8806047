//! Jobs: submit, look, change.

mod bulk;
mod detail;
mod list;
mod submit;

pub(super) use bulk::*;
pub(super) use detail::*;
pub(super) use list::*;
pub(super) use submit::*;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use turnabout::JobId;

use super::audit;
use super::caller::Caller;
use super::extract::{Body, Name};
use super::state::App;
use super::types::{Cancelled, JobView, Problem, SetPriority};
use crate::auth::Scope;

/// One job
#[utoipa::path(get, path = "/api/v1/jobs/{id}", tag = "jobs", operation_id = "getJob",
    params(("id" = Uuid, Path, description = "The job")),
    responses((status = 200, body = JobView, description = "The job, unfinished or ended")))]
pub(super) async fn get(
    State(app): State<App>,
    caller: Caller,
    Name(id): Name<JobId>,
) -> Result<Json<JobView>, Problem> {
    Ok(Json(caller.shown(app.job(&caller, id).await?)))
}

/// Cancel a job
///
/// One that waits is cancelled at once; one that an executor holds is told to stop, and will end cancelled.
#[utoipa::path(post, path = "/api/v1/jobs/{id}/cancel", tag = "jobs", operation_id = "cancelJob",
    params(("id" = Uuid, Path, description = "The job")),
    responses((status = 200, body = Cancelled, description = "It is cancelled, or will be")))]
pub(super) async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Name(id): Name<JobId>,
) -> Result<Json<Cancelled>, Problem> {
    let job = app.job(&caller, id).await?;
    let outcome = app.jobs.cancel(id).await?.into();
    app.note_job(&caller, "cancel", &job, audit::json(&outcome)).await;
    // Where ended jobs are not kept, it is gone.
    let job = app.jobs.get_many(&[id]).await?.pop();
    let job = job.filter(|_| caller.rights.has(Scope::Read));
    Ok(Json(Cancelled {
        id,
        outcome,
        job: job.map(|job| caller.shown(job)),
    }))
}

/// Restart a job
///
/// One that has ended waits again, with its counters reset.
#[utoipa::path(post, path = "/api/v1/jobs/{id}/restart", tag = "jobs", operation_id = "restartJob",
    params(("id" = Uuid, Path, description = "The job")),
    responses((status = 200, body = JobView, description = "The job, which waits")))]
pub(super) async fn restart(
    State(app): State<App>,
    caller: Caller,
    Name(id): Name<JobId>,
) -> Result<Json<JobView>, Problem> {
    let job = app.job(&caller, id).await?;
    caller.reaches(Some(&job.task), Some(&job.queue))?;
    app.jobs.restart(id).await?;
    app.note_job(&caller, "restart", &job, None).await;
    Ok(Json(caller.shown(app.job(&caller, id).await?)))
}

/// Try a job now
///
/// One that is stuck is tried again at once, one that is delayed need not wait any longer. Its attempts count as before.
#[utoipa::path(post, path = "/api/v1/jobs/{id}/retry", tag = "jobs", operation_id = "retryJob",
    params(("id" = Uuid, Path, description = "The job")),
    responses((status = 200, body = JobView, description = "The job, which is ready")))]
pub(super) async fn retry(
    State(app): State<App>,
    caller: Caller,
    Name(id): Name<JobId>,
) -> Result<Json<JobView>, Problem> {
    let job = app.job(&caller, id).await?;
    caller.reaches(Some(&job.task), Some(&job.queue))?;
    app.jobs.retry_now(id).await?;
    app.note_job(&caller, "retry", &job, None).await;
    Ok(Json(caller.shown(app.job(&caller, id).await?)))
}

/// Forget a job
///
/// One that has ended, or one that waits or is stuck, which is thrown away: its task is not told that it was cancelled, but
/// that it is deleted. One that an executor holds has to be cancelled first.
#[utoipa::path(delete, path = "/api/v1/jobs/{id}", tag = "jobs", operation_id = "deleteJob",
    params(("id" = Uuid, Path, description = "The job")),
    responses((status = 204, description = "It is gone")))]
pub(super) async fn delete(
    State(app): State<App>,
    caller: Caller,
    Name(id): Name<JobId>,
) -> Result<StatusCode, Problem> {
    let job = app.job(&caller, id).await?;
    app.jobs.delete(id).await?;
    app.note_job(&caller, "delete", &job, None).await;
    Ok(StatusCode::NO_CONTENT)
}

/// Make a job more or less urgent
///
/// Only one that waits.
#[utoipa::path(put, path = "/api/v1/jobs/{id}/priority", tag = "jobs", operation_id = "setPriority",
    params(("id" = Uuid, Path, description = "The job")), request_body = SetPriority,
    responses((status = 200, body = JobView, description = "The job")))]
pub(super) async fn priority(
    State(app): State<App>,
    caller: Caller,
    Name(id): Name<JobId>,
    Body(request): Body<SetPriority>,
) -> Result<Json<JobView>, Problem> {
    let job = app.job(&caller, id).await?;
    caller.reaches(Some(&job.task), Some(&job.queue))?;
    app.jobs.set_priority(id, request.priority).await?;
    app.note_job(&caller, "set-priority", &job, audit::json(&request)).await;
    Ok(Json(caller.shown(app.job(&caller, id).await?)))
}
