//! Executors: who runs jobs, and the one beside this server.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use turnabout::jobs::Member;
use turnabout::store::audit::Deed;
use uuid::Uuid;

use super::audit;
use super::caller::Caller;
use super::exit::Wait;
use super::extract::{Ask, Body, Name};
use super::state::App;
use super::types::{Code, DrainRequest, DrainView, ExecutorView, Executors, ExitQuery, Problem, Running};
use crate::auth::Scope;

/// List executors
#[utoipa::path(get, path = "/api/v1/executors", tag = "executors", operation_id = "listExecutors",
    responses((status = 200, body = Executors, description = "All that are registered, by name")))]
pub(super) async fn list(State(app): State<App>, caller: Caller) -> Result<Json<Executors>, Problem> {
    caller.sees_all()?;
    let members = app.jobs.executors().await?;
    let view = |member: Member| ExecutorView {
        id: member.info.incarnation,
        name: member.info.name,
        slots: member.info.slots,
        queues: member.info.queues,
        tasks: member.info.tasks,
        version: member.info.version,
        seen: member.seen,
        held: member.held,
        draining: member.draining,
    };
    Ok(Json(Executors {
        executors: members.into_iter().map(view).collect(),
    }))
}

/// Drain an executor
///
/// It takes no more jobs (or takes them again), from its next heartbeat on, and goes on with what it has in hand. With `exit`
/// its process ends when that is done.
#[utoipa::path(post, path = "/api/v1/executors/{id}/drain", tag = "executors", operation_id = "drainExecutor",
    params(("id" = Uuid, Path, description = "The executor")), request_body = DrainRequest,
    responses((status = 200, body = DrainView, description = "It will")))]
pub(super) async fn drain(
    State(app): State<App>,
    caller: Caller,
    Name(id): Name<Uuid>,
    Body(request): Body<DrainRequest>,
) -> Result<Json<DrainView>, Problem> {
    let DrainRequest { drain, exit } = request;
    if exit && !drain {
        let message = "an executor that is to end takes no more jobs: `exit` goes with `\"drain\": true`";
        return Err(Problem::invalid("exit", message));
    }
    let found = if exit {
        caller.needs(Scope::Admin)?;
        app.jobs.dismiss(id).await?
    } else {
        app.jobs.drain(id, drain).await?
    };
    if !found {
        return Err(Problem::new(Code::NotFound, format!("there is no executor {id}")));
    }
    let deed = Deed {
        target: Some(format!("executor:{id}")),
        after: audit::json(&request),
        ..caller.deed("drain")
    };
    app.note(deed).await;
    Ok(Json(DrainView {
        id,
        draining: drain,
        exit,
    }))
}

/// Look for jobs now
///
/// The executor beside this server looks for jobs at once. That is never needed, since it is woken when one is submitted.
#[utoipa::path(post, path = "/api/v1/notify", tag = "executors", operation_id = "notify",
    responses((status = 204, description = "It looks")))]
pub(super) async fn notify(State(app): State<App>, _caller: Caller) -> Result<StatusCode, Problem> {
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
    caller.sees_all()?;
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
/// Its executor takes no more jobs, and waits for those that run: for as long as they take, unless `deadline` or the setting
/// `executor.exit-deadline` says otherwise. The server answers until then. Called again, a shorter deadline counts. An
/// executor without the API answers this call on its status address.
#[utoipa::path(post, path = "/api/v1/shutdownAndExit", tag = "executors", operation_id = "shutdownAndExit",
    params(ExitQuery), responses((status = 202, description = "It will")))]
pub(super) async fn shutdown_and_exit(
    State(app): State<App>,
    caller: Caller,
    Ask(query): Ask<ExitQuery>,
) -> Result<StatusCode, Problem> {
    if app.settings.mounted {
        let why = "this API is a part of another program, which ends in its own way";
        return Err(Problem::new(Code::NotFound, why));
    }
    let wait = match query.deadline.as_deref() {
        None => Wait::AsConfigured,
        Some("none") => Wait::For(None),
        Some(text) => Wait::For(Some(crate::config::value::duration(text).map_err(|why| {
            Problem::invalid("deadline", format!("{why}; or `none`, for as long as jobs take"))
        })?)),
    };
    tracing::info!(
        by = caller.name,
        deadline = query.deadline,
        "this server is ended by a call"
    );
    app.note(caller.deed("shutdown")).await;
    app.exit.ask(wait);
    Ok(StatusCode::ACCEPTED)
}
