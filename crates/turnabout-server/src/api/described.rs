//! The description of the API: `/api/openapi.json` for programs, `/api/docs` for people.
//!
//! The page for people needs the feature `viewer`. Without it, its address leads to the document.

use axum::Router;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use utoipa::openapi::OpenApi;

const DOCUMENT: &str = "/api/openapi.json";

/// Both. The prefix is what browsers see before every path.
pub(super) fn routes(document: &OpenApi, prefix: &str) -> anyhow::Result<Router> {
    let text = Bytes::from(document.to_json()?);
    let answer = async move || ([(CONTENT_TYPE, "application/json")], text.clone());
    Ok(page(format!("{prefix}{DOCUMENT}")).route(DOCUMENT, get(answer)))
}

#[cfg(feature = "viewer")]
fn page(document: String) -> Router {
    use utoipa_swagger_ui::{Config, SwaggerUi};
    SwaggerUi::new("/api/docs").config(Config::new([document])).into()
}

#[cfg(not(feature = "viewer"))]
fn page(document: String) -> Router {
    use axum::response::Redirect;
    let to_document = get(async move || Redirect::temporary(&document));
    Router::new()
        .route("/api/docs", to_document.clone())
        .route("/api/docs/", to_document)
}
