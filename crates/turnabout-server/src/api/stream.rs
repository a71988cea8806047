//! Server-sent events: how a stream looks, and that it ends with the server, and with a token that ends.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt};
use jiff::Timestamp;

use super::caller::{Caller, Sent};
use super::state::App;
use super::types::Problem;

/// Clocks may be set: when a token ends is looked at this often.
const A_WHILE: Duration = Duration::from_mins(1);

/// A response that goes on for as long as there are events, with comments in between so that proxies and readers know that
/// it is alive.
pub(super) fn respond(
    app: &App,
    caller: &Caller,
    events: impl Stream<Item = Event> + Send + 'static,
) -> Result<Response, Problem> {
    let events = limited(app, caller, events)?.map(Ok::<_, Infallible>);
    let alive = KeepAlive::new().interval(app.settings.heartbeat).text("alive");
    Ok(unbuffered(Sse::new(events).keep_alive(alive).into_response()))
}

/// The same for events that are written already, with comments among them.
pub(super) fn respond_written(
    app: &App,
    caller: &Caller,
    events: impl Stream<Item = Bytes> + Send + 'static,
) -> Result<Response, Problem> {
    let events = limited(app, caller, events)?.map(Ok::<_, Infallible>);
    let mut response = Response::new(Body::from_stream(events));
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(unbuffered(response))
}

/// A stream that is counted, and that ends with the server and with its reader's token.
fn limited<T>(
    app: &App,
    caller: &Caller,
    events: impl Stream<Item = T> + Send + 'static,
) -> Result<impl Stream<Item = T> + Send + 'static, Problem> {
    let permit = app.streams.enter(caller)?;
    let ending = app.ending.clone().cancelled_owned();
    let (app, minted, sent) = (Arc::clone(app), caller.minted().cloned(), caller.sent().cloned());
    let over = async move {
        match (minted, sent) {
            (Some(token), _) => app.minting.over(&app, &token).await,
            (None, Some(sent)) => gone(&app, &sent).await,
            (None, None) => std::future::pending().await,
        }
    };
    let until = async move {
        tokio::select! {
            () = ending => {}
            () = over => {}
        }
    };
    Ok(events.take_until(until).inspect(move |_| {
        // It is under way until it ends.
        let _ = &permit;
    }))
}

/// Otherwise nginx gathers events until it has a page full.
fn unbuffered(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        HeaderName::from_static("x-accel-buffering"),
        HeaderValue::from_static("no"),
    );
    response
}

/// Waits until a token has ended, or is not what it was: removed from the configuration, or given another role.
async fn gone(app: &App, sent: &Sent) {
    let mut changes = app.control.changes();
    loop {
        let left = sent.holder.until.map(|until| until.duration_since(Timestamp::now()));
        let left = left.map_or(Ok(A_WHILE), Duration::try_from).unwrap_or_default();
        if left.is_zero() {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(left.min(A_WHILE)) => {}
            alive = changes.changed() => {
                let known = changes.borrow_and_update().gate.holder(&sent.token);
                if alive.is_err() || known.is_none_or(|known| known != sent.holder) {
                    return;
                }
            }
        }
    }
}

/// An event with a JSON body.
pub(super) fn event(name: &str, data: &impl serde::Serialize) -> Event {
    Event::default().event(name).data(json(data))
}

/// The same, written.
pub(super) fn write(text: &mut String, name: &str, data: &impl serde::Serialize) {
    text.extend(["event: ", name, "\ndata: ", &json(data), "\n\n"]);
}

fn json(data: &impl serde::Serialize) -> String {
    // Our types can always be written.
    serde_json::to_string(data).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
}
