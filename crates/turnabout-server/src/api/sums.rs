//! Sums over many jobs, which cost by how many there are. However many pages ask, they are added up once at a time; and what was
//! costly is told again for a while, so that adding up takes a twentieth of the time at the most.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use turnabout::jobs::{GroupSum, Sum, Tally, Whose};

use super::state::Inner;

/// What took no longer is added up each time it is asked for.
const CHEAP: Duration = Duration::from_millis(25);
/// What took longer is told again for so many times as long as it took.
const TIMES: u32 = 20;
/// And no longer than this.
const OLDEST: Duration = Duration::from_secs(10);
/// So many different questions are remembered.
const QUESTIONS: usize = 256;

/// What was added up, and when, and how long that took.
struct Told<T> {
    at: Instant,
    cost: Duration,
    sums: T,
}

impl<T> Told<T> {
    fn is_fresh(&self, now: Instant) -> bool {
        self.cost > CHEAP && now.duration_since(self.at) < (self.cost * TIMES).min(OLDEST)
    }
}

/// The last answer to a question; whoever adds up holds it.
type Answer<T> = Arc<tokio::sync::Mutex<Option<Told<T>>>>;

/// The last answers to each question.
struct Answers<Q, T>(Mutex<HashMap<Q, Answer<T>>>);

impl<Q, T> Default for Answers<Q, T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<Q: Hash + Eq, T: Clone> Answers<Q, T> {
    async fn get<E>(&self, question: Q, add_up: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        let answer = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if all.len() >= QUESTIONS && !all.contains_key(&question) {
                all.clear();
            }
            Arc::clone(all.entry(question).or_default())
        };
        let mut last = answer.lock().await;
        if let Some(told) = last.as_ref().filter(|told| told.is_fresh(Instant::now())) {
            return Ok(told.sums.clone());
        }
        let begin = Instant::now();
        let sums = add_up.await?;
        let at = Instant::now();
        *last = Some(Told {
            at,
            cost: at.duration_since(begin),
            sums: sums.clone(),
        });
        Ok(sums)
    }
}

/// Whose jobs, as a key.
type Who = (Option<String>, Option<String>);

fn who(whose: &Whose) -> Who {
    (whose.group.clone(), whose.owner.clone())
}

/// What is asked for again and again.
#[derive(Default)]
pub(super) struct Sums {
    tasks: Answers<(Who, Duration), Vec<Sum>>,
    failed: Answers<Who, Vec<Sum>>,
    rates: Answers<(Who, Duration), Tally>,
    groups: Answers<(Who, String, u32), Vec<GroupSum>>,
}

impl Inner {
    /// Jobs by task, priority and state; those that have ended within a time are among them.
    pub(super) async fn task_sums(&self, whose: &Whose, window: Duration) -> turnabout::Result<Vec<Sum>> {
        let add_up = self.jobs.summary(whose, window);
        self.sums.tasks.get((who(whose), window), add_up).await
    }

    /// Failed jobs by task, priority and state: all that are kept.
    pub(super) async fn failed_sums(&self, whose: &Whose) -> turnabout::Result<Vec<Sum>> {
        let add_up = self.jobs.failed_summary(whose);
        self.sums.failed.get(who(whose), add_up).await
    }

    /// How many jobs came and went within a time.
    pub(super) async fn rates(&self, whose: &Whose, window: Duration) -> turnabout::Result<Tally> {
        let add_up = self.jobs.tally(whose, window);
        self.sums.rates.get((who(whose), window), add_up).await
    }

    /// The unfinished jobs of each group, a page of groups at a time.
    pub(super) async fn group_sums(&self, whose: &Whose, after: &str, limit: u32) -> turnabout::Result<Vec<GroupSum>> {
        let question = (who(whose), after.to_owned(), limit);
        let add_up = self.jobs.groups(whose, after, limit);
        self.sums.groups.get(question, add_up).await
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    use super::*;

    #[tokio::test]
    async fn what_is_cheap_is_added_up_each_time_and_what_is_costly_is_told_again() {
        let answers = Answers::<u32, u32>::default();
        let added = AtomicU32::new(0);
        let ask = async |question: u32, cost: Duration| {
            let add_up = async {
                std::thread::sleep(cost);
                Ok::<u32, Infallible>(added.fetch_add(1, SeqCst) + 1)
            };
            answers.get(question, add_up).await.expect("it works")
        };
        assert_eq!(ask(1, Duration::ZERO).await, 1);
        assert_eq!(ask(1, CHEAP * 2).await, 2, "the one before was cheap");
        assert_eq!(ask(1, CHEAP * 2).await, 2);
        assert_eq!(ask(2, Duration::ZERO).await, 3, "another question");
        let told = |cost: u64, age: u64| {
            let at = Instant::now();
            let told = Told {
                at,
                cost: Duration::from_millis(cost),
                sums: (),
            };
            told.is_fresh(at + Duration::from_millis(age))
        };
        assert!(told(100, 1900) && !told(100, 2100));
        assert!(told(60_000, 9_900) && !told(60_000, 10_100));
        assert!(!told(20, 0));
    }
}
