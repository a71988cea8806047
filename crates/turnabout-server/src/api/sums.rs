//! Sums over many jobs, which cost by how many there are. However many pages ask, they are added up once at a time; and what was
//! costly is told again for a while, so that adding up takes a fiftieth of the time. When that while is over, whoever
//! asks is told the old sums once more, and new ones are added up meanwhile: no reader waits for them.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use turnabout::jobs::{GroupSum, List, Sum, Tally, Whose};

use super::state::Inner;

/// What took no longer is added up each time it is asked for.
const CHEAP: Duration = Duration::from_millis(25);
/// What took longer is told again for so many times as long as it took.
const TIMES: u32 = 50;
/// And no longer than this; once more in any case, unless it is twice as old.
const OLDEST: Duration = Duration::from_mins(1);
/// So many different questions are remembered.
const QUESTIONS: usize = 256;

/// What was added up, and when, and how long that took.
struct Told<T> {
    at: Instant,
    cost: Duration,
    sums: T,
}

/// What a reader gets.
#[derive(Debug, PartialEq, Eq)]
enum Use {
    /// The last sums.
    Last,
    /// The last sums, and they are added up anew meanwhile.
    LastOnce,
    /// New ones.
    New,
}

impl<T> Told<T> {
    fn at(&self, now: Instant) -> Use {
        let age = now.duration_since(self.at);
        let while_ = (self.cost * TIMES).min(OLDEST);
        if self.cost <= CHEAP || age >= while_ * 2 {
            Use::New
        } else if age >= while_ {
            Use::LastOnce
        } else {
            Use::Last
        }
    }
}

/// The last answer to a question.
struct Answer<T> {
    last: Mutex<Option<Told<T>>>,
    /// Whoever adds up holds it.
    adding: tokio::sync::Mutex<()>,
}

impl<T> Default for Answer<T> {
    fn default() -> Self {
        Self {
            last: Mutex::default(),
            adding: tokio::sync::Mutex::default(),
        }
    }
}

impl<T: Clone> Answer<T> {
    fn last(&self) -> Option<(Use, T)> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().map(|told| (told.at(Instant::now()), told.sums.clone()))
    }

    /// Adds up. The caller holds `adding`.
    async fn renew<E>(&self, add_up: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        let begin = Instant::now();
        let sums = add_up.await?;
        let at = Instant::now();
        let told = Told {
            at,
            cost: at.duration_since(begin),
            sums: sums.clone(),
        };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
        Ok(sums)
    }
}

/// The last answers to each question.
struct Answers<Q, T>(Mutex<HashMap<Q, Arc<Answer<T>>>>);

impl<Q, T> Default for Answers<Q, T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<Q: Hash + Eq, T: Clone + Send + 'static> Answers<Q, T> {
    async fn get<E: Send>(
        &self,
        question: Q,
        add_up: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E> {
        let answer = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if all.len() >= QUESTIONS && !all.contains_key(&question) {
                all.clear();
            }
            Arc::clone(all.entry(question).or_default())
        };
        match answer.last() {
            Some((Use::Last, sums)) => return Ok(sums),
            Some((Use::LastOnce, sums)) => {
                tokio::spawn(async move {
                    if let Ok(_adding) = answer.adding.try_lock() {
                        // Whoever asks when the old ones are too old to be told will learn of it.
                        drop(answer.renew(add_up).await);
                    }
                });
                return Ok(sums);
            }
            Some((Use::New, _)) | None => {}
        }
        let _adding = answer.adding.lock().await;
        match answer.last() {
            // Somebody else has added up meanwhile.
            Some((Use::Last | Use::LastOnce, sums)) => Ok(sums),
            Some((Use::New, _)) | None => answer.renew(add_up).await,
        }
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
    group: Answers<(String, Option<String>), GroupSum>,
    counts: Answers<String, u64>,
}

impl Inner {
    /// Jobs by task, priority and state; those that have ended within a time are among them.
    pub(super) async fn task_sums(&self, whose: &Whose, window: Duration) -> turnabout::Result<Vec<Sum>> {
        let (jobs, of) = (self.jobs.clone(), whose.clone());
        let add_up = async move { jobs.summary(&of, window).await };
        self.sums.tasks.get((who(whose), window), add_up).await
    }

    /// Failed jobs by task, priority and state: all that are kept.
    pub(super) async fn failed_sums(&self, whose: &Whose) -> turnabout::Result<Vec<Sum>> {
        let (jobs, of) = (self.jobs.clone(), whose.clone());
        let add_up = async move { jobs.failed_summary(&of).await };
        self.sums.failed.get(who(whose), add_up).await
    }

    /// How many jobs came and went within a time.
    pub(super) async fn rates(&self, whose: &Whose, window: Duration) -> turnabout::Result<Tally> {
        let (jobs, of) = (self.jobs.clone(), whose.clone());
        let add_up = async move { jobs.tally(&of, window).await };
        self.sums.rates.get((who(whose), window), add_up).await
    }

    /// The unfinished jobs of each group, a page of groups at a time.
    pub(super) async fn group_sums(&self, whose: &Whose, after: &str, limit: u32) -> turnabout::Result<Vec<GroupSum>> {
        let question = (who(whose), after.to_owned(), limit);
        let (jobs, of, from) = (self.jobs.clone(), whose.clone(), after.to_owned());
        let add_up = async move { jobs.groups(&of, &from, limit).await };
        self.sums.groups.get(question, add_up).await
    }

    /// The unfinished jobs of one group, or of one of its owners.
    pub(super) async fn group_sum(&self, group: &str, owner: Option<String>) -> turnabout::Result<GroupSum> {
        let (jobs, name, of) = (self.jobs.clone(), group.to_owned(), owner.clone());
        let add_up = async move { jobs.group_sum(&name, of.as_deref()).await };
        self.sums.group.get((group.to_owned(), owner), add_up).await
    }

    /// How many jobs of a list there are, up to a limit. `question`: all that the list says.
    pub(super) async fn count(&self, question: String, list: List, limit: u32) -> turnabout::Result<u64> {
        self.sums.counts.get(question, list.count(limit)).await
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
        let added = Arc::new(AtomicU32::new(0));
        let ask = async |question: u32, cost: Duration| {
            let added = Arc::clone(&added);
            let add_up = async move {
                std::thread::sleep(cost);
                Ok::<u32, Infallible>(added.fetch_add(1, SeqCst) + 1)
            };
            answers.get(question, add_up).await.expect("it works")
        };
        assert_eq!(ask(1, Duration::ZERO).await, 1);
        assert_eq!(ask(1, CHEAP * 2).await, 2, "the one before was cheap");
        assert_eq!(ask(1, CHEAP * 2).await, 2);
        assert_eq!(ask(2, Duration::ZERO).await, 3, "another question");
    }

    #[tokio::test]
    async fn nobody_waits_while_old_sums_are_added_up_anew() {
        let answers = Answers::<u32, u32>::default();
        let told = |sums| Told {
            at: Instant::now()
                .checked_sub(CHEAP * 2 * TIMES)
                .expect("the clock has run for long"),
            cost: CHEAP * 2,
            sums,
        };
        let answer = Arc::new(Answer::default());
        *answer.last.lock().expect("free") = Some(told(1));
        answers.0.lock().expect("free").insert(1, Arc::clone(&answer));
        let (go, gone) = tokio::sync::oneshot::channel();
        let add_up = async move {
            gone.await.expect("it goes on");
            Ok::<u32, Infallible>(2)
        };
        assert_eq!(answers.get(1, add_up).await, Ok(1), "the old ones");
        // A second one is not begun beside the first.
        tokio::task::yield_now().await;
        assert!(answer.adding.try_lock().is_err());
        let never = std::future::pending::<Result<u32, Infallible>>();
        assert_eq!(answers.get(1, never).await, Ok(1));
        go.send(()).expect("somebody waits");
        let _all = answer.adding.lock().await;
        assert_eq!(answer.last().map(|(_, sums)| sums), Some(2));
    }

    #[test]
    fn sums_are_told_for_as_long_as_they_were_costly() {
        let told = |cost: u64, age: u64| {
            let at = Instant::now();
            let told = Told {
                at,
                cost: Duration::from_millis(cost),
                sums: (),
            };
            told.at(at + Duration::from_millis(age))
        };
        assert_eq!(told(20, 0), Use::New);
        assert_eq!(
            [told(100, 4900), told(100, 5100), told(100, 10_100)],
            [Use::Last, Use::LastOnce, Use::New]
        );
        assert_eq!(
            [told(60_000, 59_900), told(60_000, 60_100), told(60_000, 120_100)],
            [Use::Last, Use::LastOnce, Use::New]
        );
    }
}
