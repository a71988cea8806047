//! The last hour, and who gets which share of the slots.

use std::collections::{HashMap, HashSet};

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use turnabout::shares::{GroupShare, Report};
use turnabout::store::insight::{Insight, ReadyPlace};
use utoipa::{IntoParams, ToSchema};

use super::caller::Caller;
use super::extract::Ask;
use super::sampler::STEP;
use super::state::App;
use super::types::{Code, OldestReady, Problem, Rest, SetBy, ShareView, SharesView, Trends};

/// Ready jobs of all groups on a page are counted up to here, ..
const COUNTED: u32 = 100_000;
/// .. and of one up to here at the most.
const COUNTED_EACH: u32 = 10_000;
const MAX_PAGE: u32 = 1000;

/// The last hour
///
/// How many jobs were ready and running, and how many came and went, every ten seconds since this server was started.
#[utoipa::path(get, path = "/api/v1/trends", tag = "summary", operation_id = "trends",
    responses((status = 200, body = Trends, description = "Points, oldest first")))]
pub(super) async fn trends(State(app): State<App>, caller: Caller) -> Result<Json<Trends>, Problem> {
    caller.sees_all()?;
    let seen = app.sampler.now(&app.jobs).await?;
    Ok(Json(Trends {
        step_seconds: STEP.as_secs(),
        points: seen.points.iter().cloned().collect(),
    }))
}

/// In which order groups are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum SortShares {
    /// Those that used most first.
    #[default]
    Used,
    /// Those first that are furthest above what they are entitled to.
    Over,
    /// Those first whose jobs waited longest.
    Wait,
    /// Those first that have been waiting longest for their turn.
    Waiting,
    /// Those with the oldest jobs first.
    Oldest,
    /// Those with most jobs in executors' hands first.
    Running,
    /// By name.
    Group,
}

/// Which groups, over which time.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct SharesQuery {
    /// Over the last 1, 10 or 60 minutes; 10 unless said otherwise.
    #[param(minimum = 1, maximum = 60)]
    minutes: Option<u32>,
    /// How many groups at the most: from 1 to 1000, 100 unless said otherwise.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// In which order: `used` unless said otherwise.
    #[param(inline)]
    sort: SortShares,
    /// Only groups whose name contains this text; capital and small letters (of a to z) are the same.
    search: Option<String>,
}

/// Who gets which share of the slots
///
/// Of each group: what it is entitled to by its weight, what it had, how long its jobs waited. A group is *noisy* if it had
/// more than its share while others waited, and *harmed* if it has been waiting for its turn for longer than one rotation.
#[utoipa::path(get, path = "/api/v1/shares", tag = "summary", operation_id = "shares", params(SharesQuery),
    responses((status = 200, body = SharesView, description = "A row for each group")))]
pub(super) async fn shares(
    State(app): State<App>,
    caller: Caller,
    Ask(query): Ask<SharesQuery>,
) -> Result<Json<SharesView>, Problem> {
    if caller.owner().is_some() {
        return Err(Problem::new(
            Code::Forbidden,
            "only those who see a whole group may do this",
        ));
    }
    let minutes = query.minutes.unwrap_or(10);
    if ![1, 10, 60].contains(&minutes) {
        return Err(Problem::invalid("minutes", format!("{minutes} is not 1, 10 or 60")));
    }
    let limit = query.limit.unwrap_or(100);
    if !(1..=MAX_PAGE).contains(&limit) {
        return Err(Problem::invalid(
            "limit",
            format!("{limit} is not from 1 to {MAX_PAGE}"),
        ));
    }
    let (report, idle, queues) = {
        let seen = app.sampler.now(&app.jobs).await?;
        let report = seen.shares.report(minutes);
        let known: HashSet<&str> = report.groups.iter().map(|share| share.group.as_str()).collect();
        // Groups whose jobs nobody would take at present: paused ones, for example.
        let unknown = seen.queues.keys().filter(|group| !known.contains(group.as_str()));
        let idle: Vec<String> = unknown.cloned().collect();
        drop(known);
        (report, idle, seen.queues.clone())
    };
    let mut page = Page::new(report, idle);
    page.narrow(caller.group(), query.search.as_deref());
    page.sort(query.sort);
    let view = page
        .view(&app, caller.group().is_some(), limit as usize, &queues)
        .await?;
    Ok(Json(view))
}

/// The groups that are asked for.
struct Page {
    report: Report,
    groups: Vec<GroupShare>,
}

impl Page {
    fn new(mut report: Report, idle: Vec<String>) -> Self {
        let mut groups = std::mem::take(&mut report.groups);
        groups.extend(idle.into_iter().map(GroupShare::idle));
        Self { report, groups }
    }

    fn narrow(&mut self, only: Option<&str>, search: Option<&str>) {
        if let Some(only) = only {
            self.groups.retain(|share| share.group == only);
        }
        if let Some(text) = search.map(str::to_ascii_lowercase) {
            self.groups
                .retain(|share| share.group.to_ascii_lowercase().contains(&text));
        }
    }

    fn sort(&mut self, sort: SortShares) {
        let descending = |a: f64, b: f64| b.total_cmp(&a);
        self.groups.sort_by(|a, b| {
            let order = match sort {
                SortShares::Used => descending(a.used, b.used),
                SortShares::Over => descending(a.used - a.entitled, b.used - b.entitled),
                SortShares::Wait => b.wait_p95.cmp(&a.wait_p95),
                SortShares::Waiting => b.waiting.cmp(&a.waiting),
                // None is the last here.
                SortShares::Oldest => (a.oldest.is_none(), a.oldest).cmp(&(b.oldest.is_none(), b.oldest)),
                SortShares::Running => b.held.cmp(&a.held),
                SortShares::Group => std::cmp::Ordering::Equal,
            };
            order.then_with(|| a.group.cmp(&b.group))
        });
    }

    async fn view(
        mut self,
        app: &App,
        one_group: bool,
        limit: usize,
        queues: &HashMap<String, Vec<String>>,
    ) -> Result<SharesView, Problem> {
        let oldest = self.groups.iter().filter_map(|share| Some((share.oldest?, share)));
        let oldest = oldest.min_by_key(|(since, _)| *since);
        let oldest = oldest.map(|(since, share)| (since, share.group.clone()));
        let rest = self.groups.split_off(limit.min(self.groups.len()));
        let names: Vec<&str> = self.groups.iter().map(|share| share.group.as_str()).collect();
        let ready = Ready::count(app.jobs.insight(), &names, queues).await?;
        let settings = app.jobs.settings().await?;
        let is_set = |name: &&&str| settings.groups.contains_key(**name);
        let targets: Vec<String> = names
            .iter()
            .filter(is_set)
            .map(|name| format!("group:{name}"))
            .collect();
        let mut set = app.jobs.audit().newest(&targets).await?;
        let now = app.jobs.insight().moment();
        let millis = |duration: std::time::Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let since = |then| u64::try_from(now.duration_since(then).as_millis()).unwrap_or(0);
        let view = |(at, share): (usize, &GroupShare)| {
            let settings = settings.group(&share.group);
            let target = format!("group:{}", share.group);
            let entry = set
                .iter()
                .position(|entry| entry.deed.target.as_deref() == Some(&target));
            ShareView {
                group: share.group.clone(),
                weight: settings.weight(),
                entitled: share.entitled,
                used: share.used,
                slot_seconds: share.slot_seconds,
                ready: ready.counts[at],
                ready_more: ready.counts[at] >= u64::from(ready.limit),
                running: share.held,
                oldest_ready_ms: share.oldest.map(since),
                waiting_ms: share.waiting.map(millis),
                wait_p50_ms: share.wait_p50.map(millis),
                wait_p95_ms: share.wait_p95.map(millis),
                noisy: share.noisy,
                harmed: share.harmed,
                paused: settings.paused,
                max_running: settings.max_running,
                set: entry.map(|at| SetBy::from(set.swap_remove(at))),
            }
        };
        let groups = self.groups.iter().enumerate().map(view).collect();
        let report = &self.report;
        Ok(SharesView {
            minutes: report.minutes,
            observed_seconds: report.observed,
            slots: (!one_group).then_some(report.slots),
            busy: (!one_group).then_some(report.busy),
            jain: (!one_group).then_some(report.jain),
            rotation_ms: report.rotation.map(millis),
            groups,
            oldest: oldest.map(|(then, group)| OldestReady {
                group,
                ready_ms: since(then),
            }),
            rest: if one_group {
                Rest::default()
            } else {
                Rest {
                    groups: rest.len() as u64,
                    used: rest.iter().map(|share| share.used).sum::<f64>() + report.rest,
                }
            },
        })
    }
}

/// How many jobs of groups are ready.
struct Ready {
    counts: Vec<u64>,
    /// Each was counted up to here.
    limit: u32,
}

impl Ready {
    async fn count(
        insight: &dyn Insight,
        groups: &[&str],
        queues: &HashMap<String, Vec<String>>,
    ) -> turnabout::Result<Self> {
        let mut places = Vec::new();
        let mut of = Vec::new();
        for (at, group) in groups.iter().enumerate() {
            for queue in queues.get(*group).into_iter().flatten() {
                places.push(ReadyPlace {
                    queue: queue.clone(),
                    group: (*group).to_owned(),
                    task: None,
                });
                of.push(at);
            }
        }
        let limit = (COUNTED / u32::try_from(places.len().max(1)).unwrap_or(u32::MAX)).clamp(100, COUNTED_EACH);
        let mut counts = vec![0; groups.len()];
        if !places.is_empty() {
            for (at, jobs) in of.into_iter().zip(insight.ready(&places, limit).await?) {
                counts[at] += jobs;
            }
        }
        Ok(Self { counts, limit })
    }
}
