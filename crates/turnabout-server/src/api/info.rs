//! Which program answers, and whether it is well.

use axum::Json;

use super::types::Version;

/// Which program answers
#[utoipa::path(get, path = "/api/info/version", tag = "info", operation_id = "version",
    responses((status = 200, body = Version, description = "The program and its version")))]
pub(super) async fn version() -> Json<Version> {
    Json(Version {
        name: "turnabout".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}
