//! PURE: a rate for all jobs that were submitted with the same key. Jobs that may not start yet are put off one behind the other,
//! each until a time of its own, so that they come back one by one and nobody spins.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::Rate;
use crate::error::{Error, Result};

/// Jobs with this key start no more often than that, over all executors, groups and tasks.
///
/// Written `10/m for smtp.example.com`: a [`Rate`], and the key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyRate {
    /// What the jobs have in common.
    pub key: String,
    /// How often they may start.
    pub rate: Rate,
}

/// Between the rate and the key.
const FOR: &str = " for ";
/// Nobody is put off for longer, in nanoseconds: a year.
const LONGEST: i64 = 365 * 86_400 * 1_000_000_000;

impl KeyRate {
    /// Jobs with this key start no more often than that.
    pub fn new(key: impl Into<String>, rate: Rate) -> Self {
        Self { key: key.into(), rate }
    }
}

impl fmt::Display for KeyRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{FOR}{}", self.rate, self.key)
    }
}

impl FromStr for KeyRate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let Some((rate, key)) = text.split_once(FOR) else {
            let why = format!("`{text}` is not like `10/m for KEY` or `100/s burst 20 for KEY`");
            return Err(Error::invalid("rate", why));
        };
        crate::submit::name("rate key", key)?;
        Ok(Self::new(key, rate.parse()?))
    }
}

/// How the jobs of a key stand. All moments are nanoseconds since 1970; those that are past say nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Admissions {
    /// When the bucket will be full.
    pub(crate) full: i64,
    /// The next moment to which a job that has just come may be put off.
    pub(crate) next: i64,
    /// The same for jobs that came back at their moment and had to be put off again.
    pub(crate) late: i64,
}

impl Admissions {
    /// Whether a job may start now: `None`, and it has taken a token. If not, for how long it is put off. `back`: it was put
    /// off before; such jobs go before those that have just come.
    pub(crate) fn admit(&mut self, rate: Rate, now: i64, back: bool) -> Option<Duration> {
        let interval = rate.nanoseconds_each();
        // A token lay there for two intervals and nobody took it: those who were to come were cancelled, or are late.
        if self.full.saturating_add(interval.saturating_mul(2)) <= now {
            self.next = self.next.min(now);
            self.late = self.late.min(now);
        }
        if rate.tokens(self.full, now) > 0 && (back || self.next <= now) {
            self.full = rate.after(self.full, now, 1);
            return None;
        }
        let token = now.saturating_add(i64::try_from(rate.wait(self.full, now).as_nanos()).unwrap_or(i64::MAX));
        let line = if back { &mut self.late } else { &mut self.next };
        let at = token.max(*line).min(now.saturating_add(LONGEST));
        *line = at.saturating_add(interval);
        Some(Duration::from_nanos(u64::try_from(at - now).unwrap_or(0).max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str) -> Rate {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn a_rate_of_a_key_is_printed_as_it_is_written() {
        for text in ["10/m for smtp", "100/s burst 7 for a key for it", "1/d for x"] {
            assert_eq!(text.parse::<KeyRate>().expect(text).to_string(), text);
        }
        for text in [
            "",
            "10/m",
            "10/m for ",
            "for x",
            "x for y",
            "10/m for a\nb",
            "0/s for x",
        ] {
            text.parse::<KeyRate>().expect_err(text);
        }
    }

    #[test]
    fn a_flood_is_put_off_one_by_one_and_comes_back_in_its_order() {
        let (rate, now) = (rate("10/s burst 3"), 5 * SECOND);
        let mut line = Admissions::default();
        let waits: Vec<_> = (0..6).map(|_| line.admit(rate, now, false)).collect();
        let ms = |n| Some(Duration::from_millis(n));
        assert_eq!(waits, [None, None, None, ms(100), ms(200), ms(300)]);
        // Whoever comes later goes behind them, also when there is a token.
        assert_eq!(line.admit(rate, now + SECOND / 10, false), ms(300));
        assert_eq!(line.admit(rate, now + SECOND / 10, true), None);
        assert_eq!(line.admit(rate, now + SECOND / 10, true), ms(100));
        assert_eq!(line.admit(rate, now + SECOND / 10, true), ms(200));
    }

    #[test]
    fn nobody_waits_behind_jobs_that_were_cancelled() {
        let (rate, mut now) = (rate("1/m"), 5 * SECOND);
        let mut line = Admissions::default();
        for _ in 0..10_000 {
            line.admit(rate, now, false);
        }
        assert!(line.next > now + 9000 * 60 * SECOND);
        now += 3 * 60 * SECOND;
        assert_eq!(line.admit(rate, now, false), None);
        assert_eq!(line.admit(rate, now, false), Some(Duration::from_mins(1)));
    }

    /// Jobs that come at random, and come back when they were told to, a little late.
    #[test]
    fn never_too_many_start_and_hardly_fewer_than_might() {
        for seed in 0..50 {
            let mut random = fastrand::Rng::with_seed(seed);
            let rate =
                Rate::new(random.u32(10..200), Duration::from_secs(1), Some(random.u32(10..40))).expect("a rate");
            let interval = rate.nanoseconds_each();
            let (mut line, mut starts) = (Admissions::default(), Vec::new());
            let mut asked = 0;
            // Who comes when, and whether not for the first time.
            let mut comers: std::collections::BTreeSet<(i64, u32, bool)> = (0..2000)
                .map(|n| (SECOND + random.i64(0..2 * SECOND), n, false))
                .collect();
            while let Some((now, job, back)) = comers.pop_first() {
                asked += 1;
                match line.admit(rate, now, back) {
                    None => starts.push(now),
                    Some(wait) => {
                        let late = random.i64(0..3 * interval);
                        comers.insert((now + wait.as_nanos() as i64 + late, job, true));
                    }
                }
            }
            assert_eq!(starts.len(), 2000, "seed {seed}");
            for (at, first) in starts.iter().enumerate() {
                let last = first + SECOND;
                let within = starts[at..].iter().take_while(|start| **start < last).count();
                let most = (SECOND / interval) as usize + 1 + rate.burst() as usize;
                assert!(within <= most, "seed {seed}, {rate}: {within} within a second");
            }
            let took = starts[1999] - starts[0];
            let least = interval * i64::from(2000 - rate.burst());
            assert!(
                took <= least / 20 * 21 + 4 * interval,
                "seed {seed}, {rate}: {took} instead of {least}"
            );
            assert!(asked < 8000, "seed {seed}, {rate}: asked {asked} times");
        }
    }
}
