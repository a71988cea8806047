//! Takes before their time: a group that has nothing in hand does not wait until what others have there has become short.

use std::time::{Duration, Instant};

use super::life::Backoff;
use crate::turn::Pace;
use crate::turn::pace::Load;

/// What the claimer does about jobs that come while enough is in hand.
pub(super) struct Newcomers {
    /// Whether some have come.
    came: bool,
    /// Whether the present take is for their sake.
    taking: bool,
    /// When the next such take may be.
    from: Option<Instant>,
    vain: Backoff,
}

impl Newcomers {
    pub(super) fn new() -> Self {
        Self {
            came: false,
            taking: false,
            from: None,
            // About as often as takes that are in time, at the most.
            vain: Backoff::new(Duration::from_millis(1), Duration::from_millis(8)),
        }
    }

    /// How long there may be no take for their sake.
    pub(super) fn rest(&self) -> Duration {
        self.from
            .map_or(Duration::ZERO, |from| from.saturating_duration_since(Instant::now()))
    }

    pub(super) fn come(&mut self) {
        self.came = true;
    }

    /// Whether some have come, and wait for room.
    pub(super) fn wait(&self) -> bool {
        self.came
    }

    /// How many jobs to ask for, where the pace alone would ask for none.
    pub(super) fn want(&mut self, pace: &Pace, load: Load) -> usize {
        if !self.came {
            return 0;
        }
        let want = pace.want_early(load);
        self.taking = want > 0;
        want
    }

    /// The store is asked for jobs, those who have come among them.
    pub(super) fn asked(&mut self) {
        self.came = false;
    }

    /// A take has ended, and has brought newcomers or not. Says whether it was for their sake. If so, and there were none,
    /// the next one has to wait: what has come may be for other executors, or of groups that have enough in hand.
    pub(super) fn took(&mut self, newcomers: bool) -> bool {
        let early = std::mem::take(&mut self.taking);
        if early && newcomers {
            self.vain.reset();
            self.from = None;
        } else if early {
            self.from = Some(Instant::now() + self.vain.step());
        }
        early
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
            newcomers.come();
            assert!(newcomers.want(&pace, load) > 0);
            newcomers.asked();
            assert!(newcomers.took(brings));
        };
        assert_eq!(newcomers.want(&pace, load), 0, "nobody has come");
        take(&mut newcomers, true);
        assert!(newcomers.rest().is_zero());
        assert!(!newcomers.took(false) && newcomers.rest().is_zero(), "an ordinary take");
        take(&mut newcomers, false);
        assert!(newcomers.from.is_some());
        take(&mut newcomers, true);
        assert!(newcomers.from.is_none() && newcomers.rest().is_zero());
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
        newcomers.come();
        assert_eq!(newcomers.want(&pace, load(10_000)), 0);
        assert!(newcomers.wait());
        assert!(newcomers.want(&pace, load(10)) > 0);
        newcomers.asked();
        assert!(!newcomers.wait());
    }
}
