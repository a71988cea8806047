//! Server-sent events: how a stream looks, and that it ends with the server, and with a token that ends.

use std::convert::Infallible;
use std::sync::Arc;

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt};

use super::caller::Caller;
use super::state::App;

/// A response that goes on for as long as there are events, with comments in between so that proxies and readers know that
/// it is alive.
pub(super) fn respond(app: &App, caller: &Caller, events: impl Stream<Item = Event> + Send + 'static) -> Response {
    let ending = app.ending.clone().cancelled_owned();
    let over = {
        let (app, token) = (Arc::clone(app), caller.minted().cloned());
        async move {
            match token {
                Some(token) => app.minting.over(&app, &token).await,
                None => std::future::pending().await,
            }
        }
    };
    let until = async move {
        tokio::select! {
            () = ending => {}
            () = over => {}
        }
    };
    let events = events.map(Ok::<_, Infallible>).take_until(until);
    let alive = KeepAlive::new().interval(app.settings.heartbeat).text("alive");
    let mut response = Sse::new(events).keep_alive(alive).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Otherwise nginx gathers events until it has a page full.
    headers.insert(
        HeaderName::from_static("x-accel-buffering"),
        HeaderValue::from_static("no"),
    );
    response
}

/// An event with a JSON body.
pub(super) fn event(name: &str, data: &impl serde::Serialize) -> Event {
    let event = Event::default().event(name);
    match serde_json::to_string(data) {
        Ok(text) => event.data(text),
        // Our types can always be written.
        Err(error) => event.data(format!("{{\"error\":\"{error}\"}}")),
    }
}
