//! Jobs: submit, look, change.

mod list;
mod submit;

pub(super) use list::*;
pub(super) use submit::*;

use axum::Json;
use axum::extract::State;
use turnabout::JobId;

use super::caller::Caller;
use super::extract::Name;
use super::state::App;
use super::types::{Cancelled, JobView, Problem};

/// One job
#[utoipa::path(get, path = "/api/v1/jobs/{id}", tag = "jobs", operation_id = "getJob",
    params(("id" = Uuid, Path, description = "The job")),
    responses((status = 200, body = JobView, description = "The job, unfinished or ended")))]
pub(super) async fn get(
    State(app): State<App>,
    caller: Caller,
    Name(id): Name<JobId>,
) -> Result<Json<JobView>, Problem> {
    Ok(Json(app.job(&caller, id).await?.into()))
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
    app.job(&caller, id).await?;
    let outcome = app.jobs.cancel(id).await?.into();
    Ok(Json(Cancelled { id, outcome }))
}
