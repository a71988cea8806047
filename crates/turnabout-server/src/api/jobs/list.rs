//! Lists of jobs, and changes of all that match.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use turnabout::jobs::{Bulk, List};
use turnabout::store::audit::Deed;
use turnabout::{Error, Job, JobId, State as JobState};

use super::super::audit;
use super::super::caller::Caller;
use super::super::extract::{Ask, Body};
use super::super::operations::{self, Order};
use super::super::state::App;
use super::super::types::{
    BulkOutcome, BulkRequest, BulkVerb, Code, Count, JobPage, ListQuery, OperationView, Problem,
};

/// So many jobs may be asked for by id.
const MAX_IDS: usize = 1000;
/// A page has no more jobs.
const MAX_PAGE: u32 = 1000;
/// Whole jobs that are asked for by id have no more bytes of arguments and results together ..
const MAX_BYTES: usize = 8 << 20;
/// .. and so many of them are read at once.
const WHOLE: usize = 8;
/// Counting stops here.
const COUNTED: u32 = 10_000;
/// So many jobs are changed by one call, about.
const CHANGED: u32 = 10_000;
/// In the background, no more than so many jobs a second can be asked for.
const MAX_PACE: u32 = 100_000;

/// List jobs
///
/// Newest first, a page at a time; or, if `ids` are given, those jobs in that order.
#[utoipa::path(get, path = "/api/v1/jobs", tag = "jobs", operation_id = "listJobs", params(ListQuery),
    responses((status = 200, body = JobPage, description = "One page")))]
pub(in super::super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Ask(query): Ask<ListQuery>,
) -> Result<Json<JobPage>, Problem> {
    let brief = query.brief.unwrap_or(true);
    let ids = query.ids.as_deref().map(parse_ids).transpose()?;
    // Whoever sees a few jobs only is asked about those.
    if let Some(ids) = ids.or_else(|| caller.jobs().map(ToOwned::to_owned)) {
        let meant = narrow(app.jobs.list(), &caller, &query)?;
        let mut jobs = app.jobs.get_many_brief(&ids).await?;
        jobs.retain(|job| caller.sees(job) && meant.includes(job));
        let found = query.count.then(|| count(jobs.len() as u64));
        jobs.truncate(page_size(query.limit.unwrap_or(MAX_PAGE))?);
        if !brief {
            jobs = whole(&app, &jobs).await?;
        }
        return Ok(Json(JobPage {
            jobs: jobs.into_iter().map(|job| caller.shown(job)).collect(),
            next: None,
            count: found,
        }));
    }
    let list = narrow(app.jobs.list(), &caller, &query)?;
    let count = if query.count {
        let question = format!("{list:?}");
        Some(count(app.count(question, list.clone(), COUNTED + 1).await?))
    } else {
        None
    };
    let list = match query.looks {
        Some(0) => return Err(Problem::invalid("looks", "at least one job is looked at")),
        Some(looks) => list.looks(looks),
        None => list,
    };
    let page = if brief { list.brief().await? } else { list.await? };
    Ok(Json(JobPage {
        jobs: page.jobs.into_iter().map(|job| caller.shown(job)).collect(),
        next: page.next,
        count,
    }))
}

/// These jobs with their arguments and results, read a few at a time, if they are not too long together.
async fn whole(app: &App, brief: &[Job]) -> Result<Vec<Job>, Problem> {
    let ids: Vec<JobId> = brief.iter().map(|job| job.id).collect();
    let mut jobs: Vec<Job> = Vec::with_capacity(ids.len());
    let mut bytes = 0;
    for few in ids.chunks(WHOLE) {
        for job in app.jobs.get_many(few).await? {
            bytes += job.args.len() + job.result.as_ref().map_or(0, String::len);
            jobs.push(job);
        }
        if bytes > MAX_BYTES && jobs.len() > 1 {
            return Err(Problem::new(
                Code::TooLarge,
                format!(
                    "the arguments and results of these jobs have more than {MAX_BYTES} bytes together; ask for fewer jobs, or \
                     without `brief=false`"
                ),
            )
            .field("ids"));
        }
    }
    Ok(jobs)
}

/// How many jobs there are in a page, if so many may be.
fn page_size(limit: u32) -> Result<usize, Problem> {
    if (1..=MAX_PAGE).contains(&limit) {
        return Ok(limit as usize);
    }
    Err(Problem::invalid(
        "limit",
        format!("{limit} is not from 1 to {MAX_PAGE}"),
    ))
}

fn count(jobs: u64) -> Count {
    Count {
        jobs: jobs.min(COUNTED.into()),
        more: jobs > COUNTED.into(),
    }
}

/// Change many jobs
///
/// Cancels, restarts, deletes or retries all jobs that match (or those of the `ids` that do) and whose state allows it, or
/// changes their priority. It covers what matches when it begins, each job once: about 10,000 by one call, or all of them in
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
            after: request.priority.and_then(|priority| audit::json(&priority)),
            note,
            ..deed
        };
        app.note(deed).await;
    }
    Ok(Json(outcome).into_response())
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
    match (request.action, request.priority) {
        (BulkVerb::Priority, Some(priority)) => Ok(Bulk::Priority(priority)),
        (BulkVerb::Priority, None) => Err(Problem::invalid("priority", "say which: high, normal or low")),
        (_, Some(_)) => Err(Problem::invalid("priority", "it is for the action `priority`")),
        (BulkVerb::Cancel, None) => Ok(Bulk::Cancel),
        (BulkVerb::Restart, None) => Ok(Bulk::Restart),
        (BulkVerb::Delete, None) => Ok(Bulk::Delete),
        (BulkVerb::Retry, None) => Ok(Bulk::Retry),
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
    let matched = list.clone().bulk_count(bulk, CHANGED + 1).await?;
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
        let changed = match bulk {
            Bulk::Cancel => app.jobs.cancel(job.id).await.map(drop),
            Bulk::Restart => app.jobs.restart(job.id).await,
            Bulk::Delete => app.jobs.delete(job.id).await,
            Bulk::Retry => app.jobs.retry_now(job.id).await,
            Bulk::Priority(priority) => app.jobs.set_priority(job.id, priority).await,
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
                | Error::TooMany { .. },
            ) => {
                outcome.skipped += 1;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(outcome)
}

/// Narrows a list by a text.
type Narrow = fn(List, String) -> List;

/// Of all jobs, those that are asked for and that the caller may see.
fn narrow(list: List, caller: &Caller, query: &ListQuery) -> Result<List, Problem> {
    let mut list = list.limit(query.limit.unwrap_or(100));
    if let Some(states) = &query.state {
        for state in parse_states(states)? {
            list = list.state(state);
        }
    }
    let (group, owner) = caller.place(query.group.clone(), query.owner.clone())?;
    let texts: [(&Option<String>, Narrow); 6] = [
        (&query.task, List::task),
        (&group, List::group),
        (&owner, List::owner),
        (&query.queue, List::queue),
        (&query.search, List::subject),
        (&query.code, List::code),
    ];
    for (text, narrow) in texts {
        if let Some(text) = text {
            list = narrow(list, text.clone());
        }
    }
    if let Some(since) = query.since {
        list = list.since(since);
    }
    if let Some(until) = query.until {
        list = list.until(until);
    }
    if let Some(reason) = query.reason {
        list = list.reason(reason);
    }
    if let Some(parent) = query.parent {
        list = list.parent(parent);
    }
    if let Some(executor) = query.executor {
        list = list.executor(executor);
    }
    if let Some(attempts) = query.attempts {
        list = list.attempts(attempts);
    }
    if let Some(before) = query.before {
        list = list.before(before);
    }
    Ok(list)
}

pub(in super::super) fn parse_ids(text: &str) -> Result<Vec<JobId>, Problem> {
    let ids: Vec<JobId> = text
        .split(',')
        .filter(|part| !part.is_empty())
        .map(|part| part.trim().parse())
        .collect::<Result<_, _>>()
        .map_err(|error: turnabout::Error| Problem::invalid("ids", error.to_string()))?;
    if ids.len() > MAX_IDS {
        return Err(Problem::invalid("ids", format!("at most {MAX_IDS} ids are allowed")));
    }
    Ok(ids)
}

/// The states that are meant: those named, or all but those named with `!`.
fn parse_states(text: &str) -> Result<Vec<JobState>, Problem> {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let (list, word) = match word.strip_prefix('!') {
            Some(word) => (&mut without, word),
            None => (&mut with, word),
        };
        let states = JobState::named(word).map_err(|error| Problem::invalid("state", error.to_string()))?;
        list.extend(states);
    }
    if !with.is_empty() && !without.is_empty() {
        let detail = "name states, or name states with `!` before each, not both";
        return Err(Problem::invalid("state", detail));
    }
    if without.is_empty() {
        return Ok(with);
    }
    let rest: Vec<JobState> = JobState::ALL
        .iter()
        .copied()
        .filter(|state| !without.contains(state))
        .collect();
    if rest.is_empty() {
        return Err(Problem::invalid("state", "no state is left"));
    }
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_named_or_left_out() {
        assert_eq!(
            parse_states("waiting, stuck").expect("two"),
            [JobState::Waiting, JobState::Stuck]
        );
        let open = parse_states("!success,!failed,!cancelled").expect("four");
        assert!(open.iter().all(|state| !state.is_final()) && open.len() == 4);
        assert_eq!(parse_states("unfinished").expect("a set"), JobState::UNFINISHED);
        assert_eq!(parse_states("!ended").expect("a set"), JobState::UNFINISHED);
        assert_eq!(parse_states("active").expect("a set"), JobState::ACTIVE);
        assert!(parse_states("").expect("any").is_empty());
        for bad in ["done", "!done", "waiting,!stuck", "!!waiting"] {
            parse_states(bad).expect_err(bad);
        }
    }
}
