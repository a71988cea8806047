//! What belongs to one job: its log, its attempts, its result, why it waits.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, future};
use serde::Deserialize;
use turnabout::JobId;
use turnabout::group::Cap;
use utoipa::IntoParams;

use super::super::WEBHOOK_TASK;
use super::super::caller::Caller;
use super::super::extract::{Ask, Name};
use super::super::state::App;
use super::super::stream;
use super::super::types::{Attempts, Code, Explained, LineView, LogView, Problem, ResultView, StreamEvent};

/// Which lines of a log.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(in super::super) struct LogQuery {
    /// Only lines after this number: `next` of the page before, or the number of the last line seen.
    after: Option<i64>,
    /// How many lines at the most: from 1 to 10,000, 1000 unless said otherwise.
    #[param(minimum = 1, maximum = 10000)]
    limit: Option<u32>,
    /// Follow the log to the job's end, as server-sent events: one `line` for each, then `end`. With the header
    /// `Last-Event-ID` it goes on after that line.
    follow: bool,
}

/// The log of a job
#[utoipa::path(get, path = "/api/v1/jobs/{id}/logs", tag = "jobs", operation_id = "jobLogs",
    params(("id" = Uuid, Path, description = "The job"), LogQuery),
    responses((status = 200, description = "A page of lines; or, if followed, a stream of them",
        content((LogView = "application/json"), (StreamEvent = "text/event-stream")))))]
pub(in super::super) async fn logs(
    State(app): State<App>,
    caller: Caller,
    Name(id): Name<JobId>,
    headers: HeaderMap,
    Ask(query): Ask<LogQuery>,
) -> Result<Response, Problem> {
    app.job(&caller, id).await?;
    let mut after = query.after.unwrap_or(0);
    if query.follow {
        // Browsers that connect again say so where they were.
        let last = headers
            .get("last-event-id")
            .and_then(|id| id.to_str().ok()?.parse().ok());
        after = last.unwrap_or(after).max(after);
        let lines = app.jobs.follow_logs(id).filter_map(move |line| {
            future::ready(match line {
                // Of what was seen before nothing is told again.
                Ok(line) if line.number <= after => None,
                Ok(line) => {
                    let number = line.number.to_string();
                    Some(stream::event("line", &LineView::from(line)).id(number))
                }
                Err(error) => Some(stream::event("problem", &Problem::from(error))),
            })
        });
        let end = futures_util::stream::once(future::ready(stream::event("end", &serde_json::json!({ "id": id }))));
        return stream::respond(&app, &caller, lines.chain(end));
    }
    let page = app
        .jobs
        .logs(id)
        .after(after)
        .limit(query.limit.unwrap_or(1000))
        .await?;
    let view = LogView {
        lines: page.lines.into_iter().map(Into::into).collect(),
        next: page.next,
    };
    Ok(Json(view).into_response())
}

/// The attempts of a job
#[utoipa::path(get, path = "/api/v1/jobs/{id}/attempts", tag = "jobs", operation_id = "jobAttempts",
    params(("id" = Uuid, Path, description = "The job")),
    responses((status = 200, body = Attempts, description = "What became of each, oldest first")))]
pub(in super::super) async fn attempts(
    State(app): State<App>,
    caller: Caller,
    Name(id): Name<JobId>,
) -> Result<Json<Attempts>, Problem> {
    app.job(&caller, id).await?;
    let attempts = app.jobs.attempts(id).await?;
    Ok(Json(Attempts {
        attempts: attempts.into_iter().map(Into::into).collect(),
    }))
}

/// What a job returned
#[utoipa::path(get, path = "/api/v1/jobs/{id}/result", tag = "jobs", operation_id = "jobResult",
    params(("id" = Uuid, Path, description = "The job")),
    responses((status = 200, body = ResultView, description = "Its result, if it has succeeded")))]
pub(in super::super) async fn result(
    State(app): State<App>,
    caller: Caller,
    Name(id): Name<JobId>,
) -> Result<Json<ResultView>, Problem> {
    let job = app.job(&caller, id).await?;
    match job.state {
        turnabout::State::Success => Ok(Json(super::JobView::from(job).into())),
        state if state.is_final() => {
            let problem = Problem::new(
                Code::WrongState,
                format!("job {id} is {state}, so it returned nothing; its `error` says why"),
            );
            let code = job.error_code.as_deref();
            let status = code.and_then(|code| app.live().shown.status(&job.task, code));
            Err(Problem {
                status: status.unwrap_or(problem.status),
                error_code: job.error_code,
                error_message: job.error_message,
                ..problem
            })
        }
        state => Err(Problem::new(
            Code::NotEnded,
            format!("job {id} is {state}; wait for its end"),
        )),
    }
}

/// Why a job waits
#[utoipa::path(get, path = "/api/v1/jobs/{id}/explain", tag = "jobs", operation_id = "explainJob",
    params(("id" = Uuid, Path, description = "The job")),
    responses((status = 200, body = Explained, description = "Where it is, and why")))]
pub(in super::super) async fn explain(
    State(app): State<App>,
    caller: Caller,
    Name(id): Name<JobId>,
) -> Result<Json<Explained>, Problem> {
    app.job(&caller, id).await?;
    let mut why = app.jobs.explain(id).await?;
    if caller.group().is_some() {
        why = why.without_others();
    }
    let webhook = why.job.task.strip_prefix(WEBHOOK_TASK);
    let resting = webhook.filter(|name| why.place.is_some() && app.resting.contains(name));
    let mut text = why.to_string();
    if let Some(name) = resting {
        // What it was predicted from does not go on.
        why.predicted = None;
        text = format!(
            "{why} The receiver of the webhook `{name}` does not take messages at present: one is tried at a time, after at \
             most a minute, and the others wait."
        );
    }
    Ok(Json(Explained {
        id,
        state: why.job.state,
        text,
        parked: why.parked.map(|parked| parked.as_secs_f64()),
        place: why.place,
        groups: why.groups,
        all_paused: why.all_paused,
        queue_paused: why.queue_paused,
        group_paused: why.group_paused,
        task_paused: why.task_paused,
        group_full: why.full.iter().any(|(cap, _)| matches!(cap, Cap::Group(_))),
        task_full: why.full.iter().any(|(cap, _)| matches!(cap, Cap::Task(_))),
        rate_seconds: why.rates.iter().map(|(_, _, wait)| wait.as_secs_f64()).reduce(f64::max),
        known: why.known,
        silent: why.silent.map(|silent| silent.as_secs_f64()),
        slots: why.slots,
        taken_by: why.taken_by.into_iter().map(Into::into).collect(),
        predicted: why.predicted.map(Into::into),
    }))
}
