//! When a job that waits will start: an interval, from what has happened lately and from whose turns come before.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::explain::Explanation;
use crate::clock::{after, until};
use crate::error::Result;
use crate::group::Settings;
use crate::job::{Job, Lane};
use crate::store::Store;
use crate::store::insight::{Ended, Head, Insight, ReadyPlace};
use crate::store::overview::Member;

/// What ended in this time tells how fast jobs start, or in a longer one if that was not enough.
const LATELY: Duration = Duration::from_mins(1);
const LONGER: Duration = Duration::from_mins(10);
const ENOUGH: usize = 5;
const ENDED: u32 = 2_000;
/// So many streams are looked at, and the ready jobs of so many groups are counted.
const HEADS: u32 = 1_000;
const GROUPS: usize = 200;
/// Rates of the future are those of the past, more or less.
const LESS: f64 = 0.6;
const MORE: f64 = 1.5;
/// The counting scheme, as executors have it unless it is set otherwise: how often high, normal and low have their turn.
const SCHEME: [f64; 3] = [4.0, 2.0, 1.0];

/// When a job will start, if things go on as they have.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Predicted {
    /// Hardly before.
    pub earliest: Timestamp,
    /// Hardly later.
    pub latest: Timestamp,
    /// What that follows from, in a sentence.
    pub basis: String,
}

/// How fast jobs start.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pace {
    /// Jobs a second, of all groups.
    rate: f64,
    /// How long a job runs.
    run: f64,
    /// How long a job of this group runs.
    own_run: f64,
    /// So many jobs tell.
    known: usize,
}

impl Pace {
    /// None: too little has ended to say anything.
    fn of(ended: &[Ended], group: &str, now: Timestamp) -> Option<Self> {
        let first = ended.iter().map(|job| job.at).min()?;
        let last = if ended.len() >= ENDED as usize {
            ended.iter().map(|job| job.at).max()?
        } else {
            now
        };
        let seconds = until(first, last).as_secs_f64();
        let mean = |jobs: &mut dyn Iterator<Item = &Ended>| {
            let (mut n, mut sum) = (0.0, 0.0);
            for ran in jobs.filter_map(|job| job.ran) {
                n += 1.0;
                sum += ran.as_secs_f64();
            }
            (n > 0.0).then(|| sum / n)
        };
        let run = mean(&mut ended.iter()).unwrap_or_default();
        let own_run = mean(&mut ended.iter().filter(|job| job.group == group)).unwrap_or(run);
        // The first one ended at the beginning of that time.
        let rate = (ended.len() as f64 - 1.0).max(1.0) / seconds.max(run).max(0.001);
        Some(Self {
            rate,
            run,
            own_run,
            known: ended.len(),
        })
    }
}

/// Who waits, as far as it matters for one job.
struct Ahead {
    /// Weights of all groups that take turns.
    weights: f64,
    own_weight: f64,
    /// Turns of its group until the job has its own, at least and at most.
    turns: (f64, f64),
    /// Jobs of all groups that are taken in that many turns, as many as there are.
    jobs: f64,
    groups: usize,
    /// So many jobs of its group run at a time, at the most.
    cap: Option<u32>,
}

/// When a job will start. None: nobody can say, or something keeps it from starting at all.
pub(super) async fn predict(
    store: &dyn Store,
    why: &Explanation,
    executors: &[Member],
    settings: &Settings,
) -> Result<Option<Predicted>> {
    if why.is_kept() {
        return Ok(None);
    }
    let insight = store.insight();
    let now = insight.moment();
    let Some(pace) = pace(insight, &why.job.group, now).await? else {
        return Ok(None);
    };
    let due = why.parked.map_or(now, |parked| after(now, parked));
    let ahead = look_ahead(insight, why, executors, settings).await?;
    let free = why.slots.saturating_sub(why.held);
    Ok(Some(ahead.interval(due, pace, free)))
}

async fn pace(insight: &dyn Insight, group: &str, now: Timestamp) -> Result<Option<Pace>> {
    let ago = |time| crate::clock::before(now, time);
    let mut ended = insight.ended(ago(LATELY), now, ENDED).await?;
    if ended.len() < ENOUGH {
        ended = insight.ended(ago(LONGER), now, ENDED).await?;
    }
    Ok(Pace::of(&ended, group, now))
}

async fn look_ahead(
    insight: &dyn Insight,
    why: &Explanation,
    executors: &[Member],
    settings: &Settings,
) -> Result<Ahead> {
    let job = &why.job;
    let heads = insight.heads(HEADS).await?;
    let taken = |head: &&Head| {
        let knows = |member: &Member| {
            member.info.queues.contains(&head.queue) && member.info.tasks.contains(&head.task) && !member.draining
        };
        let paused = settings.is_paused(&head.queue, &head.group, &head.task);
        !paused && executors.iter().any(knows)
    };
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for head in heads.iter().filter(taken) {
        let queues = groups.entry(&head.group).or_default();
        if !queues.contains(&head.queue.as_str()) {
            queues.push(&head.queue);
        }
    }
    let own: Vec<&Head> = heads
        .iter()
        .filter(taken)
        .filter(|head| head.group == job.group)
        .collect();
    let place = why.place.unwrap_or(1) as f64;
    let share = lane_share(job, &own);
    let beside = insight.ready(&beside(job, &own), place as u32 + 1000).await?;
    let beside: u64 = beside.iter().sum();
    let own_weight: f64 = settings.group(&job.group).weight().into();
    let turns = (place, (place + beside as f64) / share);
    // The first groups are counted; of the others it is assumed that they have enough to do.
    let mut places = Vec::new();
    let mut most = Vec::new();
    let (mut weights, mut jobs) = (0.0, 0.0);
    for (group, queues) in &groups {
        let weight: f64 = settings.group(group).weight().into();
        weights += weight;
        let theirs = turns.0 * weight / own_weight;
        if *group == job.group {
            jobs += turns.0;
        } else if most.len() < GROUPS {
            most.push(theirs.ceil());
            places.push(ReadyPlace {
                queue: queues[0].to_owned(),
                group: (*group).to_owned(),
                task: None,
            });
        } else {
            jobs += theirs;
        }
    }
    let limit = most.iter().copied().fold(1.0, f64::max).min(10_000.0) as u32;
    for (ready, most) in insight.ready(&places, limit).await?.into_iter().zip(most) {
        jobs += (ready as f64).min(most);
    }
    Ok(Ahead {
        weights: weights.max(own_weight),
        own_weight,
        turns,
        jobs: jobs.max(turns.0),
        groups: groups.len().max(1),
        cap: settings.group(&job.group).max_running,
    })
}

/// Other tasks of the same group and lane: their jobs may come before.
fn beside(job: &Job, own: &[&Head]) -> Vec<ReadyPlace> {
    let earlier = own
        .iter()
        .filter(|head| Some(head.lane) == job.lane && head.task != job.task && head.seq < job.seq);
    earlier
        .map(|head| ReadyPlace {
            queue: head.queue.clone(),
            group: head.group.clone(),
            task: Some(head.task.clone()),
        })
        .collect()
}

/// Which part of its group's turns a job's lane has, while the other lanes have something to do.
fn lane_share(job: &Job, own: &[&Head]) -> f64 {
    let turns = |lane: Lane| match lane {
        Lane::Retry => 0.0,
        Lane::High => SCHEME[0],
        Lane::Normal => SCHEME[1],
        Lane::Low => SCHEME[2],
    };
    let Some(lane) = job.lane.filter(|lane| *lane != Lane::Retry) else {
        return 1.0;
    };
    let lanes = [Lane::High, Lane::Normal, Lane::Low];
    let all = lanes
        .into_iter()
        .filter(|other| *other == lane || own.iter().any(|head| head.lane == *other));
    turns(lane) / all.map(turns).sum::<f64>()
}

impl Ahead {
    fn interval(&self, due: Timestamp, pace: Pace, free: u64) -> Predicted {
        let mut rate = pace.rate;
        // Under a limit the group goes no faster than its own jobs end.
        if let Some(cap) = self.cap {
            let capped = f64::from(cap) / pace.own_run.max(0.001);
            rate = rate.min(capped * self.weights / self.own_weight);
        }
        // All that come before it in so many turns; the last of them it is itself.
        let least = (self.jobs - 1.0).max(0.0) / rate * LESS;
        let most = self.turns.1 * self.weights / self.own_weight / rate * MORE + pace.run;
        let (least, most) = if (self.jobs as u64) <= free {
            (0.0, pace.run)
        } else {
            (least, most)
        };
        let moment = |seconds: f64| after(due, Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
        let each = SignedDuration::from_millis((1000.0 / rate.max(1e-6)) as i64);
        Predicted {
            earliest: moment(least),
            latest: moment(most.max(least)),
            basis: format!(
                "{} of its group until its own, {} {} turns, a job starts every {each:#} ({} have ended lately)",
                plural(self.turns.0 as u64, "turn"),
                plural(self.groups as u64, "group"),
                if self.groups == 1 { "takes" } else { "take" },
                pace.known
            ),
        }
    }
}

fn plural(count: u64, one: &str) -> String {
    if count == 1 {
        format!("1 {one}")
    } else {
        format!("{count} {one}s")
    }
}
