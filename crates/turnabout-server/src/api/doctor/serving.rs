//! Whether somebody serves what waits: executors, tasks that nobody knows, queues, pauses, limits, slots.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use turnabout::group::Settings;
use turnabout::store::insight::Head;
use turnabout::store::overview::Member;

use super::super::types::{Finding, Severity};
use super::words::{many, names, span, word};
use super::{COUNTED, Facts, found};

/// A pause that has lasted for so long is perhaps forgotten.
const FORGOTTEN: Duration = Duration::from_hours(24);
/// Nobody has had a turn for so long, and all slots are taken: that is worth a word.
const STILL: Duration = Duration::from_secs(30);

pub(super) fn look(facts: &Facts, findings: &mut Vec<Finding>) {
    let there: Vec<&Member> = facts
        .executors
        .iter()
        .filter(|member| member.is_there(facts.now))
        .collect();
    // One that fell silent is told of by itself; that nobody takes jobs follows from it.
    let gone = facts.executors.iter().any(|member| !member.draining);
    if there.is_empty() && (!facts.heads.is_empty() || !gone) {
        findings.push(nobody(facts));
    } else {
        unserved(facts, &there, findings);
    }
    slots(facts, findings);
    paused(facts, findings);
    findings.extend(silent(facts));
    capped(facts, findings);
}

/// The streams whose jobs have to be counted for what is said about them: those that nobody takes.
pub(super) fn uncounted(heads: &[Head], executors: &[Member], settings: &Settings, now: Timestamp) -> Vec<usize> {
    let there: Vec<&Member> = executors.iter().filter(|member| member.is_there(now)).collect();
    let set = |head: &Head| {
        let group = settings.group(&head.group);
        settings.is_paused(&head.queue, &head.group, &head.task) || group.max_running.is_some()
    };
    let wanted = |(_, head): &(usize, &Head)| set(head) || !is_served(head, &there);
    heads.iter().enumerate().filter(wanted).map(|(at, _)| at).collect()
}

fn is_served(head: &Head, there: &[&Member]) -> bool {
    there
        .iter()
        .any(|member| serves(member, &head.queue) && knows(member, &head.task))
}

fn serves(member: &Member, queue: &str) -> bool {
    member.info.queues.iter().any(|served| served == queue)
}

fn knows(member: &Member, task: &str) -> bool {
    member.info.tasks.iter().any(|known| known == task)
}

/// `at least 10000 jobs wait`.
fn wait(count: u64) -> String {
    let least = if count >= COUNTED.into() { "at least " } else { "" };
    let verb = if count == 1 { "waits" } else { "wait" };
    format!("{least}{} {verb}", many(count, "job"))
}

/// How many jobs are ready in the streams for which something holds, and of which groups.
fn count(facts: &Facts, holds: impl Fn(&Head) -> bool) -> (u64, BTreeSet<&str>) {
    let mut groups = BTreeSet::new();
    let mut jobs = 0;
    for (at, head) in facts.heads.iter().enumerate().filter(|(_, head)| holds(head)) {
        groups.insert(head.group.as_str());
        jobs += facts.ready.get(&at).copied().unwrap_or(1);
    }
    (jobs, groups)
}

fn nobody(facts: &Facts) -> Finding {
    let evidence = match facts.executors.iter().max_by_key(|member| member.seen) {
        None => "no executor is registered".to_owned(),
        Some(last) if last.draining => format!(
            "the last one, `{}`, takes no more jobs: it was told so, or shuts down",
            last.info.name
        ),
        Some(last) => {
            let ago = Duration::try_from(facts.now.duration_since(last.seen)).unwrap_or_default();
            format!("the last one, `{}`, was heard of {} ago", last.info.name, span(ago))
        }
    };
    let drained = facts.executors.iter().find(|member| member.draining);
    let mend = match drained {
        Some(member) => format!(
            "turnabout drain {} --undo; if it shuts down, start another one: turnabout serve",
            word(&member.info.name)
        ),
        None => "turnabout serve (or `turnabout executor`) on a machine that reaches the database".to_owned(),
    };
    let (severity, what) = if facts.heads.is_empty() {
        let what = "no executor takes jobs: what is submitted now will wait";
        (Severity::Warning, what)
    } else {
        (
            Severity::Critical,
            "no executor takes jobs: nothing that waits will start",
        )
    };
    found(severity, "no-executor", what.to_owned(), evidence, mend).see("/api/v1/executors")
}

fn unserved(facts: &Facts, there: &[&Member], findings: &mut Vec<Finding>) {
    let mut tasks: BTreeSet<&str> = BTreeSet::new();
    let mut places: BTreeSet<(&str, &str)> = BTreeSet::new();
    for head in facts.heads.iter().filter(|head| !is_served(head, there)) {
        if there.iter().any(|member| knows(member, &head.task)) {
            places.insert((&head.queue, &head.task));
        } else {
            tasks.insert(&head.task);
        }
    }
    for task in &tasks {
        let (jobs, groups) = count(facts, |head| head.task == *task);
        let knew = facts.executors.iter().find(|member| knows(member, task));
        let evidence = match knew {
            Some(gone) if gone.draining => format!("`{}` knows it, and was told to take no more jobs", gone.info.name),
            Some(gone) => format!("`{}` knew it, and has fallen silent", gone.info.name),
            None => "no executor that runs has this task".to_owned(),
        };
        findings.push(
            found(
                Severity::Critical,
                "unknown-task",
                format!("no executor knows the task `{task}`: {}", wait(jobs)),
                format!("{evidence}; jobs of {}", names(groups)),
                format!(
                    "start an executor that has it, or add [tasks.{}] to the configuration; if the name is wrong: \
                     turnabout cancel --task {} --state waiting",
                    toml_key(task),
                    word(task)
                ),
            )
            .see(format!("/api/v1/jobs?state=waiting&task={task}")),
        );
    }
    for (queue, task) in &places {
        let (jobs, groups) = count(facts, |head| head.queue == *queue && head.task == *task);
        let served: BTreeSet<&str> = there
            .iter()
            .filter(|member| knows(member, task))
            .flat_map(|member| member.info.queues.iter().map(String::as_str))
            .collect();
        findings.push(
            found(
                Severity::Critical,
                "unserved-queue",
                format!(
                    "no executor serves the queue `{queue}` for the task `{task}`: {}",
                    wait(jobs)
                ),
                format!(
                    "executors that know the task serve {}; jobs of {}",
                    names(served),
                    names(groups)
                ),
                format!("start one with it: turnabout executor --queues {}", word(queue)),
            )
            .see(format!("/api/v1/jobs?state=waiting&queue={queue}")),
        );
    }
}

fn toml_key(name: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if name.chars().all(plain) {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

/// All slots are taken, and someone has been waiting for long.
fn slots(facts: &Facts, findings: &mut Vec<Finding>) {
    let slots = u64::from(facts.report.slots);
    let held: u64 = facts.held.iter().map(|held| held.jobs).sum();
    let longest = facts.report.groups.iter().filter_map(|share| share.waiting).max();
    let Some(longest) = longest.filter(|longest| slots > 0 && held >= slots && *longest >= STILL) else {
        return;
    };
    let mut groups: BTreeMap<&str, u64> = BTreeMap::new();
    for held in &facts.held {
        *groups.entry(&held.group).or_default() += held.jobs;
    }
    let mut groups: Vec<(&str, u64)> = groups.into_iter().collect();
    groups.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let Some((first, most)) = groups.first().copied() else {
        return;
    };
    let task = facts
        .held
        .iter()
        .filter(|held| held.group == first)
        .max_by_key(|held| held.jobs);
    let since = facts.held.iter().filter_map(|held| held.since).min();
    let age = since.map(|since| Duration::try_from(facts.now.duration_since(since)).unwrap_or_default());
    let task = task.map_or_else(String::new, |held| format!(" (task `{}`)", held.task));
    let waiting = facts.report.groups.iter().filter(|share| share.waits).count() as u64;
    let share = facts.report.groups.iter().find(|share| share.group == first);
    let entitled = share.map_or(0.0, |share| share.entitled);
    let fair = (slots as f64 * entitled).floor().max(1.0);
    findings.push(
        found(
            Severity::Critical,
            "slots-taken",
            format!(
                "all {slots} slots are taken, {most} of them by the group `{first}`{task}: {} for up to {}",
                if waiting == 1 { "1 group waits".to_owned() } else { format!("{waiting} groups wait") },
                span(longest)
            ),
            format!(
                "held: {}; the oldest job runs since {}",
                groups.iter().take(5).map(|(group, jobs)| format!("`{group}` {jobs}")).collect::<Vec<_>>().join(", "),
                age.map_or_else(|| "a moment ago".to_owned(), |age| format!("{} ago", span(age)))
            ),
            format!(
                "turnabout group {} --max-running {fair}; cancel what hangs: turnabout jobs --state running --group {}; or \
                 add executors",
                word(first),
                word(first)
            ),
        )
        .see(format!("/api/v1/jobs?state=running&group={first}")),
    );
}

/// Pauses that jobs wait behind.
fn paused(facts: &Facts, findings: &mut Vec<Finding>) {
    let groups = facts
        .settings
        .groups
        .iter()
        .filter(|(_, set)| set.paused)
        .map(|(name, _)| ("group", name));
    let tasks = facts
        .settings
        .tasks
        .iter()
        .filter(|(_, set)| set.paused)
        .map(|(name, _)| ("task", name));
    let queues = facts
        .settings
        .queues
        .iter()
        .filter(|(_, set)| set.paused)
        .map(|(name, _)| ("queue", name));
    let nothing = String::new();
    let global = facts.settings.global.paused.then_some(("", &nothing));
    let mut all: Vec<(&str, &String)> = groups.chain(tasks).chain(queues).chain(global).collect();
    all.sort_unstable();
    for (kind, name) in all {
        let behind = |head: &Head| match kind {
            "group" => head.group == *name,
            "task" => head.task == *name,
            "queue" => head.queue == *name,
            _ => true,
        };
        let (jobs, _) = count(facts, behind);
        let target = match kind {
            "" => "settings".to_owned(),
            _ => format!("{kind}:{name}"),
        };
        let entry = facts.set.get(&target);
        let age = entry.map(|entry| Duration::try_from(facts.now.duration_since(entry.at)).unwrap_or_default());
        if jobs == 0 && age.is_none_or(|age| age < FORGOTTEN) {
            continue;
        }
        let evidence = match entry {
            Some(entry) => {
                let note = entry
                    .deed
                    .note
                    .as_ref()
                    .map_or_else(String::new, |note| format!(": {note}"));
                format!("by {} {} ago{note}", entry.deed.by, span(age.unwrap_or_default()))
            }
            None => {
                "nobody knows since when, or by whom: it was set before the audit log, or by another program".to_owned()
            }
        };
        let severity = match (jobs, kind) {
            (0, _) => Severity::Notice,
            // Nobody's jobs run.
            (_, "") => Severity::Critical,
            _ => Severity::Warning,
        };
        let waiting = if jobs == 0 {
            "nothing waits".to_owned()
        } else {
            wait(jobs)
        };
        let (what, mend, see) = if kind.is_empty() {
            (
                "everything".to_owned(),
                "turnabout resume".to_owned(),
                "/api/v1/settings".to_owned(),
            )
        } else {
            (
                format!("the {kind} `{name}`"),
                format!("turnabout {kind} {} --resume", word(name)),
                format!("/api/v1/{kind}s/{name}"),
            )
        };
        let what = format!("{what} is paused: {waiting}");
        findings.push(found(severity, "paused", what, evidence, mend).see(see));
    }
}

/// Executors that have fallen silent and are not given up yet.
fn silent(facts: &Facts) -> Option<Finding> {
    let silent: Vec<&Member> = facts
        .executors
        .iter()
        .filter(|member| member.silence(facts.now) >= Member::SILENT)
        .collect();
    let held: u64 = silent.iter().map(|member| member.held).sum();
    let last = silent.iter().map(|member| member.silence(facts.now)).max()?;
    let names = names(silent.iter().map(|member| member.info.name.as_str()));
    Some(
        found(
            Severity::Warning,
            "silent-executor",
            format!("{names} fell silent, with {} in hand", many(held, "job")),
            format!("not heard of for {}", span(last)),
            "see whether the machine lives; when the lease ends, others take its jobs by themselves".to_owned(),
        )
        .see("/api/v1/executors"),
    )
}

/// Groups that have more to do than their limit allows: that is meant so, but good to know.
fn capped(facts: &Facts, findings: &mut Vec<Finding>) {
    let mut groups: Vec<(&String, u32)> = Vec::new();
    for (name, set) in &facts.settings.groups {
        let held: u64 = facts
            .held
            .iter()
            .filter(|held| held.group == *name)
            .map(|held| held.jobs)
            .sum();
        if let Some(most) = set.max_running.filter(|most| held >= u64::from(*most) && !set.paused) {
            groups.push((name, most));
        }
    }
    groups.sort_unstable();
    for (name, most) in groups {
        let (jobs, _) = count(facts, |head| head.group == *name);
        if jobs == 0 {
            continue;
        }
        let set = facts.set.get(&format!("group:{name}"));
        findings.push(
            found(
                Severity::Notice,
                "limited",
                format!(
                    "the group `{name}` is at its limit of {} at a time: {}",
                    many(most.into(), "job"),
                    wait(jobs)
                ),
                set.map_or_else(
                    || "as the settings say".to_owned(),
                    |entry| format!("set by {}", entry.deed.by),
                ),
                format!("turnabout group {} --max-running none", word(name)),
            )
            .see(format!("/api/v1/groups/{name}")),
        );
    }
}
