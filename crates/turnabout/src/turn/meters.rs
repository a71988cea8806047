//! PURE: rates in a round: which of them stand before it, how they stand afterwards, and when the next look is worth it.

use std::collections::BTreeSet;
use std::time::Duration;

use super::round::{Round, Visit};
use crate::group::{Cap, Rate, Settings};

/// A rate, when its bucket was to be full, what time it was then, and how many jobs were taken since.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    rate: Rate,
    full: i64,
    now: i64,
    /// Whether jobs start later than they are counted.
    late: bool,
    pub(super) taken: u32,
}

impl Bucket {
    fn after(&self) -> i64 {
        self.rate.after_late(self.full, self.now, self.taken, self.late)
    }
}

/// Whoever waits for a slot before jobs under a rate are taken looks again so soon.
const CROWDED: Duration = Duration::from_millis(10);

impl Round {
    /// The rates that limit these visits: the store locks them in this order, after the caps, and tells [`Round::meter`] how they
    /// stand.
    pub fn rates(&self, settings: &Settings) -> BTreeSet<Cap> {
        let mut rates = BTreeSet::new();
        let has_rate = |visit: &&Visit| settings.group(&visit.group).rate.is_some();
        let groups = self.visits.iter().filter(has_rate);
        rates.extend(groups.map(|visit| Cap::Group(visit.group.to_string())));
        if self.turns.limited.any() {
            let tasks = self.tasks().into_iter();
            rates.extend(tasks.filter(|task| settings.task(task).rate.is_some()).map(Cap::Task));
        }
        rates
    }

    /// How a rate stands: its bucket will be full at that moment, and this is the time (nanoseconds since 1970).
    pub fn meter(&mut self, of: Cap, rate: Rate, full: i64, now: i64) {
        let bucket = Bucket {
            rate,
            full,
            now,
            late: self.turns.here.is_late(),
            taken: 0,
        };
        self.buckets.insert(of.clone(), bucket);
        self.allow(of, rate.tokens(full, now));
    }

    /// How rates stand that have changed, because jobs were taken or else: when their buckets will be full.
    pub fn metered(&self) -> Vec<(&Cap, i64)> {
        let moved = |bucket: &Bucket| bucket.taken > 0 || bucket.rate.is_beyond(bucket.full, bucket.now);
        let used = self.buckets.iter().filter(|(_, bucket)| moved(bucket));
        let mut used: Vec<(&Cap, i64)> = used.map(|(of, bucket)| (of, bucket.after())).collect();
        used.sort_unstable();
        used
    }

    /// Whether jobs of a stream of this group are under a rate.
    pub(super) fn is_rated(&self, group: &str, task: &str) -> bool {
        !self.buckets.is_empty()
            && (self.buckets.contains_key(&Cap::Task(task.to_owned()))
                || self.buckets.contains_key(&Cap::Group(group.to_owned())))
    }

    /// How long until it is worth a look at jobs that rates have kept back.
    pub(super) fn again(&mut self) -> Option<Duration> {
        if self.buckets.is_empty() {
            return None;
        }
        let empty = |(of, bucket): (&Cap, &Bucket)| {
            let tokens = bucket.rate.tokens(bucket.after(), bucket.now);
            (tokens == 0 && self.free.contains_key(of)).then(|| bucket.rate.wait(bucket.after(), bucket.now))
        };
        let tokens = self.buckets.iter().filter_map(empty).min();
        self.crowded = self.slots == 0;
        tokens.into_iter().chain(self.crowded.then_some(CROWDED)).min()
    }
}
