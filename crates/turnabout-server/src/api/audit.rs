//! Who did what, and when: written with every change that is asked for here, and read by operators.

use axum::Json;
use axum::extract::State;
use axum::http::Method;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use turnabout::store::audit::{Deed, Entries, MAX_ENTRIES};
use utoipa::IntoParams;

use super::caller::Caller;
use super::extract::{Ask, no_nul};
use super::state::{App, Inner};
use super::types::{AuditEntry, AuditPage, Code, Problem};

/// A note has no more characters.
const LONGEST_NOTE: usize = 500;
/// What was so before and is so since: no more bytes of it.
const LONGEST: usize = 16_000;

/// Which entries.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditQuery {
    /// By whom: the name of a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
    /// What was done: `cancel`, `set-group`, ..
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) action: Option<String>,
    /// To what: `job:ID`, `group:NAME`, ..
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<String>,
    /// In which group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<String>,
    /// Then or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<Timestamp>,
    /// The next page: `next` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<i64>,
    /// How many at the most: from 1 to 1000, 100 unless said otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000)]
    pub(crate) limit: Option<u32>,
}

/// The audit log
///
/// Who changed jobs, groups, tasks, schedules and executors, and when; newest first. Whoever sees one group only sees what
/// was done to it.
#[utoipa::path(get, path = "/api/v1/audit", tag = "summary", operation_id = "audit", params(AuditQuery),
    responses((status = 200, body = AuditPage, description = "A page of it")))]
pub(super) async fn audit(
    State(app): State<App>,
    caller: Caller,
    Ask(query): Ask<AuditQuery>,
) -> Result<Json<AuditPage>, Problem> {
    if caller.owner().is_some() {
        return Err(Problem::new(
            Code::Forbidden,
            "only those who see a whole group may do this",
        ));
    }
    let limit = query.limit.unwrap_or(100);
    if !(1..=MAX_ENTRIES).contains(&limit) {
        return Err(Problem::invalid(
            "limit",
            format!("{limit} is not from 1 to {MAX_ENTRIES}"),
        ));
    }
    for (field, text) in [("by", &query.by), ("action", &query.action), ("target", &query.target)] {
        no_nul(field, text.as_deref().unwrap_or_default())?;
    }
    let (group, _) = caller.place(query.group, None)?;
    let which = Entries {
        by: query.by,
        action: query.action,
        target: query.target,
        group,
        since: query.since,
        before: query.before,
        limit,
    };
    let found = app.jobs.audit().entries(&which).await?;
    let next = found
        .last()
        .filter(|_| found.len() >= limit as usize)
        .map(|last| last.number);
    let mut entries: Vec<AuditEntry> = found.into_iter().map(Into::into).collect();
    if caller.group().is_some() {
        for entry in &mut entries {
            entry.address = None;
        }
    }
    Ok(Json(AuditPage { entries, next }))
}

impl Caller {
    /// Something that they do.
    pub(super) fn deed(&self, action: &str) -> Deed {
        Deed {
            by: self.name.clone(),
            role: self.role.word().to_owned(),
            address: self.address.map(|address| address.to_string()),
            action: action.to_owned(),
            group: self.group().map(ToOwned::to_owned),
            ..Deed::default()
        }
    }
}

impl Inner {
    /// Writes down what was done. What was done stays done: if it cannot be written there, it is told in the server's log.
    pub(super) async fn note(&self, deed: Deed) {
        if let Err(error) = self.jobs.audit().add(deed.clone()).await {
            tracing::error!(?deed, error = %error.chain(), "the audit log could not be written");
        }
    }

    /// Writes down what was done to one job.
    pub(super) async fn note_job(&self, caller: &Caller, action: &str, job: &turnabout::Job, after: Option<String>) {
        let before = serde_json::json!({ "state": job.state, "priority": job.priority });
        let deed = Deed {
            target: Some(format!("job:{}", job.id)),
            group: Some(job.group.clone()),
            count: Some(1),
            before: Some(before.to_string()),
            after,
            ..caller.deed(action)
        };
        self.note(deed).await;
    }
}

/// A note that may be kept.
pub(super) fn checked(note: Option<String>) -> Result<Option<String>, Problem> {
    let Some(note) = note else { return Ok(None) };
    no_nul("note", &note)?;
    if note.chars().count() > LONGEST_NOTE {
        return Err(Problem::invalid(
            "note",
            format!("it has more than {LONGEST_NOTE} characters"),
        ));
    }
    Ok(Some(note).filter(|note| !note.trim().is_empty()))
}

/// Something as JSON, unless it is too long to be kept.
pub(crate) fn json(value: &impl Serialize) -> Option<String> {
    let text = serde_json::to_string(value).ok()?;
    if text.len() <= LONGEST {
        return Some(text);
    }
    let cut: String = text.chars().take(LONGEST / 4).collect();
    serde_json::to_string(&format!("{cut}\u{2026}")).ok()
}

/// What a request does to a schedule, if it is about one: the action, and the schedule's name.
pub(super) fn of_schedule(method: &Method, path: &str) -> Option<(String, String)> {
    let rest = path.strip_prefix("/api/v1/schedules/")?;
    let mut parts = rest.split('/');
    let name = parts.next().filter(|name| !name.is_empty())?;
    let verb = match (method, parts.next()) {
        (&Method::PUT, None) => "set",
        (&Method::PATCH, None) => "change",
        (&Method::DELETE, None) => "delete",
        (&Method::POST, Some(verb @ ("pause" | "resume" | "reset" | "run" | "backfill"))) => verb,
        _ => return None,
    };
    Some((format!("schedule-{verb}"), format!("schedule:{name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_to_a_schedule_is_known_by_its_path() {
        let told = |method: Method, path: &str| of_schedule(&method, path);
        let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(
            told(Method::POST, "/api/v1/schedules/a/pause"),
            pair("schedule-pause", "schedule:a")
        );
        assert_eq!(
            told(Method::PUT, "/api/v1/schedules/a"),
            pair("schedule-set", "schedule:a")
        );
        assert_eq!(
            told(Method::DELETE, "/api/v1/schedules/a"),
            pair("schedule-delete", "schedule:a")
        );
        for (method, path) in [
            (Method::GET, "/api/v1/schedules/a"),
            (Method::POST, "/api/v1/schedules/check"),
            (Method::POST, "/api/v1/jobs"),
        ] {
            assert_eq!(told(method, path), None, "{path}");
        }
    }

    #[test]
    fn what_is_too_long_is_cut_and_stays_json() {
        assert_eq!(json(&[1, 2]).as_deref(), Some("[1,2]"));
        let long = json(&vec!["\u{e9}\""; 9000]).expect("text");
        assert!(long.len() < LONGEST, "{}", long.len());
        serde_json::from_str::<String>(&long).expect("a string");
    }
}
