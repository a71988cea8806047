//! The numbers for Prometheus: what happens is counted, and the guide, the alert rules and the dashboard name what there is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::http::Caller;
use crate::limits::nap;
use crate::place::{Place, wait_for};

/// A metric: its type and its labels.
type Metrics = BTreeMap<String, (String, BTreeSet<String>)>;

/// What a server prints.
fn printed(text: &str) -> Metrics {
    let mut metrics = Metrics::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a name and a type");
            metrics.insert(name.to_owned(), (kind.to_owned(), BTreeSet::new()));
        }
    }
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let name = line.split(['{', ' ']).next().unwrap_or_default();
        let family = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|end| name.strip_suffix(end).filter(|family| metrics.contains_key(*family)))
            .unwrap_or(name);
        let (_, labels) = metrics.get_mut(family).unwrap_or_else(|| panic!("no type: {line}"));
        let Some((_, rest)) = line.split_once('{') else {
            continue;
        };
        for pair in rest.split("\",").filter_map(|pair| pair.split_once("=\"")) {
            labels.insert(pair.0.to_owned());
        }
        labels.remove("le");
    }
    metrics
}

/// What the guide says.
fn described(page: &str) -> Metrics {
    let words = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    page.lines()
        .filter(|line| line.starts_with("| `turnabout_"))
        .map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let name = cells[1].trim_matches('`').to_owned();
            (name, (cells[2].to_owned(), words(cells[3])))
        })
        .collect()
}

/// Every word in a text that is the name of a metric.
fn named(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with("turnabout_"))
        .collect()
}

fn file(name: &str) -> String {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(repository.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The numbers, as soon as all of these are among them.
fn numbers_with(api: &Caller, lines: &[&str]) -> String {
    let begin = Instant::now();
    loop {
        let text = api.get("/metrics").text;
        let missing: Vec<&&str> = lines.iter().filter(|line| !text.contains(**line)).collect();
        if missing.is_empty() {
            return text;
        }
        assert!(
            begin.elapsed() < Duration::from_mins(1),
            "{missing:#?} are not in:\n{text}"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

pub(crate) fn what_happens_is_counted_and_every_number_is_described(place: &Place) {
    let (receiver, _calls) = crate::webhooks::receiver();
    let config = format!(
        "[api]\ngroup-metrics = true\n[executor]\nheartbeat = \"500 ms\"\nlease = \"4 seconds\"\n\
         [tasks.no]\ncommand = [\"false\"]\nretries = 1\nretry-delay = \"50 ms\"\n\
         [webhooks.app]\nurl = \"http://{receiver}/\"\n\
         [schedules.tick]\nexpression = \"every 1 second\"\ntask = \"sleep\"\nargs = '{{\"seconds\": 0}}'\n"
    );
    place.configure(&config);
    let server = place.serve(&["--pool-size", "2", "--name", "here"]);
    let api = Caller::of(&server);

    // Another executor, which dies with a job in hand.
    let other = place.serve(&["--name", "there", "--queues", "far", "--no-api"]);
    let lost =
        api.submit(&json!({ "task": "sleep", "args": { "seconds": 600 }, "queue": "far", "restartable": false }));
    api.until(&lost, "running");
    other.signal("KILL");

    api.ended(&api.submit(&nap("acme")));
    api.submit(&json!({ "task": "sleep", "group": "acme", "delay": "1 hour" }));
    let no = api.submit(&json!({ "task": "no", "group": "acme" }));
    let line = wait_for(&server.log, "a job has failed");
    for part in [&*no, "task=\"no\"", "executor=here", "attempt=2", "exit code 1"] {
        assert!(line.contains(part), "{part} is not told: {line}");
    }
    api.submit(&json!({ "task": "sleep", "queue": "nowhere", "expires": "10 ms" }));
    let cancelled = api.submit(&json!({ "task": "ocr", "group": "acme" }));
    numbers_with(&api, &["turnabout_untakeable_jobs{queue=\"default\",task=\"ocr\"} 1"]);
    place.ask(&["cancel", &cancelled, "--server", &server.url]);
    place.ask(&["group", "quiet", "--pause", "--server", &server.url]);
    place.configure(&format!("{config}[tasks.no2]\ncomand = [\"false\"]\n"));

    let numbers = numbers_with(
        &api,
        &[
            "turnabout_jobs_submitted_total{task=\"no\"} 1",
            "turnabout_jobs_ended_total{task=\"no\",state=\"failed\",reason=\"error\"} 1",
            "turnabout_jobs_ended_total{task=\"sleep\",state=\"failed\",reason=\"lost\"} 1",
            "turnabout_jobs_ended_total{task=\"sleep\",state=\"failed\",reason=\"expired\"} 1",
            "turnabout_jobs_ended_total{task=\"ocr\",state=\"cancelled\",reason=\"cancel-requested\"} 1",
            "turnabout_attempts_ended_total{task=\"no\",state=\"stuck\",reason=\"error\"} 1",
            "turnabout_attempts_ended_total{task=\"sleep\",state=\"failed\",reason=\"lost\"} 1",
            "turnabout_attempts_ended_total{task=\"webhook:app\",state=\"success\",reason=\"none\"}",
            "turnabout_retries_total{task=\"no\"} 1",
            "turnabout_config_reloads_total{outcome=\"refused\"} 1",
            "turnabout_config_refused 1",
            "turnabout_paused{what=\"group\"} 1",
            "turnabout_webhook_messages_total{webhook=\"app\",outcome=\"kept\"}",
            "turnabout_store_errors_total{call=\"settling jobs\"} 0",
            "turnabout_schedule_times_total{outcome=\"fired\"}",
            "turnabout_group_used_share{group=\"acme\"}",
            "turnabout_group_wait_seconds{group=\"acme\",quantile=\"0.95\"}",
            "turnabout_group_jobs{group=",
            "turnabout_store_reachable 1",
        ],
    );
    assert!(!numbers.contains("turnabout_executors_lost_total 0"), "{numbers}");
    for never in ["state=\"running\",reason", "state=\"scheduled\",reason"] {
        assert!(!numbers.contains(never), "{never} cannot occur:\n{numbers}");
    }

    let pool = |name: &str| name.starts_with("turnabout_store_connections") && place.server().is_none();
    let printed = printed(&numbers);
    let mut described = described(&file("docs/guide/metrics.md"));
    described.retain(|name, _| !pool(name));
    let names = |metrics: &Metrics| metrics.keys().cloned().collect::<BTreeSet<String>>();
    let differ: Vec<String> = names(&printed)
        .symmetric_difference(&names(&described))
        .cloned()
        .collect();
    assert!(
        differ.is_empty(),
        "printed or in docs/guide/metrics.md, not both: {differ:?}"
    );
    for (name, (kind, labels)) in &printed {
        let (said, with) = &described[name];
        assert_eq!(kind, said, "{name}");
        // A number of which there is no line at present has its name alone.
        let has_line = numbers.contains(&format!("\n{name}"));
        assert!(!has_line || labels == with, "{name}: {labels:?}, {with:?}");
    }
    for source in ["deploy/prometheus/alerts.yml", "deploy/grafana/turnabout.json"] {
        for name in named(&file(source)) {
            let family = name.strip_suffix("_bucket").unwrap_or(name);
            assert!(
                printed.contains_key(family) || pool(name),
                "{source} names {name}, which there is not"
            );
        }
    }
}
