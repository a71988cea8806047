//! Changes of many jobs that run in the background of this server: how far each is, and its end before its time.
//!
//! They are kept in memory. What was changed stays changed when the server ends; the audit log tells how far it had come.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use turnabout::jobs::{Bulk, List};
use uuid::Uuid;

use super::caller::Caller;
use super::extract::Name;
use super::state::App;
use super::types::{BulkVerb, Code, OperationState, OperationView, Operations, Problem};

/// So many are remembered, and so many run at a time.
const REMEMBERED: usize = 100;
const AT_A_TIME: usize = 4;
/// So many jobs are changed by each step: few, since others wait for the store meanwhile.
const STEP: u32 = 50;
/// With a pace, a step may be larger: whoever gives one knows how much is good.
const PACED: u32 = 500;
/// Without one, it rests so many times as long as a step took: a tenth of the store's time is enough, and jobs that are restarted
/// come no faster than the others can bear.
const REST: u32 = 9;
/// A store that is out of reach is tried again so often, each time after a pause.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_secs(2);

/// The operations of this server.
#[derive(Default)]
pub(super) struct Running {
    all: Mutex<VecDeque<Operation>>,
}

struct Operation {
    view: OperationView,
    /// Whose it is: only they, and administrators, see it.
    group: Option<String>,
    owner: Option<String>,
    stop: CancellationToken,
}

impl Operation {
    fn is_seen_by(&self, caller: &Caller) -> bool {
        caller.group().is_none_or(|group| self.group.as_deref() == Some(group))
            && caller.owner().is_none_or(|owner| self.owner.as_deref() == Some(owner))
    }
}

impl Running {
    fn all(&self) -> std::sync::MutexGuard<'_, VecDeque<Operation>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self, id: Uuid, change: impl FnOnce(&mut OperationView)) {
        if let Some(operation) = self.all().iter_mut().find(|operation| operation.view.id == id) {
            change(&mut operation.view);
        }
    }
}

/// What is to be done.
pub(super) struct Order {
    pub(super) action: BulkVerb,
    pub(super) bulk: Bulk,
    pub(super) list: List,
    /// The filter as JSON, for people.
    pub(super) filter: Option<String>,
    /// So many jobs a second at the most.
    pub(super) pace: Option<u32>,
    /// How many jobs there are, counted up to a limit.
    pub(super) matched: u64,
    /// Whether there may be more.
    pub(super) more: bool,
}

/// Begins to change all jobs that match.
pub(super) fn begin(app: &App, caller: &Caller, order: Order) -> Result<OperationView, Problem> {
    let view = OperationView {
        id: Uuid::new_v4(),
        action: order.action,
        by: caller.name.clone(),
        begun: Timestamp::now(),
        ended: None,
        state: OperationState::Running,
        matched: order.matched,
        more: order.more,
        changed: 0,
        skipped: 0,
        error: None,
    };
    let stop = app.ending.child_token();
    {
        let mut all = app.operations.all();
        let running = |operation: &&Operation| operation.view.state == OperationState::Running;
        if all.iter().filter(running).count() >= AT_A_TIME {
            return Err(Problem::new(
                Code::RateLimited,
                format!("{AT_A_TIME} operations run already; wait for one to end, or stop one"),
            ));
        }
        all.push_back(Operation {
            view: view.clone(),
            group: caller.group().map(ToOwned::to_owned),
            owner: caller.owner().map(ToOwned::to_owned),
            stop: stop.clone(),
        });
        while all.len() > REMEMBERED {
            let Some(oldest) = all
                .iter()
                .position(|operation| operation.view.state != OperationState::Running)
            else {
                break;
            };
            all.remove(oldest);
        }
    }
    tokio::spawn(run(Arc::clone(app), caller.clone(), view.id, order, stop));
    Ok(view)
}

async fn run(app: App, caller: Caller, id: Uuid, order: Order, stop: CancellationToken) {
    let since = app.jobs.insight().moment();
    let mut list = order.list;
    let portion = order.pace.map_or(STEP, |pace| pace.clamp(1, PACED));
    let (mut changed, mut skipped, mut tries) = (0, 0, 0);
    let (state, error) = loop {
        if stop.is_cancelled() {
            break (OperationState::Stopped, None);
        }
        let begin = Instant::now();
        match list.clone().bulk_since(&order.bulk, portion, since).await {
            Ok(done) => {
                tries = 0;
                changed += done.changed;
                skipped += done.skipped;
                app.operations.update(id, |view| {
                    view.changed = changed;
                    view.skipped = skipped;
                });
                match done.next {
                    Some(next) => list = list.before(next),
                    None => break (OperationState::Done, None),
                }
            }
            Err(error) if error.is_transient() && tries < TRIES => {
                tries += 1;
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            Err(error) => break (OperationState::Failed, Some(error.to_string())),
        }
        let next = match order.pace {
            Some(pace) => begin + Duration::from_secs_f64(f64::from(portion) / f64::from(pace.max(1))),
            None => Instant::now() + begin.elapsed() * REST,
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep_until(next) => {}
        }
    };
    app.operations.update(id, |view| {
        view.state = state;
        view.error.clone_from(&error);
        view.ended = Some(Timestamp::now());
        if state == OperationState::Done {
            view.matched = changed + skipped;
            view.more = false;
        }
    });
    tracing::info!(by = caller.name, verb = ?order.action, changed, skipped, ?state, "many jobs were changed");
    let after = serde_json::json!({ "operation": id, "state": state, "skipped": skipped, "error": error });
    let deed = turnabout::store::audit::Deed {
        filter: order.filter,
        count: Some(changed),
        after: Some(after.to_string()),
        ..caller.deed(order.action.as_str())
    };
    app.note(deed).await;
}

/// Operations of this server
///
/// Changes of many jobs that run in the background, and the last ones that did; newest first.
#[utoipa::path(get, path = "/api/v1/operations", tag = "jobs", operation_id = "operations",
    responses((status = 200, body = Operations, description = "How far each is")))]
pub(super) async fn list(State(app): State<App>, caller: Caller) -> Json<Operations> {
    let all = app.operations.all();
    let seen = all.iter().rev().filter(|operation| operation.is_seen_by(&caller));
    Json(Operations {
        operations: seen.map(|operation| operation.view.clone()).collect(),
    })
}

fn find(app: &App, caller: &Caller, id: Uuid) -> Result<(OperationView, CancellationToken), Problem> {
    let all = app.operations.all();
    let mut seen = all.iter().filter(|operation| operation.is_seen_by(caller));
    let found = seen.find(|operation| operation.view.id == id);
    let found = found.map(|operation| (operation.view.clone(), operation.stop.clone()));
    found.ok_or_else(|| Problem::new(Code::NotFound, format!("this server has no operation {id}")))
}

/// One operation
#[utoipa::path(get, path = "/api/v1/operations/{id}", tag = "jobs", operation_id = "operation",
    params(("id" = Uuid, Path, description = "The operation")),
    responses((status = 200, body = OperationView, description = "How far it is")))]
pub(super) async fn get(
    State(app): State<App>,
    caller: Caller,
    Name(id): Name<Uuid>,
) -> Result<Json<OperationView>, Problem> {
    find(&app, &caller, id).map(|(view, _)| Json(view))
}

/// Stop an operation
///
/// After the jobs that are just being changed. What was changed stays so.
#[utoipa::path(post, path = "/api/v1/operations/{id}/stop", tag = "jobs", operation_id = "stopOperation",
    params(("id" = Uuid, Path, description = "The operation")),
    responses((status = 200, body = OperationView, description = "It will stop, or has ended")))]
pub(super) async fn stop(
    State(app): State<App>,
    caller: Caller,
    Name(id): Name<Uuid>,
) -> Result<Json<OperationView>, Problem> {
    let (view, stop) = find(&app, &caller, id)?;
    stop.cancel();
    Ok(Json(view))
}
