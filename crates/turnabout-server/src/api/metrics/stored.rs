//! Numbers of the store, which are the same wherever one asks. However many tasks, queues and groups there are, only so many
//! are named; the others are one line.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use jiff::Timestamp;
use turnabout::jobs::Whose;
use turnabout::shares::{GroupShare, Report};
use turnabout::store::insight::{Head, ReadyPlace};
use turnabout::store::overview::{Member, Sum};

use super::super::sampler::is_own;
use super::super::state::Inner;
use super::text::Text;

/// What ended within this time is what is done in a minute.
const MINUTE: Duration = Duration::from_mins(1);
/// So many tasks, and pairs of queue and task, are named.
const NAMED: usize = 100;
/// So many groups are named that have the largest shares, or trouble.
const TOP_GROUPS: usize = 20;
/// So many groups are counted at the most, where all are wanted.
const GROUPS: u32 = 1000;
/// Ready jobs of so many streams that nobody takes are counted, ..
const STREAMS: usize = 200;
/// .. each up to here.
const COUNTED: u32 = 10_000;
/// What stands for those that are not named.
const OTHERS: &str = "(others)";

/// The numbers of the store.
pub(super) async fn tell(app: &Inner, text: &mut Text) -> turnabout::Result<()> {
    let everyone = Whose::default();
    let (sums, executors, settings) = tokio::try_join!(
        app.task_sums(&everyone, MINUTE),
        app.jobs.executors(),
        app.jobs.settings(),
    )?;
    let now = Timestamp::now();
    tasks(&sums, now, text);
    let paused: BTreeMap<[&str; 1], f64> = [
        ("everything", usize::from(settings.global.paused)),
        ("queue", settings.queues.values().filter(|set| set.paused).count()),
        ("group", settings.groups.values().filter(|set| set.paused).count()),
        ("task", settings.tasks.values().filter(|set| set.paused).count()),
    ]
    .map(|(what, paused)| ([what], paused as f64))
    .into();
    text.gauge(
        "turnabout_paused",
        "How many are paused: everything, queues, groups, tasks",
    )
    .all(["what"], &paused);
    let overdue = app.jobs.schedules().overdue().await?.unwrap_or_default();
    text.gauge(
        "turnabout_schedule_overdue_seconds",
        "How long a schedule has been due that nobody has fired; 0: none is",
    )
    .one(overdue.as_secs_f64());
    members(&executors, now, text);
    let (heads, report) = {
        let seen = app.sampler.lately(&app.jobs).await?;
        ready(&seen.heads, |head| seen.ready_for(head), text);
        (seen.heads.clone(), seen.shares.report(10))
    };
    untakeable(app, &heads, &executors, now, text).await?;
    standings(&report, text);
    // Whoever may read the numbers without a token need not know who our customers are.
    if app.settings.group_metrics || !app.settings.open_metrics {
        groups(&report, text);
    }
    if app.settings.group_metrics {
        let mut jobs = BTreeMap::new();
        let sums = app.jobs.groups(&everyone, "", GROUPS).await?;
        for group in &sums {
            for (place, count) in [("ready", group.ready), ("parked", group.parked), ("held", group.held)] {
                jobs.insert([group.group.as_str(), place], count as f64);
            }
        }
        text.gauge(
            "turnabout_group_jobs",
            "Unfinished jobs of a group: ready, parked, held",
        )
        .all(["group", "place"], &jobs);
    }
    Ok(())
}

/// Those with the largest numbers are named.
fn largest<'a>(numbers: impl Iterator<Item = (&'a str, f64)>) -> HashSet<&'a str> {
    let mut all: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, number) in numbers {
        *all.entry(name).or_default() += number;
    }
    let mut all: Vec<(&str, f64)> = all.into_iter().collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all.into_iter().take(NAMED).map(|(name, _)| name).collect()
}

fn tasks(sums: &[Sum], now: Timestamp, text: &mut Text) {
    let named = largest(sums.iter().map(|sum| (sum.task.as_str(), sum.jobs as f64)));
    let (mut items, mut jobs, mut oldest) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for sum in sums {
        let task = named.get(sum.task.as_str()).copied().unwrap_or(OTHERS);
        if sum.state.is_final() {
            *items.entry([task, sum.state.as_str()]).or_default() += sum.items as f64;
            continue;
        }
        let labels = [task, sum.priority.as_str(), sum.state.as_str()];
        *jobs.entry(labels).or_default() += sum.jobs as f64;
        let age = sum
            .oldest
            .map_or(0.0, |oldest| now.duration_since(oldest).as_secs_f64());
        let known: &mut f64 = oldest.entry(labels).or_default();
        *known = known.max(age);
    }
    text.gauge(
        "turnabout_items_per_minute",
        "Units of work of jobs that have ended within the last minute, by task and final state",
    )
    .all(["task", "state"], &items);
    let labels = ["task", "priority", "state"];
    text.gauge("turnabout_jobs", "Unfinished jobs, by task, priority and state")
        .all(labels, &jobs);
    text.gauge(
        "turnabout_oldest_job_seconds",
        "How long ago the oldest unfinished job was submitted, by task, priority and state",
    )
    .all(labels, &oldest);
}

fn members(executors: &[Member], now: Timestamp, text: &mut Text) {
    text.gauge("turnabout_executors", "Registered executors")
        .one(executors.len() as f64);
    let is_silent = |member: &&Member| member.silence(now) >= Member::SILENT;
    let silent = executors.iter().filter(is_silent).count();
    text.gauge(
        "turnabout_silent_executors",
        "Registered executors that were not heard of for half a minute",
    )
    .one(silent as f64);
    let slots: u32 = executors.iter().map(|member| member.info.slots).sum();
    text.gauge("turnabout_slots", "Slots of all executors together")
        .one(slots.into());
}

/// The oldest job that is ready, in each queue and of each task.
fn ready(heads: &[Head], age: impl Fn(&Head) -> Duration, text: &mut Text) {
    let mut oldest: BTreeMap<[&str; 2], f64> = BTreeMap::new();
    for head in heads {
        let known = oldest.entry([&head.queue, &head.task]).or_default();
        *known = known.max(age(head).as_secs_f64());
    }
    let mut sorted: Vec<_> = oldest.into_iter().collect();
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1));
    // Those that are left out wait for a shorter time than all that are named.
    sorted.truncate(NAMED);
    text.gauge(
        "turnabout_oldest_ready_seconds",
        "For how long the oldest ready job has been ready, by queue and task",
    )
    .all(["queue", "task"], &sorted.into_iter().collect());
}

/// Ready jobs that no executor takes: nobody serves their queue, or knows their task.
async fn untakeable(
    app: &Inner,
    heads: &[Head],
    executors: &[Member],
    now: Timestamp,
    text: &mut Text,
) -> turnabout::Result<()> {
    let is_taken = |head: &Head| (executors.iter()).any(|member| member.takes(&head.queue, &head.task, now));
    let mut places: Vec<ReadyPlace> = heads
        .iter()
        .filter(|head| !is_own(&head.queue) && !is_taken(head))
        .map(|head| ReadyPlace {
            queue: head.queue.clone(),
            group: head.group.clone(),
            task: Some(head.task.clone()),
        })
        .collect();
    // Of each lane there is a head; the jobs of all lanes are counted together.
    places.dedup();
    let counted = places.len().min(STREAMS);
    let counts = app.jobs.insight().ready(&places[..counted], COUNTED).await?;
    let counts = counts.into_iter().chain(std::iter::repeat(1));
    let mut jobs: BTreeMap<[&str; 2], f64> = BTreeMap::new();
    for (place, count) in places.iter().zip(counts) {
        let labels = [place.queue.as_str(), place.task.as_deref().unwrap_or_default()];
        let labels = if jobs.len() < NAMED || jobs.contains_key(&labels) {
            labels
        } else {
            [OTHERS, OTHERS]
        };
        *jobs.entry(labels).or_default() += count as f64;
    }
    text.gauge(
        "turnabout_untakeable_jobs",
        "Ready jobs that no executor takes, by queue and task: nobody serves the queue, or knows the task",
    )
    .all(["queue", "task"], &jobs);
    Ok(())
}

/// How many groups wait, are harmed, and harm others.
fn standings(report: &Report, text: &mut Text) {
    let count = |holds: fn(&&GroupShare) -> bool| report.groups.iter().filter(holds).count() as f64;
    let standings = BTreeMap::from([
        (["waiting"], count(|share| share.waits)),
        (["noisy"], count(|share| share.noisy)),
        (["harmed"], count(|share| share.harmed)),
    ]);
    text.gauge(
        "turnabout_groups",
        "Groups that wait for a turn; that had more than their share while others waited; that wait beyond a rotation",
    )
    .all(["standing"], &standings);
    text.gauge(
        "turnabout_rotation_seconds",
        "How long it takes at present until every group that waits has had its turn",
    )
    .one(report.rotation.unwrap_or_default().as_secs_f64());
}

/// The shares and waits of the groups that have trouble or make it, and of those with the largest shares.
fn groups(report: &Report, text: &mut Text) {
    let mut sorted: Vec<&GroupShare> = report.groups.iter().collect();
    sorted.sort_by(|a, b| {
        let trouble = |share: &GroupShare| share.harmed || share.noisy;
        trouble(b).cmp(&trouble(a)).then(b.used.total_cmp(&a.used))
    });
    let (mut used, mut entitled, mut waits) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    *used.entry([OTHERS]).or_default() += report.rest;
    for (at, share) in sorted.into_iter().enumerate() {
        let named = at < TOP_GROUPS;
        let group = if named { share.group.as_str() } else { OTHERS };
        *used.entry([group]).or_default() += share.used;
        *entitled.entry([group]).or_default() += share.entitled;
        if let (true, Some(half), Some(most)) = (named, share.wait_p50, share.wait_p95) {
            waits.insert([group, "0.5"], half.as_secs_f64());
            waits.insert([group, "0.95"], most.as_secs_f64());
        }
    }
    text.gauge(
        "turnabout_group_used_share",
        "The share of the slot time of the last ten minutes that a group had",
    )
    .all(["group"], &used);
    text.gauge(
        "turnabout_group_entitled_share",
        "The share of the slot time of the last ten minutes that a group was entitled to",
    )
    .all(["group"], &entitled);
    text.gauge(
        "turnabout_group_wait_seconds",
        "How long the jobs of a group that ended in the last ten minutes had waited",
    )
    .all(["group", "quantile"], &waits);
}
