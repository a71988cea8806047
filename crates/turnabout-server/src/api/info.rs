//! Which program answers, and whether it is well.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use super::state::App;
use super::types::{HealthView, Version};

/// A schedule that has been due for longer should have been fired.
const STALLED: Duration = Duration::from_secs(5);

/// Which program answers
#[utoipa::path(get, path = "/api/info/version", tag = "info", operation_id = "version",
    responses((status = 200, body = Version, description = "The program and its version")))]
pub(super) async fn version() -> Json<Version> {
    Json(Version {
        name: "turnabout".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

/// Whether the server is alive
#[utoipa::path(get, path = "/healthz", tag = "info", operation_id = "healthz",
    responses((status = 200, body = HealthView, description = "It is")))]
pub(super) async fn healthz() -> Json<HealthView> {
    Json(HealthView {
        ok: true,
        troubles: BTreeMap::new(),
    })
}

/// Whether the server can do its work
#[utoipa::path(get, path = "/readyz", tag = "info", operation_id = "readyz",
    responses(
        (status = 200, body = HealthView, description = "It can"),
        (status = 503, body = HealthView, description = "It cannot, at present"),
    ))]
pub(super) async fn readyz(State(app): State<App>) -> (StatusCode, Json<HealthView>) {
    let mut troubles = BTreeMap::new();
    // What exactly is wrong with the store is in the log: anyone may ask here.
    if let Err(error) = app.jobs.settings().await {
        tracing::warn!(error = %error.chain(), "not ready");
        troubles.insert("store".to_owned(), "it is out of reach".to_owned());
    }
    if let Some(executor) = &app.executor {
        let health = executor.health();
        if !health.registered {
            troubles.insert("executor".to_owned(), "it is not registered".to_owned());
        }
        for doing in health.troubles.keys() {
            troubles.insert((*doing).to_owned(), "it fails; the log says why".to_owned());
        }
        // Whatever the reason is: a schedule that has been due for so long should have been fired by this executor, too.
        if let Ok(Some(late)) = app.jobs.schedules().overdue().await
            && late > STALLED
        {
            let message = format!("one has been due for {} seconds and is not fired", late.as_secs());
            troubles.insert("schedules".to_owned(), message);
        }
    }
    if app.exit.is_asked() || app.ending.is_cancelled() {
        troubles.insert("server".to_owned(), "it is shutting down".to_owned());
    }
    let ok = troubles.is_empty();
    let status = if ok {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, Json(HealthView { ok, troubles }))
}
