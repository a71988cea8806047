//! Executors: who runs jobs, and the one beside this server.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use super::caller::Caller;
use super::state::App;
use super::types::{Code, Problem, Running};

/// Look for jobs now
///
/// The executor beside this server looks for jobs at once. That is never needed, since it is woken when one is submitted.
#[utoipa::path(post, path = "/api/v1/notify", tag = "executors", operation_id = "notify",
    responses((status = 204, description = "It looks")))]
pub(super) async fn notify(State(app): State<App>, caller: Caller) -> Result<StatusCode, Problem> {
    caller.admin()?;
    let executor = app.executor.as_ref();
    let executor =
        executor.ok_or_else(|| Problem::new(Code::Unavailable, "there is no executor beside this server"))?;
    executor.wake();
    Ok(StatusCode::NO_CONTENT)
}

/// What runs here
#[utoipa::path(get, path = "/api/v1/running", tag = "executors", operation_id = "running",
    responses((status = 200, body = Running, description = "The jobs in the hands of the executor beside this server")))]
pub(super) async fn running(State(app): State<App>, caller: Caller) -> Result<Json<Running>, Problem> {
    caller.admin()?;
    Ok(Json(match &app.executor {
        None => Running {
            executor: false,
            running: 0,
            jobs: Vec::new(),
        },
        Some(executor) => Running {
            executor: true,
            running: executor.health().running as u64,
            jobs: executor.held(),
        },
    }))
}

/// End this server
///
/// Its executor takes no more jobs, and what runs may go on up to the deadline, as after SIGTERM.
#[utoipa::path(post, path = "/api/v1/shutdownAndExit", tag = "executors", operation_id = "shutdownAndExit",
    responses((status = 202, description = "It will")))]
pub(super) async fn shutdown_and_exit(State(app): State<App>, caller: Caller) -> Result<StatusCode, Problem> {
    caller.admin()?;
    tracing::info!("a caller of the API ends this server");
    app.stop.cancel();
    Ok(StatusCode::ACCEPTED)
}
