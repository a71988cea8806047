//! Tokens for browsers: minted for whoever may see the jobs, revoked all at once.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use turnabout::Job;

use super::caller::Caller;
use super::extract::Body;
use super::minting::LONGEST;
use super::state::App;
use super::types::{Code, MintRequest, MintedView, Problem};
use crate::auth::{Grant, Role, Scope};

/// How long a token lives unless said otherwise.
const LIFETIME: Duration = Duration::from_mins(15);
/// A token names no more jobs: it travels in a header, and proxies take no long ones.
const MAX_JOBS: usize = 100;

/// Mint a token for a browser
///
/// A token for a few jobs, for an owner or for a group, which lives for a short time and works on the event stream, on
/// lists of jobs, on a single job and, if that is allowed, on cancel; nowhere else. For administrators and groups.
#[utoipa::path(post, path = "/api/v1/tokens", tag = "tokens", operation_id = "mintToken", request_body = MintRequest,
    responses((status = 201, body = MintedView, description = "The token. It is not kept anywhere")))]
pub(super) async fn mint(
    State(app): State<App>,
    caller: Caller,
    Body(request): Body<MintRequest>,
) -> Result<(StatusCode, Json<MintedView>), Problem> {
    may_mint(&caller)?;
    if request.cancel {
        caller.needs(Scope::Cancel)?;
    }
    let lifetime = lifetime(request.lifetime.as_deref())?;
    let (group, owner) = caller.place(request.group, request.owner)?;
    if let Some(group) = &group {
        // The server's own group is nobody's.
        let role = Role::from_parts("group", Some(group.clone()), None);
        role.map_err(|error| Problem::invalid("group", error.to_string()))?;
    }
    if request.jobs.is_empty() && group.is_none() {
        return Err(Problem::invalid(
            "jobs",
            "say what the token is for: `jobs` (a list of ids), a `group`, or an `owner` of a `group`",
        ));
    }
    if owner.is_some() && group.is_none() {
        return Err(Problem::invalid("group", "an owner belongs to a group: say which"));
    }
    if request.jobs.len() > MAX_JOBS {
        let many = format!("a token names at most {MAX_JOBS} jobs; for more, mint one for their owner or their group");
        return Err(Problem::invalid("jobs", many));
    }
    let mut grant = Grant {
        jobs: request.jobs,
        group,
        owner,
        cancel: request.cancel,
        exp: 0,
    };
    if !grant.jobs.is_empty() {
        // A foreign job does not exist.
        let jobs = app.jobs.get_many(&grant.jobs).await?;
        let is = |job: &Job| caller.sees(job) && fits(&grant, job);
        for id in &grant.jobs {
            if !jobs.iter().any(|job| job.id == *id && is(job)) {
                return Err(turnabout::Error::NotFound(*id).into());
            }
        }
        narrow(&mut grant, &jobs);
    }
    let signer = app.minting.signer(&app).await?;
    let (token, expires) = signer.sign(grant, lifetime)?;
    Ok((StatusCode::CREATED, Json(MintedView { token, expires })))
}

/// Revoke all minted tokens
///
/// Replaces the keys that they were signed with: here at once, on other servers of the same store within ten seconds. Keys that
/// stand in the configuration have to be replaced there (409). For administrators.
#[utoipa::path(post, path = "/api/v1/tokens/rotate", tag = "tokens", operation_id = "rotateTokens",
    responses((status = 204, description = "No token that was minted before is valid any longer")))]
pub(super) async fn rotate(State(app): State<App>, caller: Caller) -> Result<StatusCode, Problem> {
    app.minting.rotate(&app).await?;
    app.note(caller.deed("rotate-tokens")).await;
    tracing::info!(by = caller.name, "all minted tokens were revoked");
    Ok(StatusCode::NO_CONTENT)
}

/// A token that comes with a submit: for this job alone, to look, and to cancel if the caller may.
pub(super) fn for_job(
    caller: &Caller,
    job: turnabout::JobId,
    group: Option<&str>,
    owner: Option<&str>,
) -> (Grant, Duration) {
    let grant = Grant {
        jobs: vec![job],
        group: group.map(ToOwned::to_owned),
        owner: owner.map(ToOwned::to_owned),
        cancel: caller.rights.has(Scope::Cancel),
        exp: 0,
    };
    (grant, LIFETIME)
}

/// An error unless the caller may hand out tokens, which let others look.
pub(super) fn may_mint(caller: &Caller) -> Result<(), Problem> {
    caller.needs(Scope::Read)?;
    match &caller.role {
        Role::Admin | Role::Group(_) => Ok(()),
        _ => Err(Problem::new(
            Code::Forbidden,
            "only tokens of administrators and groups can mint others",
        )),
    }
}

fn fits(grant: &Grant, job: &Job) -> bool {
    grant.group.as_ref().is_none_or(|group| job.group == *group) && (grant.owner.is_none() || job.owner == grant.owner)
}

/// Where all jobs are of one group and owner, the token says so: should a job be forgotten and someone else use its id, the
/// token is still not for theirs.
fn narrow(grant: &mut Grant, jobs: &[Job]) {
    let Some(first) = jobs.first() else { return };
    if jobs.iter().all(|job| job.group == first.group) {
        grant.group = Some(first.group.clone());
        if jobs.iter().all(|job| job.owner == first.owner) {
            grant.owner.clone_from(&first.owner);
        }
    }
}

fn lifetime(text: Option<&str>) -> Result<Duration, Problem> {
    let Some(text) = text else { return Ok(LIFETIME) };
    let lifetime = crate::cli::duration(text).map_err(|why| Problem::invalid("lifetime", why))?;
    if (Duration::from_secs(1)..=LONGEST).contains(&lifetime) {
        return Ok(lifetime);
    }
    Err(Problem::invalid("lifetime", "it is from 1 second to 1 day"))
}
