//! PURE: in which order jobs in hand start. They were claimed in the order of the rotation, but by several takes: what a
//! group got in an earlier one because it was alone then must not stand before the first job of a group that came later.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hash};
use std::ops::Bound::{Excluded, Unbounded};

use foldhash::HashMap;
use foldhash::fast::RandomState;

/// Jobs that wait for a slot: groups take turns, and the jobs of a group keep their order.
///
/// Each job has a *round*: that of the group's job before it, and one more (a weighted group has several jobs in a
/// round); for a group that has nothing here, the present one. The lowest round starts first, and within a round what
/// came first.
#[derive(Debug)]
pub struct Starts<T> {
    queue: BTreeMap<Place, T>,
    /// The round of the last job that started.
    round: f64,
    /// By group, as a hash of its name: the round of its next job. Where two groups share a hash they share their turns
    /// here, for the few milliseconds that a job is in hand.
    next: HashMap<u64, f64>,
    /// How many groups were left when those whose round is over were last forgotten.
    remembered: usize,
    hasher: RandomState,
    arrived: u64,
    /// The last place that went to a job while an older one had a later place.
    jumped: Option<Place>,
    /// How many jobs have a place after that.
    behind: usize,
}

/// A job's place: its round, then its number. Rounds are never negative, so their bits are in the order of the rounds.
type Place = (u64, u64);

impl<T> Default for Starts<T> {
    fn default() -> Self {
        Self {
            queue: BTreeMap::new(),
            round: 0.0,
            next: HashMap::default(),
            remembered: 0,
            hasher: RandomState::default(),
            arrived: 0,
            jumped: None,
            behind: 0,
        }
    }
}

impl<T> Starts<T> {
    /// A job of this group, which has so many turns in a round. Says whether it is a newcomer: its group has nothing here,
    /// and it starts before others that were here.
    pub fn push(&mut self, group: &(impl Hash + ?Sized), weight: u32, job: T) -> bool {
        if self.queue.is_empty() {
            self.next.clear();
            self.remembered = 0;
            self.round = 0.0;
            self.jumped = None;
            self.behind = 0;
        }
        let next = self.next.entry(self.hasher.hash_one(group)).or_insert(self.round);
        let has_nothing = *next <= self.round;
        let round = next.max(self.round);
        *next = round + 1.0 / f64::from(weight.max(1));
        self.arrived += 1;
        let place = (round.to_bits(), self.arrived);
        let last = self.queue.last_key_value();
        let newcomer = has_nothing && last.is_some_and(|(last, _)| place < *last);
        self.note(place);
        self.queue.insert(place, job);
        newcomer
    }

    /// A job is about to get this place.
    fn note(&mut self, place: Place) {
        match self.jumped {
            Some(jumped) if place < jumped => {}
            // Each job that is counted here was behind and is not any longer.
            Some(jumped) if self.queue.last_key_value().is_some_and(|(last, _)| place < *last) => {
                self.behind -= self.queue.range((Excluded(jumped), Excluded(place))).count();
                self.jumped = Some(place);
            }
            Some(_) => self.behind += 1,
            None => {
                self.behind = self.queue.range((Excluded(place), Unbounded)).count();
                self.jumped = (self.behind > 0).then_some(place);
            }
        }
    }

    /// A job has lost this place.
    fn forget(&mut self, place: Place) {
        if self.jumped.is_some_and(|jumped| place > jumped) {
            self.behind -= 1;
        }
        let first = self.queue.first_key_value().map(|(first, _)| *first);
        if self
            .jumped
            .is_some_and(|jumped| first.is_none_or(|first| jumped < first))
        {
            self.jumped = None;
            self.behind = 0;
        }
    }

    /// How many jobs wait.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// How many have been overtaken: they start after all that came later and went first.
    pub fn overtaken(&self) -> usize {
        self.behind
    }

    /// Whether a group has something here.
    pub fn has(&self, group: &(impl Hash + ?Sized)) -> bool {
        let next = self.next.get(&self.hasher.hash_one(group));
        !self.queue.is_empty() && next.is_some_and(|next| *next > self.round)
    }

    /// Whether a job of a group that has nothing here would overtake any.
    pub fn gives_way(&self) -> bool {
        let last = self.queue.last_key_value();
        last.is_some_and(|((round, _), _)| f64::from_bits(*round) > self.round)
    }

    /// The job that starts next.
    pub fn pop(&mut self) -> Option<T> {
        let (place, job) = self.queue.pop_first()?;
        self.forget(place);
        self.round = f64::from_bits(place.0);
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
            Some(first) => {
                let back = self.queue.split_off(&first);
                for place in back.keys() {
                    self.forget(*place);
                }
                back.into_values().collect()
            }
            None => Vec::new(),
        }
    }

    /// Takes out the first job that is meant.
    pub fn pull(&mut self, is_meant: impl Fn(&T) -> bool) -> Option<T> {
        let place = *self.queue.iter().find(|(_, job)| is_meant(job))?.0;
        let pulled = self.queue.remove(&place);
        self.forget(place);
        pulled
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
    fn those_who_are_overtaken_are_counted_until_it_is_their_turn() {
        let mut starts = Starts::default();
        for job in ["a1", "a2", "a3", "a4"] {
            starts.push("a", 1, job);
        }
        assert_eq!((starts.overtaken(), starts.gives_way()), (0, true));
        starts.pop();
        let newcomers = ["b1", "c1", "a5"].map(|job| starts.push(&job[..1], 1, job));
        assert_eq!(newcomers, [true, true, false]);
        assert_eq!(starts.overtaken(), 4, "a2 to a5 start after b1 and c1");
        assert_eq!(["a", "b", "d"].map(|group| starts.has(group)), [true, true, false]);
        assert!(!starts.push("b", 1, "b2"), "it starts before a3, but has one here");
        assert_eq!(starts.overtaken(), 3, "b2 starts after a2");
        assert!(starts.pull(|job| *job == "a4").is_some());
        assert_eq!(starts.overtaken(), 2);
        assert_eq!(starts.take_back(5), ["a5"]);
        assert_eq!(starts.overtaken(), 1);
        assert_eq!(
            (starts.pop(), starts.pop(), starts.pop()),
            (Some("b1"), Some("c1"), Some("a2"))
        );
        assert_eq!(starts.overtaken(), 1);
        assert_eq!(starts.pop(), Some("b2"));
        assert_eq!(starts.overtaken(), 0, "nobody comes before a3 now");
        assert_eq!((starts.pop(), starts.gives_way()), (Some("a3"), false));
    }

    #[test]
    fn what_is_counted_is_what_is_there() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let mut starts = Starts::default();
        for number in 0..20_000 {
            match random.u32(..10) {
                0..5 => drop(starts.push(&random.u32(..7), random.u32(1..4), number)),
                5..8 => drop(starts.pop()),
                8 => drop(starts.pull(|job| job % 5 == 0)),
                _ => drop(starts.take_back(20)),
            }
            let after = |jumped| starts.queue.keys().filter(|place| **place > jumped).count();
            assert_eq!(starts.overtaken(), starts.jumped.map_or(0, after));
            // Who has an older one behind is one of those who jumped.
            let mut oldest = u64::MAX;
            for place in starts.queue.keys().rev() {
                assert!(place.1 < oldest || starts.jumped.is_some_and(|jumped| jumped >= *place));
                oldest = oldest.min(place.1);
            }
        }
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
