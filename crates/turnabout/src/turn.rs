//! PURE: whose turn it is. Rotation, weights, the counting scheme, cost accounts.
//!
//! A store peeks (which groups come next in the ring, and which streams of ready jobs does each have), asks here who
//! gets how many, and claims that. Both stores and the model in the tests do so through [`Round`], so that there is
//! one place where turns are decided.
//!
//! - The **ring** is the groups with ready jobs, in the order of their names. [`Ring`] is the place in it, shared by
//!   all executors of a kind through the store.
//! - A **visit** gives a group `weight` jobs. A visit that is cut short by a full executor goes on with the next
//!   take, whoever makes it.
//! - Inside a group, the **counting scheme** chooses the lane ([`scheme`]).
//! - Under `items` and `time`, **accounts** level what groups have cost so far ([`accounts`]).
//! - How many jobs an executor holds beyond its free slots is [`pace`], and in which order they start [`starts`].

use std::collections::BTreeSet;
use std::sync::Arc;

use foldhash::{HashMap, HashSet};

use crate::group::Settings;
use crate::job::Lane;

pub mod accounts;
mod booking;
mod here;
mod limited;
mod meters;
pub mod pace;
mod round;
pub mod scheme;
pub mod starts;

pub use accounts::{Accounts, Charge};
pub use here::Here;
use limited::{Limited, limits};
pub use pace::Pace;
pub use round::{Pick, Round, Rounded, Turn, interleave};
pub use scheme::Scheme;

/// What a job costs its group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Fairness {
    /// Each job costs 1: plain round robin.
    #[default]
    Jobs,
    /// A job costs its items.
    Items,
    /// A job costs the seconds for which it holds a slot.
    Time,
}

/// A name that many hold: rounds hand the same few names on for every job, and a clone copies no text.
pub type Name = Arc<str>;

/// The tasks that an executor knows.
pub type Tasks = HashSet<Name>;

/// The name of a task, shared with an executor that knows it.
pub fn shared(task: &str, tasks: &Tasks) -> Name {
    tasks.get(task).cloned().unwrap_or_else(|| task.into())
}

/// The place in the ring: the group visited last, and how many jobs of that visit are still to come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ring {
    /// The group visited last.
    pub place: String,
    /// What is left of that visit.
    pub left: u32,
}

impl Ring {
    /// Whether a peek begins with the group at the place itself, and not with the one after it.
    pub fn inclusive(&self) -> bool {
        self.left > 0
    }

    /// Whether a group comes only after the end of the ring, when one begins at the place.
    pub fn wraps(&self, group: &str) -> bool {
        if self.inclusive() {
            group < self.place.as_str()
        } else {
            group <= self.place.as_str()
        }
    }
}

/// Ready jobs of one group, lane, queue and task: in the index they lie side by side, in order of `seq`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stream {
    /// Their lane.
    pub lane: Lane,
    /// Their queue.
    pub queue: Name,
    /// Their task.
    pub task: Name,
    /// What the store knows the stream by, if it has something shorter than all this. Nobody else looks at it.
    pub key: i64,
}

/// A group that has ready jobs, as a peek found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The group.
    pub group: Name,
    /// Its streams of ready jobs.
    pub streams: Vec<Stream>,
}

/// What one peek into one queue found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peeked {
    /// The groups, in ring order, beginning at the place.
    pub groups: Vec<Candidate>,
    /// Whether these are all groups of the queue, and not only the first ones.
    pub complete: bool,
}

impl Peeked {
    /// Several queues' peeks as one: each group once, in ring order, as far as every queue was looked into.
    pub fn merge(ring: &Ring, mut peeks: Vec<Self>) -> Self {
        if peeks.len() == 1 {
            return peeks.remove(0);
        }
        let key = |group: &str| (ring.wraps(group), group.to_owned());
        let horizon = peeks
            .iter()
            .filter(|p| !p.complete)
            .map(|p| p.groups.last().map_or((false, String::new()), |last| key(&last.group)))
            .min();
        let mut groups: Vec<Candidate> = Vec::new();
        let mut found: Vec<Candidate> = peeks.into_iter().flat_map(|p| p.groups).collect();
        found.sort_by_cached_key(|c| key(&c.group));
        for candidate in found {
            if horizon.as_ref().is_some_and(|h| key(&candidate.group) > *h) {
                break;
            }
            match groups.last_mut() {
                Some(last) if last.group == candidate.group => last.streams.extend(candidate.streams),
                _ => groups.push(candidate),
            }
        }
        Self {
            groups,
            complete: horizon.is_none(),
        }
    }
}

/// An executor's memory of turns. Lost with the executor, which harms nobody: the place in the ring is in the store.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    fairness: Fairness,
    scheme: Scheme,
    /// Where each group stands in the scheme; only groups that had a choice are kept.
    counts: HashMap<String, u32>,
    /// Decides where a group's count begins.
    seed: u64,
    /// What groups have cost so far.
    pub accounts: Accounts,
    /// Groups that gave nothing lately; a peek steps over them.
    benched: BTreeSet<String>,
    /// Who had places under tasks' limits.
    limited: Limited,
    /// What the executor has here and now, whenever it asks.
    pub here: Here,
}

/// So many counts are remembered; past that all begin anew.
const MAX_COUNTS: usize = 100_000;
/// So many groups are left out of peeks at the most.
const MAX_BENCHED: usize = 10_000;
/// Under a cost other than jobs, and where tasks have limits, a peek looks at so many groups at least, to find the one
/// that has had least.
const COST_WINDOW: usize = 256;

impl Turns {
    /// A fresh memory. `seed` decides where groups begin in the scheme: random in production, so that executors
    /// started together do not all begin with the urgent ones.
    pub fn new(fairness: Fairness, scheme: Scheme, seed: u64) -> Self {
        Self {
            fairness,
            scheme,
            counts: HashMap::default(),
            seed,
            accounts: Accounts::default(),
            benched: BTreeSet::new(),
            limited: Limited::default(),
            here: Here::default(),
        }
    }

    /// The unit of cost.
    pub fn fairness(&self) -> Fairness {
        self.fairness
    }

    /// How many groups a peek should look for when so many jobs are wanted.
    pub fn window(&self, want: u32) -> usize {
        match self.fairness {
            // Whoever has waited longest for a place under a limit must be seen.
            Fairness::Jobs if self.limited.any() => COST_WINDOW.max(want as usize),
            // Each visit gives at least one job.
            Fairness::Jobs => want as usize,
            Fairness::Items | Fairness::Time => COST_WINDOW.max(4 * want as usize),
        }
    }

    /// Groups that a peek steps over, because they gave nothing lately.
    pub fn benched(&self) -> &BTreeSet<String> {
        &self.benched
    }

    /// Whether the groups that were seen last had had enough, and others further on should be looked at at once.
    pub fn is_passing(&self) -> bool {
        self.accounts.is_passing()
    }

    /// Gives the benched groups another chance: once a second, whenever settings change, when a signal wakes the
    /// executor, when a job under a cap has ended here (its place is free now), and when a rate lets the next job start.
    pub fn forgive(&mut self) {
        self.benched.clear();
    }

    fn bench(&mut self, group: &str) {
        if self.benched.len() < MAX_BENCHED {
            self.benched.insert(group.to_owned());
        }
    }

    /// Where a group stands in the scheme.
    fn count(&self, group: &str) -> u32 {
        self.counts.get(group).copied().unwrap_or_else(|| {
            use std::hash::{Hash, Hasher};
            let mut hasher = std::hash::DefaultHasher::new();
            (self.seed, group).hash(&mut hasher);
            (hasher.finish() % u64::from(self.scheme.len())) as u32
        })
    }

    /// From which of these (non-empty) lanes the next `jobs` jobs of a group come, one turn after the other, when its count
    /// stands at `count`.
    fn plan(&self, count: u32, jobs: u32, lanes: &[Lane]) -> Vec<(Lane, Vec<Turn>)> {
        let Some(first) = lanes.iter().min() else {
            return Vec::new();
        };
        // A due retry goes first, whatever its priority; and where there is no choice, nothing is to be counted.
        if *first == Lane::Retry || lanes.len() == 1 {
            let turns = (0..jobs).map(|order| Turn { order, next: None });
            return vec![(*first, turns.collect())];
        }
        let mut count = count;
        let mut plan: Vec<(Lane, Vec<Turn>)> = Vec::with_capacity(lanes.len());
        for order in 0..jobs {
            let (lane, next) = self.scheme.next(count, lanes);
            count = next;
            let turn = Turn {
                order,
                next: Some(next),
            };
            match plan.iter_mut().find(|(l, _)| *l == lane) {
                Some((_, turns)) => turns.push(turn),
                None => plan.push((lane, vec![turn])),
            }
        }
        plan
    }

    /// Jobs of a group were really taken where the scheme had a choice: its count has moved on.
    fn advance(&mut self, group: &str, count: u32) {
        if self.counts.len() >= MAX_COUNTS {
            self.counts.clear();
        }
        self.counts.insert(group.to_owned(), count);
    }

    /// Visits groups from the place on until `want` jobs are given away; says how many each group gets (in the order
    /// of the first visit), and where the place is then.
    fn rotate(&mut self, ring: &Ring, peeked: &Peeked, want: u32, settings: &Settings) -> (Vec<(usize, u32)>, Ring) {
        let groups = &peeked.groups;
        let mut shares: Vec<(usize, u32)> = (0..groups.len()).map(|i| (i, 0)).collect();
        let mut next = ring.clone();
        let mut wanted = want;
        let mut last = None;
        if self.fairness == Fairness::Jobs {
            let mut left = match groups.first() {
                Some(first) if ring.left > 0 && *first.group == *ring.place => Some(ring.left),
                _ => None,
            };
            let mut at = 0;
            while wanted > 0 && !groups.is_empty() {
                let weight = settings.group(&groups[at].group).weight();
                // A weight that was lowered meanwhile cuts the rest of a visit too.
                let visit = left.take().unwrap_or(weight).min(weight);
                let jobs = visit.min(wanted);
                shares[at].1 += jobs;
                wanted -= jobs;
                last = Some(at);
                next.left = visit - jobs;
                at += 1;
                if at == groups.len() {
                    if !peeked.complete {
                        break;
                    }
                    at = 0;
                }
            }
        } else {
            let weights: Vec<u32> = groups.iter().map(|g| settings.group(&g.group).weight()).collect();
            let names: Vec<&str> = groups.iter().map(|g| &*g.group).collect();
            let order = self.accounts.level(ring, &names, &weights, want, peeked.complete);
            for at in &order {
                shares[*at].1 += 1;
                last = Some(*at);
            }
            // Where there are more groups than a peek sees, and these have had enough, the next one looks further on.
            // Else the place settles ties: without it, executors that look at the same moment would all choose the same
            // newcomer.
            if !peeked.complete && order.len() < want as usize {
                last = groups.len().checked_sub(1);
            }
            next.left = 0;
        }
        if let Some(last) = last {
            next.place.clear();
            next.place.push_str(&groups[last].group);
            // The rest of such a visit is remembered elsewhere, with whoever has it.
            if self.limited.any() && limits(&groups[last], settings).is_some() {
                next.left = 0;
            }
        }
        self.limited.hand_over(&mut shares, groups, settings);
        shares.retain(|(_, jobs)| *jobs > 0);
        (shares, next)
    }
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
