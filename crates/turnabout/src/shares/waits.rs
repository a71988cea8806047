//! PURE: how long jobs waited, as a histogram that takes no more room than there are different waits.

use std::time::Duration;

/// Steps in each doubling: a wait is told with an error of at most a tenth.
const STEPS: f64 = 4.0;

/// How many jobs waited about how long.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    /// In order: which step, and how many.
    counts: Vec<(u8, u32)>,
}

impl Waits {
    pub(super) fn add(&mut self, wait: Duration) {
        let step = (STEPS * (wait.as_secs_f64() * 1000.0 + 1.0).log2()).round();
        self.add_step(step.clamp(0.0, 255.0) as u8, 1);
    }

    fn add_step(&mut self, step: u8, jobs: u32) {
        match self.counts.binary_search_by_key(&step, |(step, _)| *step) {
            Ok(at) => self.counts[at].1 = self.counts[at].1.saturating_add(jobs),
            Err(at) => self.counts.insert(at, (step, jobs)),
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (step, jobs) in &other.counts {
            self.add_step(*step, *jobs);
        }
    }

    /// So many jobs in a hundred waited no longer.
    pub(super) fn percentile(&self, percent: u64) -> Option<Duration> {
        let all: u64 = self.counts.iter().map(|(_, jobs)| u64::from(*jobs)).sum();
        let wanted = (all * percent).div_ceil(100).max(1);
        let mut seen = 0;
        for (step, jobs) in &self.counts {
            seen += u64::from(*jobs);
            if seen >= wanted {
                let millis = (f64::from(*step) / STEPS).exp2() - 1.0;
                return Some(Duration::from_secs_f64(millis / 1000.0));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_right_to_a_tenth() {
        let mut waits = Waits::default();
        assert_eq!(waits.percentile(50), None);
        for n in 1..=1000 {
            waits.add(Duration::from_millis(n * 10));
        }
        for (percent, millis) in [(50, 5000.0), (95, 9500.0), (100, 10_000.0)] {
            let told = waits.percentile(percent).expect("one").as_secs_f64() * 1000.0;
            assert!((told / millis - 1.0).abs() < 0.1, "{percent}: {told}");
        }
        waits.add(Duration::MAX);
        assert!(waits.counts.len() < 60, "{}", waits.counts.len());
    }
}
