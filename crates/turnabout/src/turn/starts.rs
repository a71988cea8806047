//! PURE: in which order jobs in hand start. They were claimed in the order of the rotation, but by several takes: what a
//! group got in an earlier one because it was alone then must not stand before the first job of a group that came later.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hash};

use foldhash::HashMap;
use foldhash::fast::RandomState;

/// Jobs that wait for a slot: groups take turns, and the jobs of a group keep their order.
///
/// Each job has a *round*: that of the group's job before it, and one more (a weighted group has several jobs in a
/// round); for a group that has nothing here, the present one. The lowest round starts first, and within a round what
/// came first.
#[derive(Debug)]
pub struct Starts<T> {
    /// By round, then by number. Rounds are never negative, so their bits are in the order of the rounds.
    queue: BTreeMap<(u64, u64), T>,
    /// The round of the last job that started.
    round: f64,
    /// By group, as a hash of its name: the round of its next job. Where two groups share a hash they share their turns
    /// here, for the few milliseconds that a job is in hand.
    next: HashMap<u64, f64>,
    /// How many groups were left when those whose round is over were last forgotten.
    remembered: usize,
    hasher: RandomState,
    arrived: u64,
}

impl<T> Default for Starts<T> {
    fn default() -> Self {
        Self {
            queue: BTreeMap::new(),
            round: 0.0,
            next: HashMap::default(),
            remembered: 0,
            hasher: RandomState::default(),
            arrived: 0,
        }
    }
}

impl<T> Starts<T> {
    /// A job of this group, which has so many turns in a round.
    pub fn push(&mut self, group: &(impl Hash + ?Sized), weight: u32, job: T) {
        if self.queue.is_empty() {
            self.next.clear();
            self.remembered = 0;
            self.round = 0.0;
        }
        let next = self.next.entry(self.hasher.hash_one(group)).or_insert(self.round);
        let round = next.max(self.round);
        *next = round + 1.0 / f64::from(weight.max(1));
        self.arrived += 1;
        self.queue.insert((round.to_bits(), self.arrived), job);
    }

    /// How many jobs wait.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The job that starts next.
    pub fn pop(&mut self) -> Option<T> {
        let ((round, _), job) = self.queue.pop_first()?;
        self.round = f64::from_bits(round);
        // Groups whose round is over are as those that have nothing here. All are gone through only when they have become
        // twice as many as were left the last time.
        if self.next.len() > 2 * self.queue.len().max(self.remembered) + 64 {
            let round = self.round;
            self.next.retain(|_, next| *next > round);
            self.remembered = self.next.len();
        }
        Some(job)
    }

    /// Takes out the jobs that would start last, until `keep` are left.
    pub fn take_back(&mut self, keep: usize) -> Vec<T> {
        match self.queue.keys().nth(keep).copied() {
            Some(first) => self.queue.split_off(&first).into_values().collect(),
            None => Vec::new(),
        }
    }

    /// Takes out the first job that is meant.
    pub fn pull(&mut self, is_meant: impl Fn(&T) -> bool) -> Option<T> {
        let key = *self.queue.iter().find(|(_, job)| is_meant(job))?.0;
        self.queue.remove(&key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(starts: &mut Starts<&'static str>) -> String {
        std::iter::from_fn(|| starts.pop()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn one_take_starts_in_the_order_of_the_rotation() {
        let mut starts = Starts::default();
        for job in ["a1", "b1", "c1", "a2", "b2", "a3"] {
            starts.push(&job[..1], 1, job);
        }
        assert_eq!(all(&mut starts), "a1 b1 c1 a2 b2 a3");
    }

    #[test]
    fn a_group_that_came_later_does_not_wait_for_what_another_has_in_hand() {
        let mut starts = Starts::default();
        for job in ["a1", "a2", "a3", "a4", "a5"] {
            starts.push("a", 1, job);
        }
        assert_eq!((starts.pop(), starts.pop()), (Some("a1"), Some("a2")));
        starts.push("b", 1, "b1");
        starts.push("c", 1, "c1");
        starts.push("b", 1, "b2");
        assert_eq!(all(&mut starts), "b1 c1 a3 b2 a4 a5");
    }

    #[test]
    fn nothing_is_saved_up_or_owed_by_a_group_that_had_nothing_in_hand() {
        let mut starts = Starts::default();
        for job in ["a1", "a2", "a3"] {
            starts.push("a", 1, job);
        }
        starts.push("b", 1, "b1");
        assert_eq!((starts.pop(), starts.pop()), (Some("a1"), Some("b1")));
        assert_eq!(starts.pop(), Some("a2"));
        starts.push("b", 1, "b2");
        starts.push("b", 1, "b3");
        assert_eq!(all(&mut starts), "b2 a3 b3");
        starts.push("a", 1, "a4");
        starts.push("b", 1, "b4");
        assert_eq!(all(&mut starts), "a4 b4", "and an empty hand knows nothing of before");
    }

    #[test]
    fn a_weighted_group_has_several_turns_in_a_round() {
        let mut starts = Starts::default();
        for job in ["a1", "a2", "a3", "a4"] {
            starts.push("a", 2, job);
        }
        for job in ["b1", "b2", "b3"] {
            starts.push("b", 1, job);
        }
        assert_eq!(all(&mut starts), "a1 b1 a2 a3 b2 a4 b3");
    }

    #[test]
    fn the_last_go_back_first_and_one_can_be_pulled_out() {
        let mut starts = Starts::default();
        for job in ["a1", "a2", "a3", "b1"] {
            starts.push(&job[..1], 1, job);
        }
        assert_eq!(starts.take_back(3), ["a3"]);
        assert_eq!(starts.take_back(3), [""; 0]);
        assert_eq!(starts.pull(|job| *job == "b1"), Some("b1"));
        assert_eq!(starts.pull(|job| *job == "b1"), None);
        assert_eq!(all(&mut starts), "a1 a2");
    }

    #[test]
    fn groups_that_have_passed_are_forgotten() {
        let mut starts = Starts::default();
        let groups: Vec<String> = (0..10_000).map(|i| i.to_string()).collect();
        for group in &groups {
            starts.push(group, 1, "job");
            starts.push("busy", 1, "job");
            starts.pop();
        }
        assert!(starts.next.len() <= 2 * starts.queue.len() + 65);
        assert_eq!(starts.queue.len(), 10_000);
        while starts.pop().is_some() {}
        assert!(starts.next.len() <= 65, "{} are remembered", starts.next.len());
    }
}
