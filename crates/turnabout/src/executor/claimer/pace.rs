//! How many jobs to have in hand: as many as there are slots, and beyond that only what starts within a moment at the
//! present rate. Holding more would take jobs out of the rotation before their turn.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::super::life::Life;

/// Beyond free slots, what starts within so many seconds is held.
const AHEAD: f64 = 0.05;
/// How many seconds the rate remembers.
const MEMORY: f64 = 0.05;
/// No more than this is held beyond the slots, whatever the rate.
const MAX_AHEAD: usize = 2000;
/// The rate is measured over so many seconds at least.
const SHORTEST: f64 = 0.005;

/// The rate of starts, and what follows from it.
pub(super) struct Pace {
    rate: f64,
    seen: u64,
    /// When the rate was last measured, on the life's watch: what takes a minute of the store's time is a long job,
    /// even if a test moves the clock.
    since: Duration,
}

impl Pace {
    pub(super) fn new(life: &Life) -> Self {
        Self::at(life.hand.starts(), life.watch())
    }

    fn at(starts: u64, now: Duration) -> Self {
        Self {
            rate: 0.0,
            seen: starts,
            since: now,
        }
    }

    /// How many jobs to ask for now. Zero: wait until the queue is shorter.
    pub(super) fn want(&mut self, life: &Life) -> usize {
        self.measure(life.hand.starts(), life.watch());
        let ahead = self.ahead();
        life.hand.low_water.store(ahead / 2, Relaxed);
        let (queued, running) = (life.hand.queued(), life.hand.running());
        let free = life.plan.slots.saturating_sub(running);
        // Small takes cost as much as large ones, so while there is enough to do the queue runs half empty first.
        if queued >= free && (ahead == 0 || queued > ahead / 2) {
            return 0;
        }
        (free + ahead).saturating_sub(queued)
    }

    fn measure(&mut self, starts: u64, now: Duration) {
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
        ((self.rate * AHEAD) as usize).min(MAX_AHEAD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_jobs_are_not_held_ahead_and_short_ones_for_a_moment() {
        let mut pace = Pace::at(0, Duration::ZERO);
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
        pace.measure(2004, now + Duration::from_secs(1));
        assert_eq!(pace.ahead(), 0, "a second without a start, and nothing is held ahead");
    }
}
