//! Which requirement would make a claim provable.

use super::divide::gcd;
use super::facts::Facts;
use super::poly::{Atom, Monomial, Poly};
use super::show;
use super::tree::{Symbol, SymbolKind};
use super::{DimTree, Undecidable};
use crate::ir::Comparison;

/// A clause that one could write.
#[derive(Clone)]
struct Candidate {
    left: Poly,
    comparison: Comparison,
    right: Poly,
    text: String,
}

/// At most this many clauses are tried, alone and in pairs.
const MOST_CANDIDATES: usize = 10;

/// The clause or clauses to add; see [`Facts::missing`].
pub(super) fn requirement(
    facts: &Facts,
    left: &Poly,
    comparison: Comparison,
    right: &Poly,
) -> Option<String> {
    if facts.prove(left, comparison, right) || facts.refute(left, comparison, right) {
        return None;
    }
    let mut candidates = divisibility(left, right).unwrap_or_default();
    candidates.truncate(MOST_CANDIDATES);
    candidates.extend(itself(left, comparison, right).ok());
    candidates.retain(|candidate| {
        let symbols = || {
            candidate
                .left
                .symbols()
                .into_iter()
                .chain(candidate.right.symbols())
        };
        symbols().next().is_some() && symbols().all(|symbol| symbol.kind != SymbolKind::Count)
    });
    let helps = |chosen: &[&Candidate]| {
        let mut more = facts.clone();
        for candidate in chosen {
            more.assume(&candidate.left, candidate.comparison, &candidate.right);
        }
        more.prove(left, comparison, right)
            && !more.contradiction()
            && !forces_zero(facts, &more, left, right)
    };
    // One clause, then two; an equation that follows from neither stands last.
    let last = match comparison {
        Comparison::Eq if candidates.len() > 1 => candidates.pop(),
        _ => None,
    };
    for candidate in &candidates {
        if helps(&[candidate]) {
            return Some(candidate.text.clone());
        }
    }
    for (at, first) in candidates.iter().enumerate() {
        for second in &candidates[at + 1..] {
            if helps(&[first, second]) {
                return Some(format!("{}, {}", first.text, second.text));
            }
        }
    }
    last.filter(|last| helps(&[last])).map(|last| last.text)
}

/// Whether the new facts allow a generic no value but 0: `H == 3 * H` is no help.
fn forces_zero(old: &Facts, new: &Facts, left: &Poly, right: &Poly) -> bool {
    let zero = Poly::constant(0);
    let symbols = left.symbols().into_iter().chain(right.symbols());
    symbols
        .filter(Symbol::is_nonnegative)
        .map(Poly::symbol)
        .any(|symbol| {
            new.prove(&symbol, Comparison::Eq, &zero) && !old.prove(&symbol, Comparison::Eq, &zero)
        })
}

/// That the quotients in the claim have no remainder.
fn divisibility(left: &Poly, right: &Poly) -> Result<Vec<Candidate>, Undecidable> {
    let mut quotients = Vec::new();
    for side in [left, right] {
        side.visit_atoms(&mut |atom| {
            if let Atom::Div(p, q) = atom
                && !quotients.contains(&(p.clone(), q.clone()))
            {
                quotients.push((p.clone(), q.clone()));
            }
        });
    }
    let mut found = Vec::new();
    for (p, q) in quotients {
        // The names of the dividend alone first: `H % Heads == 0` for `2 * H / Heads`.
        let mut dividends: Vec<Poly> = p.symbols().into_iter().map(Poly::symbol).collect();
        let common = gcd(p.content(), p.coefficient(&Monomial::one()));
        if common > 1 {
            dividends.push(p.shrink(common)?);
        }
        dividends.push(p.clone());
        dividends.dedup();
        for dividend in dividends.into_iter().filter(|dividend| *dividend != q) {
            let quotient = dividend.quotient(&q)?;
            let remainder = DimTree::Rem(Box::new(dividend.to_tree()), Box::new(q.to_tree()));
            found.push(Candidate {
                left: dividend.sub(&q.mul(&quotient)?)?,
                comparison: Comparison::Eq,
                right: Poly::constant(0),
                text: format!("{remainder} == 0"),
            });
        }
    }
    Ok(found)
}

/// The claim itself, as one would write it.
fn itself(left: &Poly, comparison: Comparison, right: &Poly) -> Result<Candidate, Undecidable> {
    let (small, large, strict) = match comparison {
        Comparison::Eq | Comparison::Ne => {
            let operator = if comparison == Comparison::Eq {
                "=="
            } else {
                "!="
            };
            let (left, right) = if left.as_constant().is_some() {
                (right, left)
            } else {
                (left, right)
            };
            return Ok(Candidate {
                left: left.clone(),
                comparison,
                right: right.clone(),
                text: format!("{left} {operator} {right}"),
            });
        }
        Comparison::Lt => (left, right, true),
        Comparison::Le => (left, right, false),
        Comparison::Gt => (right, left, true),
        Comparison::Ge => (right, left, false),
    };
    // What is subtracted goes to the other side; `0 <= S - 1` becomes `0 < S`.
    let mut gap = large.sub(small)?;
    let mut strict = strict;
    if !strict && gap.coefficient(&Monomial::one()) == -1 {
        gap = gap.add(&Poly::constant(1))?;
        strict = true;
    } else if strict && gap.coefficient(&Monomial::one()) == 1 {
        gap = gap.sub(&Poly::constant(1))?;
        strict = false;
    }
    let order: Vec<Symbol> = [left, right]
        .iter()
        .flat_map(|side| side.to_tree().symbols())
        .collect();
    let side = |sign: i64| -> Result<Poly, Undecidable> {
        let mut terms = std::collections::BTreeMap::new();
        for (monomial, coefficient) in gap.terms() {
            if coefficient.signum() == sign {
                let size = coefficient.checked_abs().ok_or(Undecidable::Overflow)?;
                terms.insert(monomial.clone(), size);
            }
        }
        let tree = show::tree(&terms, &order);
        Ok(Poly::from_terms(terms).written_as(tree))
    };
    let (small, large) = (side(-1)?, side(1)?);
    let (left, comparison, operator, right) = match (small.as_constant().is_some(), strict) {
        (true, true) => (large, Comparison::Gt, ">", small),
        (true, false) => (large, Comparison::Ge, ">=", small),
        (false, true) => (small, Comparison::Lt, "<", large),
        (false, false) => (small, Comparison::Le, "<=", large),
    };
    let text = format!("{left} {operator} {right}");
    Ok(Candidate {
        left,
        comparison,
        right,
        text,
    })
}
