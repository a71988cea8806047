//! How the database is doing, and the program itself: its schema, disk, clock, connections, dead rows, loops, settings.

use std::path::Path;
use std::time::Duration;

use super::super::types::{Finding, Severity};
use super::words::{many, span, word};
use super::{Facts, found};

/// Less than so much of a disk is free, and less than so many bytes: soon, or now, nothing can be written.
const LITTLE: (f64, u64) = (0.10, 10 << 30);
const NOTHING: (f64, u64) = (0.02, 500 << 20);
/// Clocks that differ by so much.
const WRONG: Duration = Duration::from_secs(5);
const VERY_WRONG: Duration = Duration::from_mins(5);
/// A transaction that is open for so long.
const LONG: Duration = Duration::from_mins(10);
/// So many dead rows slow everything down, if they are more than those in use.
const DEAD: u64 = 100_000;
/// A write-ahead log of so many bytes was not emptied for long.
const LOG: u64 = 1 << 30;
/// A schedule that has been due for longer should have been fired.
const STALLED: Duration = Duration::from_secs(5);

pub(super) fn look(facts: &Facts, findings: &mut Vec<Finding>) {
    let all: [fn(&Facts) -> Option<Finding>; 10] = [
        schema,
        read_only,
        no_disk,
        connections,
        clock,
        loops,
        schedules,
        refused,
        dead_rows,
        log,
    ];
    findings.extend(all.into_iter().filter_map(|check| check(facts)));
}

/// What harms nobody yet: it goes behind what does.
pub(super) fn will_harm(facts: &Facts, findings: &mut Vec<Finding>) {
    findings.extend(disk(facts).filter(|finding| finding.severity > Severity::Critical));
}

fn no_disk(facts: &Facts) -> Option<Finding> {
    disk(facts).filter(|finding| finding.severity == Severity::Critical)
}

/// Bytes that are free on a file's disk, and how many it has.
pub(super) fn disk_space(file: &Path) -> Option<(u64, u64)> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let stat = rustix::fs::statvfs(folder.unwrap_or(Path::new("."))).ok()?;
    Some((stat.f_bavail * stat.f_frsize, stat.f_blocks * stat.f_frsize))
}

fn schema(facts: &Facts) -> Option<Finding> {
    let (found_there, known) = facts.checkup.schema;
    (found_there > known).then(|| {
        found(
            Severity::Critical,
            "schema",
            "the database has been migrated by a newer program; this one may not understand it".to_owned(),
            format!("the schema has version {found_there}, this program knows versions up to {known}"),
            "update this program and start it again".to_owned(),
        )
    })
}

fn read_only(facts: &Facts) -> Option<Finding> {
    facts.checkup.read_only.then(|| {
        found(
            Severity::Critical,
            "read-only",
            "the database takes no writes: no job can be submitted, started or ended".to_owned(),
            "the server is a standby, or default_transaction_read_only is on".to_owned(),
            "name the primary server in `database`, or turn default_transaction_read_only off".to_owned(),
        )
    })
}

fn disk(facts: &Facts) -> Option<Finding> {
    let (free, all) = facts.disk?;
    let below = |(part, bytes): (f64, u64)| (free as f64) < all as f64 * part && free < bytes;
    let severity = if below(NOTHING) {
        Severity::Critical
    } else if below(LITTLE) {
        Severity::Warning
    } else {
        return None;
    };
    let file = facts.checkup.file.as_deref().map(|file| file.display().to_string());
    Some(found(
        severity,
        "disk",
        format!("the disk of the database is nearly full: {} MiB are free", free >> 20),
        format!(
            "{} MiB of {} MiB are free beside {}",
            free >> 20,
            all >> 20,
            file.unwrap_or_default()
        ),
        "make room on that disk, or keep ended jobs for a shorter time (`retention`)".to_owned(),
    ))
}

fn connections(facts: &Facts) -> Option<Finding> {
    let (used, most) = facts.checkup.connections?;
    let severity = match used * 100 / most.max(1) {
        95.. => Severity::Critical,
        80.. => Severity::Warning,
        _ => return None,
    };
    Some(found(
        severity,
        "connections",
        format!("the database server has hardly a connection left: {used} of {most} are in use"),
        format!("pg_stat_activity counts {used}, max_connections allows {most}"),
        "close idle ones (select pid, application_name, state from pg_stat_activity), use a pooler, or raise \
         max_connections"
            .to_owned(),
    ))
}

fn clock(facts: &Facts) -> Option<Finding> {
    let ahead = facts.checkup.clock_ahead;
    let off = ahead.unsigned_abs();
    let severity = if off >= VERY_WRONG {
        Severity::Critical
    } else if off >= WRONG {
        Severity::Warning
    } else {
        return None;
    };
    let which = if ahead.is_positive() { "behind" } else { "ahead of" };
    Some(found(
        severity,
        "clock",
        format!("this machine's clock is {} {which} that of the database", span(off)),
        "asked one after the other".to_owned(),
        "let both machines synchronise their clocks (`timedatectl set-ntp true`)".to_owned(),
    ))
}

fn loops(facts: &Facts) -> Option<Finding> {
    let health = facts.health.as_ref()?;
    let mut evidence: Vec<String> = health
        .troubles
        .iter()
        .map(|(doing, why)| format!("{doing}: {why}"))
        .collect();
    evidence.extend(
        health
            .behind
            .iter()
            .map(|(doing, late)| format!("{doing} has been at one thing for {}", span(*late))),
    );
    if !health.registered {
        evidence.push("it is not registered".to_owned());
    }
    if evidence.is_empty() {
        return None;
    }
    let severity = if health.registered {
        Severity::Warning
    } else {
        Severity::Critical
    };
    Some(
        found(
            severity,
            "loops",
            format!("the executor `{}` of this server is not well", health.name),
            evidence.join("; "),
            "see the log of this server; it tries again by itself".to_owned(),
        )
        .see("/readyz"),
    )
}

fn schedules(facts: &Facts) -> Option<Finding> {
    let late = facts.overdue.filter(|late| *late > STALLED)?;
    Some(
        found(
            Severity::Warning,
            "schedules",
            format!("a schedule has been due for {} and was not fired", span(late)),
            "executors fire schedules, and none does".to_owned(),
            "see that an executor runs (`turnabout executors`), and its log".to_owned(),
        )
        .see("/api/v1/schedules"),
    )
}

fn refused(facts: &Facts) -> Option<Finding> {
    let (since, why) = facts.refused.as_ref()?;
    let ago = Duration::try_from(facts.now.duration_since(*since)).unwrap_or_default();
    Some(found(
        Severity::Warning,
        "configuration",
        "the configuration file was refused: this server runs with the one of before".to_owned(),
        format!("{} ago: {why}", span(ago)),
        "mend the file (`turnabout config` says what is wrong); it is read again when it is saved".to_owned(),
    ))
}

fn dead_rows(facts: &Facts) -> Option<Finding> {
    let worst = facts.checkup.tables.iter().max_by_key(|table| table.dead);
    let worst = worst.filter(|table| table.dead > DEAD && table.dead > table.live);
    let open = facts.checkup.oldest.as_ref().filter(|open| open.age >= LONG);
    let (severity, what) = match (worst, open) {
        (Some(table), Some(open)) => (
            Severity::Warning,
            format!(
                "{} in the table `{}` cannot be cleaned up, because a transaction has been open for {}",
                many(table.dead, "dead row"),
                table.table,
                span(open.age)
            ),
        ),
        (Some(table), None) => (
            Severity::Warning,
            format!(
                "{} pile up in the table `{}`",
                many(table.dead, "dead row"),
                table.table
            ),
        ),
        (None, Some(open)) => (
            Severity::Notice,
            format!(
                "a transaction has been open for {}: dead rows cannot be cleaned up meanwhile",
                span(open.age)
            ),
        ),
        (None, None) => return None,
    };
    let (evidence, mend) = match open {
        Some(open) => {
            let process = open
                .who
                .split("process ")
                .nth(1)
                .and_then(|rest| rest.split(',').next());
            let mend = match process {
                Some(process) => format!("select pg_terminate_backend({process})"),
                None => open.statement.clone(),
            };
            (format!("{}: {}", open.who, open.statement), mend)
        }
        None => (
            "no transaction is open for long".to_owned(),
            "see that autovacuum is on and keeps up (select * from pg_stat_progress_vacuum)".to_owned(),
        ),
    };
    Some(found(severity, "dead-rows", what, evidence, mend))
}

fn log(facts: &Facts) -> Option<Finding> {
    let bytes = facts.checkup.bytes.1.filter(|bytes| *bytes >= LOG)?;
    let file = facts.checkup.file.as_deref().map(|file| file.display().to_string());
    let file = word(&format!("{}-wal", file.unwrap_or_default()));
    Some(found(
        Severity::Notice,
        "log",
        format!("the write-ahead log has grown to {} MiB", bytes >> 20),
        format!("{file}; someone reads the database for long, so that the log cannot be emptied"),
        format!("find out who has the file open (`lsof {file}`), and end it"),
    ))
}
