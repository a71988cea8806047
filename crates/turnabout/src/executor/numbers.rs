//! The numbers of this executor's claims, and which of them were answered: of those that were, the store and the hand must
//! agree; of the others nothing can be said yet.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Inline claims are numbered from here on, so that they are never mistaken for the claimer's, of which there is one at a
/// time.
const INLINE: i64 = i64::MAX / 2;

/// Gives out numbers.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// The last number that the claimer was given. None is given twice, also when a claim was never answered.
    given: AtomicI64,
    /// The claimer's last claim that was answered.
    taken: AtomicI64,
    inline: Mutex<Inline>,
}

#[derive(Clone, Debug, Default)]
struct Inline {
    /// How many were given out.
    given: i64,
    /// Those that were not answered yet.
    open: BTreeSet<i64>,
}

impl Numbers {
    /// The number of the claimer's next claim.
    pub(super) fn next(&self) -> i64 {
        self.given.fetch_add(1, Relaxed) + 1
    }

    /// The claimer's claim was answered, and what it brought is in hand; or nobody will ever know what it brought.
    pub(super) fn answered(&self, number: i64) {
        self.taken.store(number, Relaxed);
    }

    /// A number for an inline claim, which counts as answered once the guard is dropped.
    pub(super) fn inline(&self) -> Asking<'_> {
        let mut inline = self.inline.lock().unwrap_or_else(PoisonError::into_inner);
        let number = INLINE + inline.given;
        inline.given += 1;
        inline.open.insert(number);
        Asking { numbers: self, number }
    }

    /// What was answered by now.
    pub(super) fn so_far(&self) -> Answered {
        Answered {
            taken: self.taken.load(Relaxed),
            inline: self.inline.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}

/// An inline claim that is being asked for.
#[derive(Debug)]
pub(super) struct Asking<'a> {
    numbers: &'a Numbers,
    pub(super) number: i64,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let mut inline = self.numbers.inline.lock().unwrap_or_else(PoisonError::into_inner);
        inline.open.remove(&self.number);
    }
}

/// Which claims were answered at some moment.
#[derive(Debug)]
pub(super) struct Answered {
    taken: i64,
    inline: Inline,
}

impl Answered {
    pub(super) fn includes(&self, number: i64) -> bool {
        if number < INLINE {
            number <= self.taken
        } else {
            number < INLINE + self.inline.given && !self.inline.open.contains(&number)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_answered_once_its_answer_is_there_and_not_before() {
        let numbers = Numbers::default();
        let first = numbers.next();
        assert!(!numbers.so_far().includes(first));
        numbers.answered(first);
        let before = numbers.so_far();
        assert!(before.includes(first) && !before.includes(numbers.next()));

        // The claimer may have panicked meanwhile: the number is not given once more, and counts as answered with the next.
        let (lost, next) = (numbers.next(), numbers.next());
        assert_ne!(lost, next);
        numbers.answered(next);
        assert!(numbers.so_far().includes(lost));

        let (one, two) = (numbers.inline(), numbers.inline());
        let (a, b) = (one.number, two.number);
        assert!(!before.includes(a), "it was not asked for then");
        drop(two);
        let now = numbers.so_far();
        assert!(!now.includes(a) && now.includes(b) && !now.includes(b + 1));
        drop(one);
        assert!(numbers.so_far().includes(a));
        assert!(!now.includes(a), "what was known then does not change");
    }
}
