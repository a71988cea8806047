//! Numbers for Prometheus: counters and histograms of what this process does, and gauges of what is in the store.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use metrics::{Unit, describe_counter, describe_histogram};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use turnabout::jobs::Whose;

use super::caller::Caller;
use super::state::{App, Inner};
use super::types::Problem;

/// From a millisecond to an hour.
const BUCKETS: [f64; 14] = [
    0.001, 0.005, 0.02, 0.1, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 180.0, 600.0, 1800.0, 3600.0,
];
/// What ended within this time is what is done in a minute.
const MINUTE: Duration = Duration::from_mins(1);
/// What is in the store is added up no more often than this.
const FRESH: Duration = Duration::from_secs(5);
/// Samples of histograms are put into their buckets this often; otherwise they would pile up.
const UPKEEP: Duration = Duration::from_secs(5);
/// Seconds after which an executor that was not heard of is worth a look. Usually they are heard of every five.
const SILENT: f64 = 30.0;
/// So many groups are shown at the most, where they are at all.
const GROUPS: u32 = 1000;

/// What was in the store, and when.
#[derive(Default)]
pub(super) struct Gauges {
    read: Option<(Instant, String)>,
}

/// The recorder of this process, made when first asked for. Before the first job runs, if its numbers are to be seen.
pub(super) fn recorder() -> anyhow::Result<&'static PrometheusHandle> {
    static RECORDER: OnceLock<PrometheusHandle> = OnceLock::new();
    if let Some(handle) = RECORDER.get() {
        return Ok(handle);
    }
    let recorder = PrometheusBuilder::new().set_buckets(&BUCKETS)?.build_recorder();
    let handle = RECORDER.get_or_init(|| recorder.handle());
    // Someone else was quicker: theirs is the one.
    if metrics::set_global_recorder(recorder).is_ok() {
        describe();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(UPKEEP).await;
                handle.run_upkeep();
            }
        });
    }
    Ok(handle)
}

fn describe() {
    describe_counter!(
        "turnabout_attempts_started_total",
        "Attempts that were started, by task"
    );
    describe_counter!(
        "turnabout_attempts_ended_total",
        "Attempts that have ended, by task and by what became of the job"
    );
    describe_counter!(
        "turnabout_items_ended_total",
        "Units of work of jobs that have ended, by task and final state"
    );
    describe_histogram!(
        "turnabout_job_wait_seconds",
        Unit::Seconds,
        "From the submit to the first start, by task"
    );
    describe_histogram!(
        "turnabout_job_run_seconds",
        Unit::Seconds,
        "How long attempts ran, by task"
    );
    describe_counter!(
        "turnabout_schedule_times_total",
        "Times of schedules, by what became of them: fired, skipped, missed, refused"
    );
    describe_histogram!(
        "turnabout_schedule_late_seconds",
        Unit::Seconds,
        "How late schedules were fired"
    );
    describe_counter!("turnabout_http_requests_total", "Requests, by method, path and status");
    describe_histogram!(
        "turnabout_http_request_seconds",
        Unit::Seconds,
        "How long answers took, by path"
    );
}

/// Numbers for Prometheus
#[utoipa::path(get, path = "/metrics", tag = "info", operation_id = "metrics",
    responses((status = 200, description = "In the text format of Prometheus", content_type = "text/plain", body = String)))]
pub(super) async fn metrics(State(app): State<App>, caller: Option<Caller>) -> Result<Response, Problem> {
    match caller {
        Some(caller) => caller.sees_all()?,
        // The guard has let them in.
        None if app.settings.open_metrics => {}
        None => return Err(Problem::new(super::types::Code::Unauthorized, "no token was given")),
    }
    let recorder = recorder().map_err(|error| Problem::internal(&error))?;
    let mut text = recorder.render();
    text.push_str(&gauges(&app).await?);
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    Ok((kind, text).into_response())
}

/// What is in the store. One at a time: whoever comes meanwhile gets the same.
async fn gauges(app: &App) -> Result<String, Problem> {
    let mut gauges = app.gauges.lock().await;
    if let Some((_, text)) = gauges.read.as_ref().filter(|(read, _)| read.elapsed() < FRESH) {
        return Ok(text.clone());
    }
    let text = read(app).await?;
    gauges.read = Some((Instant::now(), text.clone()));
    Ok(text)
}

async fn read(app: &Inner) -> Result<String, Problem> {
    let mut text = Text::default();
    // Whoever adds up the numbers of all processes would have those of the store once for each.
    if !app.settings.status_only {
        stored(app, &mut text).await?;
    }
    if let Some(executor) = &app.executor {
        let health = executor.health();
        text.head(
            "turnabout_running_jobs",
            "Jobs that run on the executor of this process",
        );
        text.line("turnabout_running_jobs", &[], health.running as f64);
        text.head(
            "turnabout_executor_healthy",
            "Whether the executor of this process is well",
        );
        text.line("turnabout_executor_healthy", &[], f64::from(u8::from(health.is_good())));
    }
    Ok(text.0)
}

/// The numbers of the store, which are the same wherever one asks.
async fn stored(app: &Inner, text: &mut Text) -> Result<(), Problem> {
    let everyone = Whose::default();
    let (sums, executors) = tokio::try_join!(app.task_sums(&everyone, MINUTE), app.jobs.executors())?;
    text.head(
        "turnabout_items_per_minute",
        "Units of work of jobs that have ended within the last minute, by task and final state",
    );
    let mut items: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for sum in sums.iter().filter(|sum| sum.state.is_final()) {
        *items.entry((&sum.task, sum.state.as_str())).or_default() += sum.items;
    }
    for ((task, state), items) in items {
        text.line(
            "turnabout_items_per_minute",
            &[("task", task), ("state", state)],
            items as f64,
        );
    }
    text.head("turnabout_jobs", "Unfinished jobs, by task, priority and state");
    for sum in sums.iter().filter(|sum| !sum.state.is_final()) {
        let labels = [
            ("task", sum.task.as_str()),
            ("priority", sum.priority.as_str()),
            ("state", sum.state.as_str()),
        ];
        text.line("turnabout_jobs", &labels, sum.jobs as f64);
    }
    text.head(
        "turnabout_oldest_job_seconds",
        "How long ago the oldest unfinished job was submitted, by task, priority and state",
    );
    let now = Timestamp::now();
    for sum in sums.iter().filter(|sum| !sum.state.is_final()) {
        let labels = [
            ("task", sum.task.as_str()),
            ("priority", sum.priority.as_str()),
            ("state", sum.state.as_str()),
        ];
        let age = sum
            .oldest
            .map_or(0.0, |oldest| now.duration_since(oldest).as_secs_f64());
        text.line("turnabout_oldest_job_seconds", &labels, age.max(0.0));
    }
    text.head(
        "turnabout_schedule_overdue_seconds",
        "How long a schedule has been due that nobody has fired; 0: none is",
    );
    let overdue = app.jobs.schedules().overdue().await?.unwrap_or_default();
    text.line("turnabout_schedule_overdue_seconds", &[], overdue.as_secs_f64());
    text.head("turnabout_executors", "Registered executors");
    text.line("turnabout_executors", &[], executors.len() as f64);
    let is_silent = |seen: Timestamp| now.duration_since(seen).as_secs_f64() >= SILENT;
    let silent = executors.iter().filter(|member| is_silent(member.seen)).count();
    text.head(
        "turnabout_silent_executors",
        "Registered executors that were not heard of for half a minute",
    );
    text.line("turnabout_silent_executors", &[], silent as f64);
    text.head("turnabout_slots", "Slots of all executors together");
    let slots: u32 = executors.iter().map(|member| member.info.slots).sum();
    text.line("turnabout_slots", &[], slots.into());
    if app.settings.group_metrics {
        text.head(
            "turnabout_group_jobs",
            "Unfinished jobs of a group: ready, parked, held",
        );
        for group in app.jobs.groups(&everyone, "", GROUPS).await? {
            for (place, jobs) in [("ready", group.ready), ("parked", group.parked), ("held", group.held)] {
                text.line(
                    "turnabout_group_jobs",
                    &[("group", &group.group), ("place", place)],
                    jobs as f64,
                );
            }
        }
    }
    Ok(())
}

/// Lines in the text format.
#[derive(Default)]
struct Text(String);

impl Text {
    fn head(&mut self, name: &str, help: &str) {
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} gauge\n");
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.0.push_str(name);
        for (at, (label, value)) in labels.iter().enumerate() {
            let mark = if at == 0 { '{' } else { ',' };
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.0, "{mark}{label}=\"{value}\"");
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_cannot_break_out_of_their_line() {
        let mut text = Text::default();
        text.line("jobs", &[("group", "a\"}\n\\b")], 2.0);
        text.line("all", &[], 0.5);
        assert_eq!(text.0, "jobs{group=\"a\\\"}\\n\\\\b\"} 2\nall 0.5\n");
    }
}
