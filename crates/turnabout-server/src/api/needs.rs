//! What a token needs for a request: one row for each operation of the API's description. A server whose description has
//! an operation without a row does not start.

use axum::extract::{MatchedPath, Request};

use super::caller::Caller;
use super::types::Problem;
use crate::auth::Scope;

/// What a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// Nothing: anyone may ask.
    Nothing,
    /// Any token.
    Token,
    /// This scope.
    One(Scope),
    /// One of these: which one depends on what is asked for, and is looked at there.
    Either(Scope, Scope),
    /// To submit, and any task to any queue: what is asked for may come to any.
    SubmitAll,
}

impl Need {
    /// The scopes, one of which is needed.
    pub(super) fn scopes(self) -> Vec<Scope> {
        match self {
            Self::Nothing | Self::Token => Vec::new(),
            Self::One(scope) => vec![scope],
            Self::Either(one, other) => vec![one, other],
            Self::SubmitAll => vec![Scope::Submit],
        }
    }
}

const READ: Need = Need::One(Scope::Read);
const SUBMIT: Need = Need::One(Scope::Submit);
const CANCEL: Need = Need::One(Scope::Cancel);
const OPERATE: Need = Need::One(Scope::Operate);
const METRICS: Need = Need::One(Scope::Metrics);
const ADMIN: Need = Need::One(Scope::Admin);
const CHANGE: Need = Need::Either(Scope::Submit, Scope::Cancel);
const SCHEDULE: Need = Need::SubmitAll;

/// Every operation.
pub(super) const TABLE: [(&str, &str, Need); 63] = [
    ("GET", "/api/info/version", Need::Nothing),
    ("GET", "/healthz", Need::Nothing),
    ("GET", "/readyz", Need::Nothing),
    ("GET", "/metrics", METRICS),
    ("GET", "/api/v1/me", Need::Token),
    ("GET", "/api/v1/jobs", READ),
    ("POST", "/api/v1/jobs", SUBMIT),
    ("POST", "/api/v1/jobs/batch", SUBMIT),
    ("POST", "/api/v1/jobs/bulk", CHANGE),
    ("POST", "/api/v1/jobs/find", READ),
    ("GET", "/api/v1/jobs/{id}", READ),
    ("DELETE", "/api/v1/jobs/{id}", CANCEL),
    ("POST", "/api/v1/jobs/{id}/cancel", CANCEL),
    ("POST", "/api/v1/jobs/{id}/restart", SUBMIT),
    ("POST", "/api/v1/jobs/{id}/retry", SUBMIT),
    ("PUT", "/api/v1/jobs/{id}/priority", SUBMIT),
    ("GET", "/api/v1/jobs/{id}/logs", READ),
    ("GET", "/api/v1/jobs/{id}/attempts", READ),
    ("GET", "/api/v1/jobs/{id}/result", READ),
    ("GET", "/api/v1/jobs/{id}/explain", READ),
    ("GET", "/api/v1/operations", READ),
    ("GET", "/api/v1/operations/{id}", READ),
    ("POST", "/api/v1/operations/{id}/stop", CHANGE),
    ("GET", "/api/v1/events", READ),
    ("POST", "/api/v1/events", READ),
    // What a minted token can do, its maker can: see `tokens::may_mint`.
    ("POST", "/api/v1/tokens", READ),
    ("POST", "/api/v1/tokens/rotate", ADMIN),
    ("GET", "/api/v1/summary", READ),
    ("GET", "/api/v1/trends", READ),
    ("GET", "/api/v1/shares", READ),
    ("GET", "/api/v1/failures", READ),
    ("GET", "/api/v1/doctor", READ),
    ("GET", "/api/v1/audit", READ),
    ("GET", "/api/v1/settings", READ),
    ("PATCH", "/api/v1/settings", OPERATE),
    ("GET", "/api/v1/groups", READ),
    ("GET", "/api/v1/groups/{group}", READ),
    ("PATCH", "/api/v1/groups/{group}", OPERATE),
    ("GET", "/api/v1/queues", READ),
    ("GET", "/api/v1/queues/{queue}", READ),
    ("PATCH", "/api/v1/queues/{queue}", OPERATE),
    ("GET", "/api/v1/tasks", READ),
    ("GET", "/api/v1/tasks/{task}", READ),
    ("PATCH", "/api/v1/tasks/{task}", OPERATE),
    ("GET", "/api/v1/schedules", READ),
    ("POST", "/api/v1/schedules/check", READ),
    ("GET", "/api/v1/schedules/{name}", READ),
    ("PUT", "/api/v1/schedules/{name}", SCHEDULE),
    ("PATCH", "/api/v1/schedules/{name}", SCHEDULE),
    ("DELETE", "/api/v1/schedules/{name}", SCHEDULE),
    ("POST", "/api/v1/schedules/{name}/pause", SCHEDULE),
    ("POST", "/api/v1/schedules/{name}/resume", SCHEDULE),
    ("POST", "/api/v1/schedules/{name}/reset", SCHEDULE),
    ("POST", "/api/v1/schedules/{name}/run", SCHEDULE),
    ("POST", "/api/v1/schedules/{name}/backfill", SCHEDULE),
    ("GET", "/api/v1/schedules/{name}/next", READ),
    ("GET", "/api/v1/schedules/{name}/history", READ),
    ("GET", "/api/v1/schedule-events", READ),
    ("GET", "/api/v1/executors", READ),
    ("POST", "/api/v1/executors/{id}/drain", OPERATE),
    ("POST", "/api/v1/notify", OPERATE),
    ("GET", "/api/v1/running", READ),
    ("POST", "/api/v1/shutdownAndExit", ADMIN),
];

/// What an operation needs. None: there is no such operation.
pub(super) fn of(method: &str, route: &str) -> Option<Need> {
    let method = if method == "HEAD" { "GET" } else { method };
    let mut rows = TABLE.iter();
    let row = rows.find(|(its_method, its_route, _)| *its_method == method && *its_route == route)?;
    Some(row.2)
}

/// An error unless the caller has what a request needs. Whatever is no operation is answered by whoever says so.
pub(super) fn check(caller: &Caller, request: &Request) -> Result<(), Problem> {
    let route = request.extensions().get::<MatchedPath>();
    let need = route.and_then(|route| of(request.method().as_str(), route.as_str()));
    match need {
        None | Some(Need::Nothing | Need::Token) => Ok(()),
        Some(Need::One(scope)) => caller.needs(scope),
        Some(Need::Either(one, other)) => caller
            .needs(one)
            .or_else(|missing| caller.needs(other).map_err(|_| missing)),
        Some(Need::SubmitAll) => {
            caller.needs(Scope::Submit)?;
            caller.unlimited()
        }
    }
}
