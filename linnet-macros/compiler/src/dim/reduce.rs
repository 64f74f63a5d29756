//! Rewriting under facts.

use super::Undecidable;
use super::divide::{extremes, gcd};
use super::poly::{Atom, Monomial, Poly};
use super::prove::Prover;

/// Rewriting by equations gives up after this many steps.
const MOST_REWRITES: usize = 64;

impl Prover<'_> {
    /// The polynomial in solved form.
    pub(super) fn reduce(&self, poly: &Poly) -> Result<Poly, Undecidable> {
        if self.is_reduced(poly) {
            return Ok(poly.clone());
        }
        self.spend(1 + poly.terms().len())?;
        let substituted = poly.rebuild(&mut |atom| self.reduce_atom(atom))?;
        self.rewrite(substituted)
    }

    /// Whether there is nothing to rewrite: only symbols, and no facts on them.
    fn is_reduced(&self, poly: &Poly) -> bool {
        self.known.zero.is_empty()
            && self.replaced.is_empty()
            && poly
                .terms()
                .keys()
                .flat_map(Monomial::factors)
                .all(|(atom, _)| match atom {
                    Atom::Symbol(symbol) => self.value(symbol).is_none(),
                    _ => false,
                })
    }

    fn value(&self, symbol: &super::Symbol) -> Option<&Poly> {
        let found = self
            .known
            .substitutions
            .iter()
            .find(|(known, _)| known == symbol);
        found.map(|(_, value)| value)
    }

    fn reduce_atom(&self, atom: &Atom) -> Result<Poly, Undecidable> {
        let reduced = match atom {
            Atom::Symbol(symbol) => {
                return Ok(self
                    .value(symbol)
                    .cloned()
                    .unwrap_or_else(|| Poly::symbol(symbol.clone())));
            }
            Atom::Div(p, q) => self.quotient(&self.reduce(p)?, &self.reduce(q)?)?,
            Atom::Min(arms) => {
                let kept = extremes(self.reduce_each(arms)?, &|a, b| self.below(a, b));
                Poly::least(&kept)?
            }
            Atom::Max(arms) => {
                let kept = extremes(self.reduce_each(arms)?, &|a, b| self.below(b, a));
                Poly::greatest(&kept)?
            }
        };
        match reduced.as_atom() {
            Some(atom) => Ok(self.replacement(atom).cloned().unwrap_or(reduced)),
            None => Ok(reduced),
        }
    }

    fn replacement(&self, atom: &Atom) -> Option<&Poly> {
        self.replaced
            .iter()
            .find(|(known, _)| known == atom)
            .map(|(_, value)| value)
    }

    fn reduce_each(&self, arms: &[Poly]) -> Result<Vec<Poly>, Undecidable> {
        arms.iter().map(|arm| self.reduce(arm)).collect()
    }

    fn below(&self, a: &Poly, b: &Poly) -> bool {
        b.minus(a)
            .is_ok_and(|difference| self.nonnegative_inside(&difference))
    }

    /// By the equations whose leading coefficient is 1 or -1.
    fn rewrite(&self, mut poly: Poly) -> Result<Poly, Undecidable> {
        for _ in 0..MOST_REWRITES {
            let mut changed = false;
            for equation in &self.known.zero {
                let Some((_, 1 | -1)) = equation.leading() else {
                    continue;
                };
                let (quotient, rest) = poly.divide(equation)?;
                if !quotient.is_zero() {
                    poly = rest;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        Ok(poly)
    }

    /// `p / q` rounded down, of reduced polynomials.
    pub(super) fn quotient(&self, p: &Poly, q: &Poly) -> Result<Poly, Undecidable> {
        if q.is_zero() {
            return Ok(Poly::opaque_quotient(p.clone(), q.clone()));
        }
        let (mut whole, mut rest) = p.divide(q)?;
        if rest.is_zero() {
            return Ok(whole);
        }
        if !self.positive_inside(q) {
            return whole.plus(&Poly::opaque_quotient(rest, q.clone()));
        }
        for exact in &self.known.exact {
            let Some(times) = exact.divisor.exact_quotient(q) else {
                continue;
            };
            let (multiple, left) = rest.divide(&exact.dividend)?;
            if !multiple.is_zero() && left.terms().len() < rest.terms().len() {
                whole = whole.plus(&multiple.times(&times)?.times(&exact.quotient)?)?;
                rest = left;
            }
        }
        if rest.is_zero() {
            return Ok(whole);
        }
        whole.plus(&self.fraction(&rest, q)?)
    }

    /// The quotient where polynomial division has nothing more to divide.
    fn fraction(&self, p: &Poly, q: &Poly) -> Result<Poly, Undecidable> {
        let one = Poly::constant(1);
        // 0 <= p < q, and -q <= p < 0.
        if self.nonnegative_inside(p) {
            if self.nonnegative_inside(&q.minus(p)?.minus(&one)?) {
                return Ok(Poly::constant(0));
            }
        } else if self.nonnegative_inside(&p.negate()?.minus(&one)?)
            && self.nonnegative_inside(&p.plus(q)?)
        {
            return Ok(Poly::constant(-1));
        }
        if q.as_constant().is_some() {
            return p.quotient(q);
        }
        // (g * a) / (g * b) = a / b.
        let common = common_factor(p, q);
        if let (Some(a), Some(b)) = (p.exact_quotient(&common), q.exact_quotient(&common))
            && common != one
            && self.positive_inside(&common)
        {
            return self.quotient(&a, &b);
        }
        Ok(Poly::opaque_quotient(p.clone(), q.clone()))
    }

    /// `a / b` in author's names, `b` being positive.
    pub(super) fn quotient_for_display(&self, a: &Poly, b: &Poly) -> Result<Poly, Undecidable> {
        if let Ok(reduced) = self
            .reduce(a)
            .and_then(|a| self.quotient(&a, &self.reduce(b)?))
            && let Some(value) = reduced.as_constant()
        {
            return Ok(Poly::constant(value));
        }
        let common = common_factor(a, b);
        if let (Some(shorter), Some(divisor)) =
            (a.exact_quotient(&common), b.exact_quotient(&common))
            && divisor.as_constant().is_none_or(|divisor| divisor > 0)
            && self.positive(&common)
        {
            return self.factor_out(&shorter, &divisor);
        }
        self.factor_out(a, b)
    }

    /// `(c * p) / q` as `c * (p / q)` where `p` is a multiple of `q`.
    fn factor_out(&self, a: &Poly, b: &Poly) -> Result<Poly, Undecidable> {
        let (whole, rest) = a.divide(b)?;
        let factor = gcd(rest.content(), rest.coefficient(&Monomial::one()));
        if factor > 1 && b.as_constant().is_none() {
            let part = rest.shrink(factor)?;
            let quotient = Poly::opaque_quotient(part.clone(), b.clone());
            if self.reduce(&part.minus(&b.times(&quotient)?)?)?.is_zero() {
                return whole.plus(&quotient.scale(factor)?);
            }
        }
        a.quotient(b)
    }

    /// With `q * (p / q)` written as `p` where `p` is a multiple of `q`.
    pub(super) fn fold_quotients(&self, poly: &Poly) -> Result<Poly, Undecidable> {
        let mut folded = poly.clone();
        let atoms: Vec<Atom> = poly
            .terms()
            .keys()
            .filter(|monomial| monomial.degree() > 1)
            .flat_map(|monomial| monomial.factors().iter().map(|(atom, _)| atom.clone()))
            .collect();
        for atom in atoms {
            let Atom::Div(p, q) = &atom else { continue };
            let product = q.times(&Poly::from_atom(atom.clone()))?;
            let (times, rest) = folded.divide(&product)?;
            if !times.is_zero() && self.reduce(&p.minus(&product)?)?.is_zero() {
                folded = times.times(p)?.plus(&rest)?;
            }
        }
        Ok(folded)
    }
}

/// A common factor of two polynomials: a monomial with a positive coefficient.
fn common_factor(a: &Poly, b: &Poly) -> Poly {
    let terms = || a.terms().iter().chain(b.terms());
    let coefficient = terms().fold(0, |common, (_, coefficient)| gcd(common, *coefficient));
    let monomial = terms()
        .map(|(monomial, _)| monomial.clone())
        .reduce(|m, n| m.common(&n));
    Poly::from_monomial(monomial.unwrap_or_default(), coefficient.max(1))
}
