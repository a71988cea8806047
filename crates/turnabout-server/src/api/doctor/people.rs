//! Whether groups get what they are entitled to, and whether their jobs do what they should.

use turnabout::State;
use turnabout::failures::FailureKind;
use turnabout::job::Reason;

use super::super::WEBHOOK_TASK;
use super::super::types::{Finding, Severity};
use super::words::{many, names, span, word};
use super::{Facts, LATELY, found};

/// So many stuck jobs are worth a word.
const STUCK: u64 = 20;
/// So many failed jobs are, if they are more than half of those that ended.
const FAILED: usize = 10;
/// A backlog grows if in so many points it has not become smaller, and has grown by half.
const GROWING: usize = 18;

pub(super) fn look(facts: &Facts, findings: &mut Vec<Finding>) {
    findings.extend(harmed(facts));
    findings.extend(lost(facts));
    findings.extend(webhooks(facts));
    findings.extend(failing(facts));
    findings.extend(growing(facts));
    findings.extend(noisy(facts));
    findings.extend(ending(facts));
}

/// Tokens of this server that end soon, or have ended.
fn ending(facts: &Facts) -> Option<Finding> {
    let (name, end) = facts.ending.iter().min_by_key(|(_, end)| **end)?;
    let (severity, what) = if *end <= facts.now {
        (Severity::Warning, "has ended: who uses it is refused")
    } else {
        (Severity::Notice, "ends soon")
    };
    let all = facts.ending.iter().map(|(name, end)| format!("`{name}` ends at {end}"));
    Some(found(
        severity,
        "token-ends",
        format!("the token `{name}` {what}"),
        all.take(5).collect::<Vec<_>>().join(", "),
        "turnabout token makes a new one: put its hash beside the old one, give it to all who use the token, then set `expires` anew \
         and remove the old hash"
            .to_owned(),
    ))
}

/// Groups that have been waiting for longer than a rotation, and those who have what they lack.
fn harmed(facts: &Facts) -> Option<Finding> {
    let mut harmed: Vec<_> = facts.report.groups.iter().filter(|share| share.harmed).collect();
    harmed.sort_by_key(|share| std::cmp::Reverse(share.waiting));
    let longest = harmed.first()?;
    let rotation = facts.report.rotation.unwrap_or_default();
    let mut above: Vec<_> = facts
        .report
        .groups
        .iter()
        .filter(|share| share.used > share.entitled)
        .collect();
    above.sort_by(|a, b| (b.used - b.entitled).total_cmp(&(a.used - a.entitled)));
    let percent = |share: f64| (share * 100.0).round();
    let who = above.first().map_or_else(String::new, |share| {
        format!(
            "the group `{}` holds {} % of the slots, and is entitled to {} %; ",
            share.group,
            percent(share.used),
            percent(share.entitled)
        )
    });
    let groups = if harmed.len() == 1 {
        "1 group waits".to_owned()
    } else {
        format!("{} groups wait", harmed.len())
    };
    let mend = match above.first() {
        Some(share) => format!(
            "turnabout group {} --max-running {}; or share slots by time: executor.fairness = \"time\"",
            word(&share.group),
            (f64::from(facts.report.slots) * share.entitled).floor().max(1.0)
        ),
        None => "see whether executors are well: turnabout executors".to_owned(),
    };
    Some(
        found(
            Severity::Critical,
            "harmed",
            format!("{who}{groups} for longer than one rotation"),
            format!(
                "a rotation takes {}; {} waits for {}",
                span(rotation),
                names([longest.group.as_str()]),
                span(longest.waiting.unwrap_or_default())
            ),
            mend,
        )
        .see("/api/v1/shares?minutes=10&sort=waiting"),
    )
}

fn noisy(facts: &Facts) -> Option<Finding> {
    let mut noisy: Vec<_> = facts.report.groups.iter().filter(|share| share.noisy).collect();
    noisy.sort_by(|a, b| (b.used - b.entitled).total_cmp(&(a.used - a.entitled)));
    let first = noisy.first()?;
    if facts.report.groups.iter().any(|share| share.harmed) {
        return None;
    }
    let percent = |share: f64| (share * 100.0).round();
    Some(
        found(
            Severity::Notice,
            "noisy",
            format!(
                "the group `{}` had {} % of the slot time while others waited, and was entitled to {} %",
                first.group,
                percent(first.used),
                percent(first.entitled)
            ),
            "its jobs take longer than those of others, and slots are shared by numbers of jobs".to_owned(),
            "share slots by time: executor.fairness = \"time\"; or limit it: turnabout group NAME --max-running N"
                .to_owned(),
        )
        .see("/api/v1/shares?minutes=10&sort=over"),
    )
}

/// Jobs that were lost with their executors.
fn lost(facts: &Facts) -> Option<Finding> {
    let ended = facts
        .ended
        .iter()
        .filter(|job| job.reason == Some(Reason::Lost))
        .count() as u64;
    let stuck = facts.failures.iter().filter(|kind| kind.reason == Some(Reason::Lost));
    let stuck: u64 = stuck.map(|kind| kind.stuck).sum();
    let all = ended + stuck;
    (all > 0).then(|| {
        found(
            Severity::Warning,
            "lost",
            format!("{} were lost with their executors", many(all, "job")),
            format!(
                "{ended} ended so in the last {}, {stuck} will be tried again",
                span(LATELY)
            ),
            "see why executors died (their logs; the kernel's, for `Out of memory`); a job that kills each of its \
             executors ends by itself: turnabout failures"
                .to_owned(),
        )
        .see("/api/v1/failures")
    })
}

fn webhooks(facts: &Facts) -> Option<Finding> {
    let is_hook = |kind: &&FailureKind| kind.task.starts_with(WEBHOOK_TASK);
    let worst = facts
        .failures
        .iter()
        .filter(is_hook)
        .max_by_key(|kind| kind.failed + kind.stuck)?;
    let name = worst.task.trim_start_matches(WEBHOOK_TASK);
    Some(
        found(
            Severity::Warning,
            "webhook",
            format!("the receiver of the webhook `{name}` does not take messages"),
            format!(
                "{} failed and {} will be tried again in the last hour: {}",
                worst.failed, worst.stuck, worst.message
            ),
            format!(
                "see whether the address in [webhooks.{name}] is right and its server is well; messages wait meanwhile"
            ),
        )
        .see(format!("/api/v1/jobs/{}", worst.example)),
    )
}

/// Jobs that fail and fail again.
fn failing(facts: &Facts) -> Option<Finding> {
    let own = |kind: &&FailureKind| !kind.task.starts_with(WEBHOOK_TASK);
    let stuck: u64 = facts.failures.iter().filter(own).map(|kind| kind.stuck).sum();
    let failed = facts.ended.iter().filter(|job| job.state == State::Failed).count();
    let many_failed = failed >= FAILED && failed * 2 > facts.ended.len();
    if stuck < STUCK && !many_failed {
        return None;
    }
    let worst = facts
        .failures
        .iter()
        .filter(own)
        .max_by_key(|kind| kind.stuck + kind.failed)?;
    let what = if stuck >= STUCK {
        format!("{} failed and wait to be tried again", many(stuck, "job"))
    } else {
        format!("most jobs fail: {failed} of the last {} that ended", facts.ended.len())
    };
    let code = worst
        .code
        .as_ref()
        .map_or_else(String::new, |code| format!(" (code {code})"));
    Some(
        found(
            Severity::Warning,
            "failing",
            format!("{what}, most of the task `{}`: {}{code}", worst.task, worst.message),
            format!(
                "{} of this kind failed for good in the last hour, {} will be tried again; the last one is {}",
                worst.failed, worst.stuck, worst.example
            ),
            format!(
                "turnabout show {}; once it is mended: turnabout retry --task {} --state stuck",
                worst.example,
                word(&worst.task)
            ),
        )
        .see("/api/v1/failures"),
    )
}

/// More jobs come than go.
fn growing(facts: &Facts) -> Option<Finding> {
    let points = &facts.points[facts.points.len().checked_sub(GROWING)?..];
    let grows = points.windows(2).all(|pair| pair[1].ready >= pair[0].ready);
    let (first, last) = (points.first()?, points.last()?);
    if !grows || last.ready < 100 || last.ready < first.ready * 3 / 2 {
        return None;
    }
    let (ended, slots) = (points.iter().map(|point| point.ended).sum::<u64>(), last.slots);
    let time = last.at.duration_since(first.at).as_secs();
    Some(
        found(
            Severity::Notice,
            "growing",
            format!(
                "more jobs come than go: {} were ready {time} s ago, {} are now",
                first.ready, last.ready
            ),
            format!("{ended} jobs ended in that time on {slots} slots"),
            "add slots (executor.pool-size) or executors, if that goes on".to_owned(),
        )
        .see("/api/v1/trends"),
    )
}
