//! Submitting jobs, one or many.

use std::collections::{HashMap, HashSet};

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use serde_json::value::RawValue;
use tracing::Instrument as _;
use turnabout::group::KeyRate;
use turnabout::job::RATE;
use turnabout::{JobId, Submission, Submitted};

use super::super::caller::Caller;
use super::super::extract::{Body, field, in_words};
use super::super::state::App;
use super::super::tokens;
use super::super::types::{
    BatchOutcome, BatchRequest, Code, ItemOutcome, JobView, Problem, SubmitRequest, SubmittedToken, SubmittedView,
};
use crate::api::{WEBHOOK_GROUP, WEBHOOK_TASK};
use crate::auth::Scope;
use crate::traces;

/// A batch holds no more jobs.
const MAX_BATCH: usize = 1000;

/// Submit a job
#[utoipa::path(post, path = "/api/v1/jobs", tag = "jobs", operation_id = "submitJob", request_body = SubmitRequest,
    responses(
        (status = 201, body = SubmittedView, description = "A new job", headers(("location" = String, description = "The job"))),
        (status = 200, body = SubmittedView, description = "The job that has this id or this unique key already"),
    ))]
pub(in super::super) async fn submit(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Body(request): Body<SubmitRequest>,
) -> Result<Response, Problem> {
    let traced = Traced::new(&headers, 1);
    let wanted = Wanted::of(&request);
    let warning = warning(&app, &request.task);
    let parents = Parents::of(&app, &caller, request.parent).await?;
    parents.check(request.parent)?;
    let submission = submission(&app, &caller, &traced, request)?;
    let outcomes = app.jobs.submit_all([submission]).instrument(traced.span).await;
    let outcome = outcomes.into_iter().next();
    let submitted = outcome.ok_or_else(|| Problem::internal(&"no outcome"))??;
    let Submitted { id, new, .. } = submitted;
    let token = wanted.token(&app, &caller, submitted).await?;
    let job = stored(&app, &caller, &headers, &[id]).await.remove(&id);
    let status = if new { StatusCode::CREATED } else { StatusCode::OK };
    let location = [(header::LOCATION, format!("/api/v1/jobs/{id}"))];
    Ok((
        status,
        location,
        Json(SubmittedView {
            id,
            new,
            job,
            warning,
            token,
        }),
    )
        .into_response())
}

/// These jobs as they are now, as far as the caller sees them. Nothing, if that is not wanted: it costs a look. Also if they
/// cannot be read: they are stored, and whoever heard of an error would submit them again.
async fn stored(app: &App, caller: &Caller, headers: &HeaderMap, ids: &[JobId]) -> HashMap<JobId, JobView> {
    let minimal = headers.get_all("prefer").iter().any(|wish| {
        let wishes = wish.to_str().unwrap_or_default().split([',', ';']);
        wishes
            .map(str::trim)
            .any(|wish| wish.eq_ignore_ascii_case("return=minimal"))
    });
    if minimal || !caller.rights.has(Scope::Read) {
        return HashMap::new();
    }
    let jobs = app.jobs.get_many(ids).await.unwrap_or_default().into_iter();
    let seen = jobs.filter(|job| caller.sees(job));
    seen.map(|job| (job.id, caller.shown(job))).collect()
}

/// Whether a token was asked for, and whose the job is to be.
struct Wanted(Option<(Option<String>, Option<String>)>);

impl Wanted {
    fn of(request: &SubmitRequest) -> Self {
        Self(request.token.then(|| (request.group.clone(), request.owner.clone())))
    }

    /// A token for the job. One that was there before may be someone else's: whoever asks gets no token for it.
    async fn token(self, app: &App, caller: &Caller, submitted: Submitted) -> Result<SubmittedToken, Problem> {
        let Some((group, owner)) = self.0 else {
            return Ok(SubmittedToken::default());
        };
        let (group, owner) = caller.place(group, owner)?;
        if !submitted.new {
            let job = app.jobs.get(submitted.id).await?;
            if !caller.sees(&job) || job.owner != owner {
                return Ok(SubmittedToken::default());
            }
        }
        let (grant, lifetime) = tokens::for_job(caller, submitted.id, group.as_deref(), owner.as_deref());
        let (token, expires) = app.minting.signer(app).await?.sign(grant, lifetime)?;
        Ok(SubmittedToken {
            token: Some(token),
            token_expires: Some(expires),
        })
    }
}

/// Which jobs may be named as parents: those that the caller sees. Whoever sees all may name any.
struct Parents(Option<HashSet<JobId>>);

impl Parents {
    async fn of(app: &App, caller: &Caller, named: impl IntoIterator<Item = JobId>) -> Result<Self, Problem> {
        if caller.group().is_none() {
            return Ok(Self(None));
        }
        let named: Vec<JobId> = named.into_iter().collect();
        if named.is_empty() {
            return Ok(Self(Some(HashSet::new())));
        }
        let jobs = app.jobs.get_many(&named).await?;
        let seen = jobs.iter().filter(|job| caller.sees(job)).map(|job| job.id);
        Ok(Self(Some(seen.collect())))
    }

    fn check(&self, parent: Option<JobId>) -> Result<(), Problem> {
        match (&self.0, parent) {
            (Some(seen), Some(parent)) if !seen.contains(&parent) => Err(Problem::invalid(
                "parent",
                format!("there is no job {parent}; name one that exists, or leave it out"),
            )),
            _ => Ok(()),
        }
    }
}

/// A mistyped task would wait for ever, and say nothing. By what was last seen of executors: asking would cost each submit.
fn warning(app: &App, task: &str) -> Option<String> {
    app.sampler
        .is_unknown(task)
        .then(|| format!("no executor that runs knows the task `{task}`; the job waits until one does"))
}

/// Submit many jobs
///
/// Each has an outcome of its own: one that is refused does not touch the others.
#[utoipa::path(post, path = "/api/v1/jobs/batch", tag = "jobs", operation_id = "submitJobs", request_body = BatchRequest,
    responses((status = 207, body = BatchOutcome, description = "An outcome for each job, in their order")))]
pub(in super::super) async fn submit_batch(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Body(request): Body<BatchRequest>,
) -> Result<Response, Problem> {
    if !(1..=MAX_BATCH).contains(&request.jobs.len()) {
        let detail = format!("a batch has from 1 to {MAX_BATCH} jobs, not {}", request.jobs.len());
        return Err(Problem::invalid("jobs", detail));
    }
    let traced = Traced::new(&headers, request.jobs.len());
    let mut good = Vec::new();
    let jobs: Vec<Result<SubmitRequest, Problem>> = request.jobs.iter().map(|job| read(job)).collect();
    let parents = jobs.iter().flatten().filter_map(|job| job.parent);
    let parents = Parents::of(&app, &caller, parents).await?;
    let checked: Vec<Result<Wanted, Problem>> = jobs
        .into_iter()
        .map(|request| {
            let request = request?;
            parents.check(request.parent)?;
            let wants = Wanted::of(&request);
            good.push(submission(&app, &caller, &traced, request)?);
            Ok(wants)
        })
        .collect();
    let mut answers = app.jobs.submit_all(good).instrument(traced.span).await.into_iter();
    let mut outcomes: Vec<ItemOutcome> = Vec::with_capacity(checked.len());
    let mut told = false;
    for checked in checked {
        outcomes.push(item(match checked {
            Ok(wanted) => {
                let answer = answers.next().ok_or_else(|| Problem::internal(&"no outcome"))?;
                match answer {
                    // The job stands, also if there is no token for it.
                    Ok(submitted) => {
                        let token = wanted.token(&app, &caller, submitted).await.unwrap_or_default();
                        Ok((submitted, token))
                    }
                    // Once for the whole batch: a disk that is full is not filled with that.
                    Err(error) if error.is_transient() && std::mem::replace(&mut told, true) => {
                        Err(Problem::untold(error))
                    }
                    Err(error) => Err(error.into()),
                }
            }
            Err(problem) => Err(problem),
        }));
    }
    let ids: Vec<JobId> = outcomes.iter().filter_map(|outcome| outcome.id).collect();
    let jobs = stored(&app, &caller, &headers, &ids).await;
    for outcome in &mut outcomes {
        outcome.job = outcome.id.and_then(|id| jobs.get(&id).cloned());
    }
    let accepted = outcomes.iter().filter(|outcome| outcome.problem.is_none()).count() as u32;
    let outcome = BatchOutcome {
        accepted,
        refused: outcomes.len() as u32 - accepted,
        outcomes,
    };
    Ok((StatusCode::MULTI_STATUS, Json(outcome)).into_response())
}

/// One job of a batch.
fn read(job: &RawValue) -> Result<SubmitRequest, Problem> {
    serde_json::from_str(job.get()).map_err(|error| {
        let complaint = in_words(&error.to_string());
        Problem::invalid(field(&complaint).unwrap_or("jobs"), complaint.as_str())
    })
}

fn item(outcome: Result<(Submitted, SubmittedToken), Problem>) -> ItemOutcome {
    match outcome {
        Ok((Submitted { id, new, .. }, token)) => ItemOutcome {
            token,
            status: if new { 201 } else { 200 },
            id: Some(id),
            new: Some(new),
            job: None,
            problem: None,
        },
        Err(problem) => ItemOutcome {
            status: problem.status,
            token: SubmittedToken::default(),
            id: None,
            new: None,
            job: None,
            problem: Some(problem),
        },
    }
}

/// A submit as a part of the caller's trace, if they say to which it belongs.
struct Traced {
    span: tracing::Span,
    parent: Option<String>,
}

impl Traced {
    fn new(headers: &HeaderMap, jobs: usize) -> Self {
        let parent = headers
            .get(traces::PARENT)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned);
        let span = tracing::info_span!(target: "turnabout", parent: None, "submit", otel.kind = "producer", jobs);
        Self {
            span: traces::belongs(span, parent.as_deref()),
            parent,
        }
    }
}

/// What was asked for, as the library takes it.
fn submission(app: &App, caller: &Caller, traced: &Traced, mut request: SubmitRequest) -> Result<Submission, Problem> {
    traced
        .span
        .in_scope(|| traces::note(&mut request.meta, traced.parent.as_deref()));
    caller.may_submit(&request.task)?;
    let queue = caller.queue(&request.task, request.queue)?;
    if request.token {
        tokens::may_mint(caller)?;
    }
    let (group, owner) = caller.place(request.group, request.owner)?;
    if group.as_deref().is_some_and(is_ours) && !request.task.starts_with(WEBHOOK_TASK) {
        let detail = format!("the group `{WEBHOOK_GROUP}` is the server's own, for its webhooks; choose another name");
        return Err(Problem::invalid("group", detail));
    }
    let args = request.args.as_deref().map_or("{}", RawValue::get);
    // Kept as it is written, and yet nothing that a task could not read: half a character, or lists without end.
    let read = serde_json::from_str::<Value>(args);
    let read = read.map_err(|error| Problem::invalid("args", error.to_string()))?;
    let live = app.live();
    let public = request.public.or_else(|| live.shown.public(&request.task, &read));
    let refused = live.checks.check(&request.task, args);
    refused.map_err(|why| {
        let problem = Problem::new(Code::Refused, why).field("args");
        let status = live.shown.status(&request.task, Code::Refused.as_str());
        Problem {
            status: status.unwrap_or(problem.status),
            ..problem
        }
    })?;
    let mut submission = match request.args {
        Some(args) => Submission::named(request.task, args),
        None => Submission::named(request.task, serde_json::Map::new()),
    };
    if let Some(group) = group {
        submission = submission.group(group);
    }
    if let Some(owner) = owner {
        submission = submission.owner(owner);
    }
    if let Some(subject) = request.subject {
        submission = submission.subject(subject);
    }
    if let Some(restartable) = request.restartable {
        submission = submission.restartable(restartable);
    }
    if request.meta.contains_key(RATE) {
        let why = format!("`{RATE}` is said by `rate` instead");
        return Err(Problem::invalid("meta", why));
    }
    if let Some(rate) = request.rate {
        let rate: KeyRate = rate.parse()?;
        // One group's jobs never wait for another one's key.
        let key = match caller.group() {
            Some(group) => format!("{group}: {}", rate.key),
            None => rate.key,
        };
        submission = submission.rate(key, rate.rate);
    }
    if let Some(queue) = queue {
        submission = submission.queue(queue);
    }
    if let Some(priority) = request.priority {
        submission = submission.priority(priority);
    }
    match (request.delay, request.at) {
        (Some(_), Some(_)) => {
            return Err(Problem::invalid("at", "give either `at` or `delay`, not both"));
        }
        (Some(delay), None) => submission = submission.delay(duration("delay", &delay)?),
        (None, Some(at)) => submission = submission.at(at),
        (None, None) => {}
    }
    if let Some(expires) = request.expires {
        submission = submission.expires(duration("expires", &expires)?);
    }
    if let Some(unique) = request.unique {
        submission = submission.unique(unique);
    }
    if let Some(parent) = request.parent {
        submission = submission.parent(parent);
    }
    if let Some(items) = request.items {
        submission = submission.items(items);
    }
    for (key, value) in request.meta {
        submission = submission.meta(key, value);
    }
    if let Some(public) = public {
        submission = submission.public(public);
    }
    if let Some(id) = request.id {
        submission = submission.id(id);
    }
    Ok(submission)
}

/// Whether a group is the one in which the server itself submits jobs, or lies inside it.
fn is_ours(group: &str) -> bool {
    group.split('/').next() == Some(WEBHOOK_GROUP)
}

pub(super) fn duration(field: &str, text: &str) -> Result<std::time::Duration, Problem> {
    crate::cli::duration(text).map_err(|why| Problem::invalid(field, why))
}
