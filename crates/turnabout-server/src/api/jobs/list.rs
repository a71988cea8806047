//! Lists of jobs, and changes of all that match.

use axum::Json;
use axum::extract::State;
use turnabout::jobs::{Bulk, List};
use turnabout::{Error, Job, JobId, State as JobState};

use super::super::caller::Caller;
use super::super::extract::{Ask, Body};
use super::super::state::App;
use super::super::types::{BulkOutcome, BulkRequest, BulkVerb, Count, JobPage, ListQuery, Problem};

/// So many jobs may be asked for by id.
const MAX_IDS: usize = 1000;
/// A page has no more jobs.
const MAX_PAGE: u32 = 1000;
/// Counting stops here.
const COUNTED: u32 = 10_000;
/// So many jobs are changed by one call, about.
const CHANGED: u32 = 10_000;

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
    let ids = query.ids.as_deref().map(parse_ids).transpose()?;
    // Whoever sees a few jobs only is asked about those.
    if let Some(ids) = ids.or_else(|| caller.jobs().map(ToOwned::to_owned)) {
        let mut jobs = app.jobs.get_many(&ids).await?;
        let meant = Meant::new(&caller, &query)?;
        jobs.retain(|job| caller.sees(job) && meant.includes(job));
        let found = query.count.then(|| count(jobs.len() as u64));
        jobs.truncate(page_size(query.limit.unwrap_or(MAX_PAGE))?);
        return Ok(Json(JobPage {
            jobs: jobs.into_iter().map(|job| caller.shown(job)).collect(),
            next: None,
            count: found,
        }));
    }
    let list = narrow(app.jobs.list(), &caller, &query)?;
    let count = if query.count {
        Some(count(list.clone().count(COUNTED + 1).await?))
    } else {
        None
    };
    let page = list.await?;
    Ok(Json(JobPage {
        jobs: page.jobs.into_iter().map(|job| caller.shown(job)).collect(),
        next: page.next,
        count,
    }))
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

/// Which of the jobs that were asked for by id are meant: as in a list, everything that is said must hold.
struct Meant<'a> {
    query: &'a ListQuery,
    states: Vec<JobState>,
    search: Option<String>,
}

impl<'a> Meant<'a> {
    fn new(caller: &Caller, query: &'a ListQuery) -> Result<Self, Problem> {
        caller.place(query.group.clone(), query.owner.clone())?;
        let states = query.state.as_deref().map(parse_states).transpose()?;
        Ok(Self {
            query,
            states: states.unwrap_or_default(),
            search: query.search.as_ref().map(|text| text.to_ascii_lowercase()),
        })
    }

    fn includes(&self, job: &Job) -> bool {
        let query = self.query;
        let same = |wanted: &Option<String>, is: Option<&str>| wanted.is_none() || wanted.as_deref() == is;
        (self.states.is_empty() || self.states.contains(&job.state))
            && same(&query.task, Some(&job.task))
            && same(&query.group, Some(&job.group))
            && same(&query.owner, job.owner.as_deref())
            && same(&query.queue, Some(&job.queue))
            && self.search.as_ref().is_none_or(|text| {
                let subject = job.subject.as_deref().map(str::to_ascii_lowercase);
                subject.is_some_and(|subject| subject.contains(text))
            })
            && query.since.is_none_or(|since| job.submitted >= since)
            && query.until.is_none_or(|until| job.submitted < until)
            && query.before.is_none_or(|before| job.id < before)
    }
}

fn count(jobs: u64) -> Count {
    Count {
        jobs: jobs.min(COUNTED.into()),
        more: jobs > COUNTED.into(),
    }
}

/// Change many jobs
///
/// Cancels, restarts or deletes all jobs that match (or those of the `ids` that do) and whose state allows it, about 10,000
/// of them by one call; with `dry_run` only says how many there are.
#[utoipa::path(post, path = "/api/v1/jobs/bulk", tag = "jobs", operation_id = "changeJobs", request_body = BulkRequest,
    responses((status = 200, body = BulkOutcome, description = "How many")))]
pub(in super::super) async fn bulk(
    State(app): State<App>,
    caller: Caller,
    Body(request): Body<BulkRequest>,
) -> Result<Json<BulkOutcome>, Problem> {
    let query = &request.filter;
    for (field, said) in [("limit", query.limit.is_some()), ("count", query.count)] {
        if said {
            return Err(Problem::invalid(
                field,
                format!("`{field}` is for lists, not for changes of all that match"),
            ));
        }
    }
    let outcome = match &query.ids {
        Some(ids) => change_each(&app, &caller, &request, &parse_ids(ids)?).await?,
        None => change_all(&app, &caller, &request).await?,
    };
    if !request.dry_run {
        let BulkOutcome { changed, skipped, .. } = outcome;
        tracing::info!(by = caller.name, verb = ?request.action, changed, skipped, "many jobs were changed");
    }
    Ok(Json(outcome))
}

/// All that match, so many at the most.
async fn change_all(app: &App, caller: &Caller, request: &BulkRequest) -> Result<BulkOutcome, Problem> {
    let list = narrow(app.jobs.list(), caller, &request.filter)?;
    let verb = match request.action {
        BulkVerb::Cancel => Bulk::Cancel,
        BulkVerb::Restart => Bulk::Restart,
        BulkVerb::Delete => Bulk::Delete,
    };
    if request.dry_run {
        let matched = list.bulk_count(verb, CHANGED + 1).await?;
        return Ok(BulkOutcome {
            matched: matched.min(CHANGED.into()),
            changed: 0,
            skipped: 0,
            more: matched > CHANGED.into(),
        });
    }
    let done = list.bulk(verb, CHANGED).await?;
    Ok(BulkOutcome {
        matched: done.changed + done.skipped,
        changed: done.changed,
        skipped: done.skipped,
        more: done.more,
    })
}

/// Changes those of the jobs that are meant, one after the other: someone has picked them from a list.
async fn change_each(app: &App, caller: &Caller, request: &BulkRequest, ids: &[JobId]) -> Result<BulkOutcome, Problem> {
    let meant = Meant::new(caller, &request.filter)?;
    let mut jobs = app.jobs.get_many(ids).await?;
    let wants_ended = request.action != BulkVerb::Cancel;
    jobs.retain(|job| caller.sees(job) && meant.includes(job) && job.state.is_final() == wants_ended);
    let mut outcome = BulkOutcome {
        matched: jobs.len() as u64,
        changed: 0,
        skipped: 0,
        more: false,
    };
    if request.dry_run {
        return Ok(outcome);
    }
    for job in jobs {
        let changed = match request.action {
            BulkVerb::Cancel => app.jobs.cancel(job.id).await.map(drop),
            BulkVerb::Restart => app.jobs.restart(job.id).await.map(drop),
            BulkVerb::Delete => app.jobs.delete(job.id).await.map(drop),
        };
        match changed {
            Ok(()) => outcome.changed += 1,
            // Something else has become of it meanwhile.
            Err(Error::NotFound(_) | Error::NotCancellable { .. } | Error::WrongState { .. } | Error::Conflict(_)) => {
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
    let texts: [(&Option<String>, Narrow); 5] = [
        (&query.task, List::task),
        (&group, List::group),
        (&owner, List::owner),
        (&query.queue, List::queue),
        (&query.search, List::subject),
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
        let state: JobState = word
            .parse()
            .map_err(|error: turnabout::Error| Problem::invalid("state", error.to_string()))?;
        list.push(state);
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
        assert!(parse_states("").expect("any").is_empty());
        for bad in ["done", "!done", "waiting,!stuck", "!!waiting"] {
            parse_states(bad).expect_err(bad);
        }
    }
}
