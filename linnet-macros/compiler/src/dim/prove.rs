//! Proofs of equalities and inequalities.
//!
//! An inequality is proved by refuting its negation: if some combination, with
//! factors of at least 0, of what is known to be at least 0 and of the negation
//! adds up to -1, then the negation is impossible. Monomials count as unknowns
//! of their own, products of two known bounds as further bounds. Minima and
//! maxima are taken apart by cases.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use super::known::Known;
use super::poly::{Atom, Monomial, Poly};
use super::{Undecidable, simplex};
use crate::ir::Comparison;

/// Steps of work for one question.
const FUEL: u64 = 400_000;

/// Proofs within a proof: that a divisor is positive, that a minimum is decided.
const DEEPEST: u32 = 2;

/// Cases within cases.
const SPLITS: u32 = 3;

/// Bounds that one proof combines, products included.
const MOST_BOUNDS: usize = 96;

/// Products of bounds beyond this degree are not formed.
const HIGHEST_DEGREE: u64 = 4;

/// Answers one question.
pub(super) struct Prover<'a> {
    pub(super) known: &'a Known,
    /// Holds in this case: each at least 0.
    assumed: Vec<Poly>,
    /// Minima and maxima that are decided in this case.
    pub(super) replaced: Vec<(Atom, Poly)>,
    splits: u32,
    depth: Cell<u32>,
    fuel: Cell<u64>,
    /// Answers of proofs within this one: whether each is at least 0.
    inner: RefCell<BTreeMap<Poly, bool>>,
}

impl<'a> Prover<'a> {
    pub(super) fn new(known: &'a Known) -> Self {
        Self {
            known,
            assumed: Vec::new(),
            replaced: Vec::new(),
            splits: SPLITS,
            depth: Cell::new(0),
            fuel: Cell::new(FUEL),
            inner: RefCell::default(),
        }
    }

    /// Takes `steps` from what this question may cost.
    pub(super) fn spend(&self, steps: usize) -> Result<(), Undecidable> {
        let steps = u64::try_from(steps).map_err(|_| Undecidable::Overflow)?;
        let left = self
            .fuel
            .get()
            .checked_sub(steps)
            .ok_or(Undecidable::Overflow)?;
        self.fuel.set(left);
        Ok(())
    }

    /// Whether the claim follows.
    pub(super) fn claim(&self, left: &Poly, comparison: Comparison, right: &Poly) -> bool {
        let (Ok(above), Ok(below)) = (left.minus(right), right.minus(left)) else {
            return false;
        };
        match comparison {
            Comparison::Eq => self.zero(&above),
            Comparison::Ne => self.nonzero(&above),
            Comparison::Lt => self.positive(&below),
            Comparison::Le => self.nonnegative(&below),
            Comparison::Gt => self.positive(&above),
            Comparison::Ge => self.nonnegative(&above),
        }
    }

    /// Whether the facts cannot all hold.
    pub(super) fn contradiction(&self) -> bool {
        self.known.absurd || self.impossible(Vec::new())
    }

    fn zero(&self, difference: &Poly) -> bool {
        let Ok(reduced) = self.reduce(difference) else {
            return false;
        };
        if reduced.is_zero() || self.known.absurd {
            return true;
        }
        if self.multiple_is_zero(&reduced) {
            return true;
        }
        let Ok(negated) = reduced.negate() else {
            return false;
        };
        self.nonnegative_reduced(&reduced) && self.nonnegative_reduced(&negated)
    }

    /// Whether some multiple of it is 0 by the equations, which makes it 0 too.
    fn multiple_is_zero(&self, poly: &Poly) -> bool {
        let mut left = poly.clone();
        for equation in self.known.zero.iter().chain(&self.known.zero) {
            let Some((_, unit)) = equation.leading() else {
                continue;
            };
            let Ok(scaled) = left.scale(unit) else {
                return false;
            };
            let Ok((quotient, rest)) = scaled.divide(equation) else {
                return false;
            };
            if !quotient.is_zero() {
                left = rest;
            }
        }
        left.is_zero()
    }

    fn nonzero(&self, difference: &Poly) -> bool {
        let Ok(reduced) = self.reduce(difference) else {
            return false;
        };
        if let Some(value) = reduced.as_constant() {
            return value != 0 || self.known.absurd;
        }
        // 2 * H + 1 is odd.
        let content = reduced.content();
        if content > 1 && reduced.coefficient(&Monomial::one()) % content != 0 {
            return true;
        }
        let Ok(reduced) = reduced.shrink(content) else {
            return false;
        };
        let Ok(negated) = reduced.negate() else {
            return false;
        };
        let mut known = self.known.nonzero.iter();
        known.any(|known| *known == reduced || *known == negated)
            || self.positive(&reduced)
            || self.positive(&negated)
    }

    /// Whether it is at least 1.
    pub(super) fn positive(&self, poly: &Poly) -> bool {
        poly.minus(&Poly::constant(1))
            .is_ok_and(|less| self.nonnegative(&less))
    }

    /// Whether it is at least 0.
    pub(super) fn nonnegative(&self, poly: &Poly) -> bool {
        self.reduce(poly)
            .is_ok_and(|reduced| self.nonnegative_reduced(&reduced))
    }

    /// The same for a proof within a proof, which is shallower.
    pub(super) fn nonnegative_inside(&self, reduced: &Poly) -> bool {
        if let Some(value) = reduced.as_constant() {
            return value >= 0;
        }
        if self.depth.get() >= DEEPEST {
            return reduced.plainly_nonnegative() || self.known.nonnegative.contains(reduced);
        }
        let outermost = self.depth.get() == 0;
        if outermost && let Some(answer) = self.inner.borrow().get(reduced) {
            return *answer;
        }
        self.depth.set(self.depth.get() + 1);
        let answer = self.nonnegative_reduced(reduced);
        self.depth.set(self.depth.get() - 1);
        if outermost {
            self.inner.borrow_mut().insert(reduced.clone(), answer);
        }
        answer
    }

    /// Whether it is at least 1, within a proof.
    pub(super) fn positive_inside(&self, reduced: &Poly) -> bool {
        reduced
            .minus(&Poly::constant(1))
            .is_ok_and(|less| self.nonnegative_inside(&less))
    }

    fn nonnegative_reduced(&self, goal: &Poly) -> bool {
        if let Some(value) = goal.as_constant()
            && value >= 0
        {
            return true;
        }
        if goal.plainly_nonnegative()
            || self.known.absurd
            || self.known.nonnegative.contains(goal)
            || self.assumed.contains(goal)
        {
            return true;
        }
        let plain = |poly: &Poly| {
            let mut factors = poly.terms().keys().flat_map(Monomial::factors);
            factors.all(|(atom, _)| matches!(atom, Atom::Symbol(_)))
        };
        let known = self.known;
        if known.nonnegative.is_empty()
            && known.zero.is_empty()
            && known.nonzero.is_empty()
            && self.assumed.is_empty()
            && plain(goal)
        {
            return false;
        }
        // At most -1, if not at least 0.
        let negation = goal
            .negate()
            .and_then(|negated| negated.minus(&Poly::constant(1)));
        negation.is_ok_and(|negation| self.impossible(vec![negation]))
    }

    /// Whether these, each at least 0, contradict the facts.
    fn impossible(&self, claims: Vec<Poly>) -> bool {
        let Ok(bounds) = self.bounds(&claims) else {
            return false;
        };
        if self.infeasible(&bounds) {
            return true;
        }
        if self.depth.get() > 0 {
            return false;
        }
        if self.infeasible(&products(&bounds)) {
            return true;
        }
        self.splits > 0 && (self.by_cases_of_extremum(&claims, &bounds) || self.by_sign(&claims))
    }

    /// All that is at least 0: what is known, the claims, and what their atoms imply.
    fn bounds(&self, claims: &[Poly]) -> Result<Vec<Poly>, Undecidable> {
        let mut bounds = Vec::new();
        let facts = self.known.nonnegative.iter().chain(&self.assumed);
        for bound in claims.iter().chain(facts) {
            bounds.push(self.reduce(bound)?);
        }
        for equation in &self.known.zero {
            bounds.push(equation.clone());
            bounds.push(equation.negate()?);
        }
        let mut seen = BTreeSet::new();
        let mut at = 0;
        while at < bounds.len() && bounds.len() < MOST_BOUNDS {
            let mut atoms = Vec::new();
            bounds[at].visit_atoms(&mut |atom| {
                if !matches!(atom, Atom::Symbol(_)) && seen.insert(atom.clone()) {
                    atoms.push(atom.clone());
                }
            });
            for atom in atoms {
                self.atom_bounds(&atom, &mut bounds)?;
            }
            at += 1;
        }
        Ok(if claims.is_empty() {
            bounds
        } else {
            connected(bounds, claims.len())
        })
    }

    /// What an atom implies by itself.
    fn atom_bounds(&self, atom: &Atom, bounds: &mut Vec<Poly>) -> Result<(), Undecidable> {
        let value = Poly::from_atom(atom.clone());
        match atom {
            Atom::Symbol(_) => {}
            Atom::Div(p, q) => {
                if self.positive_inside(q) {
                    // 0 <= p - q * value <= q - 1
                    let remainder = p.minus(&q.times(&value)?)?;
                    bounds.push(q.minus(&Poly::constant(1))?.minus(&remainder)?);
                    bounds.push(remainder);
                    if self.nonnegative_inside(p) {
                        bounds.push(value);
                    }
                }
            }
            Atom::Min(arms) => {
                for arm in arms {
                    bounds.push(arm.minus(&value)?);
                }
                if arms.iter().all(|arm| self.nonnegative_inside(arm)) {
                    bounds.push(value);
                }
            }
            Atom::Max(arms) => {
                for arm in arms {
                    bounds.push(value.minus(arm)?);
                }
                if arms.iter().any(|arm| self.nonnegative_inside(arm)) {
                    bounds.push(value);
                }
            }
        }
        Ok(())
    }

    /// Whether no integers satisfy the bounds, by adding multiples of them up to -1.
    fn infeasible(&self, bounds: &[Poly]) -> bool {
        let tightened = bounds.iter().map(tighten);
        let bounds: Vec<Poly> = tightened
            .filter(|bound| !bound.plainly_nonnegative())
            .collect();
        if bounds
            .iter()
            .any(|bound| bound.as_constant().is_some_and(|value| value < 0))
        {
            return true;
        }
        let monomials: BTreeSet<&Monomial> = bounds
            .iter()
            .flat_map(|bound| bound.terms().keys())
            .filter(|m| !m.is_one())
            .collect();
        let rows: BTreeMap<&Monomial, usize> = monomials
            .iter()
            .enumerate()
            .map(|(row, monomial)| (*monomial, row))
            .collect();
        let n_rows = rows.len() + 1;
        let mut columns = Vec::new();
        for bound in &bounds {
            let mut column = vec![0; n_rows];
            for (monomial, coefficient) in bound.terms() {
                match rows.get(monomial) {
                    Some(row) => column[*row] = *coefficient,
                    None => match coefficient.checked_neg() {
                        Some(negated) => column[n_rows - 1] = negated,
                        None => return false,
                    },
                }
            }
            columns.push(column);
        }
        for (monomial, row) in &rows {
            if never_negative(monomial, &bounds) {
                let mut column = vec![0; n_rows];
                column[*row] = 1;
                columns.push(column);
            }
        }
        if columns.is_empty() || self.spend(n_rows * columns.len()).is_err() {
            return false;
        }
        let mut fuel = self.fuel.get();
        let answer = simplex::is_feasible(&columns, n_rows, &mut fuel);
        self.fuel.set(fuel);
        answer
    }

    /// Takes one minimum or maximum apart.
    fn by_cases_of_extremum(&self, claims: &[Poly], bounds: &[Poly]) -> bool {
        let mut found = None;
        for bound in bounds {
            bound.visit_atoms(&mut |atom| {
                if found.is_none() && matches!(atom, Atom::Min(_) | Atom::Max(_)) {
                    found = Some(atom.clone());
                }
            });
        }
        let Some(atom) = found else { return false };
        let (arms, least) = match &atom {
            Atom::Min(arms) => (arms, true),
            Atom::Max(arms) => (arms, false),
            Atom::Symbol(_) | Atom::Div(..) => return false,
        };
        arms.iter().all(|chosen| {
            let others = arms.iter().filter(|arm| *arm != chosen);
            let gaps = others.map(|arm| {
                if least {
                    arm.minus(chosen)
                } else {
                    chosen.minus(arm)
                }
            });
            let Ok(gaps) = gaps.collect::<Result<Vec<_>, _>>() else {
                return false;
            };
            self.case(claims, gaps, Some((atom.clone(), chosen.clone())))
        })
    }

    /// Takes one `!=` apart.
    fn by_sign(&self, claims: &[Poly]) -> bool {
        let at = usize::try_from(SPLITS - self.splits).unwrap_or(usize::MAX);
        let Some(nonzero) = self.known.nonzero.get(at) else {
            return false;
        };
        let one = Poly::constant(1);
        let above = nonzero.minus(&one);
        let below = nonzero.negate().and_then(|negated| negated.minus(&one));
        let (Ok(above), Ok(below)) = (above, below) else {
            return false;
        };
        [above, below]
            .into_iter()
            .all(|side| self.case(claims, vec![side], None))
    }

    /// Whether the claims are impossible in one case.
    fn case(&self, claims: &[Poly], gaps: Vec<Poly>, decided: Option<(Atom, Poly)>) -> bool {
        let case = Prover {
            known: self.known,
            assumed: self.assumed.iter().cloned().chain(gaps).collect(),
            replaced: self.replaced.iter().cloned().chain(decided).collect(),
            splits: self.splits - 1,
            depth: Cell::new(0),
            fuel: Cell::new(self.fuel.get()),
            inner: RefCell::default(),
        };
        let claims: Result<Vec<_>, _> = claims.iter().map(|claim| case.reduce(claim)).collect();
        let answer = claims.is_ok_and(|claims| case.impossible(claims));
        self.fuel.set(case.fuel.get());
        answer
    }
}

/// The strongest bound on integers that this one implies: `2 * x - 1 >= 0` is `x - 1 >= 0`.
fn tighten(bound: &Poly) -> Poly {
    let content = bound.content();
    if content < 2 {
        return bound.clone();
    }
    bound.shrink(content).unwrap_or_else(|_| bound.clone())
}

/// The first `n_claims` bounds and those that share symbols with them, directly or not.
fn connected(bounds: Vec<Poly>, n_claims: usize) -> Vec<Poly> {
    let symbols: Vec<BTreeSet<_>> = bounds.iter().map(Poly::symbols).collect();
    let mut kept: Vec<bool> = (0..bounds.len()).map(|at| at < n_claims).collect();
    let mut reached: BTreeSet<_> = symbols[..n_claims].iter().flatten().cloned().collect();
    loop {
        let mut grown = false;
        for (at, symbols) in symbols.iter().enumerate() {
            if !kept[at] && (symbols.is_empty() || !symbols.is_disjoint(&reached)) {
                kept[at] = true;
                grown = true;
                reached.extend(symbols.iter().cloned());
            }
        }
        if !grown {
            break;
        }
    }
    let bounds = bounds.into_iter().zip(kept);
    bounds
        .filter_map(|(bound, kept)| kept.then_some(bound))
        .collect()
}

/// Products of pairs of bounds, after the bounds themselves.
fn products(bounds: &[Poly]) -> Vec<Poly> {
    let mut all: Vec<Poly> = bounds.to_vec();
    let degree = |poly: &Poly| poly.leading().map_or(0, |(monomial, _)| monomial.degree());
    let mut symbols = BTreeSet::new();
    for bound in bounds {
        for (atom, _) in bound.terms().keys().flat_map(Monomial::factors) {
            if matches!(atom, Atom::Symbol(symbol) if symbol.is_nonnegative()) {
                symbols.insert(atom.clone());
            }
        }
    }
    let factors: Vec<Poly> = bounds
        .iter()
        .cloned()
        .chain(symbols.into_iter().map(Poly::from_atom))
        .collect();
    for (at, left) in bounds.iter().enumerate() {
        for right in &factors[at..] {
            let small = degree(left) + degree(right) <= HIGHEST_DEGREE;
            if small && left.as_constant().is_none() && right.as_constant().is_none() {
                all.extend(left.times(right));
            }
            if all.len() >= MOST_BOUNDS {
                return all;
            }
        }
    }
    all
}

/// Whether a monomial is a product of what is never negative, by the look of it
/// or because a bound says so.
fn never_negative(monomial: &Monomial, bounds: &[Poly]) -> bool {
    monomial.factors().iter().all(|(atom, exponent)| {
        exponent % 2 == 0
            || matches!(atom, Atom::Symbol(symbol) if symbol.is_nonnegative())
            || bounds.contains(&Poly::from_atom(atom.clone()))
    })
}
