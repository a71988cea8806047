//! What is wrong now, in the order of harm, each with evidence and with what mends it.
//!
//! Everything that is known is gathered here; what follows from it is decided in the files below, each by plain functions
//! on plain data.

mod database;
mod people;
mod serving;
#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use turnabout::executor::Health;
use turnabout::failures::{FailureKind, kinds};
use turnabout::group::Settings;
use turnabout::shares::Report;
use turnabout::store::audit::Entry;
use turnabout::store::insight::{Checkup, Ended, Head, Held, ReadyPlace};
use turnabout::store::overview::{Member, Whose};

use super::caller::Caller;
use super::sampler::{Seen, is_own};
use super::state::App;
use super::types::{Diagnosis, Finding, Point, Problem, Severity};

/// What ended in this time is looked at.
const LATELY: Duration = Duration::from_mins(10);
const ENDED: u32 = 5_000;
/// Ready jobs of each stream are counted up to here.
const COUNTED: u32 = 10_000;
/// So many streams are counted.
const COUNTED_STREAMS: usize = 200;

/// All that is known.
struct Facts {
    now: Timestamp,
    executors: Vec<Member>,
    held: Vec<Held>,
    heads: Vec<Head>,
    /// How many jobs are ready in some of the streams, in the order of `heads`.
    ready: BTreeMap<usize, u64>,
    settings: std::sync::Arc<Settings>,
    /// Who set what, by target.
    set: BTreeMap<String, Entry>,
    report: Report,
    points: Vec<Point>,
    ended: Vec<Ended>,
    failures: Vec<FailureKind>,
    checkup: Checkup,
    /// Bytes that are free on the disk of the database, and how many it has.
    disk: Option<(u64, u64)>,
    /// The executor beside this server.
    health: Option<Health>,
    /// For how long a schedule has been due.
    overdue: Option<Duration>,
    /// Why the configuration was refused.
    refused: Option<(Timestamp, String)>,
    /// Tokens that end soon, or have ended.
    ending: BTreeMap<String, Timestamp>,
}

/// What is wrong now
///
/// In the order of harm, each with what it is known from and with the command that mends it.
#[utoipa::path(get, path = "/api/v1/doctor", tag = "summary", operation_id = "doctor",
    responses((status = 200, body = Diagnosis, description = "A verdict, and what was found")))]
pub(super) async fn doctor(State(app): State<App>, caller: Caller) -> Result<Json<Diagnosis>, Problem> {
    caller.sees_all()?;
    Ok(Json(match gather(&app).await {
        Ok(facts) => diagnose(&facts),
        Err(error) => unreachable_store(&error),
    }))
}

fn unreachable_store(error: &turnabout::Error) -> Diagnosis {
    let what = "the store cannot be read: no job can be submitted, started or ended".to_owned();
    Diagnosis {
        verdict: what.clone(),
        findings: vec![Finding {
            severity: Severity::Critical,
            code: "store".to_owned(),
            what,
            evidence: error.chain(),
            mend: "see whether the database runs, can be reached from here, and has disk space and free connections"
                .to_owned(),
            link: Some("/readyz".to_owned()),
        }],
    }
}

async fn gather(app: &App) -> turnabout::Result<Facts> {
    let insight = app.jobs.insight();
    // First of all: what follows may depend on it.
    let checkup = insight.checkup().await?;
    let (report, heads, executors, points) = {
        let seen = app.sampler.now(&app.jobs).await?;
        let Seen {
            shares,
            heads,
            executors,
            points,
            ..
        } = &*seen;
        (
            shares.report(10),
            heads.clone(),
            executors.clone(),
            points.iter().cloned().collect(),
        )
    };
    let now = insight.moment();
    let ago = |duration| now.checked_sub(duration).unwrap_or(now);
    let everyone = Whose::default();
    let (mut held, settings, ended, failures) = tokio::try_join!(
        insight.held(),
        app.jobs.settings(),
        insight.ended(ago(LATELY), now, ENDED),
        insight.failures(&everyone, ago(Duration::from_hours(1)), None),
    )?;
    held.retain(|held| !is_own(&held.queue));
    let overdue = app.jobs.schedules().overdue().await?;
    let wanted = serving::uncounted(&heads, &executors, &settings, now);
    let place = |at: &usize| ReadyPlace {
        queue: heads[*at].queue.clone(),
        group: heads[*at].group.clone(),
        task: Some(heads[*at].task.clone()),
    };
    let wanted: Vec<usize> = wanted.into_iter().take(COUNTED_STREAMS).collect();
    let places: Vec<ReadyPlace> = wanted.iter().map(place).collect();
    let counts = insight.ready(&places, COUNTED).await?;
    let groups = settings.groups.keys().map(|name| format!("group:{name}"));
    let tasks = settings.tasks.keys().map(|name| format!("task:{name}"));
    let queues = settings.queues.keys().map(|name| format!("queue:{name}"));
    let all = std::iter::once("settings".to_owned());
    let targets: Vec<String> = all.chain(queues).chain(groups).chain(tasks).take(1000).collect();
    let set = app.jobs.audit().newest(&targets).await?;
    let set = set
        .into_iter()
        .filter_map(|entry| Some((entry.deed.target.clone()?, entry)));
    Ok(Facts {
        now,
        held,
        ready: wanted.into_iter().zip(counts).collect(),
        set: set.collect(),
        points,
        ended,
        failures: kinds(&failures),
        disk: checkup.file.as_deref().and_then(database::disk_space),
        health: app.executor.as_ref().map(|executor| executor.health()),
        overdue,
        refused: app.control.refused(),
        ending: app.live().gate.ending(now),
        executors,
        heads,
        settings,
        report,
        checkup,
    })
}

fn diagnose(facts: &Facts) -> Diagnosis {
    let mut findings = Vec::new();
    database::look(facts, &mut findings);
    serving::look(facts, &mut findings);
    people::look(facts, &mut findings);
    database::will_harm(facts, &mut findings);
    // What was found first is worse, among what is equally bad.
    findings.sort_by_key(|finding| finding.severity);
    let verdict = match findings.first() {
        Some(worst) if worst.severity <= Severity::Warning => worst.what.clone(),
        _ => words::well(facts),
    };
    Diagnosis { verdict, findings }
}

/// A finding.
fn found(severity: Severity, code: &str, what: String, evidence: String, mend: String) -> Finding {
    Finding {
        severity,
        code: code.to_owned(),
        what,
        evidence,
        mend,
        link: None,
    }
}

impl Finding {
    fn see(mut self, link: impl Into<String>) -> Self {
        self.link = Some(link.into());
        self
    }
}
