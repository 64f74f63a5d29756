//! Solving an equation for a generic.

use super::facts::Facts;
use super::poly::{Atom, Monomial, Poly};
use crate::ir::Comparison;

/// The value of `name` that makes `left == right`; see [`Facts::solve_for`].
pub(super) fn solve_for(facts: &Facts, name: &str, left: &Poly, right: &Poly) -> Option<Poly> {
    if right.mentions(name) {
        return None;
    }
    // left = factor * name + rest
    let (mut factor, mut rest) = (Poly::constant(0), Poly::constant(0));
    for (monomial, coefficient) in left.terms() {
        let named = monomial
            .factors()
            .iter()
            .find_map(|(atom, exponent)| match atom {
                Atom::Symbol(symbol) if symbol.name == name && *exponent == 1 => Some(atom.clone()),
                _ => None,
            });
        match named {
            Some(atom) => {
                let cofactor = monomial.divided_by(&Monomial::atom(atom))?;
                factor = factor
                    .add(&Poly::from_monomial(cofactor, *coefficient))
                    .ok()?;
            }
            None => {
                let term = Poly::from_monomial(monomial.clone(), *coefficient);
                rest = rest.add(&term).ok()?;
            }
        }
    }
    if factor.is_zero() || factor.mentions(name) || rest.mentions(name) {
        return None;
    }
    let difference = if rest.is_zero() {
        right.clone()
    } else {
        right.sub(&rest).ok()?
    };
    if factor.as_constant() == Some(1) {
        return Some(difference);
    }
    if let Some(quotient) = difference.exact_quotient(&factor) {
        return Some(quotient);
    }
    let quotient = facts.divide(&difference, &factor).ok()?;
    let product = factor.mul(&quotient).ok()?;
    facts
        .prove(&product, Comparison::Eq, &difference)
        .then_some(quotient)
}
