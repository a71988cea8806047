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

    /// How many jobs to ask for, where the pace alone would ask for none.
    pub(super) fn want(&mut self, pace: &Pace, load: Load) -> usize {
        if !std::mem::take(&mut self.came) {
            return 0;
        }
        let want = pace.want_early(load);
        self.taking = want > 0;
        want
    }

    /// A take has ended, after which so many jobs in hand have been overtaken. If it was for the sake of newcomers and there
    /// are none, the next one has to wait: what has come may be for other executors, or of groups that have enough in hand.
    pub(super) fn took(&mut self, overtaken: usize) {
        if !std::mem::take(&mut self.taking) {
            return;
        }
        if overtaken > 0 {
            self.vain.reset();
            self.from = None;
        } else {
            self.from = Some(Instant::now() + self.vain.step());
        }
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
        assert_eq!(newcomers.want(&pace, load), 0, "nobody has come");
        newcomers.come();
        assert!(newcomers.want(&pace, load) > 0);
        newcomers.took(3);
        assert!(newcomers.rest().is_zero());
        newcomers.took(0);
        assert!(newcomers.rest().is_zero(), "that was an ordinary take");
        newcomers.come();
        assert!(newcomers.want(&pace, load) > 0);
        newcomers.took(0);
        assert!(newcomers.from.is_some());
        newcomers.come();
        assert!(newcomers.want(&pace, load) > 0);
        newcomers.took(1);
        assert!(newcomers.from.is_none() && newcomers.rest().is_zero());
    }
}
