//! Which claims still have jobs in their executor's hands, as far as this process knows: the holds of others can go
//! (docs/adr/0022).
//!
//! Only what was written counts, behind the fence of its claim, so that no job counts twice. A hold whose last job went in
//! another way (an answer was lost, a handler's transaction has ended it) is seen to be empty by a heartbeat. That is said of
//! the hold and not of its claim, which may be getting another one just then: so such holds are looked at once more as they go.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use foldhash::HashMap;
use uuid::Uuid;

use super::PostgresStore;
use crate::job::JobId;
use crate::store::Settle;

/// So many holds that can go are not left to the next heartbeat.
const MANY: usize = 64;
/// A claim whose answer is missing for longer than any statement runs has got nothing, or a heartbeat has found what it got.
const LOST: Duration = Duration::from_mins(5);

/// The claims of all executors of this process.
#[derive(Default)]
pub(super) struct Holds(Mutex<HashMap<Uuid, Claims>>);

/// The claims of an executor.
#[derive(Default)]
struct Claims {
    /// How many jobs of each are still in its holds.
    left: HashMap<i64, usize>,
    /// Those whose answer is not there, or was lost.
    unanswered: HashMap<i64, Instant>,
    /// Those with none.
    empty: Vec<i64>,
    /// Those with a hold that was seen to be empty.
    seen: Vec<i64>,
}

impl Holds {
    fn all(&self) -> MutexGuard<'_, HashMap<Uuid, Claims>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A claim is about to be made. Until its answer is there, it may have jobs or not.
    pub(super) fn asked(&self, executor: Uuid, claim: i64) {
        self.all()
            .entry(executor)
            .or_default()
            .unanswered
            .insert(claim, Instant::now());
    }

    /// A claim has got so many jobs.
    pub(super) fn took(&self, executor: Uuid, claim: i64, jobs: usize) {
        let mut all = self.all();
        let claims = all.entry(executor).or_default();
        claims.unanswered.remove(&claim);
        if jobs > 0 {
            claims.left.insert(claim, jobs);
        }
    }

    /// The claims by which an executor may hold jobs. None: nothing is known of it here.
    pub(super) fn claims(&self, executor: Uuid) -> Option<Vec<i64>> {
        let mut all = self.all();
        let Claims { left, unanswered, .. } = all.get_mut(&executor)?;
        unanswered.retain(|_, asked| asked.elapsed() < LOST);
        Some(left.keys().chain(unanswered.keys()).copied().collect())
    }

    /// One job of each of these claims is settled. Says which claims have none left, if those are many by now.
    pub(super) fn settled(&self, executor: Uuid, claims: impl Iterator<Item = i64>) -> Option<Vec<i64>> {
        let mut all = self.all();
        let Claims { left, empty, .. } = all.get_mut(&executor)?;
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

    /// Claims that have none left, and those with a hold that was seen to be empty.
    pub(super) fn empty(&self, executor: Uuid) -> (Vec<i64>, Vec<i64>) {
        let mut all = self.all();
        let claims = all
            .get_mut(&executor)
            .map(|c| (std::mem::take(&mut c.empty), std::mem::take(&mut c.seen)));
        claims.unwrap_or_default()
    }

    /// These claims have none left, but their holds could not go just now.
    pub(super) fn still_empty(&self, executor: Uuid, claims: Vec<i64>) {
        self.all().entry(executor).or_default().empty.extend(claims);
    }

    /// Each of these claims has a hold that is empty; by those that are not in `full` nothing is in hand, whatever was
    /// counted.
    pub(super) fn seen_empty(&self, executor: Uuid, claims: Vec<i64>, full: &HashSet<i64>) {
        if claims.is_empty() {
            return;
        }
        let mut all = self.all();
        let known = all.entry(executor).or_default();
        for claim in claims.iter().filter(|claim| !full.contains(claim)) {
            known.left.remove(claim);
        }
        known.seen = claims;
    }

    /// An executor goes.
    pub(super) fn drop(&self, executor: Uuid) {
        self.all().remove(&executor);
    }
}

impl PostgresStore {
    /// These are out of an executor's hands, as far as they were written.
    pub(super) async fn let_go(&self, executor: Uuid, jobs: &[Settle], written: &foldhash::HashSet<JobId>) {
        let mut claims: Vec<i64> = Vec::with_capacity(jobs.len());
        let mut once = HashSet::new();
        for job in jobs.iter().filter(|job| written.contains(&job.id)) {
            // Twice in a batch is possible, at the end of a shutdown, and one job.
            if written.len() == jobs.len() || once.insert((job.id, job.number)) {
                claims.push(job.number);
            }
        }
        if let Some(empty) = self.holds.settled(executor, claims.into_iter())
            && self
                .run("forgetting holds", &self.sql.drop_holds, &[&executor, &empty])
                .await
                .is_err()
        {
            // Something is wrong with the server, for those to hear who need it more.
            self.holds.still_empty(executor, empty);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_empty_when_its_last_job_is_settled() {
        let (holds, me) = (Holds::default(), Uuid::new_v4());
        holds.took(me, 1, 2);
        holds.took(me, 2, 1);
        assert_eq!(holds.settled(me, [1].into_iter()), None);
        assert_eq!(holds.empty(me), (vec![], vec![]));
        assert_eq!(holds.settled(me, [2, 1].into_iter()), None);
        assert_eq!(holds.empty(me), (vec![2, 1], vec![]));
        assert_eq!(holds.empty(me), (vec![], vec![]));
    }

    #[test]
    fn claims_of_others_and_unknown_ones_do_not_count() {
        let (holds, me) = (Holds::default(), Uuid::new_v4());
        holds.took(me, 1, 1);
        holds.took(me, 3, 0);
        holds.settled(Uuid::new_v4(), [1].into_iter());
        holds.settled(me, [2, 3].into_iter());
        assert_eq!(holds.empty(me), (vec![], vec![]));
    }

    #[test]
    fn many_empty_claims_are_told_at_once() {
        let (holds, me) = (Holds::default(), Uuid::new_v4());
        let claims = 0..MANY as i64;
        claims.clone().for_each(|claim| holds.took(me, claim, 1));
        assert_eq!(holds.settled(me, claims.clone()), Some(claims.collect()));
        assert_eq!(holds.empty(me), (vec![], vec![]));
    }

    #[test]
    fn what_is_seen_to_be_empty_is_told_apart_and_no_longer_counted() {
        let (holds, me) = (Holds::default(), Uuid::new_v4());
        holds.took(me, 1, 1);
        holds.took(me, 2, 1);
        holds.seen_empty(me, vec![1, 2], &HashSet::from([2]));
        holds.settled(me, [1, 2].into_iter());
        assert_eq!(holds.empty(me), (vec![2], vec![1, 2]));
    }
}
