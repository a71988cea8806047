//! PURE: what the accounts say about the last minutes.

use std::time::Duration;

use jiff::Timestamp;

use super::{Shares, Standing};

/// A group is noisy if, while others waited, its share was above its own by more than this part of all slots.
const NOISY: f64 = 0.1;
/// Less than so many seconds say nothing.
const ENOUGH: f64 = 5.0;
/// Nobody is harmed who waits for a shorter time, however quick a rotation is.
const BEARABLE: Duration = Duration::from_secs(5);
/// A rotation is estimated: nobody is harmed who waits for less than so many of them.
const ROTATIONS: f64 = 1.5;

/// What the accounts say about the last minutes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// Over how many minutes.
    pub minutes: u32,
    /// How many of the seconds of these minutes someone looked at.
    pub observed: f64,
    /// Slots of the executors that are there.
    pub slots: u32,
    /// How many of them were used, on average.
    pub busy: f64,
    /// Jobs started per second.
    pub start_rate: f64,
    /// Jain's index of what the groups got that had to wait, for what each was entitled to: 1 if all got the same.
    pub jain: f64,
    /// How long it takes until every group that waits has had its turn. None: nobody knows, since no job was started.
    pub rotation: Option<Duration>,
    /// Weights of the groups that wait for a turn now, added up.
    pub waiting_weight: f64,
    /// The groups that hold slots, wait, or did so in these minutes.
    pub groups: Vec<GroupShare>,
    /// The share of the slot time that groups had that are not told apart.
    pub rest: f64,
}

/// One group's share.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GroupShare {
    /// The group.
    pub group: String,
    /// The share of all slot time in use that it was entitled to, by its weight among the groups that were active.
    pub entitled: f64,
    /// The share that it had.
    pub used: f64,
    /// Slot seconds that it used.
    pub slot_seconds: f64,
    /// Jobs of it that executors hold now.
    pub held: u64,
    /// Whether jobs of it wait now that executors would take.
    pub waits: bool,
    /// When the oldest of the jobs was submitted that are next.
    pub oldest: Option<Timestamp>,
    /// For how long it has been waiting for its turn.
    pub waiting: Option<Duration>,
    /// Half of its jobs waited no longer, and 95 in 100.
    pub wait_p50: Option<Duration>,
    /// 95 in 100 of its jobs waited no longer.
    pub wait_p95: Option<Duration>,
    /// Whether it has had more than its share while others waited.
    pub noisy: bool,
    /// Whether it has been waiting for its turn for longer than a rotation takes.
    pub harmed: bool,
}

impl Shares {
    /// What the accounts say about the last 1, 10 or 60 minutes (or the shortest of these that is not shorter).
    pub fn report(&self, minutes: u32) -> Report {
        let wanted = Duration::from_secs(u64::from(minutes) * 60);
        let window = self
            .windows
            .iter()
            .find(|window| window.length() >= wanted)
            .unwrap_or(&self.windows[2]);
        let (totals, mut cells, rest) = window.sum();
        let rotation = self.rotation();
        let last = self.last.as_ref();
        for (name, _) in last.iter().flat_map(|last| &last.groups) {
            cells.entry(std::sync::Arc::clone(name)).or_default();
        }
        let part = |of: f64, whole: f64| if whole > 0.0 { of / whole } else { 0.0 };
        let now = last.map(|last| last.at).unwrap_or_default();
        let groups = cells.iter().map(|(name, cell)| {
            let standing = last.and_then(|last| last.groups.get(name));
            let waiting = standing.filter(|standing| standing.waits());
            let waiting = waiting.map(|standing| now.saturating_sub(standing.still));
            GroupShare {
                group: name.to_string(),
                entitled: part(cell.entitled, totals.active),
                used: part(cell.used, totals.slot_seconds),
                slot_seconds: cell.used,
                held: standing.map_or(0, |standing| standing.held),
                waits: waiting.is_some(),
                oldest: standing.and_then(|standing| standing.oldest),
                waiting,
                wait_p50: cell.waits.percentile(50),
                wait_p95: cell.waits.percentile(95),
                noisy: totals.active >= ENOUGH && cell.over / totals.active > NOISY,
                harmed: is_harmed(waiting, rotation),
            }
        });
        let groups: Vec<GroupShare> = groups.collect();
        Report {
            minutes: u32::try_from(window.length().as_secs() / 60).unwrap_or(minutes),
            observed: totals.seconds,
            slots: last.map_or(0, |last| last.slots),
            busy: part(totals.slot_seconds, totals.seconds),
            start_rate: part(totals.started as f64, totals.seconds),
            jain: jain(
                cells
                    .values()
                    .filter(|cell| cell.due > 0.0)
                    .map(|cell| cell.got / cell.due),
            ),
            rotation,
            waiting_weight: last.map_or(0.0, |last| last.waiting_weight),
            groups,
            rest: part(rest.used, totals.slot_seconds),
        }
    }

    /// How long a rotation takes at the present rate: by the shortest window in which a job was started.
    fn rotation(&self) -> Option<Duration> {
        let last = self.last.as_ref()?;
        for window in &self.windows {
            let (totals, ..) = window.sum();
            if totals.started > 0 && totals.seconds > 0.0 {
                let rate = totals.started as f64 / totals.seconds;
                return Duration::try_from_secs_f64(last.waiting_weight.max(1.0) / rate).ok();
            }
        }
        None
    }

    /// Groups that hold slots now, the most first.
    pub fn holders(&self) -> Vec<(String, u64)> {
        let groups = self.last.iter().flat_map(|last| &last.groups);
        let mut holders: Vec<(String, u64)> = groups
            .filter(|(_, standing)| standing.held > 0)
            .map(|(name, Standing { held, .. })| (name.to_string(), *held))
            .collect();
        holders.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        holders
    }
}

fn is_harmed(waiting: Option<Duration>, rotation: Option<Duration>) -> bool {
    match (waiting, rotation) {
        (Some(waiting), Some(rotation)) => waiting > rotation.mul_f64(ROTATIONS).max(BEARABLE),
        _ => false,
    }
}

/// Jain's index: from 1 (all have the same) down to one in so many (one has all).
fn jain(shares: impl Iterator<Item = f64>) -> f64 {
    let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for share in shares {
        n += 1.0;
        sum += share;
        squares += share * share;
    }
    if squares > 0.0 { sum * sum / (n * squares) } else { 1.0 }
}

impl GroupShare {
    /// A group that has had nothing, and that nobody would serve.
    pub fn idle(group: String) -> Self {
        Self {
            group,
            entitled: 0.0,
            used: 0.0,
            slot_seconds: 0.0,
            held: 0,
            waits: false,
            oldest: None,
            waiting: None,
            wait_p50: None,
            wait_p95: None,
            noisy: false,
            harmed: false,
        }
    }
}
