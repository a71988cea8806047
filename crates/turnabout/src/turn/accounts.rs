//! PURE: what groups have cost so far, for fairness by items or by time.
//!
//! Each active group has an account: the sum of what its jobs cost, each divided by the group's weight at that time.
//! Whoever has had least is next (start-time fair queueing), so accounts of backlogged groups stay within the cost
//! of the jobs in hand of each other. A group that had nothing to do comes back at the *level* (the lowest account of
//! those that are ready, without their jobs in hand) or at its own account, whichever is higher: it is not owed anything for the time in which it
//! wanted nothing, and it does not shed what it owes by being away for a moment.
//!
//! Where there are more groups than a peek sees, peeks go round the ring a stretch at a time. A stretch is served until all
//! in it have had a typical job more than the lowest account of all, as far as known; then the next one is looked at.
//!
//! Executors share accounts through the store, and the level too, as the account of a group without a name: so one
//! that has just started knows where newcomers begin.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap, HashSet};
use std::ops::Bound;

use super::Ring;

/// One group's account.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    /// Cost over weight so far.
    spent: f64,
    /// Of that, not yet shared through the store.
    unshared: f64,
    /// Where it began or came back since the last sharing; zero if it did neither.
    raised: f64,
    /// Whether it had nothing ready when last looked for.
    away: bool,
    /// Its jobs in hand, whose cost may still have to be corrected.
    held: u32,
    /// What was charged for those, over weight: a guess so far.
    guessed: f64,
    /// What one of its jobs costs, as far as seen: a moving average.
    mean: Option<f64>,
}

/// What to add to a shared account: first it is raised to `floor`, then `add` is added.
#[derive(Clone, Debug, PartialEq)]
pub struct Charge {
    /// The group.
    pub group: String,
    /// Where a group that came (back) begins. Zero otherwise: what this executor believes may be out of date, and
    /// would undo the corrections of others.
    pub floor: f64,
    /// Cost over weight since the last sharing.
    pub add: f64,
}

/// The accounts that one executor knows.
#[derive(Clone, Debug, Default)]
pub struct Accounts {
    /// In order of name, as a peek sees a stretch of names.
    active: BTreeMap<String, Account>,
    /// The lowest account of those that were ready when last looked at, in whatever stretch of the ring.
    level: f64,
    /// What a job costs where nothing is known of its group: a moving average over all.
    typical: Option<f64>,
    /// How many stretches of the ring in a row had had enough.
    passed: usize,
}

/// So many accounts are kept; past that those without jobs in hand are forgotten.
const MAX_ACCOUNTS: usize = 100_000;
/// How much a new cost moves the average.
const LEARNING: f64 = 0.2;
/// No job costs less: a group whose jobs cost nothing would be next for ever.
const LEAST_COST: f64 = 1e-6;
/// The account in which executors share the level. No group has this name.
const LEVEL: &str = "";

impl Accounts {
    /// Gives away `want` turns, each to the group that has had least; ties go in ring order. Charges nothing: the
    /// caller charges what is really taken. `groups` are those with ready jobs from the place on, in ring order, all of
    /// them or only the first ones; of a stretch that has had enough fewer turns are given, or none, and the next one
    /// should be looked at.
    pub(super) fn level(
        &mut self,
        ring: &Ring,
        groups: &[&str],
        weights: &[u32],
        want: u32,
        complete: bool,
    ) -> Vec<usize> {
        self.dismiss(ring, groups, complete);
        self.welcome(groups);
        let typical = self.typical.unwrap_or(1.0);
        let mut heap: BinaryHeap<Entry> = groups
            .iter()
            .enumerate()
            .map(|(at, group)| {
                let account = &self.active[*group];
                Entry {
                    spent: account.spent,
                    at,
                    step: account.mean.unwrap_or(typical).max(LEAST_COST) / f64::from(weights[at].max(1)),
                }
            })
            .collect();
        // After a whole rotation somebody must be served, whatever we believe of others.
        let stretches = self.active.len() / groups.len().max(1) + 1;
        let enough = if complete || self.passed > stretches {
            f64::INFINITY
        } else {
            self.level + typical
        };
        let mut order = Vec::with_capacity(want as usize);
        while order.len() < want as usize {
            let Some(mut lowest) = heap.pop().filter(|lowest| lowest.spent <= enough) else {
                break;
            };
            order.push(lowest.at);
            lowest.spent += lowest.step;
            heap.push(lowest);
        }
        self.passed = if order.is_empty() && !groups.is_empty() {
            self.passed + 1
        } else {
            0
        };
        order
    }

    /// Whether the stretch of the ring that was looked at last had had enough, and the next one should be looked at.
    pub(super) fn is_passing(&self) -> bool {
        self.passed > 0
    }

    /// Notes which groups are away: those in the stretch that the peek saw which it did not find. Those that owe
    /// nothing are forgotten.
    fn dismiss(&mut self, ring: &Ring, groups: &[&str], complete: bool) {
        let (place, last) = (ring.place.as_str(), groups.last().copied());
        let after = Bound::Excluded(place);
        let seen: &[(Bound<&str>, Bound<&str>)] = match last {
            _ if complete => &[(Bound::Unbounded, Bound::Unbounded)],
            None => &[],
            Some(last) if ring.wraps(last) => &[(after, Bound::Unbounded), (Bound::Unbounded, Bound::Included(last))],
            Some(last) => &[(after, Bound::Included(last))],
        };
        let present: HashSet<&str> = groups.iter().copied().collect();
        let mut gone = Vec::new();
        for stretch in seen {
            for (group, account) in self.active.range_mut::<str, _>(*stretch) {
                if !present.contains(group.as_str()) {
                    account.away = true;
                    if account.is_settled() && account.spent <= self.level {
                        gone.push(group.clone());
                    }
                }
            }
        }
        for group in gone {
            self.active.remove(&group);
        }
        if self.active.len() > MAX_ACCOUNTS {
            self.active
                .retain(|group, account| !account.is_settled() || present.contains(group.as_str()));
        }
    }

    /// Groups that have come (back) start at the level of the others.
    fn welcome(&mut self, groups: &[&str]) {
        let settled = self.active.values().filter(|a| !a.away);
        // Without what is in hand: guesses may turn out to be far too high, before anything is known most of all, and
        // newcomers would wait until the others have had as much.
        if let Some(lowest) = settled.map(|a| a.spent - a.guessed).min_by(f64::total_cmp) {
            self.level = lowest;
        }
        for group in groups {
            match self.active.get_mut(*group) {
                Some(account) => account.come_back(self.level),
                None => {
                    self.active.insert((*group).to_owned(), Account::new(self.level));
                }
            }
        }
    }

    /// A job was taken: charges what it will probably cost, which is returned.
    pub fn take(&mut self, group: &str, weight: u32, cost: Option<f64>) -> f64 {
        if !self.active.contains_key(group) {
            self.active.insert(group.to_owned(), Account::new(self.level));
        }
        let typical = self.typical.unwrap_or(1.0);
        self.active.get_mut(group).map_or(0.0, |account| {
            account.held += 1;
            let cost = cost.or(account.mean).unwrap_or(typical).max(LEAST_COST);
            account.guessed += account.charge(cost, weight);
            cost
        })
    }

    /// A job in hand turns out to cost more (or less) than charged so far.
    pub fn correct(&mut self, group: &str, weight: u32, difference: f64) {
        if let Some(account) = self.active.get_mut(group) {
            account.charge(difference, weight);
        }
    }

    /// A job has ended; `cost` is what it really cost.
    pub fn ended(&mut self, group: &str, cost: f64) {
        let learn = |mean: Option<f64>| Some(mean.map_or(cost, |mean| mean + LEARNING * (cost - mean)));
        self.typical = learn(self.typical);
        if let Some(account) = self.active.get_mut(group) {
            // As if all in hand had been charged the same.
            account.guessed -= account.guessed / f64::from(account.held.max(1));
            account.held = account.held.saturating_sub(1);
            account.mean = learn(account.mean);
        }
    }

    /// What to share with the other executors: once a second, and once before the first take. Counts as shared from
    /// now on.
    pub fn charges(&mut self) -> Vec<Charge> {
        let mut charges = vec![Charge {
            group: LEVEL.to_owned(),
            floor: self.level,
            add: 0.0,
        }];
        for (group, account) in &mut self.active {
            if account.away && account.is_settled() {
                continue;
            }
            charges.push(Charge {
                group: group.clone(),
                floor: std::mem::take(&mut account.raised),
                add: std::mem::take(&mut account.unshared),
            });
        }
        charges
    }

    /// What all executors together have charged.
    pub fn absorb(&mut self, shared: impl IntoIterator<Item = (String, f64)>) {
        for (group, spent) in shared {
            if group == LEVEL {
                self.level = self.level.max(spent);
            } else if let Some(account) = self.active.get_mut(&group) {
                // It may have come back, or been charged, while the store was asked.
                account.spent = spent.max(account.raised) + account.unshared;
            }
        }
    }

    /// Cost over weight so far, for a group that is active.
    pub fn spent(&self, group: &str) -> Option<f64> {
        self.active.get(group).map(|a| a.spent)
    }
}

impl Account {
    fn new(level: f64) -> Self {
        Self {
            spent: level,
            raised: level,
            ..Self::default()
        }
    }

    fn come_back(&mut self, level: f64) {
        if std::mem::take(&mut self.away) && self.spent < level {
            self.raised = level - self.unshared;
            self.spent = level;
        }
    }

    /// Whether nothing about it is still to be corrected or shared.
    fn is_settled(&self) -> bool {
        self.held == 0 && self.unshared == 0.0
    }

    fn charge(&mut self, cost: f64, weight: u32) -> f64 {
        let share = cost / f64::from(weight.max(1));
        self.spent += share;
        self.unshared += share;
        share
    }
}

/// A group in the heap of those waiting for a turn: lowest account first, then ring order.
struct Entry {
    spent: f64,
    at: usize,
    step: f64,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        other.spent.total_cmp(&self.spent).then(other.at.cmp(&self.at))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Entry {}
