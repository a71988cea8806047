//! Lists of jobs.

use axum::Json;
use axum::extract::State;
use turnabout::job::Reason;
use turnabout::jobs::List;
use turnabout::store::overview::Not;
use turnabout::{Job, JobId, State as JobState};

use super::super::caller::Caller;
use super::super::extract::{Ask, Body, no_nul};
use super::super::state::App;
use super::super::types::{Code, Count, JobPage, ListQuery, Problem};

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
    page(&app, &caller, query).await
}

/// List jobs by many ids
///
/// The same list, for more ids than an address holds.
#[utoipa::path(post, path = "/api/v1/jobs/find", tag = "jobs", operation_id = "findJobs", request_body = ListQuery,
    responses((status = 200, body = JobPage, description = "One page")))]
pub(in super::super) async fn find(
    State(app): State<App>,
    caller: Caller,
    Body(query): Body<ListQuery>,
) -> Result<Json<JobPage>, Problem> {
    page(&app, &caller, query).await
}

async fn page(app: &App, caller: &Caller, query: ListQuery) -> Result<Json<JobPage>, Problem> {
    let brief = query.brief.unwrap_or(true);
    let ids = query.ids.as_deref().map(parse_ids).transpose()?;
    // Whoever sees a few jobs only is asked about those.
    if let Some(ids) = ids.or_else(|| caller.jobs().map(ToOwned::to_owned)) {
        let meant = narrow(app.jobs.list(), caller, &query)?;
        let mut jobs = app.jobs.get_many_brief(&ids).await?;
        jobs.retain(|job| caller.sees(job) && meant.includes(job));
        let found = query.count.then(|| count(jobs.len() as u64));
        jobs.truncate(page_size(query.limit.unwrap_or(MAX_PAGE))?);
        if !brief {
            jobs = whole(app, &jobs).await?;
        }
        return Ok(Json(JobPage {
            jobs: jobs.into_iter().map(|job| caller.shown(job)).collect(),
            next: None,
            count: found,
        }));
    }
    let list = narrow(app.jobs.list(), caller, &query)?;
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

/// Narrows a list by a text.
type Narrow = fn(List, String) -> List;

/// Of all jobs, those that are asked for and that the caller may see.
pub(super) fn narrow(list: List, caller: &Caller, query: &ListQuery) -> Result<List, Problem> {
    let mut list = list.limit(query.limit.unwrap_or(100));
    if let Some(states) = &query.state {
        for state in parse_states(states)? {
            list = list.state(state);
        }
    }
    let (group, owner) = caller.place(query.group.clone(), query.owner.clone())?;
    let mut not = Not::default();
    let texts: [(&Option<String>, Narrow, &mut Option<String>); 5] = [
        (&query.task, List::task, &mut not.task),
        (&group, List::group, &mut not.group),
        (&owner, List::owner, &mut not.owner),
        (&query.queue, List::queue, &mut not.queue),
        (&query.code, List::code, &mut not.code),
    ];
    for (text, narrow, not) in texts {
        match text.as_deref().map(|text| (text.strip_prefix('!'), text)) {
            Some((Some(other), _)) => *not = Some(other.to_owned()),
            Some((None, text)) => list = narrow(list, text.to_owned()),
            None => {}
        }
    }
    if let Some(text) = &query.search {
        list = list.subject(text);
    }
    if let Some(text) = &query.reason {
        let reason = text.strip_prefix('!').unwrap_or(text).parse::<Reason>();
        let reason = reason.map_err(|error| Problem::invalid("reason", error.to_string()))?;
        if text.starts_with('!') {
            not.reason = Some(reason.code());
        } else {
            list = list.reason(reason);
        }
    }
    list = list.not(not);
    for entry in query.meta.iter().flat_map(|all| all.split(',')) {
        let (key, value) = entry
            .split_once('=')
            .ok_or_else(|| Problem::invalid("meta", format!("`{entry}` is not written as key=value")))?;
        no_nul("meta", entry)?;
        list = list.meta(key, value);
    }
    if let Some(since) = query.since {
        list = list.since(since);
    }
    if let Some(until) = query.until {
        list = list.until(until);
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
