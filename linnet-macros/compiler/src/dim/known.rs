//! Facts in solved form.
//!
//! Equalities become substitutions where they can (`H == Blocks * 32` gives
//! `H := 32 * Blocks`), and so does divisibility: `H % Heads == 0` introduces a
//! symbol `k` for `H / Heads` and gives `H := Heads * k`. Polynomials in solved
//! form never leave this folder, so nobody sees such a symbol.

use super::Undecidable;
use super::facts::Claim;
use super::poly::{Atom, Monomial, Poly};
use super::prove::Prover;
use super::tree::{Symbol, SymbolKind};
use crate::ir::Comparison;

/// Facts in solved form. All polynomials are reduced by the substitutions.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// Symbols and their values, which mention none of these symbols.
    pub(super) substitutions: Vec<(Symbol, Poly)>,
    /// Quotients without remainder.
    pub(super) exact: Vec<Exact>,
    /// What is 0 and could not be made a substitution.
    pub(super) zero: Vec<Poly>,
    /// What is at least 0.
    pub(super) nonnegative: Vec<Poly>,
    /// What is not 0, of unknown sign.
    pub(super) nonzero: Vec<Poly>,
    /// Whether the facts contradict each other plainly.
    pub(super) absurd: bool,
    /// How many symbols were introduced.
    n_introduced: usize,
}

/// `dividend == divisor * quotient`.
#[derive(Debug, Clone)]
pub(super) struct Exact {
    pub(super) dividend: Poly,
    pub(super) divisor: Poly,
    pub(super) quotient: Poly,
}

/// Equalities are gone through this often: one may help to solve another.
const ROUNDS: usize = 4;

impl Known {
    /// Solves facts. What overflows is left out, which loses knowledge only.
    pub(super) fn solve(claims: &[Claim]) -> Self {
        let mut known = Self::default();
        // Bounds first: quotients need to know that their divisors are positive.
        for claim in claims {
            if let Ok(Some(bound)) = bound(claim) {
                known.nonnegative.push(bound);
            }
        }
        let equalities: Vec<Poly> = of_kind(claims, Comparison::Eq);
        for _ in 0..ROUNDS {
            let mut progress = false;
            for equality in &equalities {
                progress |= known.add_equality(equality).unwrap_or(false);
            }
            if !progress {
                break;
            }
        }
        for difference in of_kind(claims, Comparison::Ne) {
            known.add_inequality(&difference);
        }
        known.add_positive_factors();
        known
    }

    /// Learns that the factors of what is positive are positive, and the
    /// quotients without remainder of what is positive.
    fn add_positive_factors(&mut self) {
        let one = Poly::constant(1);
        let mut positive: Vec<Poly> = Vec::new();
        for exact in &self.exact {
            if Prover::new(self).positive(&exact.dividend) {
                positive.push(exact.quotient.clone());
            }
        }
        for bound in &self.nonnegative {
            let Some((monomial, 1..)) = bound.leading() else {
                continue;
            };
            let plain = |(atom, _): &(Atom, u32)| matches!(atom, Atom::Symbol(symbol) if symbol.is_nonnegative());
            if bound.terms().len() == 2
                && bound.coefficient(&Monomial::one()) < 0
                && monomial.degree() > 1
                && monomial.factors().iter().all(plain)
            {
                let factors = monomial.factors().iter();
                positive.extend(factors.map(|(atom, _)| Poly::from_atom(atom.clone())));
            }
        }
        for factor in positive {
            let bound = factor.minus(&one);
            self.nonnegative
                .extend(bound.ok().filter(|bound| !self.nonnegative.contains(bound)));
        }
    }

    /// Learns `difference == 0`. Returns whether that was news.
    fn add_equality(&mut self, difference: &Poly) -> Result<bool, Undecidable> {
        let reduced = Prover::new(self).reduce(difference)?;
        if reduced.is_zero() {
            return Ok(false);
        }
        let content = reduced.content();
        if content == 0 || reduced.coefficient(&Monomial::one()) % content != 0 {
            self.absurd = true;
            return Ok(false);
        }
        let mut equation = reduced.shrink(content)?;
        if let Some((dividend, divisor)) = exact_division(&equation)
            && Prover::new(self).positive(&divisor)
        {
            let quotient = self.introduce(Prover::new(self).nonnegative(&dividend));
            equation = dividend.minus(&divisor.times(&quotient)?)?;
            self.exact.push(Exact {
                dividend,
                divisor,
                quotient,
            });
        }
        if let Some((symbol, value)) = solved(&equation)? {
            if symbol.is_nonnegative() && !value.plainly_nonnegative() {
                self.nonnegative.push(value.clone());
            }
            self.substitutions.push((symbol, value));
            self.reduce_all();
        } else if self.zero.contains(&equation) {
            return Ok(false);
        } else {
            self.zero.push(equation);
            self.reduce_all();
        }
        Ok(true)
    }

    /// A symbol for a quotient. Its name is none that an author can write.
    fn introduce(&mut self, nonnegative: bool) -> Poly {
        self.n_introduced += 1;
        let kind = if nonnegative {
            SymbolKind::Generic
        } else {
            SymbolKind::Scalar
        };
        Poly::symbol(Symbol {
            name: format!("quotient {}", self.n_introduced),
            kind,
        })
    }

    /// Brings everything up to date with the substitutions.
    fn reduce_all(&mut self) {
        let old = self.clone();
        let prover = Prover::new(&old);
        let reduce = |poly: &Poly| prover.reduce(poly).unwrap_or_else(|_| poly.clone());
        for (_, value) in &mut self.substitutions {
            *value = reduce(value);
        }
        for exact in &mut self.exact {
            exact.dividend = reduce(&exact.dividend);
            exact.divisor = reduce(&exact.divisor);
        }
        for bound in &mut self.nonnegative {
            *bound = reduce(bound);
        }
        self.nonnegative.sort();
        self.nonnegative.dedup();
    }

    /// Learns `difference != 0`.
    fn add_inequality(&mut self, difference: &Poly) {
        let Ok(reduced) = Prover::new(self).reduce(difference) else {
            return;
        };
        if reduced.is_zero() {
            self.absurd = true;
            return;
        }
        let content = reduced.content();
        if content == 0 || reduced.coefficient(&Monomial::one()) % content != 0 {
            return;
        }
        let Ok(reduced) = reduced.shrink(content) else {
            return;
        };
        let Ok(negated) = reduced.negate() else {
            return;
        };
        let one = Poly::constant(1);
        for side in [&reduced, &negated] {
            if Prover::new(self).nonnegative(side) {
                self.nonnegative.extend(side.minus(&one));
                return;
            }
        }
        self.nonzero.push(reduced);
    }
}

/// What a bound says is at least 0; None for other claims.
fn bound(claim: &Claim) -> Result<Option<Poly>, Undecidable> {
    let (Claim { left, right, .. }, one) = (claim, Poly::constant(1));
    Ok(Some(match claim.comparison {
        Comparison::Lt => right.minus(left)?.minus(&one)?,
        Comparison::Le => right.minus(left)?,
        Comparison::Gt => left.minus(right)?.minus(&one)?,
        Comparison::Ge => left.minus(right)?,
        Comparison::Eq | Comparison::Ne => return Ok(None),
    }))
}

/// `left - right` of the claims with this comparison.
fn of_kind(claims: &[Claim], comparison: Comparison) -> Vec<Poly> {
    let chosen = claims.iter().filter(|claim| claim.comparison == comparison);
    chosen
        .filter_map(|claim| claim.left.minus(&claim.right).ok())
        .collect()
}

/// The dividend and divisor if the equation says that a quotient has no remainder.
fn exact_division(equation: &Poly) -> Option<(Poly, Poly)> {
    let atoms = equation.terms().keys().flat_map(Monomial::factors);
    atoms.into_iter().find_map(|(atom, _)| {
        let Atom::Div(p, q) = atom else { return None };
        let quotient = Poly::from_atom(atom.clone());
        let remainder = p.minus(&q.times(&quotient).ok()?).ok()?;
        let same = remainder == *equation || remainder.negate().ok()? == *equation;
        same.then(|| (p.clone(), q.clone()))
    })
}

/// The equation solved for a symbol that occurs in it once, as a term of
/// its own with coefficient 1 or -1.
fn solved(equation: &Poly) -> Result<Option<(Symbol, Poly)>, Undecidable> {
    let mut found: Option<(Symbol, Poly)> = None;
    for (monomial, coefficient) in equation.terms() {
        let [(Atom::Symbol(symbol), 1)] = monomial.factors() else {
            continue;
        };
        if coefficient.checked_abs() != Some(1) {
            continue;
        }
        let term = Poly::from_monomial(monomial.clone(), *coefficient);
        let rest = equation.minus(&term)?;
        if rest.mentions(&symbol.name) {
            continue;
        }
        let value = if *coefficient == 1 {
            rest.negate()?
        } else {
            rest
        };
        if value.plainly_nonnegative() {
            return Ok(Some((symbol.clone(), value)));
        }
        found.get_or_insert((symbol.clone(), value));
    }
    Ok(found)
}
