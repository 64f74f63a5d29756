//! Exact fractions with checked arithmetic.

use super::divide::gcd_wide;

/// `num / den` in lowest terms, `den > 0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rational {
    num: i128,
    den: i128,
}

impl Rational {
    pub(super) const ZERO: Self = Self { num: 0, den: 1 };
    pub(super) const ONE: Self = Self { num: 1, den: 1 };

    pub(super) fn integer(value: i128) -> Self {
        Self { num: value, den: 1 }
    }

    /// None if a number does not fit or the denominator is 0.
    fn new(num: i128, den: i128) -> Option<Self> {
        if den == 1 {
            return Some(Self { num, den });
        }
        let common = gcd_wide(num, den)?;
        let (num, den) = (num.checked_div(common)?, den.checked_div(common)?);
        if den < 0 {
            Some(Self {
                num: num.checked_neg()?,
                den: den.checked_neg()?,
            })
        } else {
            Some(Self { num, den })
        }
    }

    pub(super) fn is_zero(self) -> bool {
        self.num == 0
    }

    pub(super) fn is_negative(self) -> bool {
        self.num < 0
    }

    pub(super) fn is_positive(self) -> bool {
        self.num > 0
    }

    pub(super) fn add(self, other: Self) -> Option<Self> {
        if self.den == other.den {
            return Self::new(self.num.checked_add(other.num)?, self.den);
        }
        let left = self.num.checked_mul(other.den)?;
        let right = other.num.checked_mul(self.den)?;
        Self::new(left.checked_add(right)?, self.den.checked_mul(other.den)?)
    }

    pub(super) fn sub(self, other: Self) -> Option<Self> {
        self.add(Self {
            num: other.num.checked_neg()?,
            den: other.den,
        })
    }

    pub(super) fn mul(self, other: Self) -> Option<Self> {
        Self::new(
            self.num.checked_mul(other.num)?,
            self.den.checked_mul(other.den)?,
        )
    }

    /// None if `other` is 0 too.
    pub(super) fn div(self, other: Self) -> Option<Self> {
        Self::new(
            self.num.checked_mul(other.den)?,
            self.den.checked_mul(other.num)?,
        )
    }

    pub(super) fn less_than(self, other: Self) -> Option<bool> {
        Some(self.sub(other)?.is_negative())
    }
}
