//! PURE: how often jobs may start: so many in a period, over all executors, and so many at once after a quiet time.
//!
//! A bucket holds `burst` tokens at the most; each start takes one, and one comes back every `period / jobs`. What is kept of a
//! bucket is a single number, the moment at which it will be full again (in nanoseconds since 1970). So over any time `t` no
//! more than `burst + t * jobs / period` jobs start, whoever starts them, as long as they do it one after the other.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// So many jobs in a period, and so many at once.
///
/// Written `100/s`, `10/m` or `5/30s`; periods are `s`, `m`, `h` and `d`. `10/m burst 20` says how many may start at once; without
/// it, as many as come in a tenth of a second, and one at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rate {
    jobs: u32,
    /// The period, in seconds.
    seconds: u32,
    burst: u32,
}

/// The letters of periods, and their seconds, the longest first.
const PERIODS: [(&str, u32); 4] = [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)];
const SECOND: i128 = 1_000_000_000;
/// Jobs start so much later than they are counted, at the most: a claim is counted when it is made, and kept by the disk after that.
const LATE: i128 = SECOND / 10;
/// No period is longer.
const LONGEST: u32 = 365 * 86_400;
/// An empty bucket is full again within so many years.
const YEARS: i128 = 100;

impl Rate {
    /// No more jobs than this start in a second.
    pub const MOST: u32 = 1_000_000;

    /// So many jobs in a period of whole seconds. `burst`: so many at once; `None`: as many as come in a tenth of a second.
    pub fn new(jobs: u32, period: Duration, burst: Option<u32>) -> Result<Self> {
        let wrong = |why: &str| Error::invalid("rate", why.to_owned());
        if jobs == 0 {
            return Err(wrong("0 jobs would never let one start; use pause for that"));
        }
        let seconds = u32::try_from(period.as_secs())
            .ok()
            .filter(|_| period.subsec_nanos() == 0);
        let Some(seconds) = seconds.filter(|seconds| (1..=LONGEST).contains(seconds)) else {
            return Err(wrong("a period is whole seconds, from 1 second to 365 days"));
        };
        if u64::from(jobs) > u64::from(Self::MOST) * u64::from(seconds) {
            return Err(wrong(
                "more than 1000000 jobs a second is no limit; take the rate away instead",
            ));
        }
        let burst = burst.unwrap_or_else(|| Self::usual_burst(jobs, seconds));
        if burst == 0 {
            return Err(wrong("a burst of 0 would never let a job start; it is 1 at least"));
        }
        let rate = Self { jobs, seconds, burst };
        if rate.depth() > YEARS * 365 * 86_400 * SECOND {
            return Err(wrong(
                "the burst is too large: it would take more than 100 years to come back",
            ));
        }
        Ok(rate)
    }

    fn usual_burst(jobs: u32, seconds: u32) -> u32 {
        (jobs / seconds / 10).max(1)
    }

    /// How many may start at once after a quiet time.
    pub fn burst(self) -> u32 {
        self.burst
    }

    /// Nanoseconds after which a token comes back, rounded up: never sooner.
    fn interval(self) -> i128 {
        (i128::from(self.seconds) * SECOND).div_euclid(i128::from(self.jobs))
            + i128::from(i128::from(self.seconds) * SECOND % i128::from(self.jobs) != 0)
    }

    /// The same, for whoever keeps moments.
    pub(super) fn nanoseconds_each(self) -> i64 {
        i64::try_from(self.interval()).unwrap_or(i64::MAX)
    }

    /// Nanoseconds after which an empty bucket is full.
    fn depth(self) -> i128 {
        self.interval() * i128::from(self.burst)
    }

    /// How much later than they are counted jobs may start without a second that has too many. A bucket without room for that
    /// would not let the whole rate through.
    fn leeway(self) -> i128 {
        LATE.min(self.depth() - self.interval())
    }

    /// Whether an empty bucket would be full sooner. A rate that was changed, or a clock that was set back, may have left such a
    /// moment behind; whoever finds it writes down what [`Rate::after`] says, and from then on tokens come back.
    pub(crate) fn is_beyond(self, full: i64, now: i64) -> bool {
        i128::from(full) > i128::from(now) + self.depth() + self.leeway()
    }

    /// When the bucket will be full, as far as that can be.
    fn full_at(self, full: i64, now: i64) -> i128 {
        if self.is_beyond(full, now) {
            return i128::from(now) + self.depth();
        }
        i128::from(full.max(now))
    }

    /// How many jobs may start now, if the bucket will be full at that moment.
    pub(crate) fn tokens(self, full: i64, now: i64) -> u32 {
        let missing = self.full_at(full, now) - i128::from(now);
        u32::try_from((self.depth() - missing).max(0) / self.interval()).unwrap_or(u32::MAX)
    }

    /// When the bucket will be full after so many jobs have started now.
    pub(crate) fn after(self, full: i64, now: i64, jobs: u32) -> i64 {
        let full = self.full_at(full, now) + i128::from(jobs) * self.interval();
        i64::try_from(full).unwrap_or(i64::MAX)
    }

    /// The same, if the jobs start a while after this moment, at which they are counted. A bucket that is full by then stays full
    /// until they have started: what came back meanwhile would be there for others beside them.
    pub(crate) fn after_late(self, full: i64, now: i64, jobs: u32, late: bool) -> i64 {
        let start = i128::from(now) + if late && jobs > 0 { self.leeway() } else { 0 };
        self.after(full.max(i64::try_from(start).unwrap_or(i64::MAX)), now, jobs)
    }

    /// How long until a job may start. Zero: one may now.
    pub(crate) fn wait(self, full: i64, now: i64) -> Duration {
        let first = self.full_at(full, now) - self.depth() + self.interval() - i128::from(now);
        Duration::from_nanos(u64::try_from(first).unwrap_or(0))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |(_, seconds): &&(&str, u32)| self.seconds.is_multiple_of(*seconds);
        let (letter, seconds) = PERIODS.iter().find(whole).copied().unwrap_or(("s", 1));
        write!(f, "{}/", self.jobs)?;
        if self.seconds > seconds {
            write!(f, "{}", self.seconds / seconds)?;
        }
        f.write_str(letter)?;
        if self.burst != Self::usual_burst(self.jobs, self.seconds) {
            write!(f, " burst {}", self.burst)?;
        }
        Ok(())
    }
}

impl FromStr for Rate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let unclear = || {
            Error::invalid(
                "rate",
                format!("`{text}` is not like `100/s`, `10/m`, `5/30s` or `10/m burst 20`; periods are s, m, h and d"),
            )
        };
        let mut words = text.split_whitespace();
        let (jobs, period) = words.next().and_then(|word| word.split_once('/')).ok_or_else(unclear)?;
        let jobs: u32 = jobs.parse().map_err(|_| unclear())?;
        let period_of = |(letter, seconds): &(&str, u32)| {
            let count = period.strip_suffix(letter)?;
            let count: u32 = if count.is_empty() { 1 } else { count.parse().ok()? };
            Some(u64::from(*seconds) * u64::from(count))
        };
        let seconds = PERIODS.iter().find_map(period_of).ok_or_else(unclear)?;
        let burst = match (words.next(), words.next(), words.next()) {
            (None, ..) => None,
            (Some("burst"), Some(burst), None) => Some(burst.parse().map_err(|_| unclear())?),
            _ => return Err(unclear()),
        };
        Self::new(jobs, Duration::from_secs(seconds), burst)
    }
}

impl TryFrom<String> for Rate {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Rate> for String {
    fn from(rate: Rate) -> Self {
        rate.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str) -> Rate {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn a_rate_is_printed_as_it_is_written() {
        for (text, printed) in [
            ("100/s", "100/s"),
            ("10/m burst 20", "10/m burst 20"),
            (" 5/30s ", "5/30s"),
            ("7/120s", "7/2m"),
            ("100/s burst 10", "100/s"),
            ("1/d burst 1", "1/d"),
            ("1000000/s", "1000000/s"),
            ("3/60m burst 3", "3/h burst 3"),
        ] {
            assert_eq!(rate(text).to_string(), printed);
            assert_eq!(rate(printed), rate(text));
        }
        assert_eq!((rate("100/s").burst(), rate("10/m").burst()), (10, 1));
        for text in [
            "",
            "100",
            "100/",
            "/s",
            "1/x",
            "-1/s",
            "0/s",
            "1/0s",
            "1/s burst",
            "1/s burst 0",
            "1/s burst 1 2",
            "1/s 5",
            "1.5/s",
            "1000001/s",
            "1/366d",
            "1/365d burst 1000",
            "9999999999/s",
            "1/99999999999s",
        ] {
            let refused = text.parse::<Rate>().expect_err(text).to_string();
            assert!(refused.contains("rate"), "{text}: {refused}");
        }
        let json = serde_json::to_string(&rate("10/m burst 20")).expect("json");
        assert_eq!(json, "\"10/m burst 20\"");
        assert_eq!(
            serde_json::from_str::<Rate>(&json).expect("a rate"),
            rate("10/m burst 20")
        );
    }

    #[test]
    fn tokens_come_back_one_by_one_and_no_more_than_the_burst() {
        let rate = rate("10/s burst 3");
        let ms = |n: i64| n * 1_000_000;
        assert_eq!((rate.tokens(0, 0), rate.wait(0, 0)), (3, Duration::ZERO));
        let full = rate.after(0, 0, 3);
        assert_eq!(
            (rate.tokens(full, 0), rate.wait(full, 0)),
            (0, Duration::from_millis(100))
        );
        assert_eq!(
            (rate.tokens(full, ms(99)), rate.wait(full, ms(99))),
            (0, Duration::from_millis(1))
        );
        assert_eq!(
            (rate.tokens(full, ms(100)), rate.wait(full, ms(100))),
            (1, Duration::ZERO)
        );
        assert_eq!(rate.tokens(full, ms(250)), 2);
        assert_eq!(rate.tokens(full, ms(100_000)), 3);
        // A moment that this rate would never leave behind is not waited for.
        assert!(rate.is_beyond(i64::MAX, 0) && !rate.is_beyond(full, 0));
        assert_eq!(rate.wait(i64::MAX, 0), Duration::from_millis(100));
        assert_eq!(rate.tokens(rate.after(i64::MAX, 0, 0), ms(100)), 1);
    }

    #[test]
    fn no_more_begin_than_the_rate_allows_though_they_begin_later_than_they_are_counted() {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let rate =
                Rate::new(random.u32(10..2000), Duration::from_secs(1), Some(random.u32(1..50))).expect("a rate");
            let (mut full, mut now) = (0, 0);
            let mut begun: Vec<i64> = Vec::new();
            for _ in 0..300 {
                let wait = rate.wait(full, now).as_nanos() as i64;
                now += wait + random.i64(0..=1) * random.i64(0..=200_000_000);
                let taken = random.u32(0..=rate.tokens(full, now));
                full = rate.after_late(full, now, taken, true);
                assert!(!rate.is_beyond(full, now), "seed {seed}");
                begun.extend((0..taken).map(|_| now + random.i64(0..=rate.leeway() as i64)));
            }
            begun.sort_unstable();
            for (at, first) in begun.iter().enumerate() {
                for (count, last) in (1i128..).zip(&begun[at..]) {
                    let passed = i128::from(last - first);
                    let most = i128::from(rate.burst) + passed * i128::from(rate.jobs) / SECOND;
                    assert!(count <= most, "seed {seed}, {rate}: {count} within {passed} ns");
                }
            }
        }
    }

    #[test]
    fn over_any_time_no_more_start_than_the_rate_and_the_burst_allow() {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let rate = Rate::new(
                random.u32(1..2000),
                Duration::from_secs(random.u64(1..100)),
                Some(random.u32(1..50)),
            )
            .expect("a rate");
            let (mut full, mut now) = (0, 0);
            let mut starts: Vec<i64> = Vec::new();
            for _ in 0..300 {
                // Sometimes at the very moment of the next token, sometimes whenever.
                let wait = rate.wait(full, now).as_nanos() as i64;
                now += if random.bool() {
                    wait
                } else {
                    random.i64(0..=3 * rate.interval() as i64)
                };
                let taken = random.u32(0..=rate.tokens(full, now));
                assert!(wait == 0 || rate.wait(full, now).is_zero() || taken == 0, "seed {seed}");
                full = rate.after(full, now, taken);
                starts.extend((0..taken).map(|_| now));
            }
            for (at, first) in starts.iter().enumerate() {
                for (count, last) in (1i128..).zip(&starts[at..]) {
                    let passed = i128::from(last - first);
                    let most =
                        i128::from(rate.burst) + passed * i128::from(rate.jobs) / (i128::from(rate.seconds) * SECOND);
                    assert!(count <= most, "seed {seed}, {rate}: {count} within {passed} ns");
                }
            }
        }
    }

    #[test]
    fn whoever_comes_with_each_token_has_the_whole_rate() {
        for text in ["100/s burst 1", "7/3s", "1/m burst 5", "3/s"] {
            let rate = rate(text);
            let (mut full, mut now) = (0, 0);
            let jobs = 1000;
            for _ in 0..jobs {
                now += rate.wait(full, now).as_nanos() as i64;
                assert!(rate.tokens(full, now) >= 1, "{text}");
                full = rate.after_late(full, now, 1, true);
            }
            let least = i64::from(jobs - rate.burst as i32 - 1) * rate.interval() as i64;
            assert!(
                now <= least + 2 * rate.interval() as i64,
                "{text}: {now} for {jobs} jobs"
            );
        }
    }
}
