//! Lists of jobs.

use axum::Json;
use axum::extract::State;
use turnabout::{JobId, State as JobState};

use super::super::caller::Caller;
use super::super::extract::Ask;
use super::super::state::App;
use super::super::types::{JobPage, ListQuery, Problem};

/// So many jobs may be asked for by id.
const MAX_IDS: usize = 1000;

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
    if let Some(ids) = &query.ids {
        let ids = parse_ids(ids)?;
        let mut jobs = app.jobs.get_many(&ids).await?;
        jobs.retain(|job| caller.sees(job));
        return Ok(Json(JobPage {
            jobs: jobs.into_iter().map(Into::into).collect(),
            next: None,
            count: None,
        }));
    }
    let mut list = app.jobs.list().limit(query.limit.unwrap_or(100));
    if let Some(states) = &query.state {
        for state in parse_states(states)? {
            list = list.state(state);
        }
    }
    if let Some(task) = query.task {
        list = list.task(task);
    }
    if let Some(group) = query.group {
        list = list.group(group);
    }
    if let Some(owner) = query.owner {
        list = list.owner(owner);
    }
    if let Some(queue) = query.queue {
        list = list.queue(queue);
    }
    if let Some(before) = query.before {
        list = list.before(before);
    }
    let page = list.await?;
    Ok(Json(JobPage {
        jobs: page.jobs.into_iter().map(Into::into).collect(),
        next: page.next,
        count: None,
    }))
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
pub(super) fn parse_states(text: &str) -> Result<Vec<JobState>, Problem> {
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
