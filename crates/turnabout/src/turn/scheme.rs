//! PURE: the counting scheme: which priority is next inside a group.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::job::Lane;

/// `4,2,1`: four high, two normal, one low, then over again. `4,1`: four high, one of the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheme {
    counts: Vec<u32>,
}

impl Scheme {
    /// No single count may be larger.
    pub const MAX: u32 = 1000;

    /// How many turns make one full count.
    pub fn len(&self) -> u32 {
        self.counts.iter().sum()
    }

    /// Never: a scheme counts at least one turn.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The lane for turn number `count`, among these non-empty ones (there must be one): the chosen lane, or the
    /// most urgent one if that is empty.
    pub(super) fn choose(&self, count: u32, lanes: &[Lane]) -> Lane {
        let mut turn = count % self.len();
        let mut chosen = 0;
        for (i, n) in self.counts.iter().enumerate() {
            if turn < *n {
                chosen = i;
                break;
            }
            turn -= n;
        }
        let wanted: &[Lane] = match (chosen, self.counts.len()) {
            (0, _) => &[Lane::High],
            (1, 2) => &[Lane::Normal, Lane::Low],
            (1, _) => &[Lane::Normal],
            _ => &[Lane::Low],
        };
        wanted
            .iter()
            .find(|lane| lanes.contains(lane))
            .or_else(|| lanes.iter().min())
            .copied()
            .unwrap_or(Lane::Normal)
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

    fn turns(scheme: &str, lanes: &[Lane]) -> Vec<Lane> {
        let scheme: Scheme = scheme.parse().expect("a scheme");
        (0..scheme.len()).map(|i| scheme.choose(i, lanes)).collect()
    }

    #[test]
    fn counts_each_priority_in_turn() {
        assert_eq!(
            turns("4,2,1", &[High, Normal, Low]),
            [High, High, High, High, Normal, Normal, Low]
        );
        assert_eq!(turns("2,1", &[High, Normal, Low]), [High, High, Normal]);
    }

    #[test]
    fn an_empty_lane_gives_its_turn_to_the_most_urgent_one() {
        assert_eq!(turns("2,1,1", &[Normal, Low]), [Normal, Normal, Normal, Low]);
        assert_eq!(turns("2,1", &[High, Low]), [High, High, Low]);
        assert_eq!(turns("2,1", &[High]), [High, High, High]);
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
