//! PURE: exact ratios, for sums of thirds that make a whole.

/// A number that is not negative, as a fraction in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ratio {
    above: u128,
    below: u128,
}

/// Where a fraction does not fit any longer, it is rounded down to this many parts of one.
const FINEST: u32 = 60;

impl Default for Ratio {
    fn default() -> Self {
        Self::whole(0)
    }
}

impl Ratio {
    pub(super) const ONE: Self = Self { above: 1, below: 1 };

    pub(super) fn whole(number: u64) -> Self {
        Self {
            above: u128::from(number),
            below: 1,
        }
    }

    fn lowest(above: u128, below: u128) -> Self {
        let common = gcd(above, below).max(1);
        Self {
            above: above / common,
            below: below / common,
        }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        self.exactly_plus(other)
            .or_else(|| self.rounded().exactly_plus(other.rounded()))
            // Past all bounds: more than any total.
            .unwrap_or(Self::whole(u64::MAX))
    }

    fn exactly_plus(self, other: Self) -> Option<Self> {
        let common = gcd(self.below, other.below);
        let ours = self.above.checked_mul(other.below / common)?;
        let theirs = other.above.checked_mul(self.below / common)?;
        let below = (self.below / common).checked_mul(other.below)?;
        Some(Self::lowest(ours.checked_add(theirs)?, below))
    }

    /// Of something that is not more than one.
    pub(super) fn times(self, factor: u64) -> Self {
        let factor = u128::from(factor);
        let common = gcd(factor, self.below).max(1);
        let exactly = self.above.checked_mul(factor / common).map(|above| Self {
            above,
            below: self.below / common,
        });
        exactly.unwrap_or_else(|| {
            let rounded = self.rounded();
            Self::lowest(rounded.above.saturating_mul(factor), rounded.below)
        })
    }

    /// The part of `total` that this is, and 1 at the most.
    pub(super) fn over(self, total: u64) -> Self {
        let total = u128::from(total);
        let common = gcd(self.above, total).max(1);
        let exactly = self.below.checked_mul(total / common).map(|below| Self {
            above: self.above / common,
            below,
        });
        let part = exactly.unwrap_or_else(|| {
            let rounded = self.rounded();
            Self::lowest(rounded.above, rounded.below.saturating_mul(total))
        });
        if part.above >= part.below { Self::ONE } else { part }
    }

    /// Whole percent, rounded down; of something that is not more than one.
    pub(super) fn percent(self) -> u8 {
        let exact = self.above.checked_mul(100).map(|above| above / self.below);
        let percent = exact.unwrap_or_else(|| self.above / (self.below / 100 + 1));
        u8::try_from(percent.min(100)).unwrap_or(100)
    }

    /// A little less, with a denominator that leaves room.
    fn rounded(self) -> Self {
        if self.below <= 1 << FINEST {
            return self;
        }
        let whole = self.above / self.below;
        // Both are made small enough to be multiplied; the denominator is rounded up, so that the whole is rounded down.
        let shift = (u128::BITS - self.below.leading_zeros()).saturating_sub(u128::BITS - FINEST - 1);
        let rest = (((self.above % self.below) >> shift) << FINEST) / ((self.below >> shift) + u128::from(shift > 0));
        Self::lowest((whole.min(u128::from(u64::MAX)) << FINEST) + rest, 1 << FINEST)
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_thirds_are_one() {
        let third = Ratio::ONE.over(3);
        assert_eq!(third.plus(third).plus(third), Ratio::ONE);
        assert_eq!(third.percent(), 33);
    }

    #[test]
    fn what_does_not_fit_is_rounded_down_and_not_by_much() {
        let mut sum = Ratio::default();
        let mut float = 0.0;
        // Denominators without a common divisor: their product is past all bounds soon.
        for prime in [
            999_983_u64,
            999_979,
            999_961,
            999_959,
            999_953,
            999_931,
            999_917,
            999_907,
        ] {
            sum = sum.plus(Ratio::whole(prime / 10).over(prime));
            float += (prime / 10) as f64 / prime as f64;
        }
        let value = sum.above as f64 / sum.below as f64;
        assert!(value <= float && float - value < 1e-9, "{value} is not {float}");
        assert_eq!(sum.over(1).percent(), 79);
        let huge = Ratio::whole(u64::MAX);
        assert_eq!(huge.plus(huge).over(u64::MAX), Ratio::ONE);
        assert_eq!(huge.over(u64::MAX).times(u64::MAX), huge);
    }
}
