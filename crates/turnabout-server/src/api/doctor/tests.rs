//! Bad days, each staged by changing one thing on a good day: the doctor names the cause, and names it first.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use turnabout::group::{GroupSettings, QueueSettings, TaskLimits};
use turnabout::job::Lane;
use turnabout::job::Reason;
use turnabout::shares::{GroupShare, Shares};
use turnabout::store::audit::Deed;
use turnabout::store::insight::{OpenTransaction, TableRows};
use turnabout::task::TaskSettings;
use turnabout::{Context, Executor, ExecutorHandle, JobId, Jobs, State};

use super::*;

/// A good day: an executor of four slots that knows the task `work`, and nothing to do.
async fn good_day() -> (Facts, ExecutorHandle) {
    let jobs = Jobs::open("sqlite::memory:").await.expect("a store");
    let executor = Executor::new(&jobs)
        .name("one")
        .slots(4)
        .task_named(TaskSettings::named("work"), |_: Context, _: serde_json::Value| async {
            Ok::<(), turnabout::TaskError>(())
        });
    let handle = executor.start().await.expect("it starts");
    let mut report = Shares::default().report(10);
    report.slots = 4;
    let facts = Facts {
        now: Timestamp::now(),
        executors: jobs.executors().await.expect("one"),
        held: Vec::new(),
        heads: Vec::new(),
        ready: BTreeMap::new(),
        settings: jobs.settings().await.expect("none"),
        set: BTreeMap::new(),
        report,
        points: Vec::new(),
        ended: Vec::new(),
        failures: Vec::new(),
        checkup: jobs.insight().checkup().await.expect("it works"),
        disk: Some((90 << 30, 100 << 30)),
        health: Some(handle.health()),
        overdue: None,
        refused: None,
        ending: std::collections::BTreeMap::new(),
    };
    (facts, handle)
}

fn head(group: &str, task: &str, queue: &str) -> Head {
    Head {
        queue: queue.to_owned(),
        group: group.to_owned(),
        lane: Lane::Normal,
        task: task.to_owned(),
        seq: 1,
        submitted: Timestamp::now(),
    }
}

fn held(group: &str, jobs: u64, facts: &Facts) -> Held {
    Held {
        group: group.to_owned(),
        task: "work".to_owned(),
        queue: "default".to_owned(),
        jobs,
        started: jobs,
        since: facts.now.checked_sub(SignedDuration::from_mins(25)).ok(),
    }
}

fn kind(task: &str, message: &str, failed: u64, stuck: u64) -> FailureKind {
    FailureKind {
        task: task.to_owned(),
        code: None,
        message: message.to_owned(),
        reason: None,
        failed,
        stuck,
        first: Timestamp::now(),
        last: Timestamp::now(),
        example: JobId::new(),
    }
}

fn ended(state: State, reason: Option<Reason>, jobs: usize) -> Vec<Ended> {
    let job = Ended {
        group: "a".to_owned(),
        task: "work".to_owned(),
        state,
        reason,
        waited: None,
        ran: None,
        attempts: 1,
        at: Timestamp::now(),
    };
    vec![job; jobs]
}

fn share(group: &str, entitled: f64, used: f64) -> GroupShare {
    let mut share = GroupShare::idle(group.to_owned());
    (share.entitled, share.used) = (entitled, used);
    share
}

/// What a bad day changes, what it is called, and what is said about it.
type Day = (&'static str, fn(&mut Facts), &'static str, &'static str);

const DAYS: &[Day] = &[
    (
        "unknown-task",
        |facts| {
            facts.heads = vec![head("a", "ocr", "default"), head("b", "ocr", "default")];
            facts.ready = BTreeMap::from([(0, 300), (1, 12)]);
        },
        "no executor knows the task `ocr`: 312 jobs wait",
        "turnabout cancel --task ocr",
    ),
    (
        "unserved-queue",
        |facts| facts.heads = vec![head("a", "work", "gpu")],
        "no executor serves the queue `gpu` for the task `work`: 1 job waits",
        "--queues gpu",
    ),
    (
        "no-executor",
        |facts| {
            facts.executors.clear();
            facts.heads = vec![head("a", "work", "default")];
        },
        "no executor takes jobs",
        "turnabout serve",
    ),
    (
        "no-executor",
        |facts| {
            facts.executors[0].draining = true;
            facts.heads = vec![head("a", "work", "default")];
        },
        "no executor takes jobs",
        "turnabout drain one --undo",
    ),
    (
        "paused",
        |facts| {
            let settings = std::sync::Arc::make_mut(&mut facts.settings);
            let mut paused = GroupSettings::default();
            paused.paused = true;
            settings.groups.insert("bo lt".to_owned(), paused);
            facts.heads = vec![head("bo lt", "work", "default")];
            facts.ready = BTreeMap::from([(0, 7)]);
        },
        "the group `bo lt` is paused: 7 jobs wait",
        "turnabout group 'bo lt' --resume",
    ),
    (
        "paused",
        |facts| {
            let settings = std::sync::Arc::make_mut(&mut facts.settings);
            let mut paused = TaskLimits::default();
            paused.paused = true;
            settings.tasks.insert("work".to_owned(), paused);
            facts.heads = vec![head("a", "work", "default")];
        },
        "the task `work` is paused: 1 job waits",
        "turnabout task work --resume",
    ),
    (
        "paused",
        |facts| {
            let settings = std::sync::Arc::make_mut(&mut facts.settings);
            let mut paused = QueueSettings::default();
            paused.paused = true;
            settings.queues.insert("default".to_owned(), paused);
            facts.heads = vec![head("a", "work", "default")];
        },
        "the queue `default` is paused: 1 job waits",
        "turnabout queue default --resume",
    ),
    (
        "paused",
        |facts| {
            std::sync::Arc::make_mut(&mut facts.settings).global.paused = true;
            facts.heads = vec![head("a", "work", "default")];
        },
        "everything is paused: 1 job waits",
        "turnabout resume",
    ),
    (
        "slots-taken",
        |facts| {
            facts.held = vec![held("big", 3, facts), held("a", 1, facts)];
            facts.heads = vec![head("b", "work", "default")];
            let mut waits = share("b", 0.3, 0.0);
            waits.waits = true;
            waits.waiting = Some(Duration::from_mins(5));
            facts.report.groups = vec![share("big", 0.5, 0.75), waits];
        },
        "all 4 slots are taken, 3 of them by the group `big` (task `work`): 1 group waits for up to 5m",
        "turnabout group big --max-running 2",
    ),
    (
        "harmed",
        |facts| {
            let mut waits = share("b", 0.5, 0.08);
            waits.waits = true;
            waits.harmed = true;
            waits.waiting = Some(Duration::from_secs(12));
            facts.report.rotation = Some(Duration::from_secs(2));
            facts.report.groups = vec![share("big", 0.5, 0.92), waits];
        },
        "the group `big` holds 92 % of the slots, and is entitled to 50 %; 1 group waits for longer than one rotation",
        "turnabout group big --max-running 2",
    ),
    (
        "silent-executor",
        |facts| facts.executors[0].seen = facts.now.checked_sub(SignedDuration::from_secs(40)).expect("a moment"),
        "`one` fell silent, with 0 jobs in hand",
        "lease",
    ),
    (
        "lost",
        |facts| facts.ended = ended(State::Failed, Some(Reason::Lost), 3),
        "3 jobs were lost with their executors",
        "Out of memory",
    ),
    (
        "failing",
        |facts| facts.failures = vec![kind("mail", "connection refused", 2, 5000)],
        "5000 jobs failed and wait to be tried again, most of the task `mail`: connection refused",
        "turnabout retry --task mail",
    ),
    (
        "failing",
        |facts| {
            facts.ended = ended(State::Failed, Some(Reason::Permanent), 12);
            facts.failures = vec![kind("ocr", "page # is bad", 12, 0)];
        },
        "most jobs fail: 12 of the last 12 that ended",
        "turnabout show",
    ),
    (
        "webhook",
        |facts| facts.failures = vec![kind("webhook:app", "error sending request", 0, 30)],
        "the receiver of the webhook `app` does not take messages",
        "[webhooks.app]",
    ),
    (
        "schema",
        |facts| facts.checkup.schema = (9, 7),
        "migrated by a newer program",
        "update this program",
    ),
    (
        "read-only",
        |facts| facts.checkup.read_only = true,
        "the database takes no writes",
        "primary",
    ),
    (
        "disk",
        |facts| facts.disk = Some((100 << 20, 100 << 30)),
        "the disk of the database is nearly full: 100 MiB are free",
        "make room",
    ),
    (
        "connections",
        |facts| facts.checkup.connections = Some((96, 97)),
        "96 of 97 are in use",
        "max_connections",
    ),
    (
        "clock",
        |facts| facts.checkup.clock_ahead = SignedDuration::from_mins(-10),
        "this machine's clock is 10m ahead of that of the database",
        "set-ntp",
    ),
    (
        "loops",
        |facts| {
            let health = facts.health.as_mut().expect("an executor");
            health
                .troubles
                .insert("taking jobs", "the store is out of reach".to_owned());
        },
        "the executor `one` of this server is not well",
        "log",
    ),
    (
        "schedules",
        |facts| facts.overdue = Some(Duration::from_mins(2)),
        "a schedule has been due for 2m and was not fired",
        "turnabout executors",
    ),
    (
        "configuration",
        |facts| facts.refused = Some((facts.now, "line 3: no such key".to_owned())),
        "the configuration file was refused",
        "turnabout config",
    ),
    (
        "dead-rows",
        |facts| {
            facts.checkup.tables = vec![TableRows {
                table: "job".to_owned(),
                live: 10,
                dead: 2_000_000,
            }];
            facts.checkup.oldest = Some(OpenTransaction {
                who: "ada, pg_dump, process 4711, active".to_owned(),
                age: Duration::from_hours(3),
                statement: "COPY turnabout.job".to_owned(),
            });
        },
        "2000000 dead rows in the table `job` cannot be cleaned up, because a transaction has been open for 3h",
        "pg_terminate_backend(4711)",
    ),
];

#[tokio::test]
async fn the_right_cause_is_named_first_on_every_bad_day() {
    let (good, _executor) = good_day().await;
    let well = diagnose(&good);
    assert_eq!(well.findings, [], "{well:?}");
    assert!(well.verdict.starts_with("all is well"), "{}", well.verdict);
    for (code, stage, what, mend) in DAYS {
        let (mut facts, _executor) = good_day().await;
        stage(&mut facts);
        let diagnosis = diagnose(&facts);
        let first = diagnosis.findings.first().unwrap_or_else(|| panic!("{code} is found"));
        assert_eq!(first.code, *code, "{diagnosis:#?}");
        assert!(first.what.contains(what), "{first:#?}");
        assert!(first.mend.contains(mend), "{first:#?}");
        assert!(!first.evidence.is_empty(), "{first:#?}");
        assert_eq!(diagnosis.verdict, first.what);
    }
}

#[tokio::test]
async fn what_is_worse_comes_first_whatever_else_is_wrong() {
    let (mut facts, _executor) = good_day().await;
    for (code, stage, ..) in DAYS {
        if ["paused", "failing", "clock", "unknown-task"].contains(code) {
            stage(&mut facts);
        }
    }
    facts.heads = vec![head("a", "ocr", "default"), head("bo lt", "work", "default")];
    let diagnosis = diagnose(&facts);
    let severities: Vec<Severity> = diagnosis.findings.iter().map(|finding| finding.severity).collect();
    assert!(severities.is_sorted(), "{diagnosis:#?}");
    assert!(severities.contains(&Severity::Warning), "{diagnosis:#?}");
    assert_eq!(severities[0], Severity::Critical);
}

#[tokio::test]
async fn a_disk_with_little_left_goes_behind_what_harms_now_and_a_full_one_before_it() {
    let (mut facts, _executor) = good_day().await;
    facts.failures = vec![kind("webhook:app", "error sending request", 0, 30)];
    facts.disk = Some((9 << 30, 200 << 30));
    let codes = |facts: &Facts| {
        let findings = diagnose(facts).findings;
        findings.into_iter().map(|finding| finding.code).collect::<Vec<_>>()
    };
    assert_eq!(codes(&facts), ["webhook", "disk"]);
    facts.disk = Some((100 << 20, 200 << 30));
    assert_eq!(codes(&facts), ["disk", "webhook"]);
}

#[tokio::test]
async fn a_pause_tells_who_made_it_when_and_why() {
    let (mut facts, _executor) = good_day().await;
    let (_, stage, ..) = DAYS.iter().find(|(code, ..)| *code == "paused").expect("such a day");
    stage(&mut facts);
    let jobs = Jobs::open("sqlite::memory:").await.expect("a store");
    let deed = Deed {
        by: "ops".to_owned(),
        action: "set-group".to_owned(),
        target: Some("group:bo lt".to_owned()),
        note: Some("while they move".to_owned()),
        ..Deed::default()
    };
    jobs.audit().add(deed).await.expect("written");
    let mut entry = jobs.audit().newest(&["group:bo lt".to_owned()]).await.expect("read");
    let mut entry = entry.pop().expect("one");
    entry.at = facts.now.checked_sub(SignedDuration::from_hours(50)).expect("a moment");
    facts.set.insert("group:bo lt".to_owned(), entry);
    let finding = &diagnose(&facts).findings[0];
    assert_eq!(finding.evidence, "by ops 50h ago: while they move");
    // Where nothing waits, it is only worth a notice, and only if it has lasted.
    facts.heads.clear();
    assert_eq!(diagnose(&facts).findings[0].severity, Severity::Notice);
    facts.set.clear();
    assert_eq!(diagnose(&facts).findings, []);
}

#[tokio::test]
async fn a_backlog_that_grows_is_told_and_one_that_shrinks_is_not() {
    let (mut facts, _executor) = good_day().await;
    let point = |n: u64, ready: u64| Point {
        at: facts.now + SignedDuration::from_secs(10 * n as i64),
        ready,
        running: 4,
        slots: 4,
        started: 10,
        ended: 10,
        failed: 0,
    };
    let grows: Vec<Point> = (0..30).map(|n| point(n, 100 * n)).collect();
    let shrinks: Vec<Point> = (0..30).map(|n| point(n, 5000 - 100 * n)).collect();
    facts.points = grows;
    let diagnosis = diagnose(&facts);
    assert_eq!(diagnosis.findings[0].code, "growing");
    assert!(diagnosis.verdict.starts_with("all is well"), "{}", diagnosis.verdict);
    facts.points = shrinks;
    assert_eq!(diagnose(&facts).findings, []);
}
