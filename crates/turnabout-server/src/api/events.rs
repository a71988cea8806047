//! Live events: what jobs are and what becomes of them, as server-sent events.
//!
//! States, not a log: changes in quick succession may be told as one, the last is never missed, and no job goes back. Each
//! event carries an id; a reader that comes back with it (`Last-Event-ID`) is told what changed since, or `resync`.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
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
/// So many events wait for a reader; one that is further behind is told `resync`.
const BUFFER: usize = 2000;

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
        buffer: BUFFER,
    };
    let mut first = String::new();
    for id in &hidden {
        gone(&mut first, *id);
    }
    if nothing {
        sse::write(&mut first, "end", &serde_json::json!({}));
    }
    let reader = Reader {
        caller: caller.clone(),
        following: if nothing {
            None
        } else {
            Some(app.jobs.follow(interest, from).await?)
        },
        open: (!ids.is_empty()).then_some(ids),
        first,
        heartbeat: app.settings.heartbeat,
        over: nothing,
    };
    sse::respond_written(app, caller, stream::unfold(reader, Reader::next))
}

/// There is no such job, for this reader.
fn gone(text: &mut String, id: JobId) {
    sse::write(text, "gone", &serde_json::json!({ "id": id }));
}

/// Someone who reads a stream.
struct Reader {
    caller: Caller,
    /// None: there is nothing to follow.
    following: Option<Following>,
    /// Jobs followed by id that have not ended.
    open: Option<HashSet<JobId>>,
    /// What is told before all else.
    first: String,
    heartbeat: Duration,
    over: bool,
}

impl Reader {
    /// What is sent next: not made before it can be sent, so that whoever does not read costs no more than the notes that wait, and
    /// all of those are shared.
    async fn next(mut self) -> Option<(Bytes, Self)> {
        if !self.first.is_empty() {
            let first = std::mem::take(&mut self.first);
            return Some((first.into(), self));
        }
        if self.over {
            return None;
        }
        let next = tokio::time::timeout(self.heartbeat, self.following.as_mut()?.next()).await;
        let bytes = match next {
            Err(_) => Bytes::from_static(b": alive\n\n"),
            Ok(note) => self.tell(&note?),
        };
        Some((bytes, self))
    }

    /// A note as events. Only the last one carries the place: whoever is cut off before it is told all of it again.
    fn tell(&mut self, note: &Note) -> Bytes {
        if self.open.is_none() && self.caller.minted().is_none() {
            // All who see all of it see the same.
            return Bytes::from_owner(note.text(|note| self.write(note).into_bytes()));
        }
        for told in note.told.iter() {
            let ended = match told {
                Told::Job(job) if job.state.is_final() => job.id,
                Told::Gone(id) => *id,
                _ => continue,
            };
            if let Some(open) = &mut self.open {
                open.remove(&ended);
            }
        }
        self.over = self.open.as_ref().is_some_and(HashSet::is_empty);
        self.write(note).into()
    }

    fn write(&self, note: &Note) -> String {
        let mut text = String::new();
        for told in note.told.iter() {
            match told {
                Told::Job(job) => sse::write(&mut text, "job", &self.caller.shown_brief(job)),
                Told::Gone(id) => gone(&mut text, *id),
                Told::Resync => sse::write(&mut text, "resync", &serde_json::json!({})),
                Told::Ready => sse::write(&mut text, "ready", &serde_json::json!({})),
                // Of no concern to those who read events.
                _ => {}
            }
        }
        if self.over {
            sse::write(&mut text, "end", &serde_json::json!({}));
        }
        // Before the empty line that ends the last event.
        if text.pop().is_some() {
            let _ = write!(text, "id: {}\n\n", note.place);
        }
        text
    }
}
