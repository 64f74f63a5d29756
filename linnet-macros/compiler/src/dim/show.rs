//! How a polynomial prints: as an expression in the author's own form where
//! that is short, else in a form made from its terms.

use std::collections::BTreeMap;

use super::poly::{Atom, Monomial, Poly};
use super::tree::{DimTree, Symbol};

/// An expression made from `terms`. Names stand in the order of `order`; those
/// that it lacks follow, sorted.
pub(super) fn tree(terms: &BTreeMap<Monomial, i64>, order: &[Symbol]) -> DimTree {
    let made = sum(terms, order);
    match remainder(terms, order) {
        Some(short) if short.size() < made.size() => short,
        _ => made,
    }
}

fn sum(terms: &BTreeMap<Monomial, i64>, order: &[Symbol]) -> DimTree {
    let mut sorted: Vec<_> = terms.iter().map(|(m, c)| (m, *c, rank(m, order))).collect();
    // Constants last, what is added before what is subtracted.
    sorted.sort_by(|(a, ca, ra), (b, cb, rb)| {
        (*ca < 0, a.is_one(), ra, a).cmp(&(*cb < 0, b.is_one(), rb, b))
    });
    let mut total = None;
    for (monomial, coefficient, _) in sorted {
        total = Some(match (total, coefficient.checked_abs()) {
            (None, Some(size)) if coefficient < 0 && !monomial.is_one() => DimTree::Sub(
                Box::new(DimTree::Const(0)),
                Box::new(product(monomial, size, order)),
            ),
            (None, _) => product(monomial, coefficient, order),
            (Some(total), Some(size)) if coefficient < 0 => {
                DimTree::Sub(Box::new(total), Box::new(product(monomial, size, order)))
            }
            (Some(total), _) => DimTree::Add(
                Box::new(total),
                Box::new(product(monomial, coefficient, order)),
            ),
        });
    }
    total.unwrap_or(DimTree::Const(0))
}

/// Where the names of a monomial stand in `order`, first to last.
fn rank(monomial: &Monomial, order: &[Symbol]) -> Vec<usize> {
    let mut ranks: Vec<_> = monomial
        .factors()
        .iter()
        .map(|(a, _)| atom_rank(a, order))
        .collect();
    ranks.sort_unstable();
    ranks
}

fn atom_rank(atom: &Atom, order: &[Symbol]) -> usize {
    let place = |symbol: &Symbol| {
        order
            .iter()
            .position(|s| s == symbol)
            .unwrap_or(order.len())
    };
    let least = |polys: &[&Poly]| {
        let symbols = polys.iter().flat_map(|poly| poly.symbols());
        symbols
            .map(|symbol| place(&symbol))
            .min()
            .unwrap_or(order.len())
    };
    match atom {
        Atom::Symbol(symbol) => place(symbol),
        Atom::Div(p, q) => least(&[p, q]),
        Atom::Min(arms) | Atom::Max(arms) => least(&arms.iter().collect::<Vec<_>>()),
    }
}

fn product(monomial: &Monomial, coefficient: i64, order: &[Symbol]) -> DimTree {
    let mut factors: Vec<_> = monomial.factors().iter().collect();
    factors.sort_by_key(|(atom, _)| (atom_rank(atom, order), atom.clone()));
    let mut total = (coefficient != 1 || factors.is_empty()).then_some(DimTree::Const(coefficient));
    for (atom, exponent) in factors {
        for _ in 0..*exponent {
            let factor = atom_tree(atom);
            total = Some(match total {
                None => factor,
                Some(total) => DimTree::Mul(Box::new(total), Box::new(factor)),
            });
        }
    }
    total.unwrap_or(DimTree::Const(coefficient))
}

/// One atom as an expression.
pub(super) fn atom_tree(atom: &Atom) -> DimTree {
    match atom {
        Atom::Symbol(symbol) => DimTree::Atom(symbol.clone()),
        Atom::Div(p, q) => DimTree::Div(Box::new(p.to_tree()), Box::new(q.to_tree())),
        Atom::Min(arms) => fold(arms, DimTree::Min),
        Atom::Max(arms) => fold(arms, DimTree::Max),
    }
}

fn fold(arms: &[Poly], node: fn(Box<DimTree>, Box<DimTree>) -> DimTree) -> DimTree {
    let trees = arms.iter().map(Poly::to_tree);
    trees
        .reduce(|a, b| node(Box::new(a), Box::new(b)))
        .unwrap_or(DimTree::Const(0))
}

/// With `p - q * (p / q)` written as `p % q`, if that is somewhere in the terms.
fn remainder(terms: &BTreeMap<Monomial, i64>, order: &[Symbol]) -> Option<DimTree> {
    let atoms = terms.keys().flat_map(|monomial| monomial.factors());
    for (atom, _) in atoms {
        let Atom::Div(p, q) = atom else { continue };
        let quotient = Poly::from_atom(atom.clone());
        let whole = p.minus(&q.times(&quotient).ok()?).ok()?;
        let (leading, unit) = whole.leading()?;
        let factor = terms.get(leading).copied().unwrap_or(0);
        if factor == 0 || factor.checked_rem(unit) != Some(0) {
            continue;
        }
        let factor = factor.checked_div(unit)?;
        let all = Poly::from_terms(terms.clone());
        let rest = all.minus(&whole.scale(factor).ok()?).ok()?;
        if rest.terms().len() + 1 >= terms.len() {
            continue;
        }
        let part = DimTree::Rem(Box::new(p.to_tree()), Box::new(q.to_tree()));
        let part = match factor {
            1 => part,
            _ => DimTree::Mul(Box::new(DimTree::Const(factor)), Box::new(part)),
        };
        if rest.is_zero() {
            return Some(part);
        }
        let rest = tree(rest.terms(), order);
        return Some(DimTree::Add(Box::new(rest), Box::new(part)));
    }
    None
}
