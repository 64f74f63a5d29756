//! Polynomials with integer coefficients over atoms.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::tree::{DimTree, Symbol};
use super::{Undecidable, show};
use crate::ir;

/// What a polynomial does not look into.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Atom {
    /// A name.
    Symbol(Symbol),
    /// A quotient rounded down.
    Div(Poly, Poly),
    /// The smallest of several; sorted, without repetition, none of them a minimum.
    Min(Vec<Poly>),
    /// The largest of several; sorted, without repetition, none of them a maximum.
    Max(Vec<Poly>),
}

/// A product of atoms with exponents of at least 1, sorted by atom.
///
/// Ordered by total degree, then lexicographically: an order that products
/// keep, as polynomial division needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Monomial(Vec<(Atom, u32)>);

impl Monomial {
    /// The empty product.
    pub fn one() -> Self {
        Self::default()
    }

    /// Just `atom`.
    pub fn atom(atom: Atom) -> Self {
        Self(vec![(atom, 1)])
    }

    /// The atoms and their exponents.
    pub fn factors(&self) -> &[(Atom, u32)] {
        &self.0
    }

    /// Whether it is the empty product.
    pub fn is_one(&self) -> bool {
        self.0.is_empty()
    }

    /// The sum of the exponents.
    pub fn degree(&self) -> u64 {
        self.0
            .iter()
            .map(|(_, exponent)| u64::from(*exponent))
            .sum()
    }

    fn times(&self, other: &Self) -> Result<Self, Undecidable> {
        let mut powers: BTreeMap<Atom, u32> = self.0.iter().cloned().collect();
        for (atom, exponent) in &other.0 {
            let power = powers.entry(atom.clone()).or_insert(0);
            *power = power.checked_add(*exponent).ok_or(Undecidable::Overflow)?;
        }
        Ok(Self(powers.into_iter().collect()))
    }

    /// `self / other` if `other` is a factor of it.
    pub(super) fn divided_by(&self, other: &Self) -> Option<Self> {
        let mut rest = self.0.clone();
        for (atom, exponent) in &other.0 {
            let at = rest.iter().position(|(a, e)| a == atom && e >= exponent)?;
            rest[at].1 -= exponent;
            if rest[at].1 == 0 {
                rest.remove(at);
            }
        }
        Some(Self(rest))
    }

    /// The largest monomial that divides both.
    pub(super) fn common(&self, other: &Self) -> Self {
        let shared = self.0.iter().filter_map(|(atom, exponent)| {
            let (_, theirs) = other.0.iter().find(|(a, _)| a == atom)?;
            Some((atom.clone(), *exponent.min(theirs)))
        });
        Self(shared.collect())
    }
}

impl PartialOrd for Monomial {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Monomial {
    fn cmp(&self, other: &Self) -> Ordering {
        self.degree().cmp(&other.degree()).then_with(|| {
            // The first atom on which they differ decides: whichever has more of it.
            for (ours, theirs) in self.0.iter().zip(&other.0) {
                match ours.0.cmp(&theirs.0) {
                    Ordering::Less => return Ordering::Greater,
                    Ordering::Greater => return Ordering::Less,
                    Ordering::Equal => match ours.1.cmp(&theirs.1) {
                        Ordering::Equal => {}
                        unequal => return unequal,
                    },
                }
            }
            self.0.len().cmp(&other.0.len())
        })
    }
}

/// A polynomial in normal form, and how it prints.
///
/// Two are equal (`==`) if their terms are; how they were written does not
/// matter. Equality under facts is [`Facts::prove`](super::Facts::prove)'s to
/// decide.
#[derive(Debug, Clone)]
pub struct Poly {
    /// Coefficients that are not 0.
    terms: BTreeMap<Monomial, i64>,
    /// An expression of the same value in the author's form, if that is as short
    /// as what would be made from the terms.
    written: Option<Box<DimTree>>,
}

impl PartialEq for Poly {
    fn eq(&self, other: &Self) -> bool {
        self.terms == other.terms
    }
}

impl Eq for Poly {}

impl PartialOrd for Poly {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Poly {
    fn cmp(&self, other: &Self) -> Ordering {
        self.terms.cmp(&other.terms)
    }
}

impl Poly {
    /// A constant.
    pub fn constant(value: i64) -> Self {
        Self::from_monomial(Monomial::one(), value)
    }

    /// A symbol.
    pub fn symbol(symbol: Symbol) -> Self {
        Self::from_atom(Atom::Symbol(symbol))
    }

    /// The `Dim` generic `name`.
    pub fn name(name: impl Into<String>) -> Self {
        Self::symbol(Symbol::generic(name))
    }

    /// The integer scalar parameter `name`.
    pub fn scalar(name: impl Into<String>) -> Self {
        Self::symbol(Symbol::scalar(name))
    }

    /// The number of elements of the pack `name`.
    pub fn count(name: impl Into<String>) -> Self {
        Self::symbol(Symbol::count(name))
    }

    /// From terms whose coefficients are not 0.
    pub(super) fn from_terms(terms: BTreeMap<Monomial, i64>) -> Self {
        Self {
            terms,
            written: None,
        }
    }

    /// One atom.
    pub(super) fn from_atom(atom: Atom) -> Self {
        Self::from_monomial(Monomial::atom(atom), 1)
    }

    /// `coefficient * monomial`.
    pub(super) fn from_monomial(monomial: Monomial, coefficient: i64) -> Self {
        let term = (coefficient != 0).then_some((monomial, coefficient));
        Self::from_terms(term.into_iter().collect())
    }

    /// This polynomial, printed as `tree`, which has the same value, if that is
    /// short enough.
    pub(super) fn written_as(mut self, tree: DimTree) -> Self {
        let made = show::tree(&self.terms, &tree.symbols());
        let shorter = made.size() < tree.size();
        self.written = Some(Box::new(if shorter { made } else { tree }));
        self
    }

    /// The terms: monomials with coefficients that are not 0, smallest monomial first.
    pub fn terms(&self) -> &BTreeMap<Monomial, i64> {
        &self.terms
    }

    /// The coefficient of `monomial`.
    pub(super) fn coefficient(&self, monomial: &Monomial) -> i64 {
        self.terms.get(monomial).copied().unwrap_or(0)
    }

    /// The largest monomial and its coefficient; None for 0.
    pub(super) fn leading(&self) -> Option<(&Monomial, i64)> {
        self.terms
            .last_key_value()
            .map(|(monomial, coefficient)| (monomial, *coefficient))
    }

    /// Its value if it is a constant.
    pub fn as_constant(&self) -> Option<i64> {
        match self.terms.len() {
            0 => Some(0),
            1 => self.terms.get(&Monomial::one()).copied(),
            _ => None,
        }
    }

    /// Its symbol if it is just one.
    pub fn as_symbol(&self) -> Option<&Symbol> {
        let (monomial, 1) = self.leading()? else {
            return None;
        };
        match (self.terms.len(), monomial.factors()) {
            (1, [(Atom::Symbol(symbol), 1)]) => Some(symbol),
            _ => None,
        }
    }

    /// Whether it is 0.
    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// `self + other`.
    ///
    /// # Errors
    /// [`Undecidable::Overflow`] if a coefficient does not fit.
    pub fn add(&self, other: &Self) -> Result<Self, Undecidable> {
        let tree = DimTree::Add(Box::new(self.to_tree()), Box::new(other.to_tree()));
        Ok(self.plus(other)?.written_as(tree))
    }

    /// `self - other`.
    ///
    /// # Errors
    /// [`Undecidable::Overflow`] if a coefficient does not fit.
    pub fn sub(&self, other: &Self) -> Result<Self, Undecidable> {
        let tree = DimTree::Sub(Box::new(self.to_tree()), Box::new(other.to_tree()));
        Ok(self.minus(other)?.written_as(tree))
    }

    /// `self * other`.
    ///
    /// # Errors
    /// [`Undecidable::Overflow`] if a coefficient or an exponent does not fit,
    /// or if the product has too many terms to work with.
    pub fn mul(&self, other: &Self) -> Result<Self, Undecidable> {
        let tree = DimTree::Mul(Box::new(self.to_tree()), Box::new(other.to_tree()));
        Ok(self.times(other)?.written_as(tree))
    }

    /// `self + other`, for proofs: it keeps no author's form.
    pub(super) fn plus(&self, other: &Self) -> Result<Self, Undecidable> {
        let mut terms = self.terms.clone();
        add_terms(&mut terms, other)?;
        Ok(Self::from_terms(terms))
    }

    /// `self - other`, for proofs.
    pub(super) fn minus(&self, other: &Self) -> Result<Self, Undecidable> {
        let mut terms = self.terms.clone();
        for (monomial, coefficient) in &other.terms {
            let left = terms.get(monomial).copied().unwrap_or(0);
            let left = left
                .checked_sub(*coefficient)
                .ok_or(Undecidable::Overflow)?;
            set_term(&mut terms, monomial.clone(), left);
        }
        Ok(Self::from_terms(terms))
    }

    /// `self * other`, for proofs.
    pub(super) fn times(&self, other: &Self) -> Result<Self, Undecidable> {
        if self.terms.len().saturating_mul(other.terms.len()) > MOST_TERMS {
            return Err(Undecidable::Overflow);
        }
        let mut terms = BTreeMap::new();
        for (monomial, coefficient) in &self.terms {
            for (other_monomial, other_coefficient) in &other.terms {
                let product = coefficient.checked_mul(*other_coefficient);
                let product = product.ok_or(Undecidable::Overflow)?;
                add_term(&mut terms, monomial.times(other_monomial)?, product)?;
            }
        }
        Ok(Self::from_terms(terms))
    }

    /// `self * factor`, for proofs.
    pub(super) fn scale(&self, factor: i64) -> Result<Self, Undecidable> {
        Self::constant(factor).times(self)
    }

    /// `-self`, for proofs.
    pub(super) fn negate(&self) -> Result<Self, Undecidable> {
        Self::constant(0).minus(self)
    }

    /// The symbols in it, those inside atoms included.
    pub fn symbols(&self) -> BTreeSet<Symbol> {
        let mut found = BTreeSet::new();
        self.visit_atoms(&mut |atom| {
            if let Atom::Symbol(symbol) = atom {
                found.insert(symbol.clone());
            }
        });
        found
    }

    /// Whether the symbol `name` is in it.
    pub fn mentions(&self, name: &str) -> bool {
        let mut found = false;
        self.visit_atoms(&mut |atom| {
            found |= matches!(atom, Atom::Symbol(symbol) if symbol.name == name);
        });
        found
    }

    /// Calls `visit` with every atom, inner ones before the atoms that hold them.
    pub(super) fn visit_atoms(&self, visit: &mut dyn FnMut(&Atom)) {
        for monomial in self.terms.keys() {
            for (atom, _) in monomial.factors() {
                match atom {
                    Atom::Symbol(_) => {}
                    Atom::Div(p, q) => {
                        p.visit_atoms(visit);
                        q.visit_atoms(visit);
                    }
                    Atom::Min(arms) | Atom::Max(arms) => {
                        for arm in arms {
                            arm.visit_atoms(visit);
                        }
                    }
                }
                visit(atom);
            }
        }
    }

    /// The polynomial with every symbol whose name `map` knows replaced: of a
    /// generic or scalar by its value, of a pack by its element count.
    ///
    /// Divisors stay positive if the requirements under which they were
    /// normalized hold after the substitution too, which is for the caller to prove.
    ///
    /// # Errors
    /// [`Undecidable::Overflow`] if a number does not fit.
    pub fn substitute(&self, map: &BTreeMap<String, Self>) -> Result<Self, Undecidable> {
        if map.is_empty() {
            return Ok(self.clone());
        }
        let value = self.rebuild(&mut |atom| match atom {
            Atom::Symbol(symbol) => Ok(map
                .get(&symbol.name)
                .cloned()
                .unwrap_or_else(|| Self::symbol(symbol.clone()))),
            Atom::Div(p, q) => p.substitute(map)?.quotient(&q.substitute(map)?),
            Atom::Min(arms) => Self::least(&substitute_all(arms, map)?),
            Atom::Max(arms) => Self::greatest(&substitute_all(arms, map)?),
        })?;
        let tree = self.to_tree();
        let tree = tree.substitute(&|name| map.get(name).map(Self::to_tree));
        Ok(value.written_as(tree))
    }

    /// The polynomial with every atom of its terms replaced.
    pub(super) fn rebuild(
        &self,
        replacement: &mut dyn FnMut(&Atom) -> Result<Self, Undecidable>,
    ) -> Result<Self, Undecidable> {
        let mut sum = BTreeMap::new();
        for (monomial, coefficient) in &self.terms {
            let mut product = Self::constant(*coefficient);
            for (atom, exponent) in monomial.factors() {
                if *exponent > HIGHEST_POWER {
                    return Err(Undecidable::Overflow);
                }
                let value = replacement(atom)?;
                for _ in 0..*exponent {
                    product = product.times(&value)?;
                }
            }
            add_terms(&mut sum, &product)?;
            if sum.len() > MOST_TERMS {
                return Err(Undecidable::Overflow);
            }
        }
        Ok(Self::from_terms(sum))
    }

    /// As an expression: in the author's form where that is as short as one made
    /// from the terms.
    pub fn to_tree(&self) -> DimTree {
        match &self.written {
            Some(tree) => (**tree).clone(),
            None => show::tree(&self.terms, &[]),
        }
    }

    /// As the descriptor has it. None if it mentions the element count of a pack.
    pub fn to_expr(&self) -> Option<ir::DimExpr> {
        self.to_tree().to_expr()
    }
}

impl std::fmt::Display for Poly {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.to_tree().fmt(f)
    }
}

/// Polynomials beyond this size are not worked with.
const MOST_TERMS: usize = 512;

/// Powers beyond this are not multiplied out.
const HIGHEST_POWER: u32 = 16;

fn substitute_all(arms: &[Poly], map: &BTreeMap<String, Poly>) -> Result<Vec<Poly>, Undecidable> {
    arms.iter().map(|arm| arm.substitute(map)).collect()
}

/// `terms += other`.
fn add_terms(terms: &mut BTreeMap<Monomial, i64>, other: &Poly) -> Result<(), Undecidable> {
    for (monomial, coefficient) in &other.terms {
        add_term(terms, monomial.clone(), *coefficient)?;
    }
    Ok(())
}

fn add_term(
    terms: &mut BTreeMap<Monomial, i64>,
    monomial: Monomial,
    coefficient: i64,
) -> Result<(), Undecidable> {
    let sum = terms.get(&monomial).copied().unwrap_or(0);
    let sum = sum.checked_add(coefficient).ok_or(Undecidable::Overflow)?;
    set_term(terms, monomial, sum);
    Ok(())
}

fn set_term(terms: &mut BTreeMap<Monomial, i64>, monomial: Monomial, coefficient: i64) {
    if coefficient == 0 {
        terms.remove(&monomial);
    } else {
        terms.insert(monomial, coefficient);
    }
}
