//! How long jobs waited within the last half a minute: counts by size, in bounded memory however many jobs there are.

use std::collections::VecDeque;
use std::time::Duration;

/// So far back it is remembered.
pub(super) const WINDOW: Duration = Duration::from_secs(30);
/// Each size is so many times the one below, so that a quantile is told to 1 %.
const STEP: f64 = 1.01;
/// Sizes from a microsecond to a quarter of an hour.
const SIZES: usize = 2080;

/// Counts by size for each second.
#[derive(Debug, Default)]
pub(super) struct Waits(VecDeque<(u64, Vec<u32>)>);

impl Waits {
    /// At this time since the beginning, a job had waited for so long.
    pub(super) fn add(&mut self, now: Duration, waited: Duration) {
        let second = now.as_secs();
        if self.0.back().is_none_or(|(last, _)| *last < second) {
            self.forget(now);
            self.0.push_back((second, vec![0; SIZES]));
        }
        if let Some(count) = self.0.back_mut().and_then(|(_, counts)| counts.get_mut(size(waited))) {
            *count += 1;
        }
    }

    /// Within which time these shares of the jobs had waited, in milliseconds. Zero: there were none.
    pub(super) fn quantiles<const N: usize>(&mut self, now: Duration, shares: [f64; N]) -> [f64; N] {
        self.forget(now);
        let mut counts = vec![0_u64; SIZES];
        for (_, second) in &self.0 {
            for (all, count) in counts.iter_mut().zip(second) {
                *all += u64::from(*count);
            }
        }
        let total: u64 = counts.iter().sum();
        shares.map(|share| {
            let mut left = (total as f64 * share).ceil() as u64;
            let at = counts.iter().position(|count| {
                left = left.saturating_sub(*count);
                left == 0
            });
            if total == 0 {
                0.0
            } else {
                STEP.powi(at.unwrap_or(SIZES) as i32) / 1e3
            }
        })
    }

    fn forget(&mut self, now: Duration) {
        let oldest = now.as_secs().saturating_sub(WINDOW.as_secs());
        while self.0.front().is_some_and(|(second, _)| *second < oldest) {
            self.0.pop_front();
        }
    }
}

fn size(waited: Duration) -> usize {
    let microseconds = (waited.as_secs_f64() * 1e6).max(1.0);
    ((microseconds.ln() / STEP.ln()) as usize).min(SIZES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_told_to_one_percent_and_only_of_the_last_half_minute() {
        let mut waits = Waits::default();
        let second = Duration::from_secs;
        waits.add(second(1), second(60));
        for n in 1..=100 {
            waits.add(second(40), Duration::from_millis(n));
        }
        let [half, most] = waits.quantiles(second(41), [0.5, 0.99]);
        assert!(
            (half / 50.0 - 1.0).abs() < 0.02 && (most / 99.0 - 1.0).abs() < 0.02,
            "{half} {most}"
        );
        let [none] = waits.quantiles(second(90), [0.5]);
        assert!(none < 1e-9, "there were none: {none}");
    }
}
