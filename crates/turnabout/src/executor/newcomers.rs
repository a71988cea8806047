//! Takes before their time: a group that has nothing in hand does not wait until what others have there has become short.

use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::life::{Backoff, Life};
use crate::turn::Pace;
use crate::turn::pace::Load;

/// What the claimer does about jobs that come while enough is in hand.
pub(super) struct Newcomers {
    /// Whether some have come, and whether they are known to be of groups that have nothing in hand.
    came: Option<bool>,
    /// The same of those for whose sake the present take is.
    taking: Option<bool>,
    /// Jobs have come, and nobody knows whose.
    unknown: Pause,
    /// Jobs have come of groups that have nothing in hand. Others may have taken them.
    known: Pause,
}

/// When there may be a take again that is for their sake.
struct Pause {
    from: Option<Instant>,
    vain: Backoff,
}

impl Pause {
    fn new() -> Self {
        Self {
            from: None,
            // About as often as takes that are in time, at the most.
            vain: Backoff::new(Duration::from_millis(1), Duration::from_millis(8)),
        }
    }

    /// Waits until it is over, and then for news.
    fn then<'a>(&self, news: &'a Notify) -> impl Future<Output = ()> + use<'a> {
        let rest = self.rest();
        async move {
            if !rest.is_zero() {
                tokio::time::sleep(rest).await;
            }
            news.notified().await;
        }
    }

    fn rest(&self) -> Duration {
        self.from
            .map_or(Duration::ZERO, |from| from.saturating_duration_since(Instant::now()))
    }

    /// A take is over that was for their sake, and has brought newcomers or not.
    fn took(&mut self, newcomers: bool) {
        if newcomers {
            self.vain.reset();
            self.from = None;
        } else {
            self.from = Some(Instant::now() + self.vain.step());
        }
    }
}

impl Newcomers {
    pub(super) fn new() -> Self {
        Self {
            came: None,
            taking: None,
            unknown: Pause::new(),
            known: Pause::new(),
        }
    }

    /// Waits until jobs come that may be for somebody who has nothing in hand; tells whether that is known.
    pub(super) fn hear<'a>(&self, life: &'a Life) -> impl Future<Output = bool> + use<'a> {
        let (unknown, known) = (self.unknown.then(&life.arrivals), self.known.then(&life.newcomers));
        async move {
            tokio::select! {
                () = known => true,
                () = unknown => false,
            }
        }
    }

    pub(super) fn come(&mut self, known: bool) {
        self.came = Some(known || self.came == Some(true));
    }

    /// Whether some have come, and wait for room.
    pub(super) fn wait(&self) -> bool {
        self.came.is_some()
    }

    /// How many jobs to ask for, where the pace alone would ask for none.
    pub(super) fn want(&mut self, pace: &Pace, load: Load) -> usize {
        if self.came.is_none() {
            return 0;
        }
        let want = pace.want_early(load);
        self.taking = self.came.filter(|_| want > 0);
        want
    }

    /// The store is asked for jobs, those who have come among them.
    pub(super) fn asked(&mut self) {
        self.came = None;
    }

    /// A take has ended, and has brought newcomers or not. Says whether it was for their sake. If so, and there were none,
    /// the next one has to wait: what has come may be for other executors, or of groups that have enough in hand.
    pub(super) fn took(&mut self, newcomers: bool) -> bool {
        match self.taking.take() {
            None => return false,
            Some(true) => self.known.took(newcomers),
            Some(false) => self.unknown.took(newcomers),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_take_in_vain_is_not_repeated_at_once() {
        let mut pace = Pace::new(0, Duration::ZERO);
        pace.measure(1000, Duration::from_millis(100));
        let load = Load {
            slots: 4,
            running: 4,
            queued: 10,
            overtaken: 0,
        };
        let mut newcomers = Newcomers::new();
        let take = |newcomers: &mut Newcomers, brings| {
            newcomers.come(false);
            assert!(newcomers.want(&pace, load) > 0);
            newcomers.asked();
            assert!(newcomers.took(brings));
        };
        assert_eq!(newcomers.want(&pace, load), 0, "nobody has come");
        take(&mut newcomers, true);
        assert!(newcomers.unknown.rest().is_zero());
        assert!(!newcomers.took(false), "an ordinary take");
        assert!(newcomers.unknown.rest().is_zero());
        take(&mut newcomers, false);
        assert!(newcomers.unknown.from.is_some());
        assert!(
            newcomers.known.from.is_none(),
            "those of whom it is known do not wait for that"
        );
        take(&mut newcomers, true);
        assert!(newcomers.unknown.from.is_none());
    }

    #[test]
    fn who_comes_while_there_is_no_room_waits_for_it() {
        let mut pace = Pace::new(0, Duration::ZERO);
        pace.measure(1000, Duration::from_millis(100));
        let load = |queued| Load {
            slots: 4,
            running: 4,
            queued,
            overtaken: 0,
        };
        let mut newcomers = Newcomers::new();
        newcomers.come(true);
        assert_eq!(newcomers.want(&pace, load(10_000)), 0);
        assert!(newcomers.wait());
        assert!(newcomers.want(&pace, load(10)) > 0);
        newcomers.asked();
        assert!(!newcomers.wait());
    }
}
