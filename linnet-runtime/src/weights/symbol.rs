//! Dimensions in the generics of the model, whatever block declares them.

use std::fmt;
use std::rc::Rc;

use crate::descriptor::DimExpr;

/// A dimension expression whose names are the model's generics.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Symbol {
    Const(i64),
    Name { name: &'static str, size: usize },
    Binary(Op, Rc<Symbol>, Rc<Symbol>),
}

/// An operation of dimension arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Min,
    Max,
}

/// Why a dimension expression is no size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SymbolProblem {
    /// A divisor is zero.
    #[error("divides by zero")]
    DivisionByZero,
    /// The value is negative.
    #[error("is negative: {0}")]
    Negative(i64),
    /// The value does not fit 64 bits.
    #[error("is too large to compute")]
    Overflow,
}

impl Symbol {
    /// A generic of the model.
    pub fn name(name: &'static str, size: usize) -> Symbol {
        Symbol::Name { name, size }
    }

    /// `dim` with each generic replaced by what it is bound to. Fails with the
    /// name of a generic that is bound to nothing.
    pub fn substitute(
        dim: DimExpr,
        lookup: &dyn Fn(&str) -> Option<Rc<Symbol>>,
    ) -> Result<Rc<Symbol>, &'static str> {
        let (op, left, right) = match dim {
            DimExpr::Const(value) => return Ok(Rc::new(Symbol::Const(value))),
            DimExpr::Generic(name) | DimExpr::Scalar(name) => return lookup(name).ok_or(name),
            DimExpr::Add(a, b) => (Op::Add, a, b),
            DimExpr::Sub(a, b) => (Op::Sub, a, b),
            DimExpr::Mul(a, b) => (Op::Mul, a, b),
            DimExpr::Div(a, b) => (Op::Div, a, b),
            DimExpr::Rem(a, b) => (Op::Rem, a, b),
            DimExpr::Min(a, b) => (Op::Min, a, b),
            DimExpr::Max(a, b) => (Op::Max, a, b),
        };
        let left = Symbol::substitute(*left, lookup)?;
        let right = Symbol::substitute(*right, lookup)?;
        Ok(Rc::new(Symbol::Binary(op, left, right)))
    }

    /// Its value as the size of an axis.
    pub fn size(&self) -> Result<usize, SymbolProblem> {
        let value = self.value()?;
        usize::try_from(value).map_err(|_| SymbolProblem::Negative(value))
    }

    /// Its value. Division rounds down.
    pub fn value(&self) -> Result<i64, SymbolProblem> {
        let (op, a, b) = match self {
            Symbol::Const(value) => return Ok(*value),
            Symbol::Name { size, .. } => {
                return i64::try_from(*size).map_err(|_| SymbolProblem::Overflow);
            }
            Symbol::Binary(op, a, b) => (op, a.value()?, b.value()?),
        };
        let value = match op {
            Op::Add => a.checked_add(b),
            Op::Sub => a.checked_sub(b),
            Op::Mul => a.checked_mul(b),
            Op::Div | Op::Rem if b == 0 => return Err(SymbolProblem::DivisionByZero),
            // Rounding down, also for negative operands.
            Op::Div => a.checked_div(b).map(|q| {
                if (a % b != 0) && ((a < 0) != (b < 0)) {
                    q - 1
                } else {
                    q
                }
            }),
            Op::Rem => a.checked_rem(b).map(|r| {
                if r != 0 && ((r < 0) != (b < 0)) {
                    r + b
                } else {
                    r
                }
            }),
            Op::Min => Some(a.min(b)),
            Op::Max => Some(a.max(b)),
        };
        value.ok_or(SymbolProblem::Overflow)
    }

    /// Calls `visit` with each generic in it and its size.
    pub fn visit_names(&self, visit: &mut dyn FnMut(&'static str, usize)) {
        match self {
            Symbol::Const(_) => {}
            Symbol::Name { name, size } => visit(name, *size),
            Symbol::Binary(_, a, b) => {
                a.visit_names(visit);
                b.visit_names(visit);
            }
        }
    }

    fn precedence(&self) -> u8 {
        match self {
            Symbol::Binary(Op::Add | Op::Sub, ..) => 1,
            Symbol::Binary(Op::Mul | Op::Div | Op::Rem, ..) => 2,
            _ => 3,
        }
    }

    /// Prints it, in parentheses where it binds less tightly than `floor`.
    fn fmt_within(&self, floor: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.precedence() < floor {
            write!(f, "({self})")
        } else {
            write!(f, "{self}")
        }
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (op, a, b) = match self {
            Symbol::Const(value) => return write!(f, "{value}"),
            Symbol::Name { name, .. } => return f.write_str(name),
            Symbol::Binary(op, a, b) => (op, a, b),
        };
        let sign = match op {
            Op::Add => "+",
            Op::Sub => "-",
            Op::Mul => "*",
            Op::Div => "/",
            Op::Rem => "%",
            Op::Min => return write!(f, "min({a}, {b})"),
            Op::Max => return write!(f, "max({a}, {b})"),
        };
        let own = self.precedence();
        a.fmt_within(own, f)?;
        write!(f, " {sign} ")?;
        // The right side of a chain needs its parentheses: a - (b - c), a / (b * c).
        b.fmt_within(own + 1, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &'static str, size: usize) -> Rc<Symbol> {
        Rc::new(Symbol::name(name, size))
    }

    fn binary(op: Op, a: &Rc<Symbol>, b: &Rc<Symbol>) -> Rc<Symbol> {
        Rc::new(Symbol::Binary(op, Rc::clone(a), Rc::clone(b)))
    }

    #[test]
    fn prints_the_parentheses_that_it_needs() {
        let (a, b, c) = (name("A", 7), name("B", 2), name("C", 3));
        let sum = binary(Op::Add, &a, &b);
        assert_eq!(binary(Op::Mul, &sum, &c).to_string(), "(A + B) * C");
        assert_eq!(binary(Op::Add, &c, &sum).to_string(), "C + (A + B)");
        assert_eq!(binary(Op::Add, &sum, &c).to_string(), "A + B + C");
        let product = binary(Op::Mul, &b, &c);
        assert_eq!(binary(Op::Div, &a, &product).to_string(), "A / (B * C)");
        assert_eq!(binary(Op::Div, &product, &a).to_string(), "B * C / A");
        assert_eq!(binary(Op::Min, &sum, &c).to_string(), "min(A + B, C)");
    }

    #[test]
    fn values_round_down_and_report_what_has_none() {
        let (a, b, zero) = (name("A", 7), name("B", 2), name("Z", 0));
        assert_eq!(binary(Op::Div, &a, &b).value(), Ok(3));
        assert_eq!(binary(Op::Rem, &a, &b).value(), Ok(1));
        let minus = binary(Op::Sub, &b, &a);
        assert_eq!(minus.size(), Err(SymbolProblem::Negative(-5)));
        assert_eq!(binary(Op::Div, &minus, &b).value(), Ok(-3));
        assert_eq!(binary(Op::Rem, &minus, &b).value(), Ok(1));
        assert_eq!(
            binary(Op::Div, &a, &zero).value(),
            Err(SymbolProblem::DivisionByZero)
        );
        assert_eq!(
            binary(Op::Rem, &a, &zero).value(),
            Err(SymbolProblem::DivisionByZero)
        );
        let huge = name("X", i64::MAX as usize);
        assert_eq!(
            binary(Op::Mul, &huge, &a).value(),
            Err(SymbolProblem::Overflow)
        );
        assert_eq!(
            Symbol::name("Y", usize::MAX).value(),
            Err(SymbolProblem::Overflow)
        );
    }
}
