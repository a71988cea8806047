//! Numbers for Prometheus: counters and histograms of what this process does, and gauges of what is in the store.

mod stored;
mod text;

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use metrics::{Unit, counter, describe_counter, describe_histogram};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use self::text::Text;
use super::caller::Caller;
use super::state::{App, Inner};
use super::types::Problem;

/// From a millisecond to an hour.
const BUCKETS: [f64; 14] = [
    0.001, 0.005, 0.02, 0.1, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 180.0, 600.0, 1800.0, 3600.0,
];
/// What is in the store is added up no more often than this.
const FRESH: Duration = Duration::from_secs(5);
/// Samples of histograms are put into their buckets this often; otherwise they would pile up.
const UPKEEP: Duration = Duration::from_secs(5);
/// A store that does not answer in this time is out of reach: the other numbers are told without it.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is counted, and what that means.
const COUNTERS: [(&str, &str); 12] = [
    (
        "turnabout_jobs_submitted_total",
        "Jobs that were submitted through this process, by task",
    ),
    (
        "turnabout_jobs_ended_total",
        "Jobs that have ended, by task, final state and reason",
    ),
    (
        "turnabout_attempts_started_total",
        "Attempts that were started, by task",
    ),
    (
        "turnabout_attempts_ended_total",
        "Attempts that have ended, by task, by what became of the job, and why",
    ),
    (
        "turnabout_retries_total",
        "Attempts that were not the first of their job, by task",
    ),
    (
        "turnabout_items_ended_total",
        "Units of work of jobs that have ended, by task and final state",
    ),
    (
        "turnabout_schedule_times_total",
        "Times of schedules, by what became of them: fired, skipped, missed, refused",
    ),
    (
        "turnabout_webhook_messages_total",
        "Messages for webhooks, by webhook, and by whether they are kept until they are sent, or lost",
    ),
    (
        "turnabout_config_reloads_total",
        "How often the configuration was read again, and taken or refused",
    ),
    ("turnabout_store_calls_total", "Calls of the store, by what was done"),
    (
        "turnabout_store_errors_total",
        "Calls of the store that failed, by what was done",
    ),
    ("turnabout_http_requests_total", "Requests, by method, path and status"),
];
/// What is counted without labels, and is therefore told from the beginning.
const PLAIN: [(&str, &str); 3] = [
    (
        "turnabout_executors_lost_total",
        "Executors that fell silent, or were started again after they had died, as this process found out",
    ),
    (
        "turnabout_log_lines_dropped_total",
        "Lines of jobs' logs that were not kept: they came too fast, or the log was full",
    ),
    (
        "turnabout_failures_untold_total",
        "Failures that were not told in the program's own log, since there were so many",
    ),
];
/// What is measured, and what that means.
const HISTOGRAMS: [(&str, &str); 5] = [
    (
        "turnabout_job_wait_seconds",
        "From the submit to the first start, by task",
    ),
    ("turnabout_job_run_seconds", "How long attempts ran, by task"),
    ("turnabout_schedule_late_seconds", "How late schedules were fired"),
    ("turnabout_store_call_seconds", "How long calls of the store took"),
    ("turnabout_http_request_seconds", "How long answers took, by path"),
];

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
    started();
    for (name, help) in COUNTERS {
        describe_counter!(name, help);
    }
    for (name, help) in PLAIN {
        describe_counter!(name, help);
        counter!(name).absolute(0);
    }
    for (name, help) in HISTOGRAMS {
        describe_histogram!(name, Unit::Seconds, help);
    }
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
    text.push_str(&gauges(&app).await);
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    Ok((kind, text).into_response())
}

/// What is in the store. One at a time: whoever comes meanwhile gets the same.
async fn gauges(app: &App) -> String {
    let mut gauges = app.gauges.lock().await;
    if let Some((_, text)) = gauges.read.as_ref().filter(|(read, _)| read.elapsed() < FRESH) {
        return text.clone();
    }
    let text = read(app).await;
    gauges.read = Some((Instant::now(), text.clone()));
    text
}

async fn read(app: &Inner) -> String {
    let mut text = Text::default();
    process(app, &mut text);
    // Whoever adds up the numbers of all processes would have those of the store once for each.
    if !app.settings.status_only {
        let mut stored = Text::default();
        let told = tokio::time::timeout(PATIENCE, stored::tell(app, &mut stored)).await;
        let told = match told {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::warn!(error = %error.chain(), "the numbers of the store cannot be told");
                false
            }
            Err(_) => {
                tracing::warn!("the numbers of the store cannot be told: it did not answer within {PATIENCE:?}");
                false
            }
        };
        if told {
            text.0.push_str(&stored.0);
        }
        text.gauge("turnabout_store_reachable", "Whether the store could be read just now")
            .one(f64::from(u8::from(told)));
    }
    text.0
}

/// The numbers of this process.
fn process(app: &Inner, text: &mut Text) {
    let version = BTreeMap::from([([env!("CARGO_PKG_VERSION")], 1.0)]);
    text.gauge("turnabout_build_info", "Which program answers; always 1")
        .all(["version"], &version);
    text.gauge(
        "turnabout_start_time_seconds",
        "When this server was started, in seconds since 1970",
    )
    .one(started().as_millisecond() as f64 / 1000.0);
    let refused = app.control.refused().is_some();
    text.gauge(
        "turnabout_config_refused",
        "Whether the configuration file that is there now was refused",
    )
    .one(f64::from(u8::from(refused)));
    if let Some(pool) = app.jobs.insight().connections() {
        let connections = BTreeMap::from([(["busy"], pool.busy as f64), (["idle"], pool.idle as f64)]);
        text.gauge(
            "turnabout_store_connections",
            "Connections of this process to its database: busy, idle",
        )
        .all(["state"], &connections);
        text.gauge(
            "turnabout_store_connections_max",
            "How many connections this process may have",
        )
        .one(pool.most as f64);
        text.gauge(
            "turnabout_store_connections_waiting",
            "How many calls wait for a connection",
        )
        .one(pool.waiting as f64);
    }
    if let Some(executor) = &app.executor {
        let health = executor.health();
        text.gauge(
            "turnabout_running_jobs",
            "Jobs that run on the executor of this process",
        )
        .one(health.running as f64);
        text.gauge(
            "turnabout_executor_healthy",
            "Whether the executor of this process is well",
        )
        .one(f64::from(u8::from(health.is_good())));
        text.gauge(
            "turnabout_executor_troubles",
            "How many things the executor of this process tries to do and cannot",
        )
        .one(health.troubles.len() as f64);
        text.gauge(
            "turnabout_unwritten_outcomes",
            "Outcomes of jobs that wait to be written to the store",
        )
        .one(health.unwritten as f64);
        let behind: BTreeMap<[&str; 1], f64> = health
            .behind
            .iter()
            .map(|(what, time)| ([*what], time.as_secs_f64()))
            .collect();
        text.gauge(
            "turnabout_loop_behind_seconds",
            "Loops of the executor that have been at work on one thing for longer than a heartbeat, and for how long",
        )
        .all(["loop"], &behind);
        text.counter(
            "turnabout_loop_restarts_total",
            "How often a loop of the executor had to be begun anew",
        )
        .one(health.restarts.into());
    }
}

/// When this server was started.
fn started() -> Timestamp {
    static STARTED: OnceLock<Timestamp> = OnceLock::new();
    *STARTED.get_or_init(Timestamp::now)
}
