//! What is known of dimensions, and the questions one may ask about it.

use super::known::Known;
use super::prove::Prover;
use super::tree::{DimTree, Symbol};
use super::{Poly, Undecidable, infer, missing};
use crate::ast::DimOp;
use crate::ir::Comparison;

/// What the requirements say. `Dim` generics and element counts are integers
/// of at least 0, scalar parameters any integers, without being told.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// As assumed, in order.
    claims: Vec<Claim>,
    /// The same in solved form.
    known: Known,
}

/// `left comparison right`.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    pub(super) left: Poly,
    pub(super) comparison: Comparison,
    pub(super) right: Poly,
}

impl Facts {
    /// Nothing but that generics are at least 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `left comparison right`.
    pub fn assume(&mut self, left: &Poly, comparison: Comparison, right: &Poly) {
        self.claims.push(Claim {
            left: left.clone(),
            comparison,
            right: right.clone(),
        });
        self.known = Known::solve(&self.claims);
    }

    /// Adds clauses that may need each other in any order: the divisor of one
    /// may be positive by another (`H % Heads == 0, Heads > 0`). Returns the
    /// places of the clauses that cannot be understood even with all others,
    /// and why.
    pub fn assume_all(
        &mut self,
        clauses: &[(DimTree, Comparison, DimTree)],
    ) -> Vec<(usize, Undecidable)> {
        let mut left_over: Vec<usize> = (0..clauses.len()).collect();
        loop {
            let mut failed = Vec::new();
            let n_before = left_over.len();
            for at in left_over {
                let (left, comparison, right) = &clauses[at];
                match (self.normalize(left), self.normalize(right)) {
                    (Ok(left), Ok(right)) => self.claims.push(Claim {
                        left,
                        comparison: *comparison,
                        right,
                    }),
                    (Err(error), _) | (_, Err(error)) => failed.push((at, error)),
                }
            }
            if failed.len() < n_before {
                self.known = Known::solve(&self.claims);
            }
            if failed.is_empty() || failed.len() == n_before {
                return failed;
            }
            left_over = failed.into_iter().map(|(at, _)| at).collect();
        }
    }

    /// The normal form of an expression, simplified as far as the facts allow.
    /// It prints in the author's form where that is as short.
    ///
    /// # Errors
    /// [`Undecidable::Divisor`] if it divides by something that these facts do
    /// not make positive, [`Undecidable::Overflow`] if a number does not fit.
    pub fn normalize(&self, tree: &DimTree) -> Result<Poly, Undecidable> {
        let (op, a, b) = match tree {
            DimTree::Const(value) => return Ok(Poly::constant(*value)),
            DimTree::Atom(symbol) => return Ok(Poly::symbol(symbol.clone())),
            DimTree::Add(a, b) => (DimOp::Add, a, b),
            DimTree::Sub(a, b) => (DimOp::Sub, a, b),
            DimTree::Mul(a, b) => (DimOp::Mul, a, b),
            DimTree::Div(a, b) => (DimOp::Div, a, b),
            DimTree::Rem(a, b) => (DimOp::Rem, a, b),
            DimTree::Min(a, b) => (DimOp::Min, a, b),
            DimTree::Max(a, b) => (DimOp::Max, a, b),
        };
        let (a, b) = (self.normalize(a)?, self.normalize(b)?);
        Ok(self.combine(op, a, b)?.written_as(tree.clone()))
    }

    /// `a op b`. Apart from [`normalize`](Self::normalize), whose recursion
    /// goes as deep as the expression does and so has to take little stack.
    fn combine(&self, op: DimOp, a: Poly, b: Poly) -> Result<Poly, Undecidable> {
        match op {
            DimOp::Add => a.plus(&b),
            DimOp::Sub => a.minus(&b),
            DimOp::Mul => self.simplify(&a.times(&b)?),
            DimOp::Div => self.divide(&a, &b),
            DimOp::Rem => {
                let quotient = self.divide(&a, &b)?;
                self.simplify(&a.minus(&b.times(&quotient)?)?)
            }
            DimOp::Min if self.prove(&a, Comparison::Le, &b) => Ok(a),
            DimOp::Min if self.prove(&b, Comparison::Le, &a) => Ok(b),
            DimOp::Min => Poly::least(&[a, b]),
            DimOp::Max if self.prove(&a, Comparison::Ge, &b) => Ok(a),
            DimOp::Max if self.prove(&b, Comparison::Ge, &a) => Ok(b),
            DimOp::Max => Poly::greatest(&[a, b]),
        }
    }

    /// `a / b` rounded down.
    ///
    /// # Errors
    /// As [`normalize`](Self::normalize).
    pub fn divide(&self, a: &Poly, b: &Poly) -> Result<Poly, Undecidable> {
        if !self.prove(b, Comparison::Gt, &Poly::constant(0)) {
            return Err(Undecidable::Divisor(b.clone()));
        }
        Prover::new(&self.known).quotient_for_display(a, b)
    }

    /// With `q * (p / q)` written as `p` where `p` is a multiple of `q`.
    ///
    /// # Errors
    /// [`Undecidable::Overflow`] if a number does not fit.
    pub fn simplify(&self, poly: &Poly) -> Result<Poly, Undecidable> {
        Prover::new(&self.known).fold_quotients(poly)
    }

    /// Whether the claim holds for every assignment that satisfies the facts
    /// and makes every divisor positive. False also where that is not known.
    pub fn prove(&self, left: &Poly, comparison: Comparison, right: &Poly) -> bool {
        self.assumes(left, comparison, right)
            || Prover::new(&self.known).claim(left, comparison, right)
    }

    /// Whether the claim was assumed as it stands.
    fn assumes(&self, left: &Poly, comparison: Comparison, right: &Poly) -> bool {
        let mut claims = self.claims.iter();
        claims.any(|claim| {
            claim.comparison == comparison && claim.left == *left && claim.right == *right
        })
    }

    /// Whether the claim fails for every assignment that satisfies the facts:
    /// "never equal" as opposed to "not provably equal".
    pub fn refute(&self, left: &Poly, comparison: Comparison, right: &Poly) -> bool {
        self.prove(left, opposite(comparison), right)
    }

    /// `a == b`, proved.
    pub fn equal(&self, a: &Poly, b: &Poly) -> bool {
        a == b || self.prove(a, Comparison::Eq, b)
    }

    /// The value of the generic `name` that makes `left == right`, where `left`
    /// mentions it linearly and `right` does not mention it, and where the
    /// division that this takes is provably exact: of `2 * I` and `2 * Inner`
    /// it is `Inner`. The caller has still to prove that it is not negative.
    pub fn solve_for(&self, name: &str, left: &Poly, right: &Poly) -> Option<Poly> {
        infer::solve_for(self, name, left, right)
    }

    /// The requirement that would make the claim provable, as one would write
    /// it within `#[require(..)]`: `H % Heads == 0`. None if none is found that
    /// is compatible with the facts. Several are joined by commas.
    pub fn missing(&self, left: &Poly, comparison: Comparison, right: &Poly) -> Option<String> {
        missing::requirement(self, left, comparison, right)
    }

    /// Whether no assignment satisfies the facts, as far as that can be told.
    pub fn contradiction(&self) -> bool {
        Prover::new(&self.known).contradiction()
    }

    /// The symbols that the facts mention.
    pub fn symbols(&self) -> std::collections::BTreeSet<Symbol> {
        let sides = self
            .claims
            .iter()
            .flat_map(|claim| [&claim.left, &claim.right]);
        sides.flat_map(Poly::symbols).collect()
    }
}

/// What holds exactly if `comparison` does not.
pub(super) fn opposite(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Eq => Comparison::Ne,
        Comparison::Ne => Comparison::Eq,
        Comparison::Lt => Comparison::Ge,
        Comparison::Le => Comparison::Gt,
        Comparison::Gt => Comparison::Le,
        Comparison::Ge => Comparison::Lt,
    }
}
