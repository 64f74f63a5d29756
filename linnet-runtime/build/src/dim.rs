//! Dimension expressions of a card: `4 * H`.

use std::collections::BTreeMap;

use linnet_compiler::ast::{Dim, DimKind, DimOp};

/// The values of generics.
pub(crate) type Values = BTreeMap<String, i64>;

/// Parses an expression as the language writes dimensions.
pub(crate) fn parse(text: &str) -> Result<Dim, String> {
    let wrong = || format!("`{text}` is no expression over dimensions, such as `4 * H`");
    let expr: syn::Expr = syn::parse_str(text).map_err(|_| wrong())?;
    linnet_compiler::syntax::parse_dim(&expr).map_err(|_| wrong())
}

/// Calls `visit` with each name in an expression.
pub(crate) fn visit_names(dim: &Dim, visit: &mut dyn FnMut(String)) {
    match &dim.kind {
        DimKind::Const(_) => {}
        DimKind::Name(name) => visit(name.to_string()),
        DimKind::Binary(_, a, b) => {
            visit_names(a, visit);
            visit_names(b, visit);
        }
    }
}

/// The value of an expression. Division rounds down.
pub(crate) fn value(dim: &Dim, values: &Values) -> Result<i64, String> {
    let (op, a, b) = match &dim.kind {
        DimKind::Const(value) => return Ok(*value),
        DimKind::Name(name) => {
            let value = values.get(&name.to_string());
            return value
                .copied()
                .ok_or_else(|| format!("`{name}` has no value"));
        }
        DimKind::Binary(op, a, b) => (op, value(a, values)?, value(b, values)?),
    };
    let result = match op {
        DimOp::Add => a.checked_add(b),
        DimOp::Sub => a.checked_sub(b),
        DimOp::Mul => a.checked_mul(b),
        DimOp::Div | DimOp::Rem if b <= 0 => {
            return Err(format!("`{}` divides by {b}", dim.tokens));
        }
        DimOp::Div => Some(a.div_euclid(b)),
        DimOp::Rem => Some(a.rem_euclid(b)),
        DimOp::Min => Some(a.min(b)),
        DimOp::Max => Some(a.max(b)),
    };
    result.ok_or_else(|| format!("`{}` is too large to compute", dim.tokens))
}

/// The expression as a constant of `linnet_runtime::descriptor::DimExpr`.
pub(crate) fn constant(dim: &Dim) -> String {
    const PATH: &str = "::linnet_runtime::descriptor::DimExpr";
    match &dim.kind {
        DimKind::Const(value) => format!("{PATH}::Const({value})"),
        DimKind::Name(name) => format!("{PATH}::Generic({:?})", name.to_string()),
        DimKind::Binary(op, a, b) => {
            let op = match op {
                DimOp::Add => "Add",
                DimOp::Sub => "Sub",
                DimOp::Mul => "Mul",
                DimOp::Div => "Div",
                DimOp::Rem => "Rem",
                DimOp::Min => "Min",
                DimOp::Max => "Max",
            };
            format!("{PATH}::{op}(&{}, &{})", constant(a), constant(b))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_have_values_and_constants() {
        let values: Values = [("H".to_owned(), 12), ("Z".to_owned(), 0)].into();
        let value_of = |text: &str| value(&parse(text).unwrap(), &values);
        assert_eq!(value_of("4 * H - 2"), Ok(46));
        assert_eq!(value_of("(H + 1) / 5"), Ok(2));
        assert_eq!(value_of("min(H, 7) % 4"), Ok(3));
        assert!(value_of("H / Z").unwrap_err().contains("divides by 0"));
        assert_eq!(value_of("Q"), Err("`Q` has no value".to_owned()));
        assert!(
            value_of("9223372036854775807 * H")
                .unwrap_err()
                .contains("too large")
        );
        assert!(parse("4 *").is_err() && parse("f(H)").is_err() && parse("1.5").is_err());
        assert_eq!(
            constant(&parse("4 * H").unwrap()),
            "::linnet_runtime::descriptor::DimExpr::Mul(&::linnet_runtime::descriptor::DimExpr::Const(4), \
             &::linnet_runtime::descriptor::DimExpr::Generic(\"H\"))"
        );
    }
}
