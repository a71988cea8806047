//! The store's clock: the system's in production, one moved by hand in tests.
//!
//! Executors never compare wall clocks of their own. A store answers in durations from *its* now; what waits for a
//! moment sleeps on this clock, so that a test can move time forward and see exactly what becomes due.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

/// Where a store takes its time from.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The system's clock; on `PostgreSQL`, the server's.
    #[default]
    System,
    /// A clock that stands still until a test moves it.
    Manual(ManualClock),
}

impl Clock {
    /// The present moment. For a `PostgreSQL` store on the system clock this is this machine's idea of it: good
    /// enough to name a new job, never used to decide what is due.
    pub fn now(&self) -> Timestamp {
        match self {
            Self::System => Timestamp::now(),
            Self::Manual(clock) => clock.now(),
        }
    }

    /// The hand-set time, if there is one: what a store passes to its SQL in place of the server's clock.
    pub fn manual(&self) -> Option<Timestamp> {
        match self {
            Self::System => None,
            Self::Manual(clock) => Some(clock.now()),
        }
    }

    /// Waits until this clock has moved on by `duration`.
    pub async fn sleep(&self, duration: Duration) {
        match self {
            Self::System => tokio::time::sleep(duration).await,
            Self::Manual(clock) => clock.sleep_until(after(clock.now(), duration)).await,
        }
    }
}

/// A clock for tests: time passes only by [`ManualClock::advance`].
#[derive(Clone, Debug)]
pub struct ManualClock {
    now: Arc<Mutex<watch::Sender<Timestamp>>>,
}

impl ManualClock {
    /// A clock that shows `now`.
    pub fn at(now: Timestamp) -> Self {
        Self {
            now: Arc::new(Mutex::new(watch::Sender::new(now))),
        }
    }

    /// A clock that shows 2030-01-01 00:00 UTC.
    pub fn new() -> Self {
        Self::at(Timestamp::constant(1_893_456_000, 0))
    }

    /// What the clock shows.
    pub fn now(&self) -> Timestamp {
        *self.sender().borrow()
    }

    /// Moves the clock forward and wakes everyone who waited for a moment that has now come.
    pub fn advance(&self, by: Duration) {
        self.sender().send_modify(|now| *now = after(*now, by));
    }

    /// Changes whenever the clock is moved.
    pub(crate) fn moves(&self) -> watch::Receiver<Timestamp> {
        self.sender().subscribe()
    }

    /// Waits until the clock shows this moment, or a later one.
    pub(crate) async fn sleep_until(&self, moment: Timestamp) {
        let mut seen = self.sender().subscribe();
        // The sender lives in `self`, so waiting cannot fail.
        let _ = seen.wait_for(|now| *now >= moment).await;
    }

    fn sender(&self) -> std::sync::MutexGuard<'_, watch::Sender<Timestamp>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

/// `moment + duration`, or the end of time where that does not exist.
pub(crate) fn after(moment: Timestamp, duration: Duration) -> Timestamp {
    SignedDuration::try_from(duration)
        .ok()
        .and_then(|d| moment.checked_add(d).ok())
        .unwrap_or(Timestamp::MAX)
}

/// `moment - duration`, or the beginning of time where that does not exist.
pub(crate) fn before(moment: Timestamp, duration: Duration) -> Timestamp {
    SignedDuration::try_from(duration)
        .ok()
        .and_then(|d| moment.checked_sub(d).ok())
        .unwrap_or(Timestamp::MIN)
}

/// How long from `now` to `moment`; nothing if it has passed.
pub(crate) fn until(now: Timestamp, moment: Timestamp) -> Duration {
    moment.duration_since(now).try_into().unwrap_or_default()
}

/// A moment in nanoseconds since 1970. Those that are too far away for that are as near as they can be.
#[cfg(any(test, feature = "sqlite"))]
pub(crate) fn nanoseconds(moment: Timestamp) -> i64 {
    i64::try_from(moment.as_nanosecond()).unwrap_or(if moment < Timestamp::UNIX_EPOCH {
        i64::MIN
    } else {
        i64::MAX
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_sleeper_wakes_when_the_clock_is_moved_past_its_moment() {
        let manual = ManualClock::new();
        let clock = Clock::Manual(manual.clone());
        let sleeper = tokio::spawn(async move { clock.sleep(Duration::from_mins(1)).await });
        tokio::task::yield_now().await;
        manual.advance(Duration::from_secs(59));
        tokio::task::yield_now().await;
        assert!(!sleeper.is_finished());
        manual.advance(Duration::from_secs(1));
        sleeper.await.expect("the sleeper ends");
    }

    #[test]
    fn time_does_not_overflow() {
        assert_eq!(after(Timestamp::MAX, Duration::MAX), Timestamp::MAX);
        assert_eq!(until(Timestamp::MAX, Timestamp::MIN), Duration::ZERO);
    }
}
