//! Changes of all jobs that match.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::value::RawValue;
use turnabout::jobs::Bulk;
use turnabout::store::Rewrite;
use turnabout::store::audit::Deed;
use turnabout::{Error, JobId};

use super::super::audit;
use super::super::caller::Caller;
use super::super::extract::Body;
use super::super::operations::{self, Order};
use super::super::state::App;
use super::super::types::{BulkOutcome, BulkRequest, BulkVerb, Code, ListQuery, OperationView, Problem};
use super::list::{narrow, parse_ids};
use super::submit::duration;
use crate::auth::Scope;

/// So many jobs are changed by one call, about.
const CHANGED: u32 = 10_000;
/// In the background, no more than so many jobs a second can be asked for.
const MAX_PACE: u32 = 100_000;

/// Change many jobs
///
/// Cancels, restarts, deletes or retries all jobs that match (or those of the `ids` that do) and whose state allows it, or
/// changes their priority, delay, queue or arguments. It covers what matches when it begins, each job once: about 10,000 by one call, or all of them in
/// the background. With `dry_run` it only says how many there are.
#[utoipa::path(post, path = "/api/v1/jobs/bulk", tag = "jobs", operation_id = "changeJobs", request_body = BulkRequest,
    responses(
        (status = 200, body = BulkOutcome, description = "How many"),
        (status = 202, body = OperationView, description = "It has begun, in the background"),
    ))]
pub(in super::super) async fn bulk(
    State(app): State<App>,
    caller: Caller,
    Body(request): Body<BulkRequest>,
) -> Result<Response, Problem> {
    let bulk = check(&request)?;
    may(&caller, &request)?;
    if let (Some(task), Some(args)) = (&request.filter.task, &request.args) {
        caller.may_submit(task)?;
        let refused = app.live().checks.check(task, args.get());
        refused.map_err(|why| Problem::new(Code::Refused, why).field("args"))?;
    }
    let note = audit::checked(request.note.clone())?;
    if request.background && !request.dry_run {
        let order = order(&app, &caller, &request, bulk).await?;
        let view = operations::begin(&app, &caller, order)?;
        return Ok((StatusCode::ACCEPTED, Json(view)).into_response());
    }
    let outcome = match &request.filter.ids {
        Some(ids) => change_each(&app, &caller, &request, bulk, &parse_ids(ids)?).await?,
        None => change_all(&app, &caller, &request, bulk).await?,
    };
    if !request.dry_run {
        let BulkOutcome { changed, skipped, .. } = outcome;
        tracing::info!(by = caller.name, verb = ?request.action, changed, skipped, "many jobs were changed");
        let mut deed = caller.deed(request.action.as_str());
        deed.group = deed.group.or_else(|| request.filter.group.clone());
        let deed = Deed {
            filter: audit::json(&request.filter),
            count: Some(changed),
            after: changed_to(&request),
            note,
            ..deed
        };
        app.note(deed).await;
    }
    Ok(Json(outcome).into_response())
}

/// An error unless the caller's token is for this, whatever jobs are found.
fn may(caller: &Caller, request: &BulkRequest) -> Result<(), Problem> {
    if matches!(request.action, BulkVerb::Cancel | BulkVerb::Delete) {
        return caller.needs(Scope::Cancel);
    }
    caller.needs(Scope::Submit)?;
    // All but one are many.
    let named = |text: &'_ Option<String>| text.clone().filter(|text| !text.starts_with('!'));
    let (task, queue) = (named(&request.filter.task), named(&request.filter.queue));
    caller.reaches(task.as_deref(), queue.as_deref())?;
    match &request.queue {
        Some(to) => caller.reaches(task.as_deref(), Some(to)),
        None => Ok(()),
    }
}

/// What jobs are given, for the audit log. Arguments may be large, and nobody else's business.
fn changed_to(request: &BulkRequest) -> Option<String> {
    let priority = request.priority.and_then(|priority| audit::json(&priority));
    let delay = request.delay.as_ref().and_then(audit::json);
    priority
        .or(delay)
        .or_else(|| request.queue.as_ref().and_then(audit::json))
}

/// Whether a request makes sense, and what it asks for.
fn check(request: &BulkRequest) -> Result<Bulk, Problem> {
    let query = &request.filter;
    for (field, said) in [
        ("limit", query.limit.is_some()),
        ("count", query.count),
        ("looks", query.looks.is_some()),
        ("brief", query.brief.is_some()),
    ] {
        if said {
            return Err(Problem::invalid(
                field,
                format!("`{field}` is for lists, not for changes of all that match"),
            ));
        }
    }
    // A cursor says where to go on, not which jobs.
    let says_nothing = ListQuery {
        before: None,
        ..query.clone()
    } == ListQuery::default();
    match (says_nothing, request.all) {
        (true, false) => {
            return Err(Problem::invalid(
                "filter",
                "it says nothing about the jobs; say which are meant, or `\"all\": true` if all are",
            ));
        }
        (false, true) => {
            return Err(Problem::invalid(
                "all",
                "the filter says which jobs are meant; leave out one of the two",
            ));
        }
        _ => {}
    }
    if request
        .pace
        .is_some_and(|pace| !request.background || !(1..=MAX_PACE).contains(&pace))
    {
        return Err(Problem::invalid(
            "pace",
            format!("it is from 1 to {MAX_PACE}, and for the background"),
        ));
    }
    wanted(request)
}

/// What is to be done, with what belongs to it and nothing else.
fn wanted(request: &BulkRequest) -> Result<Bulk, Problem> {
    let rewrite = |queue: Option<&String>, args: Option<&RawValue>| {
        Bulk::Rewrite(Rewrite {
            queue: queue.cloned(),
            args: args.map(|args| args.get().to_owned()),
        })
    };
    let given = [
        ("priority", BulkVerb::Priority, request.priority.is_some()),
        ("delay", BulkVerb::Delay, request.delay.is_some()),
        ("queue", BulkVerb::Queue, request.queue.is_some()),
        ("args", BulkVerb::Args, request.args.is_some()),
    ];
    for (name, verb, given) in given {
        if given && request.action != verb {
            return Err(Problem::invalid(name, format!("it is for the action `{name}`")));
        }
    }
    let missing = |name: &str, words: &str| Problem::invalid(name, format!("say which: {words}"));
    match request.action {
        BulkVerb::Cancel => Ok(Bulk::Cancel),
        BulkVerb::Restart => Ok(Bulk::Restart),
        BulkVerb::Delete => Ok(Bulk::Delete),
        BulkVerb::Retry => Ok(Bulk::Retry),
        BulkVerb::Priority => match request.priority {
            Some(priority) => Ok(Bulk::Priority(priority)),
            None => Err(missing("priority", "high, normal or low")),
        },
        BulkVerb::Delay => match &request.delay {
            Some(delay) => Ok(Bulk::Postpone(duration("delay", delay)?)),
            None => Err(missing("delay", "`5 minutes`, for example")),
        },
        BulkVerb::Queue => match &request.queue {
            Some(queue) => Ok(rewrite(Some(queue), None)),
            None => Err(missing("queue", "its name")),
        },
        BulkVerb::Args if request.filter.task.as_deref().is_none_or(|task| task.starts_with('!')) => Err(
            Problem::invalid("filter", "arguments are those of one task; name it in the filter"),
        ),
        BulkVerb::Args => match &request.args {
            Some(args) => Ok(rewrite(None, Some(args))),
            None => Err(missing("args", "whatever the task takes")),
        },
    }
}

async fn order(app: &App, caller: &Caller, request: &BulkRequest, bulk: Bulk) -> Result<Order, Problem> {
    if request.filter.ids.is_some() {
        return Err(Problem::invalid(
            "background",
            "jobs that are named by their ids are changed at once",
        ));
    }
    let list = narrow(app.jobs.list(), caller, &request.filter)?;
    let matched = list.clone().bulk_count(bulk.clone(), CHANGED + 1).await?;
    Ok(Order {
        action: request.action,
        bulk,
        list,
        filter: audit::json(&request.filter),
        pace: request.pace,
        matched: matched.min(CHANGED.into()),
        more: matched > CHANGED.into(),
    })
}

/// All that match, so many at the most.
async fn change_all(app: &App, caller: &Caller, request: &BulkRequest, bulk: Bulk) -> Result<BulkOutcome, Problem> {
    let list = narrow(app.jobs.list(), caller, &request.filter)?;
    if request.dry_run {
        let matched = list.bulk_count(bulk, CHANGED + 1).await?;
        return Ok(BulkOutcome {
            matched: matched.min(CHANGED.into()),
            changed: 0,
            skipped: 0,
            more: matched > CHANGED.into(),
            next: None,
        });
    }
    let done = list.bulk(bulk, CHANGED).await?;
    Ok(BulkOutcome {
        matched: done.changed + done.skipped,
        changed: done.changed,
        skipped: done.skipped,
        more: done.more,
        next: done.next,
    })
}

/// Changes those of the jobs that are meant, one after the other: someone has picked them from a list.
async fn change_each(
    app: &App,
    caller: &Caller,
    request: &BulkRequest,
    bulk: Bulk,
    ids: &[JobId],
) -> Result<BulkOutcome, Problem> {
    let meant = narrow(app.jobs.list(), caller, &request.filter)?;
    let mut jobs = app.jobs.get_many_brief(ids).await?;
    // Whoever tidies up does not mean what is still to be done, unless they name states.
    let tidies = bulk == Bulk::Delete && request.filter.state.is_none();
    jobs.retain(|job| {
        caller.sees(job) && meant.includes(job) && bulk.allows(job.state) && (!tidies || job.state.is_final())
    });
    let mut outcome = BulkOutcome {
        matched: jobs.len() as u64,
        changed: 0,
        skipped: 0,
        more: false,
        next: None,
    };
    if request.dry_run {
        return Ok(outcome);
    }
    for job in jobs {
        let changed = match &bulk {
            Bulk::Cancel => app.jobs.cancel(job.id).await.map(drop),
            Bulk::Restart => app.jobs.restart(job.id).await,
            Bulk::Delete => app.jobs.delete(job.id).await,
            Bulk::Retry => app.jobs.retry_now(job.id).await,
            Bulk::Priority(priority) => app.jobs.set_priority(job.id, *priority).await,
            Bulk::Postpone(delay) => app.jobs.postpone(job.id, *delay).await,
            Bulk::Rewrite(to) => app.jobs.rewrite(job.id, to.clone()).await,
            _ => Err(Error::WrongState {
                id: job.id,
                state: job.state,
                hint: "this server does not know the action",
            }),
        };
        match changed {
            Ok(()) => outcome.changed += 1,
            // Something else has become of it meanwhile.
            Err(
                Error::NotFound(_)
                | Error::NotCancellable { .. }
                | Error::WrongState { .. }
                | Error::Conflict(_)
                | Error::TooMany { .. }
                | Error::TooManyUnknownTasks { .. },
            ) => {
                outcome.skipped += 1;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(outcome)
}
