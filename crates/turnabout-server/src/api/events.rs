//! Live events: what jobs are and what becomes of them, as server-sent events.
//!
//! States, not a log: changes in quick succession may be told as one, the last is never missed, and no job goes back. Each
//! event carries an id; a reader that comes back with it (`Last-Event-ID`) is told what changed since, or `resync`.

use std::collections::{HashSet, VecDeque};

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::response::sse::Event;
use futures_util::stream;
use serde::Deserialize;
use turnabout::JobId;
use turnabout::jobs::Whose;
use turnabout::jobs::{Following, Interest, Note, Told};
use utoipa::IntoParams;

use super::caller::Caller;
use super::extract::{Ask, Body};
use super::jobs::parse_ids;
use super::state::App;
use super::stream as sse;
use super::types::{FollowRequest, Problem, StreamEvent};

/// So many unfinished jobs are told at the beginning, unless said otherwise.
const INITIAL: u32 = 100;
const MAX_INITIAL: u32 = 1000;

/// Which jobs to follow. Everything that is said must hold.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct EventsQuery {
    /// These jobs, by id and separated by commas; at most 1000 (more than an address holds are sent by POST). The stream ends
    /// (`end`) when all of them have.
    ids: Option<String>,
    /// Those of this group.
    group: Option<String>,
    /// Those of this owner.
    owner: Option<String>,
    /// How many of the unfinished jobs are told at the beginning, newest first: 100 unless said otherwise, 1000 at the
    /// most. Those followed by id all are, ended or not.
    #[param(maximum = 1000)]
    initial: Option<u32>,
    /// Where an earlier stream left off: the id of its last event. Browsers send it as the header `Last-Event-ID`.
    last_event_id: Option<String>,
}

/// Follow jobs
///
/// A stream of server-sent events. `job`: a job in brief (`JobBrief`), as it is now. `gone`: there is no job (any longer) of
/// this `id`. `ready`: what there was at the beginning has been told, changes follow. `resync`: what was told before may be
/// incomplete; look up what is not told again now. `end`: all jobs followed by id have ended. In between, comments show that
/// it is alive. The `EventSource` of browsers sends no token: where one is needed, read the stream with `fetch`.
#[utoipa::path(get, path = "/api/v1/events", tag = "events", operation_id = "events", params(EventsQuery),
    responses((status = 200, description = "Events, for as long as the reader likes", content_type = "text/event-stream", body = StreamEvent)))]
pub(super) async fn events(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Ask(query): Ask<EventsQuery>,
) -> Result<Response, Problem> {
    let request = FollowRequest {
        ids: query.ids.as_deref().map(parse_ids).transpose()?,
        group: query.group,
        owner: query.owner,
        initial: query.initial,
        last_event_id: query.last_event_id,
    };
    follow(&app, &caller, &headers, request).await
}

/// Follow jobs by many ids
///
/// The same stream, for more ids than an address holds.
#[utoipa::path(post, path = "/api/v1/events", tag = "events", operation_id = "eventsOf", request_body = FollowRequest,
    responses((status = 200, description = "Events, for as long as the reader likes", content_type = "text/event-stream", body = StreamEvent)))]
pub(super) async fn events_of(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Body(request): Body<FollowRequest>,
) -> Result<Response, Problem> {
    follow(&app, &caller, &headers, request).await
}

async fn follow(app: &App, caller: &Caller, headers: &HeaderMap, request: FollowRequest) -> Result<Response, Problem> {
    if request.ids.as_ref().is_some_and(Vec::is_empty) {
        return Err(Problem::invalid(
            "ids",
            "no id is given; leave it out to follow all jobs",
        ));
    }
    // Whoever sees a few jobs only follows those.
    let wanted = request.ids.or_else(|| caller.jobs().map(ToOwned::to_owned));
    let (ids, hidden): (HashSet<JobId>, HashSet<JobId>) =
        wanted.into_iter().flatten().partition(|id| caller.may_see(*id));
    let (group, owner) = caller.place(request.group, request.owner)?;
    let initial = request.initial.unwrap_or(INITIAL);
    if initial > MAX_INITIAL {
        return Err(Problem::invalid(
            "initial",
            format!("{initial} is more than {MAX_INITIAL}"),
        ));
    }
    let header = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    // An id that means nothing to us is like one that we have forgotten.
    let last = request.last_event_id.as_deref().or(header);
    let from = last.map(|id| id.parse().unwrap_or_default());
    // Without ids all jobs would be followed: whoever may see none of those asked for follows nothing.
    let nothing = ids.is_empty() && !hidden.is_empty();
    let interest = Interest {
        ids: ids.clone(),
        whose: Whose { group, owner },
        initial,
    };
    let mut waiting: VecDeque<Event> = hidden.iter().map(|id| gone(*id)).collect();
    if nothing {
        waiting.push_back(sse::event("end", &serde_json::json!({})));
    }
    let reader = Reader {
        caller: caller.clone(),
        following: if nothing {
            None
        } else {
            Some(app.jobs.follow(interest, from).await?)
        },
        open: (!ids.is_empty()).then_some(ids),
        waiting,
        over: nothing,
    };
    Ok(sse::respond(app, caller, stream::unfold(reader, Reader::next)))
}

/// There is no such job, for this reader.
fn gone(id: JobId) -> Event {
    sse::event("gone", &serde_json::json!({ "id": id }))
}

/// Someone who reads a stream.
struct Reader {
    caller: Caller,
    /// None: there is nothing to follow.
    following: Option<Following>,
    /// Jobs followed by id that have not ended.
    open: Option<HashSet<JobId>>,
    waiting: VecDeque<Event>,
    over: bool,
}

impl Reader {
    async fn next(mut self) -> Option<(Event, Self)> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some((event, self));
            }
            if self.over {
                return None;
            }
            let note = self.following.as_mut()?.next().await?;
            self.take(&note);
        }
    }

    /// Makes events of a note. Only the last one carries the place: whoever is cut off before it is told all of it again.
    fn take(&mut self, Note { place, told }: &Note) {
        for told in told {
            let event = match told {
                Told::Job(job) => {
                    if let Some(open) = self.open.as_mut().filter(|_| job.state.is_final()) {
                        open.remove(&job.id);
                    }
                    sse::event("job", &self.caller.shown_brief(job))
                }
                Told::Gone(id) => {
                    if let Some(open) = &mut self.open {
                        open.remove(id);
                    }
                    gone(*id)
                }
                Told::Resync => sse::event("resync", &serde_json::json!({})),
                Told::Ready => sse::event("ready", &serde_json::json!({})),
                // Of no concern to those who read events.
                _ => continue,
            };
            self.waiting.push_back(event);
        }
        if self.open.as_ref().is_some_and(HashSet::is_empty) {
            self.over = true;
            self.waiting.push_back(sse::event("end", &serde_json::json!({})));
        }
        if let Some(last) = self.waiting.pop_back() {
            self.waiting.push_back(last.id(place.to_string()));
        }
    }
}
