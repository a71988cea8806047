//! PURE: the counting scheme: which priority is next inside a group.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::job::Lane;

/// `4,2,1`: four high, two normal, one low, then over again. `4,1`: four high, one of the rest, where normal and low
/// alternate. Turns of a lane that has nothing are skipped. `1,0,0` is strict: normal only when there is nothing high,
/// low only when there is neither.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheme {
    counts: Vec<u32>,
}

impl Scheme {
    /// No single count may be larger.
    pub const MAX: u32 = 1000;

    /// How many turns there are before all begins anew. With two counts that is twice their sum: what was normal's turn among
    /// the rest is low's the next time.
    pub fn len(&self) -> u32 {
        let sum: u32 = self.counts.iter().sum();
        if self.counts.len() == 2 { 2 * sum } else { sum }
    }

    /// Never: a scheme counts at least one turn.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The next turn from number `count` on that one of these non-empty lanes has (there must be one): the lane, and the
    /// number of the turn after it. Lanes that have no turns at all get theirs when there is nothing else: the most urgent
    /// one, and the count stands still.
    pub(super) fn next(&self, count: u32, lanes: &[Lane]) -> (Lane, u32) {
        let sum: u32 = self.counts.iter().sum();
        let len = self.len();
        let mut turn = count % len;
        // Every part once, and the one that it began in again.
        for _ in 0..=2 * self.counts.len() {
            let mut end = turn - turn % sum;
            let mut part = 0;
            for (i, n) in self.counts.iter().enumerate() {
                end += n;
                if turn < end {
                    part = i;
                    break;
                }
            }
            let wanted: &[Lane] = match (part, self.counts.len()) {
                (0, _) => &[Lane::High],
                (1, 2) if self.is_lows(turn) => &[Lane::Low, Lane::Normal],
                (1, 2) => &[Lane::Normal, Lane::Low],
                (1, _) => &[Lane::Normal],
                _ => &[Lane::Low],
            };
            if let Some(lane) = wanted.iter().find(|lane| lanes.contains(lane)) {
                return (*lane, (turn + 1) % len);
            }
            turn = end % len;
        }
        (lanes.iter().min().copied().unwrap_or(Lane::Normal), count % len)
    }

    /// Whether a turn of the rest is for low first, and not for normal.
    fn is_lows(&self, turn: u32) -> bool {
        let (high, rest) = (self.counts[0], self.counts[1]);
        let sum = high + rest;
        (turn / sum * rest + (turn % sum).saturating_sub(high)) % 2 == 1
    }
}

impl Default for Scheme {
    fn default() -> Self {
        Self { counts: vec![4, 2, 1] }
    }
}

impl FromStr for Scheme {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = |why: &str| {
            Error::invalid(
                "counting scheme",
                format!(
                    "`{text}` {why}; write two or three numbers such as `4,2,1` (high, normal, low) or `4,1` (high, the rest)"
                ),
            )
        };
        let counts: Vec<u32> = text
            .split(',')
            .map(|n| n.trim().parse())
            .collect::<Result<_, _>>()
            .map_err(|_| wrong("is not a list of whole numbers"))?;
        if !(2..=3).contains(&counts.len()) {
            return Err(wrong("has the wrong number of parts"));
        }
        if counts.iter().all(|n| *n == 0) {
            return Err(wrong("counts nothing"));
        }
        if counts.iter().any(|n| *n > Self::MAX) {
            return Err(wrong("has a number over 1000"));
        }
        Ok(Self { counts })
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<String> = self.counts.iter().map(ToString::to_string).collect();
        f.write_str(&counts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Lane::{High, Low, Normal};

    /// The lanes of so many turns, by their first letters.
    fn turns(scheme: &str, lanes: &[Lane], turns: usize) -> String {
        let scheme: Scheme = scheme.parse().expect("a scheme");
        let mut count = 0;
        let mut seen = String::new();
        for _ in 0..turns {
            let (lane, next) = scheme.next(count, lanes);
            count = next;
            seen.push(match lane {
                High => 'h',
                Normal => 'n',
                Low => 'l',
                Lane::Retry => 'r',
            });
        }
        seen
    }

    #[test]
    fn counts_each_priority_in_turn() {
        assert_eq!(turns("4,2,1", &[High, Normal, Low], 14), "hhhhnnlhhhhnnl");
    }

    #[test]
    fn b8_turns_of_an_empty_lane_are_skipped() {
        assert_eq!(turns("4,2,1", &[High, Low], 10), "hhhhlhhhhl", "as the seed's 4,1");
        assert_eq!(turns("4,2,1", &[Normal, Low], 6), "nnlnnl");
        assert_eq!(turns("4,2,1", &[High, Normal], 6), "hhhhnn");
        assert_eq!(turns("4,1", &[High, Low], 10), "hhhhlhhhhl");
        assert_eq!(turns("2,1", &[High], 3), "hhh");
    }

    #[test]
    fn b13_among_the_rest_normal_and_low_alternate() {
        assert_eq!(turns("4,1", &[High, Normal, Low], 20), "hhhhnhhhhlhhhhnhhhhl");
        assert_eq!(turns("4,3", &[High, Normal, Low], 14), "hhhhnlnhhhhlnl");
        assert_eq!(turns("4,1", &[Normal, Low], 4), "nlnl");
        assert_eq!(
            turns("0,1", &[High, Normal, Low], 4),
            "nlnl",
            "and high when there is nothing else"
        );
        assert_eq!(turns("0,1", &[High], 2), "hh");
    }

    #[test]
    fn one_nothing_nothing_is_strict() {
        assert_eq!(turns("1,0,0", &[High, Normal, Low], 3), "hhh");
        assert_eq!(turns("1,0,0", &[Normal, Low], 3), "nnn");
        assert_eq!(turns("1,0,0", &[Low], 3), "lll");
        assert_eq!(turns("1,0", &[Normal, Low], 3), "nnn");
    }

    #[test]
    fn a_scheme_that_cannot_work_is_refused_with_a_hint() {
        for bad in ["", "0,0", "0,0,0", "4", "1,2,3,4", "4;1", "-1,2", "1001,1", "a,b"] {
            let error = bad.parse::<Scheme>().expect_err(bad).to_string();
            assert!(error.contains("4,2,1"), "{error}");
        }
        assert_eq!("4, 1".parse::<Scheme>().expect("spaces are fine").to_string(), "4,1");
    }
}
