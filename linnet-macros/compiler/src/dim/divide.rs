//! Quotients, minima and maxima as far as they simplify whatever the facts are.

use super::Undecidable;
use super::poly::{Atom, Monomial, Poly};

/// Divisions give up after this many steps.
const MOST_STEPS: usize = 256;

impl Poly {
    /// Polynomial division: `(s, r)` with `self = s * divisor + r`. Monomials
    /// of `r` that the divisor's leading monomial divides have coefficients in
    /// `0..c`, where `c` is the size of the leading coefficient, so `r` is unique.
    pub(super) fn divide(&self, divisor: &Self) -> Result<(Self, Self), Undecidable> {
        let Some((lead, unit)) = divisor.leading() else {
            return Ok((Self::constant(0), self.clone()));
        };
        let mut work = self.clone();
        let mut quotient = Self::constant(0);
        let mut rest = Self::constant(0);
        for _ in 0..MOST_STEPS {
            let Some((monomial, coefficient)) = work.leading() else {
                return Ok((quotient, rest));
            };
            let (monomial, mut coefficient) = (monomial.clone(), coefficient);
            if let Some(factor) = monomial.divided_by(lead) {
                let times = coefficient
                    .checked_div_euclid(unit)
                    .ok_or(Undecidable::Overflow)?;
                let factor = Self::from_monomial(factor, times);
                work = work.minus(&factor.times(divisor)?)?;
                quotient = quotient.plus(&factor)?;
                coefficient = work.coefficient(&monomial);
            }
            let left = Self::from_monomial(monomial, coefficient);
            work = work.minus(&left)?;
            rest = rest.plus(&left)?;
        }
        Err(Undecidable::Overflow)
    }

    /// `self / divisor` if that is a polynomial.
    pub(super) fn exact_quotient(&self, divisor: &Self) -> Option<Self> {
        if divisor.is_zero() {
            return None;
        }
        let (quotient, rest) = self.divide(divisor).ok()?;
        rest.is_zero().then_some(quotient)
    }

    /// The greatest common divisor of the coefficients of all monomials but 1;
    /// 0 if there are none.
    pub(super) fn content(&self) -> i64 {
        let coefficients = self
            .terms()
            .iter()
            .filter(|(m, _)| !m.is_one())
            .map(|(_, c)| *c);
        coefficients.fold(0, gcd)
    }

    /// `self / divisor`, rounded down, for a divisor that is not 0.
    ///
    /// # Errors
    /// [`Undecidable::Overflow`] if a number does not fit.
    pub(super) fn quotient(&self, divisor: &Self) -> Result<Self, Undecidable> {
        if divisor.is_zero() {
            return Ok(Self::opaque_quotient(self.clone(), divisor.clone()));
        }
        let (whole, rest) = self.divide(divisor)?;
        if rest.is_zero() {
            return Ok(whole);
        }
        let fraction = match divisor.as_constant() {
            Some(divisor) if divisor > 0 => rest.constant_fraction(divisor)?,
            _ => Self::opaque_quotient(rest, divisor.clone()),
        };
        whole.plus(&fraction)
    }

    /// A quotient that nothing more is known of.
    pub(super) fn opaque_quotient(p: Self, q: Self) -> Self {
        Self::from_atom(Atom::Div(p, q))
    }

    /// `self / divisor` for a remainder of division by a positive constant.
    fn constant_fraction(&self, divisor: i64) -> Result<Self, Undecidable> {
        if let Some(value) = self.as_constant() {
            return Ok(Self::constant(value.div_euclid(divisor)));
        }
        // (g * a + r) / (g * b) = (a + r / g) / b, all rounded down.
        let common = gcd(self.content(), divisor);
        if common > 1 {
            let part = self.shrink(common)?;
            return part.quotient(&Self::constant(divisor / common));
        }
        // (p / q + k) / b = (p + k * q) / (q * b), all rounded down.
        let offset = self.coefficient(&Monomial::one());
        let inner = self.minus(&Self::constant(offset))?;
        if let Some((monomial, 1)) = inner.leading()
            && inner.terms().len() == 1
            && let [(Atom::Div(p, q), 1)] = monomial.factors()
            && let Some(q) = q.as_constant()
            && q > 0
        {
            let both = q.checked_mul(divisor).ok_or(Undecidable::Overflow)?;
            let p = p.plus(&Self::constant(q).scale(offset)?)?;
            return p.quotient(&Self::constant(both));
        }
        Ok(Self::opaque_quotient(self.clone(), Self::constant(divisor)))
    }

    /// `self / factor` rounded down, for a positive factor of all coefficients
    /// but that of 1.
    pub(super) fn shrink(&self, factor: i64) -> Result<Self, Undecidable> {
        let mut sum = Self::constant(0);
        for (monomial, coefficient) in self.terms() {
            let part = coefficient.div_euclid(factor);
            sum = sum.plus(&Self::from_monomial(monomial.clone(), part))?;
        }
        Ok(sum)
    }

    /// The smallest of `arms`; of none at all, 0.
    ///
    /// # Errors
    /// [`Undecidable::Overflow`] if a number does not fit.
    pub(super) fn least(arms: &[Self]) -> Result<Self, Undecidable> {
        let flat = arms.iter().flat_map(|arm| match arm.as_atom() {
            Some(Atom::Min(inner)) => inner.clone(),
            _ => vec![arm.clone()],
        });
        let kept = extremes(flat.collect(), &|a, b| a.never_above(b));
        Ok(Self::of_arms(kept, Atom::Min))
    }

    /// The largest of `arms`; of none at all, 0.
    ///
    /// # Errors
    /// [`Undecidable::Overflow`] if a number does not fit.
    pub(super) fn greatest(arms: &[Self]) -> Result<Self, Undecidable> {
        let flat = arms.iter().flat_map(|arm| match arm.as_atom() {
            Some(Atom::Max(inner)) => inner.clone(),
            _ => vec![arm.clone()],
        });
        let kept = extremes(flat.collect(), &|a, b| b.never_above(a));
        Ok(Self::of_arms(kept, Atom::Max))
    }

    /// Itself if there is only one, else an atom of them.
    pub(super) fn of_arms(mut arms: Vec<Self>, atom: fn(Vec<Self>) -> Atom) -> Self {
        if arms.len() == 1 {
            return arms.remove(0);
        }
        Self::from_atom(atom(arms))
    }

    /// Its atom if it is just one.
    pub(super) fn as_atom(&self) -> Option<&Atom> {
        let (monomial, 1) = self.leading()? else {
            return None;
        };
        match (self.terms().len(), monomial.factors()) {
            (1, [(atom, 1)]) => Some(atom),
            _ => None,
        }
    }

    /// Whether `self <= other` whatever the symbols are, by the look of it.
    fn never_above(&self, other: &Self) -> bool {
        other
            .minus(self)
            .is_ok_and(|difference| difference.plainly_nonnegative())
    }

    /// Whether it is a sum of products of what is never negative.
    pub(super) fn plainly_nonnegative(&self) -> bool {
        self.terms().iter().all(|(monomial, coefficient)| {
            *coefficient > 0
                && monomial.factors().iter().all(|(atom, exponent)| {
                    exponent % 2 == 0
                        || matches!(atom, Atom::Symbol(symbol) if symbol.is_nonnegative())
                })
        })
    }
}

/// Without repetitions and without arms that another makes superfluous, sorted.
pub(super) fn extremes(mut arms: Vec<Poly>, wins: &dyn Fn(&Poly, &Poly) -> bool) -> Vec<Poly> {
    arms.sort();
    arms.dedup();
    let mut kept: Vec<Poly> = Vec::new();
    for arm in arms {
        if kept.iter().any(|winner| wins(winner, &arm)) {
            continue;
        }
        kept.retain(|loser| !wins(&arm, loser));
        kept.push(arm);
    }
    if kept.is_empty() {
        vec![Poly::constant(0)]
    } else {
        kept
    }
}

/// The greatest common divisor, never negative; 1 where it does not fit.
pub(super) fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).unwrap_or(1)
}

/// The same for wider numbers. None for 0 and 0, or where it does not fit.
pub(super) fn gcd_wide(a: i128, b: i128) -> Option<i128> {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i128::try_from(a).ok().filter(|common| *common != 0)
}
