//! The backend in Rust of the guide (docs/guide/front-end.md), word for word: it submits jobs and mints tokens for a web page.

// cargo add axum tokio -F tokio/full; cargo add reqwest -F json; cargo add serde_json; cargo add tower-http -F fs
use std::env;

use axum::http::StatusCode;
use axum::{Router, routing::post};
use serde_json::{Value, json};
use tower_http::services::ServeDir;

fn setting(name: &str, otherwise: &str) -> String {
    env::var(name).unwrap_or_else(|_| otherwise.to_owned())
}

async fn ask(path: &str, body: Value) -> Result<Value, StatusCode> {
    let turnabout = setting("TURNABOUT_URL", "http://127.0.0.1:7878");
    let sent = reqwest::Client::new()
        .post(format!("{turnabout}/api/v1{path}"))
        .bearer_auth(setting("TURNABOUT_TOKEN", "example-only"))
        .json(&body)
        .send()
        .await
        .and_then(reqwest::Response::error_for_status);
    let response = sent.map_err(|_| StatusCode::BAD_GATEWAY)?;
    response.json().await.map_err(|_| StatusCode::BAD_GATEWAY)
}

fn text(answer: &Value, name: &str) -> String {
    answer[name].as_str().unwrap_or_default().to_owned()
}

// Whoever is signed in is `acme` and `ada` here. Ask your session.
async fn jobs_token() -> Result<String, StatusCode> {
    let token = json!({ "group": "acme", "owner": "ada", "cancel": true });
    Ok(text(&ask("/tokens", token).await?, "token"))
}

async fn documents() -> Result<String, StatusCode> {
    let job = json!({ "group": "acme", "owner": "ada", "task": "import", "args": { "file": "a.csv" } });
    Ok(text(&ask("/jobs", job).await?, "id"))
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let app = Router::new()
        .route("/jobs-token", post(jobs_token))
        .route("/documents", post(documents))
        .fallback_service(ServeDir::new("public"));
    let address = format!("127.0.0.1:{}", setting("PORT", "3000"));
    axum::serve(tokio::net::TcpListener::bind(address).await?, app).await
}
