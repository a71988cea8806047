//! PURE: how many jobs to have in hand: as many as there are slots, and beyond that only what starts within a moment at the
//! present rate. Holding more would take jobs out of the rotation before their turn.

use std::time::Duration;

/// Jobs that were to start within a moment and have not after this time are given back.
pub const STALE: Duration = Duration::from_millis(250);
/// Beyond free slots, what starts within so many seconds is held at the most.
const AHEAD: f64 = 0.05;
/// And no less than this, so that slots do not wait for a take that is a little late.
const LEAST_AHEAD: f64 = 0.005;
/// What is held ahead lasts for so many takes. The next take begins when half of it has started, so a take that is twice as
/// slow as usual leaves no slot idle.
const TAKES: f64 = 4.0;
/// How much the last take weighs beside those before it.
const LATEST: f64 = 0.2;
/// How many seconds the rate remembers.
const MEMORY: f64 = 0.05;
/// No more than this is held beyond the slots, whatever the rate.
const MAX_AHEAD: usize = 2000;
/// The rate is measured over so many seconds at least.
const SHORTEST: f64 = 0.005;

/// What an executor has in hand.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    /// How many slots it has ..
    pub slots: usize,
    /// .. and how many of them are in use.
    pub running: usize,
    /// How many jobs wait for one.
    pub queued: usize,
}

impl Load {
    fn free(self) -> usize {
        self.slots.saturating_sub(self.running)
    }
}

/// The rate of starts, and what follows from it.
#[derive(Clone, Debug)]
pub struct Pace {
    rate: f64,
    seen: u64,
    /// When the rate was last measured, on the executor's watch: what takes a minute of the store's time is a long job,
    /// even if a test moves the clock.
    since: Duration,
    /// How many seconds a take lasts; none yet: as long as may be.
    take: Option<f64>,
}

impl Pace {
    /// For an executor that has started so many jobs by now.
    pub fn new(starts: u64, now: Duration) -> Self {
        Self {
            rate: 0.0,
            seen: starts,
            since: now,
            take: None,
        }
    }

    /// A take has lasted so long.
    pub fn took(&mut self, lasted: Duration) {
        let lasted = lasted.as_secs_f64();
        let before = self.take.unwrap_or(lasted);
        self.take = Some(before + LATEST * (lasted - before));
    }

    /// How many jobs to ask for. Zero: wait until fewer wait for a slot.
    pub fn want(&self, load: Load) -> usize {
        let (ahead, free, queued) = (self.ahead(), load.free(), load.queued);
        // Small takes cost as much as large ones, so while there is enough to do the queue runs half empty first.
        if queued >= free && (ahead == 0 || queued > self.low_water()) {
            return 0;
        }
        (free + ahead).saturating_sub(queued)
    }

    /// When the queue has become so short, it is time to ask for more.
    pub fn low_water(&self) -> usize {
        self.ahead() / 2
    }

    /// So many jobs have started by now.
    pub fn measure(&mut self, starts: u64, now: Duration) {
        let seconds = now.saturating_sub(self.since).as_secs_f64();
        if seconds < SHORTEST {
            return;
        }
        let rate = starts.saturating_sub(self.seen) as f64 / seconds;
        self.rate += (1.0 - (-seconds / MEMORY).exp()) * (rate - self.rate);
        self.seen = starts;
        self.since = now;
    }

    fn ahead(&self) -> usize {
        self.lasts(self.take.map_or(AHEAD, |take| (TAKES * take).clamp(LEAST_AHEAD, AHEAD)))
    }

    /// How many jobs last so many seconds.
    fn lasts(&self, seconds: f64) -> usize {
        ((self.rate * seconds) as usize).min(MAX_AHEAD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_jobs_are_not_held_ahead_and_short_ones_for_a_moment() {
        let mut pace = Pace::new(0, Duration::ZERO);
        let mut now = Duration::from_mins(1);
        pace.measure(4, now);
        assert_eq!(pace.ahead(), 0);
        for i in 1..=20 {
            now += Duration::from_millis(10);
            pace.measure(4 + i * 100, now);
        }
        let ahead = pace.ahead();
        assert!(
            (450..=500).contains(&ahead),
            "10,000 a second are 500 in 50 ms, not {ahead}"
        );
        pace.took(Duration::from_millis(4));
        assert!(
            (150..=160).contains(&pace.ahead()),
            "where a take lasts 4 ms, 16 ms are enough, not {} jobs",
            pace.ahead()
        );
        pace.measure(2004, now + Duration::from_secs(1));
        assert_eq!(pace.ahead(), 0, "a second without a start, and nothing is held ahead");
    }

    #[test]
    fn more_is_wanted_when_half_of_what_is_held_ahead_has_started() {
        let mut pace = Pace::new(0, Duration::ZERO);
        let mut now = Duration::ZERO;
        for i in 1..=50 {
            now += Duration::from_millis(10);
            pace.measure(i * 20, now);
        }
        pace.took(Duration::from_millis(3));
        let ahead = pace.ahead();
        assert!((23..=24).contains(&ahead), "{ahead}");
        let load = |running, queued| Load {
            slots: 4,
            running,
            queued,
        };
        assert_eq!(pace.want(load(4, ahead)), 0);
        assert_eq!(pace.want(load(4, ahead / 2 + 1)), 0);
        assert_eq!(pace.want(load(4, ahead / 2)), ahead - ahead / 2);
        assert_eq!(pace.want(load(1, ahead / 2)), 3 + ahead - ahead / 2);
        let idle = Pace::new(0, Duration::ZERO);
        assert_eq!(idle.want(load(1, 0)), 3);
        assert_eq!(idle.want(load(4, 0)), 0);
    }
}
