//! What happens to schedules, as server-sent events.

use std::collections::VecDeque;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::response::sse::Event;
use futures_util::stream;
use serde::Deserialize;
use turnabout::jobs::FollowSchedules;
use turnabout::jobs::Whose;
use utoipa::IntoParams;

use crate::api::caller::Caller;
use crate::api::extract::Ask;
use crate::api::state::App;
use crate::api::stream as sse;
use crate::api::types::{Problem, ScheduleEventView, StreamEvent};

/// Whose schedules to follow.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(in crate::api) struct ScheduleEventsQuery {
    /// Those of this group.
    group: Option<String>,
    /// Those of this owner.
    owner: Option<String>,
    /// Where an earlier stream left off: the id of its last event. Browsers send it as the header `Last-Event-ID`.
    last_event_id: Option<String>,
}

/// Follow schedules
///
/// A stream of server-sent events named `schedule` (`ScheduleEvent`): schedules that are added, changed, paused, resumed,
/// stopped or deleted. What becomes of their jobs is told by `/api/v1/events`.
#[utoipa::path(get, path = "/api/v1/schedule-events", tag = "schedules", operation_id = "scheduleEvents",
    params(ScheduleEventsQuery),
    responses((status = 200, description = "Events, for as long as the reader likes", content_type = "text/event-stream", body = StreamEvent)))]
pub(in crate::api) async fn events(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Ask(query): Ask<ScheduleEventsQuery>,
) -> Result<Response, Problem> {
    let (group, owner) = caller.place(query.group, query.owner)?;
    let header = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let last = query.last_event_id.as_deref().or(header);
    let last = last.and_then(|id| id.parse().ok());
    let following = app.jobs.schedules().follow(Whose { group, owner }, last).await?;
    let reader = Reader {
        following,
        waiting: VecDeque::new(),
    };
    sse::respond(&app, &caller, stream::unfold(reader, Reader::next))
}

/// Someone who reads a stream.
struct Reader {
    following: FollowSchedules,
    waiting: VecDeque<Event>,
}

impl Reader {
    async fn next(mut self) -> Option<(Event, Self)> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some((event, self));
            }
            for event in self.following.next().await? {
                let number = event.number.to_string();
                let told = sse::event("schedule", &ScheduleEventView::from(event));
                self.waiting.push_back(told.id(number));
            }
        }
    }
}
