//! Held against what we want: each goal, what was measured, and whether it holds.

use serde_json::{Value, json};

use crate::report::{Line, median};
use crate::table::{self, number};

/// What a goal asks of a value.
enum Wanted {
    AtLeast(f64),
    Below(f64),
}

/// A table of the goals that these lines say something about; nothing if they say nothing.
pub(crate) fn of_lines(ours: &[Line], all: &[Value]) -> String {
    let mut rows = vec![["goal", "measured", "wanted", "holds"].map(str::to_owned).to_vec()];
    for (goal, measured, wanted) in goals(ours, all) {
        let Some(measured) = measured else { continue };
        let (text, holds) = match wanted {
            Wanted::AtLeast(bound) => (format!("at least {}", number(bound)), measured >= bound),
            Wanted::Below(bound) => (format!("below {}", number(bound)), measured < bound),
        };
        let holds = if holds { "yes" } else { "no" };
        rows.push(vec![goal.to_owned(), number(measured), text, holds.to_owned()]);
    }
    if rows.len() == 1 {
        return String::new();
    }
    format!("\n**goals**\n\n{}", table::markdown(&rows, 1))
}

fn goals(ours: &[Line], all: &[Value]) -> Vec<(&'static str, Option<f64>, Wanted)> {
    use Wanted::{AtLeast, Below};
    let value =
        |store: &str, scenario: &str, settings: Value, name: &str| value(ours, store, scenario, &settings, name);
    let drain = |store: &str, groups: u64, backlog: u64, history: bool, pinned: bool, name: &str| {
        let settings = json!({
            "groups": groups, "backlog": backlog, "executors": 1, "slots": 64, "history": history, "pinned": pinned
        });
        value(store, "drain", settings, name)
    };
    // By so many executors with so many slots each, against one of them.
    let together = |executors: u32, slots: u32| {
        let rate = |executors: u32| {
            let settings = json!({
                "groups": 1_000, "backlog": 100_000, "executors": executors, "slots": slots, "history": false,
                "pinned": false
            });
            value("postgres", "drain", settings, "per_s")
        };
        ratio(rate(executors), rate(1))
    };
    let rate = |groups, backlog, pinned| drain("postgres", groups, backlog, false, pinned, "per_s");
    let peer = |scenario: &str, key: &str| against_peers(all, "turnabout", scenario, key);
    let kept = against_peers(all, "turnabout-history", "bulk_drain", "drain_per_s");
    let none = || json!({});
    let one_call = || json!({ "calls": 1 });
    let names = || json!({ "names": 100_000 });
    let waiting = || json!({ "waiting": 1_000_000 });
    let at_rest = || json!({ "apart_ms": 10 });
    // By 4, 8 or 16 executors with four slots each, the worst of them, against one, with a network between.
    let far = |round_trip: u64, job: u64| {
        let rate = |executors: u32| {
            let settings = json!({ "round_trip_ms": round_trip, "job_ms": job, "executors": executors });
            value("postgres", "network", settings, "per_s")
        };
        let ratios = [4, 8, 16].map(|executors| ratio(rate(executors), rate(1)));
        ratios.into_iter().flatten().reduce(f64::min)
    };
    let of_slots = |round_trip: u64| {
        let settings = json!({ "round_trip_ms": round_trip, "job_ms": 100, "executors": 16 });
        value("postgres", "network", settings, "of_slots")
    };
    let asleep = |executors: u32| {
        let rate = |executors: u32| value("postgres", "asleep", json!({ "executors": executors }), "per_s");
        ratio(rate(executors), rate(0))
    };
    let grown = |groups: u64| {
        let settings = json!({ "groups": groups });
        quotient(ours, "postgres", "snapshot", &settings, ["last_p99_ms", "first_p99_ms"])
    };
    vec![
        (
            "4-16 executors / 1, round trip 2 ms, jobs of 1 ms",
            far(2, 1),
            AtLeast(1.0),
        ),
        (
            "4-16 executors / 1, round trip 5 ms, jobs of 1 ms",
            far(5, 1),
            AtLeast(1.0),
        ),
        (
            "4-16 executors / 1, round trip 2 ms, jobs of 100 ms",
            far(2, 100),
            AtLeast(1.0),
        ),
        (
            "4-16 executors / 1, round trip 5 ms, jobs of 100 ms",
            far(5, 100),
            AtLeast(1.0),
        ),
        (
            "16 executors / what their slots allow, round trip 2 ms",
            of_slots(2),
            AtLeast(0.7),
        ),
        (
            "16 executors / what their slots allow, round trip 5 ms",
            of_slots(5),
            AtLeast(0.7),
        ),
        (
            "submits by 16 clients beside a sleeping executor / none",
            asleep(1),
            AtLeast(0.8),
        ),
        (
            "submits by 16 clients beside 8 sleeping executors / none",
            asleep(8),
            AtLeast(0.8),
        ),
        (
            "steady load, 32 processes: start p99, ms",
            value("postgres", "life", none(), "p99_ms"),
            Below(250.0),
        ),
        (
            "steady load, 32 processes: overtaken by one group",
            value("postgres", "life", none(), "overtaken"),
            Below(3.0),
        ),
        (
            "snapshot held: start p99 at the end / at the beginning",
            grown(200),
            Below(3.0),
        ),
        ("snapshot held, 10,000 groups: the same", grown(10_000), Below(3.0)),
        (
            "drain, 1,000 groups, PostgreSQL, no history / best peer",
            peer("bulk_drain", "drain_per_s"),
            AtLeast(1.5),
        ),
        (
            "drain, 1,000 groups, PostgreSQL, no history / ceiling",
            drain("postgres", 1_000, 100_000, false, false, "of_ceiling"),
            AtLeast(0.65),
        ),
        ("2 executors of 64 slots / 1, PostgreSQL", together(2, 64), AtLeast(1.0)),
        ("4 executors of 64 slots / 1, PostgreSQL", together(4, 64), AtLeast(1.0)),
        ("8 executors of 64 slots / 1, PostgreSQL", together(8, 64), AtLeast(1.0)),
        ("16 executors of 4 slots / 1, PostgreSQL", together(16, 4), AtLeast(0.7)),
        ("32 executors of 4 slots / 1, PostgreSQL", together(32, 4), AtLeast(0.7)),
        ("48 executors of 4 slots / 1, PostgreSQL", together(48, 4), AtLeast(0.7)),
        ("the same with history / best peer", kept, AtLeast(1.0)),
        (
            "bulk submit, PostgreSQL / best peer",
            peer("bulk_drain", "bulk_insert_per_s"),
            AtLeast(2.0),
        ),
        (
            "bulk submit, PostgreSQL / COPY",
            value("postgres", "submit-bulk", one_call(), "of_ceiling"),
            AtLeast(0.7),
        ),
        (
            "single submits, 8 callers, PostgreSQL / ceiling",
            value("postgres", "submit-single", none(), "of_ceiling"),
            AtLeast(0.8),
        ),
        (
            "10,000 groups / 1 group, PostgreSQL",
            ratio(rate(10_000, 100_000, false), rate(1, 100_000, false)),
            AtLeast(0.85),
        ),
        (
            "backlog 1 M / 10 k, PostgreSQL",
            ratio(rate(1_000, 1_000_000, false), rate(1_000, 10_000, false)),
            AtLeast(0.9),
        ),
        (
            "snapshot held open / none, PostgreSQL",
            ratio(rate(1_000, 100_000, true), rate(1_000, 100_000, false)),
            AtLeast(0.9),
        ),
        (
            "drain, 1,000 groups, SQLite, no history / ceiling",
            drain("sqlite", 1_000, 100_000, false, false, "of_ceiling"),
            AtLeast(0.4),
        ),
        (
            "bulk submit, SQLite / ceiling",
            value("sqlite", "submit-bulk", one_call(), "of_ceiling"),
            AtLeast(0.5),
        ),
        (
            "latency p50, PostgreSQL, ms",
            value("postgres", "latency", at_rest(), "p50_ms"),
            Below(2.0),
        ),
        (
            "latency p99, PostgreSQL, ms",
            value("postgres", "latency", at_rest(), "p99_ms"),
            Below(6.0),
        ),
        // A job that nobody sees before the disk keeps it cannot start sooner than whoever submitted it may be told.
        (
            "latency p50, SQLite / until the submitter is told",
            quotient(ours, "sqlite", "latency", &at_rest(), ["p50_ms", "told_p50_ms"]),
            Below(1.05),
        ),
        (
            "start p50, 100,000 unknown task names wait / none, PostgreSQL",
            quotient(
                ours,
                "postgres",
                "unknown",
                &names(),
                ["unknown_p50_ms", "alone_p50_ms"],
            ),
            Below(1.5),
        ),
        (
            "start p50, the same in a paused group / none, PostgreSQL",
            quotient(ours, "postgres", "unknown", &names(), ["paused_p50_ms", "alone_p50_ms"]),
            Below(1.5),
        ),
        (
            "start p50, 100,000 unknown task names wait / none, SQLite",
            quotient(ours, "sqlite", "unknown", &names(), ["unknown_p50_ms", "alone_p50_ms"]),
            Below(1.5),
        ),
        (
            "start p50, the same in a paused group / none, SQLite",
            quotient(ours, "sqlite", "unknown", &names(), ["paused_p50_ms", "alone_p50_ms"]),
            Below(1.5),
        ),
        (
            "start p50, 1,000,000 jobs of a paused task wait / none, PostgreSQL",
            quotient(
                ours,
                "postgres",
                "limited",
                &waiting(),
                ["paused_p50_ms", "alone_p50_ms"],
            ),
            Below(1.5),
        ),
        (
            "start p50, 1,000,000 jobs of a task at its limit wait / none, PostgreSQL",
            quotient(
                ours,
                "postgres",
                "limited",
                &waiting(),
                ["limited_p50_ms", "alone_p50_ms"],
            ),
            Below(1.5),
        ),
        (
            "start p50, 1,000,000 jobs of a task over its rate wait / none, PostgreSQL",
            quotient(
                ours,
                "postgres",
                "limited",
                &waiting(),
                ["rated_p50_ms", "alone_p50_ms"],
            ),
            Below(1.5),
        ),
        (
            "start p50, 1,000,000 jobs of a paused task wait / none, SQLite",
            quotient(ours, "sqlite", "limited", &waiting(), ["paused_p50_ms", "alone_p50_ms"]),
            Below(1.5),
        ),
        (
            "start p50, 1,000,000 jobs of a task at its limit wait / none, SQLite",
            quotient(
                ours,
                "sqlite",
                "limited",
                &waiting(),
                ["limited_p50_ms", "alone_p50_ms"],
            ),
            Below(1.5),
        ),
        (
            "start p50, 1,000,000 jobs of a task over its rate wait / none, SQLite",
            quotient(ours, "sqlite", "limited", &waiting(), ["rated_p50_ms", "alone_p50_ms"]),
            Below(1.5),
        ),
        (
            "flood: longest wait, PostgreSQL, ms",
            value("postgres", "flood", none(), "max_ms"),
            Below(60.0),
        ),
        (
            "flood: span / ideal, PostgreSQL",
            value("postgres", "flood", none(), "of_ideal"),
            Below(1.15),
        ),
        (
            "flood: longest wait, SQLite, ms",
            value("sqlite", "flood", none(), "max_ms"),
            Below(60.0),
        ),
        (
            "flood: span / ideal, SQLite",
            value("sqlite", "flood", none(), "of_ideal"),
            Below(1.15),
        ),
        (
            "flood as the peers have it (99 at once): longest wait, PostgreSQL, ms",
            of_peer(all, "turnabout", "fair_grouped", "max_ms"),
            Below(60.0),
        ),
        (
            "memory, 1 M jobs wait, PostgreSQL, MiB",
            value("postgres", "memory", none(), "peak_mib"),
            Below(64.0),
        ),
        (
            "memory, 1 M jobs wait, SQLite, MiB",
            value("sqlite", "memory", none(), "peak_mib"),
            Below(64.0),
        ),
        (
            "idle, PostgreSQL, % of a core",
            value("postgres", "idle", none(), "cpu_percent"),
            Below(0.2),
        ),
        (
            "idle, SQLite, % of a core",
            value("sqlite", "idle", none(), "cpu_percent"),
            Below(0.2),
        ),
    ]
}

/// The median of a value over the lines with these settings.
fn value(lines: &[Line], store: &str, scenario: &str, settings: &Value, name: &str) -> Option<f64> {
    median_of(lines, store, scenario, settings, |line| line.values.get(name)?.as_f64())
}

/// The median of one value divided by another of the same run, over the lines with these settings.
fn quotient(lines: &[Line], store: &str, scenario: &str, settings: &Value, names: [&str; 2]) -> Option<f64> {
    median_of(lines, store, scenario, settings, |line| {
        let [a, b] = names.map(|name| line.values.get(name).and_then(Value::as_f64));
        ratio(a, b)
    })
}

fn median_of(
    lines: &[Line],
    store: &str,
    scenario: &str,
    settings: &Value,
    value: impl Fn(&Line) -> Option<f64>,
) -> Option<f64> {
    let settings = settings.as_object()?;
    let found: Vec<f64> = lines
        .iter()
        .filter(|line| line.store == store && line.scenario == scenario)
        .filter(|line| {
            settings
                .iter()
                .all(|(name, value)| line.settings.get(name) == Some(value))
        })
        .filter_map(value)
        .collect();
    (!found.is_empty()).then(|| median(&found))
}

/// A peer's median as a multiple of the best median of all peers that are not ours, in the same lines.
fn against_peers(lines: &[Value], peer: &str, scenario: &str, key: &str) -> Option<f64> {
    let of = |peer: &str| of_peer(lines, peer, scenario, key);
    let best = lines
        .iter()
        .filter_map(|line| line["peer"].as_str())
        .filter(|peer| !peer.starts_with("turnabout"))
        .filter_map(of)
        .fold(0.0, f64::max);
    ratio(of(peer), (best > 0.0).then_some(best))
}

/// A peer's median.
fn of_peer(lines: &[Value], peer: &str, scenario: &str, key: &str) -> Option<f64> {
    let found: Vec<f64> = lines
        .iter()
        .filter(|line| line["peer"] == peer && line["scenario"] == scenario)
        .filter_map(|line| line[key].as_f64())
        .collect();
    (!found.is_empty()).then(|| median(&found))
}

fn ratio(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some(a? / b.filter(|b| *b > 0.0)?)
}
