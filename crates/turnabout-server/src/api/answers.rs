//! Answers that cost much and that many ask for. However many ask, each is found once at a time; and what was costly is told
//! again for a while, so that finding it takes a fiftieth of the time. When that while is over, whoever asks is told the
//! old answer once more, and a new one is found meanwhile: no reader waits for it. What a reader should never wait for can
//! also be kept ready for the first one (`keep_ready`).

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What was costly is told again for so many times as long as it took.
const TIMES: u32 = 50;
/// What is kept ready is found anew after so many times as long as it took: without a reader it may cost half as much.
const READY_TIMES: u32 = 2 * TIMES;
/// So many different questions are remembered.
const QUESTIONS: usize = 256;

/// For how long answers are told again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again {
    /// What took no longer is found each time it is asked for ..
    pub(super) cheap: Duration,
    /// .. unless it was found this lately.
    pub(super) least: Duration,
    /// Nothing is told again for longer than this; once more in any case, unless it is twice as old.
    pub(super) oldest: Duration,
    /// What took no longer before anybody asked is not told: its first reader finds it, and is told how it is then.
    pub(super) worth: Duration,
}

/// What was found, and when, and how long that took.
struct Told<T> {
    at: Instant,
    cost: Duration,
    answer: T,
}

/// What a reader gets.
#[derive(Debug, PartialEq, Eq)]
enum Use {
    /// The last answer.
    Last,
    /// The last answer, and a new one is found meanwhile.
    LastOnce,
    /// A new one.
    New,
}

impl<T> Told<T> {
    fn at(&self, now: Instant, again: Again) -> Use {
        let age = now.duration_since(self.at);
        let while_ = (self.cost * TIMES).max(again.least).min(again.oldest);
        if age < again.least {
            Use::Last
        } else if self.cost <= again.cheap || age >= while_ * 2 {
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
    /// Whoever looks for a new one holds it.
    finding: tokio::sync::Mutex<()>,
}

impl<T> Default for Answer<T> {
    fn default() -> Self {
        Self {
            last: Mutex::default(),
            finding: tokio::sync::Mutex::default(),
        }
    }
}

impl<T: Clone> Answer<T> {
    fn last(&self, again: Again) -> Option<(Use, T)> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref()
            .map(|told| (told.at(Instant::now(), again), told.answer.clone()))
    }

    /// Whether it should be found again for those who will ask: in time, so that nobody finds it too old.
    fn is_due(&self, again: Again) -> bool {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().is_none_or(|told| {
            let pause = (told.cost * READY_TIMES).min(again.oldest * 3 / 2);
            told.cost > again.cheap && told.at.elapsed() >= pause
        })
    }

    /// Finds a new one, which is cheap unless it took longer than what it is `worth`. The caller holds `finding`.
    async fn renew<E>(&self, worth: Duration, find: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        let begin = Instant::now();
        let answer = find.await?;
        let at = Instant::now();
        let cost = at.duration_since(begin);
        let told = Told {
            at,
            cost: if cost > worth { cost } else { Duration::ZERO },
            answer: answer.clone(),
        };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
        Ok(answer)
    }
}

/// The last answers to each question.
pub(super) struct Answers<Q, T>(Mutex<HashMap<Q, Arc<Answer<T>>>>);

impl<Q, T> Default for Answers<Q, T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<Q: Hash + Eq, T: Clone + Send + 'static> Answers<Q, T> {
    fn answer(&self, question: Q) -> Arc<Answer<T>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= QUESTIONS && !all.contains_key(&question) {
            all.clear();
        }
        Arc::clone(all.entry(question).or_default())
    }

    /// Finds an answer before anybody asks, and again when it has become old, unless it is cheap to find. Called now and then.
    pub(super) async fn keep_ready<E>(
        &self,
        question: Q,
        again: Again,
        find: impl Future<Output = Result<T, E>>,
    ) -> Result<(), E> {
        let answer = self.answer(question);
        let Ok(_finding) = answer.finding.try_lock() else {
            return Ok(());
        };
        if answer.is_due(again) {
            let worth = if answer.last(again).is_none() {
                again.worth
            } else {
                Duration::ZERO
            };
            answer.renew(worth, find).await?;
        }
        Ok(())
    }

    /// The last answer to a question if it may be told again, otherwise a new one.
    pub(super) async fn get<E: Send>(
        &self,
        question: Q,
        again: Again,
        find: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E> {
        let answer = self.answer(question);
        match answer.last(again) {
            Some((Use::Last, last)) => return Ok(last),
            Some((Use::LastOnce, last)) => {
                tokio::spawn(async move {
                    if let Ok(_finding) = answer.finding.try_lock() {
                        // Whoever asks when the old one is too old to be told will learn of it.
                        drop(answer.renew(Duration::ZERO, find).await);
                    }
                });
                return Ok(last);
            }
            Some((Use::New, _)) | None => {}
        }
        let _finding = answer.finding.lock().await;
        match answer.last(again) {
            // Somebody else has found it meanwhile.
            Some((Use::Last | Use::LastOnce, last)) => Ok(last),
            Some((Use::New, _)) | None => answer.renew(Duration::ZERO, find).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    use super::*;

    const CHEAP: Duration = Duration::from_millis(25);
    const AGAIN: Again = Again {
        cheap: CHEAP,
        worth: CHEAP,
        least: Duration::ZERO,
        oldest: Duration::from_mins(1),
    };

    #[tokio::test]
    async fn what_is_cheap_is_found_each_time_and_what_is_costly_is_told_again() {
        let answers = Answers::<u32, u32>::default();
        let found = Arc::new(AtomicU32::new(0));
        let ask = async |question: u32, cost: Duration| {
            let found = Arc::clone(&found);
            let find = async move {
                std::thread::sleep(cost);
                Ok::<u32, Infallible>(found.fetch_add(1, SeqCst) + 1)
            };
            answers.get(question, AGAIN, find).await.expect("it works")
        };
        assert_eq!(ask(1, Duration::ZERO).await, 1);
        assert_eq!(ask(1, CHEAP * 2).await, 2, "the one before was cheap");
        assert_eq!(ask(1, CHEAP * 2).await, 2);
        assert_eq!(ask(2, Duration::ZERO).await, 3, "another question");
    }

    #[tokio::test]
    async fn what_is_cheap_is_told_again_to_those_who_come_at_the_same_time() {
        let answers = Answers::<u32, u32>::default();
        let never = std::future::pending::<Result<u32, Infallible>>;
        let again = Again {
            least: Duration::from_hours(1),
            oldest: Duration::from_hours(1),
            ..AGAIN
        };
        assert_eq!(answers.get(1, again, async { Ok::<_, Infallible>(1) }).await, Ok(1));
        for _reader in 0..20 {
            assert_eq!(answers.get(1, again, never()).await, Ok(1));
        }
        let anew = answers.get(1, AGAIN, async { Ok::<_, Infallible>(2) }).await;
        assert_eq!(anew, Ok(2), "whoever wants a new one gets it");
    }

    #[tokio::test]
    async fn the_first_reader_finds_an_answer_that_was_made_ready_and_it_is_made_anew_when_it_is_old() {
        let answers = Answers::<u32, u32>::default();
        let find = |cost: Duration, answer: u32| async move {
            std::thread::sleep(cost);
            Ok::<u32, Infallible>(answer)
        };
        let never = std::future::pending::<Result<u32, Infallible>>;
        assert_eq!(answers.keep_ready(1, AGAIN, find(CHEAP * 2, 1)).await, Ok(()));
        assert_eq!(answers.get(1, AGAIN, never()).await, Ok(1));
        assert_eq!(answers.keep_ready(1, AGAIN, never()).await, Ok(()), "it is not old");
        let answer = answers.answer(1);
        if let Some(told) = &mut *answer.last.lock().expect("free") {
            told.at = told
                .at
                .checked_sub(AGAIN.oldest * 3 / 2)
                .expect("the clock has run for long");
        }
        assert_eq!(answers.keep_ready(1, AGAIN, find(Duration::ZERO, 2)).await, Ok(()));
        assert_eq!(answer.last(AGAIN).map(|(_, last)| last), Some(2));
        assert_eq!(
            answers.keep_ready(1, AGAIN, never()).await,
            Ok(()),
            "what is cheap is found for each reader"
        );
    }

    #[tokio::test]
    async fn nobody_waits_while_a_new_answer_is_found() {
        let answers = Answers::<u32, u32>::default();
        let told = |answer| Told {
            at: Instant::now()
                .checked_sub(CHEAP * 2 * TIMES)
                .expect("the clock has run for long"),
            cost: CHEAP * 2,
            answer,
        };
        let answer = Arc::new(Answer::default());
        *answer.last.lock().expect("free") = Some(told(1));
        answers.0.lock().expect("free").insert(1, Arc::clone(&answer));
        let (go, gone) = tokio::sync::oneshot::channel();
        let find = async move {
            gone.await.expect("it goes on");
            Ok::<u32, Infallible>(2)
        };
        assert_eq!(answers.get(1, AGAIN, find).await, Ok(1), "the old one");
        // A second one is not begun beside the first.
        tokio::task::yield_now().await;
        assert!(answer.finding.try_lock().is_err());
        let never = std::future::pending::<Result<u32, Infallible>>();
        assert_eq!(answers.get(1, AGAIN, never).await, Ok(1));
        go.send(()).expect("somebody waits");
        let _all = answer.finding.lock().await;
        assert_eq!(answer.last(AGAIN).map(|(_, last)| last), Some(2));
    }

    #[test]
    fn answers_are_told_for_as_long_as_they_were_costly() {
        let told = |cost: u64, age: u64| {
            let at = Instant::now();
            let told = Told {
                at,
                cost: Duration::from_millis(cost),
                answer: (),
            };
            told.at(at + Duration::from_millis(age), AGAIN)
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
