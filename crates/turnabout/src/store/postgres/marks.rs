//! Resume marks: where an executor left off in each stream.
//!
//! A job that was taken leaves an entry in the index, which every later scan of its stream would walk over again until
//! the job has ended and vacuum has been there: for ever, while some other transaction holds an old snapshot open. So a claim begins behind
//! the last `seq` that this executor took, and a peek that has become dear probes the known streams behind their
//! marks. A job with a lower `seq` may still come to light (a transaction that committed late, a release elsewhere),
//! so marks are forgotten every second or so, and before going to sleep.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use crate::job::Lane;
use crate::turn::{Name, Ring, Stream};

/// How long marks are trusted at the least.
const LIFE: Duration = Duration::from_secs(1);
/// A look without marks may take this part of all the time, where it is dear.
const SHARE: u32 = 20;
/// A peek that takes so many times as long as the claim after it walks over dead entries: about 1 is usual.
const DEAR: u32 = 5;
/// A look that takes no longer than this does not walk over many dead entries.
const CHEAP: Duration = Duration::from_millis(3);
/// Up to so many known streams are always probed: that costs next to nothing.
const FEW: usize = 16;
/// So many takes from streams are noted before each finds its mark, whether anybody asks for marks or not.
const MANY: usize = 100_000;

/// One executor's marks.
#[derive(Debug)]
pub(super) struct Marks {
    since: Instant,
    /// By queue.
    streams: HashMap<String, BTreeMap<Key, i64>>,
    known: usize,
    /// What was taken lately and has not found its mark yet: where looks are cheap nobody asks for marks before they are
    /// forgotten, and to find a stream's among thousands costs as much as to plan its turn.
    lately: Vec<(Name, Stream, i64)>,
    /// How long the last peek without marks took, and the last claim.
    plain: Duration,
    claim: Duration,
    /// Until when looks for everything are too dear.
    dear_until: Option<Instant>,
}

/// Group, lane, task: the order of the index.
pub(super) type Key = (String, i16, String);

/// A stretch of the ring: what lies between two keys, and the known stream at its end with its mark.
pub(super) type Stretch = (Key, Key, Option<i64>);

impl Default for Marks {
    fn default() -> Self {
        Self {
            since: Instant::now(),
            streams: HashMap::new(),
            known: 0,
            lately: Vec::new(),
            plain: Duration::ZERO,
            claim: Duration::ZERO,
            dear_until: None,
        }
    }
}

impl Marks {
    /// Forgets what is too old to be trusted.
    pub(super) fn refresh(&mut self) {
        if self.since.elapsed() >= LIFE.max(self.plain * SHARE) {
            self.forget();
        }
    }

    /// Forgets where it left off, but not what looking costs.
    pub(super) fn forget(&mut self) {
        self.streams.clear();
        self.known = 0;
        self.lately.clear();
        self.since = Instant::now();
    }

    /// Nothing was ready. The next look is one that takes a single round trip and sees everything, unless that is dear.
    pub(super) fn rest(&mut self) {
        if self.plain < CHEAP {
            self.forget();
        }
    }

    /// Whether the next peek goes by the marks: it probes each known stream and the gap before it, twice the work of
    /// a plain one in a clean index, and does not tell the heads. Worth it where a plain one costs far more than the
    /// claim that follows.
    pub(super) fn guide_peeks(&mut self) -> bool {
        let dear = self.plain > self.claim * DEAR;
        if dear || self.known <= FEW {
            self.place();
        }
        self.known > 0 && (self.known <= FEW || dear)
    }

    /// Whether a look for everything, which does without them, costs little.
    pub(super) fn are_needless(&mut self) -> bool {
        self.dear_until.is_none_or(|until| Instant::now() > until) && !self.guide_peeks()
    }

    /// Notes how long the server took to look for everything.
    pub(super) fn looked(&mut self, took: Duration) {
        self.dear_until = (took > CHEAP).then(|| Instant::now() + LIFE.max(took * SHARE));
    }

    /// Whether any stream is known.
    #[cfg(test)]
    pub(super) fn any(&mut self) -> bool {
        self.place();
        self.known > 0
    }

    /// Notes what a peek without marks has cost.
    pub(super) fn peeked(&mut self, took: Duration) {
        self.plain = took;
    }

    /// Notes what a claim has cost.
    pub(super) fn claimed(&mut self, took: Duration) {
        self.claim = took;
    }

    /// The last `seq` taken from a stream; 0 if none.
    pub(super) fn get(&mut self, group: &str, lane: Lane, queue: &str, task: &str) -> i64 {
        self.place();
        let key = (group.to_owned(), lane.code(), task.to_owned());
        self.streams
            .get(queue)
            .and_then(|streams| streams.get(&key))
            .copied()
            .unwrap_or(0)
    }

    /// Jobs of a stream up to `seq` were taken.
    pub(super) fn note(&mut self, group: &Name, stream: &Stream, seq: i64) {
        if self.lately.len() == MANY {
            self.place();
        }
        self.lately.push((group.clone(), stream.clone(), seq));
    }

    /// What was taken lately finds its marks.
    fn place(&mut self) {
        for (group, stream, seq) in std::mem::take(&mut self.lately) {
            self.set(&group, stream.lane, &stream.queue, &stream.task, seq);
        }
    }

    /// The same, at once.
    pub(super) fn set(&mut self, group: &str, lane: Lane, queue: &str, task: &str, seq: i64) {
        if !self.streams.contains_key(queue) {
            self.streams.insert(queue.to_owned(), BTreeMap::new());
        }
        let Some(streams) = self.streams.get_mut(queue) else {
            return;
        };
        let key = (group.to_owned(), lane.code(), task.to_owned());
        let mark = streams.entry(key).or_insert_with(|| {
            self.known += 1;
            seq
        });
        *mark = (*mark).max(seq);
    }

    /// The ring of a queue, from its place on, in stretches that end at the known streams; and whether that is the
    /// whole ring. No more than `most` known streams: a peek would not come that far.
    pub(super) fn stretches(&mut self, queue: &str, ring: &Ring, most: usize) -> (Vec<Stretch>, bool) {
        self.place();
        let empty = BTreeMap::new();
        let known = self.streams.get(queue).unwrap_or(&empty);
        // Nothing has a lane this low: everything from the start on is behind this key, everything before is not.
        let start: Key = if ring.inclusive() {
            (ring.place.clone(), i16::MIN, String::new())
        } else {
            (format!("{}\u{1}", ring.place), i16::MIN, String::new())
        };
        let first: Key = (String::new(), i16::MIN, String::new());
        // Longer than any name, of the highest character there is.
        let end: Key = ("\u{10ffff}".repeat(51), i16::MAX, String::new());
        let mut stretches = Vec::new();
        let mut used = 0;
        for (from, to) in [(start.clone(), end), (first, start)] {
            // There is nothing before the first name.
            if from == to {
                continue;
            }
            let mut from = from;
            for (key, mark) in known.range((
                std::ops::Bound::Excluded(from.clone()),
                std::ops::Bound::Excluded(to.clone()),
            )) {
                if used == most {
                    return (stretches, false);
                }
                used += 1;
                stretches.push((from, key.clone(), Some(*mark)));
                from = key.clone();
            }
            stretches.push((from, to, None));
        }
        (stretches, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stretches_cover_the_ring_from_its_place_on() {
        let mut marks = Marks::default();
        for (group, seq) in [("a", 1), ("c", 3), ("b", 2)] {
            marks.set(group, Lane::Normal, "q", "t", seq);
        }
        let ring = Ring {
            place: "b".into(),
            left: 0,
        };
        let (stretches, whole) = marks.stretches("q", &ring, 10);
        assert!(whole);
        let ends: Vec<(&str, Option<i64>)> = stretches.iter().map(|(_, to, mark)| (to.0.as_str(), *mark)).collect();
        assert_eq!(ends[0], ("c", Some(3)));
        assert_eq!(ends[1].1, None, "the end of the ring");
        assert_eq!(ends[2..], [("a", Some(1)), ("b", Some(2)), ("b\u{1}", None)]);
        // Each begins where the one before it ended, but for the jump from the end to the beginning.
        assert_eq!(stretches[1].0, stretches[0].1);
        assert_eq!(stretches[3].0, stretches[2].1);
        let (cut, whole) = marks.stretches("q", &ring, 1);
        assert_eq!(
            (cut.len(), whole),
            (2, false),
            "one known stream, and on to the end of the ring"
        );
        assert_eq!(
            marks.stretches("other", &ring, 10).0.len(),
            2,
            "nothing is known: two stretches, no marks"
        );
    }

    #[test]
    fn marks_guide_a_peek_that_has_become_dear() {
        let mut marks = Marks::default();
        assert!(!marks.guide_peeks(), "nothing is known");
        for i in 0..100 {
            marks.set(&format!("g{i}"), Lane::Normal, "q", "t", 1);
        }
        marks.peeked(Duration::from_millis(5));
        marks.claimed(Duration::from_millis(4));
        assert!(!marks.guide_peeks());
        marks.peeked(Duration::from_millis(50));
        assert!(marks.guide_peeks());
        marks.forget();
        assert!(!marks.guide_peeks());
    }
}
