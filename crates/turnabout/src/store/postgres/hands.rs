//! Which claims still have jobs in their executor's hands, as far as this process knows: the holds of others can go
//! (docs/adr/0022).
//!
//! Only what was written counts, behind the fence of its claim, so that no job counts twice. A hold whose last job went in
//! another way (an answer was lost, a handler's transaction has ended it) is found by the next heartbeats.

use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::{HashMap, HashMapExt as _};
use uuid::Uuid;

/// So many holds that can go are not left to the next heartbeat.
const MANY: usize = 64;

/// The claims of all executors of this process.
pub(super) struct Hands(Mutex<HashMap<Uuid, Claims>>);

/// The claims of an executor.
#[derive(Default)]
struct Claims {
    /// How many jobs of each are still in its hands.
    left: HashMap<i64, usize>,
    /// Those with none.
    empty: Vec<i64>,
}

impl Default for Hands {
    fn default() -> Self {
        Self(Mutex::new(HashMap::new()))
    }
}

impl Hands {
    fn all(&self) -> MutexGuard<'_, HashMap<Uuid, Claims>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A claim has got so many jobs.
    pub(super) fn took(&self, executor: Uuid, claim: i64, jobs: usize) {
        if jobs > 0 {
            self.all().entry(executor).or_default().left.insert(claim, jobs);
        }
    }

    /// One job of each of these claims is settled. Says which claims have none left, if those are many by now.
    pub(super) fn settled(&self, executor: Uuid, claims: impl Iterator<Item = i64>) -> Option<Vec<i64>> {
        let mut all = self.all();
        let Claims { left, empty } = all.get_mut(&executor)?;
        for claim in claims {
            if let Some(jobs) = left.get_mut(&claim) {
                *jobs -= 1;
                if *jobs == 0 {
                    left.remove(&claim);
                    empty.push(claim);
                }
            }
        }
        (empty.len() >= MANY).then(|| std::mem::take(empty))
    }

    /// Claims that have none left.
    pub(super) fn empty(&self, executor: Uuid) -> Vec<i64> {
        let mut all = self.all();
        all.get_mut(&executor)
            .map(|claims| std::mem::take(&mut claims.empty))
            .unwrap_or_default()
    }

    /// The holds of these claims can go, or could not go just now.
    pub(super) fn add_empty(&self, executor: Uuid, claims: impl IntoIterator<Item = i64>) {
        self.all().entry(executor).or_default().empty.extend(claims);
    }

    /// An executor goes.
    pub(super) fn drop(&self, executor: Uuid) {
        self.all().remove(&executor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_empty_when_its_last_job_is_settled() {
        let (hands, me) = (Hands::default(), Uuid::new_v4());
        hands.took(me, 1, 2);
        hands.took(me, 2, 1);
        assert_eq!(hands.settled(me, [1].into_iter()), None);
        assert_eq!(hands.empty(me), [0; 0]);
        assert_eq!(hands.settled(me, [2, 1].into_iter()), None);
        assert_eq!(hands.empty(me), [2, 1]);
        assert_eq!(hands.empty(me), [0; 0]);
    }

    #[test]
    fn claims_of_others_and_unknown_ones_do_not_count() {
        let (hands, me) = (Hands::default(), Uuid::new_v4());
        hands.took(me, 1, 1);
        hands.took(me, 3, 0);
        hands.settled(Uuid::new_v4(), [1].into_iter());
        hands.settled(me, [2, 3].into_iter());
        assert_eq!(hands.empty(me), [0; 0]);
    }

    #[test]
    fn many_empty_claims_are_told_at_once() {
        let (hands, me) = (Hands::default(), Uuid::new_v4());
        let claims = 0..MANY as i64;
        claims.clone().for_each(|claim| hands.took(me, claim, 1));
        assert_eq!(hands.settled(me, claims.clone()), Some(claims.collect()));
        assert_eq!(hands.empty(me), [0; 0]);
    }
}
