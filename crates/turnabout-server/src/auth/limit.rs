//! How often someone may ask: a bucket of requests for each, refilled at a steady rate.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So many buckets are kept; beyond that those that are full again are forgotten.
const MANY: usize = 10_000;

/// How often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limit {
    /// Requests a second, on average.
    pub(crate) per_second: f64,
    /// So many at once.
    pub(crate) burst: f64,
}

/// Counts requests, by who makes them.
#[derive(Debug)]
pub(crate) struct Limiter {
    limit: Limit,
    buckets: Mutex<HashMap<String, Bucket>>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Limiter {
    pub(crate) fn new(limit: Limit) -> Self {
        Self {
            limit,
            buckets: Mutex::default(),
        }
    }

    /// Takes one request from someone's bucket. If it is empty: when to try again.
    pub(crate) fn take(&self, who: &str, now: Instant) -> Result<(), Duration> {
        let Limit { per_second, burst } = self.limit;
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let level = |bucket: &Bucket| {
            let refilled = now.saturating_duration_since(bucket.at).as_secs_f64() * per_second;
            (bucket.left + refilled).min(burst)
        };
        if buckets.len() >= MANY {
            buckets.retain(|_, bucket| level(bucket) < burst);
            // So many at once are an attack: all begin anew, which is no worse than having no memory of them.
            if buckets.len() >= MANY {
                buckets.clear();
            }
        }
        let bucket = buckets.entry(who.to_owned()).or_insert(Bucket { left: burst, at: now });
        *bucket = Bucket {
            left: level(bucket),
            at: now,
        };
        if bucket.left < 1.0 {
            let wait = (1.0 - bucket.left) / per_second.max(f64::MIN_POSITIVE);
            return Err(Duration::try_from_secs_f64(wait).unwrap_or(Duration::MAX));
        }
        bucket.left -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_empties_and_fills_again_for_each_alone() {
        let limiter = Limiter::new(Limit {
            per_second: 2.0,
            burst: 3.0,
        });
        let begin = Instant::now();
        for _ in 0..3 {
            limiter.take("ada", begin).expect("room");
        }
        let wait = limiter.take("ada", begin).expect_err("empty");
        assert_eq!(wait, Duration::from_millis(500));
        limiter.take("bob", begin).expect("another bucket");
        limiter.take("ada", begin + wait).expect("refilled");
        limiter.take("ada", begin + wait).expect_err("empty again");
        for _ in 0..3 {
            limiter
                .take("ada", begin + Duration::from_hours(1))
                .expect("full, and no fuller");
        }
        limiter
            .take("ada", begin + Duration::from_hours(1))
            .expect_err("no fuller");
    }

    #[test]
    fn memory_is_bounded() {
        let limiter = Limiter::new(Limit {
            per_second: 1.0,
            burst: 1.0,
        });
        let now = Instant::now();
        for n in 0..3 * MANY {
            limiter.take(&n.to_string(), now).expect("room");
        }
        assert!(limiter.buckets.lock().expect("unpoisoned").len() <= MANY);
    }
}
