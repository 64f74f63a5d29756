//! Dimension arithmetic: integer expressions over dimension generics, and what
//! can be proved of them.
//!
//! A [`DimTree`] is an expression as written. [`Facts::normalize`] turns it
//! into a [`Poly`], a polynomial over [`Atom`]s, and [`Facts`] holds what the
//! requirements say and answers questions about polynomials. Every answer is
//! sound: [`Facts::prove`] says yes only if the claim holds for every
//! assignment that satisfies the facts. Arithmetic is checked, so an overflow
//! is "cannot decide" and never a wrong answer, and the work is bounded.
//!
//! From a question to its answer: `tree` (expressions), `poly` and `divide`
//! (polynomials), `show` (how one prints), `facts` (the interface), `known`
//! (facts in solved form), `reduce` (rewriting under facts), `prove`
//! (inequalities, by `simplex` over exact `rational`s), `infer` (solving for a
//! generic), `missing` (which requirement would help).

mod divide;
mod facts;
mod infer;
mod known;
mod missing;
mod poly;
mod prove;
mod rational;
mod reduce;
mod show;
mod simplex;
#[cfg(test)]
mod tests;
mod tree;

pub use facts::Facts;
pub use poly::{Atom, Monomial, Poly};
pub use tree::{DimTree, Symbol, SymbolKind};

/// Why an expression has no normal form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undecidable {
    /// A number in it does not fit in 64 bits.
    Overflow,
    /// It divides by something that is not known to be positive.
    Divisor(Poly),
}

impl std::fmt::Display for Undecidable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Overflow => f.write_str("a number in this expression does not fit in 64 bits"),
            Self::Divisor(divisor) => write!(f, "`{divisor}` is not known to be positive"),
        }
    }
}

impl std::error::Error for Undecidable {}
