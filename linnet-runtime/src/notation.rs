//! Types and dimensions as models write them: `Tensor[B, S, 3 * H; T]`.

use std::fmt::{self, Display, Formatter};

use crate::descriptor::{
    Comparison, DTypeExpr, DimExpr, DimItem, Generic, GenericArg, GenericKind, Requirement, Type,
};

impl DimExpr {
    /// How tightly its outermost operator binds: 0 for a sum, 1 for a product, 2 for a name.
    fn level(&self) -> u8 {
        match self {
            DimExpr::Add(..) | DimExpr::Sub(..) => 0,
            DimExpr::Mul(..) | DimExpr::Div(..) | DimExpr::Rem(..) => 1,
            DimExpr::Const(n) if *n < 0 => 0,
            _ => 2,
        }
    }

    /// Writes it, in parentheses if it binds less than `level`.
    fn write(&self, level: u8, f: &mut Formatter<'_>) -> fmt::Result {
        if self.level() < level {
            f.write_str("(")?;
            self.write(0, f)?;
            return f.write_str(")");
        }
        let mut infix = |a: &DimExpr, op: &str, b: &DimExpr, level: u8| {
            a.write(level, f)?;
            f.write_str(op)?;
            b.write(level + 1, f)
        };
        match *self {
            DimExpr::Const(n) => write!(f, "{n}"),
            DimExpr::Generic(name) | DimExpr::Scalar(name) => f.write_str(name),
            DimExpr::Add(a, b) => {
                // Sums associate either way.
                a.write(0, f)?;
                f.write_str(" + ")?;
                b.write(
                    if matches!(b, DimExpr::Const(n) if *n < 0) {
                        1
                    } else {
                        0
                    },
                    f,
                )
            }
            DimExpr::Sub(a, b) => infix(a, " - ", b, 0),
            DimExpr::Mul(a, b) => infix(a, " * ", b, 1),
            DimExpr::Div(a, b) => infix(a, " / ", b, 1),
            DimExpr::Rem(a, b) => infix(a, " % ", b, 1),
            DimExpr::Min(a, b) => write!(f, "min({a}, {b})"),
            DimExpr::Max(a, b) => write!(f, "max({a}, {b})"),
        }
    }
}

impl Display for DimExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write(0, f)
    }
}

impl Display for DimItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            DimItem::One(dim) => Display::fmt(dim, f),
            DimItem::Pack(name) => write!(f, "*{name}"),
        }
    }
}

impl Display for DTypeExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            DTypeExpr::Concrete(dtype) => Display::fmt(dtype, f),
            DTypeExpr::Generic(name) => f.write_str(name),
        }
    }
}

/// Writes `items` with commas between.
fn list<T: Display>(items: &[T], f: &mut Formatter<'_>) -> fmt::Result {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        Display::fmt(item, f)?;
    }
    Ok(())
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Type::Tensor { dims, dtype } => {
                f.write_str("Tensor[")?;
                list(dims, f)?;
                write!(f, "; {dtype}]")
            }
            Type::Scalar(dtype) => Display::fmt(dtype, f),
            Type::Option(inner) => write!(f, "{inner}?"),
            Type::Tuple(items) => {
                f.write_str("(")?;
                list(items, f)?;
                f.write_str(")")
            }
            Type::Unit => f.write_str("()"),
        }
    }
}

impl Display for GenericKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GenericKind::Dim => "Dim",
            GenericKind::Shape => "Shape",
            GenericKind::Float => "Float",
            GenericKind::Int => "Int",
            GenericKind::AnyDType => "DType",
        })
    }
}

impl Display for GenericArg {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            GenericArg::Dim(dim) => Display::fmt(dim, f),
            GenericArg::Shape(items) => {
                f.write_str("[")?;
                list(items, f)?;
                f.write_str("]")
            }
            GenericArg::DType(dtype) => Display::fmt(dtype, f),
        }
    }
}

impl Display for Generic {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let star = if self.kind == GenericKind::Shape {
            "*"
        } else {
            ""
        };
        write!(f, "{star}{}: {}", self.name, self.kind)?;
        match &self.default {
            Some(default) => write!(f, " = {default}"),
            None => Ok(()),
        }
    }
}

impl Comparison {
    /// Its sign.
    pub const fn sign(self) -> &'static str {
        match self {
            Comparison::Eq => "==",
            Comparison::Ne => "!=",
            Comparison::Lt => "<",
            Comparison::Le => "<=",
            Comparison::Gt => ">",
            Comparison::Ge => ">=",
        }
    }

    /// Whether it holds of two numbers.
    pub const fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Comparison::Eq => left == right,
            Comparison::Ne => left != right,
            Comparison::Lt => left < right,
            Comparison::Le => left <= right,
            Comparison::Gt => left > right,
            Comparison::Ge => left >= right,
        }
    }
}

impl Requirement {
    /// The clause as written.
    pub const fn text(&self) -> &'static str {
        match self {
            Requirement::Compare { text, .. }
            | Requirement::Elements { text, .. }
            | Requirement::Distinct { text, .. }
            | Requirement::Packed { text, .. } => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;

    #[test]
    fn parentheses_only_where_needed() {
        const H: DimExpr = DimExpr::Generic("H");
        const TWO: DimExpr = DimExpr::Const(2);
        const SUM: DimExpr = DimExpr::Add(&H, &TWO);
        const DIFFERENCE: DimExpr = DimExpr::Sub(&H, &SUM);
        const PRODUCT: DimExpr = DimExpr::Mul(&SUM, &H);
        const QUOTIENT: DimExpr = DimExpr::Div(&PRODUCT, &PRODUCT);
        const LEAST: DimExpr = DimExpr::Min(&SUM, &TWO);
        assert_eq!(DIFFERENCE.to_string(), "H - (H + 2)");
        assert_eq!(PRODUCT.to_string(), "(H + 2) * H");
        assert_eq!(QUOTIENT.to_string(), "(H + 2) * H / ((H + 2) * H)");
        assert_eq!(LEAST.to_string(), "min(H + 2, 2)");
        let ty = Type::Option(&Type::Tensor {
            dims: &[DimItem::Pack("S"), DimItem::One(PRODUCT)],
            dtype: DTypeExpr::Concrete(DType::F32),
        });
        assert_eq!(ty.to_string(), "Tensor[*S, (H + 2) * H; f32]?");
    }
}
