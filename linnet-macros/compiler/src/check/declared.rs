//! Declared types: their dimensions must make sense.

use super::obligation::{Owner, dimension};
use super::types::{Item, Pattern, Ty, Type};
use crate::ast;
use crate::diagnostic::Diagnostic;
use crate::dim::Facts;

/// A declared type in normal form. Reports divisors that may be zero and
/// dimensions that may be negative; the type is unknown then.
pub(crate) fn well_formed(
    written: &ast::TypeExpr,
    pattern: &Pattern,
    facts: &Facts,
    owner: &Owner,
    diagnostics: &mut Vec<Diagnostic>,
) -> Ty {
    match (&written.kind, pattern) {
        (ast::TypeKind::Tensor { dims, .. }, Type::Tensor(tensor)) => {
            let mut items = Vec::new();
            let mut complete = true;
            for (written, item) in dims.iter().zip(&tensor.dims) {
                match (written, item) {
                    (ast::DimItem::One(dim), Item::One(tree)) => {
                        match dimension(tree, facts, owner, &dim.tokens, diagnostics) {
                            Some(dim) => items.push(Item::One(dim)),
                            None => complete = false,
                        }
                    }
                    (_, Item::Pack(name)) => items.push(Item::Pack(name.clone())),
                    _ => complete = false,
                }
            }
            if complete {
                Ty::tensor(items, tensor.dtype.clone())
            } else {
                Type::Unknown
            }
        }
        (_, Type::Scalar(dtype)) => Type::Scalar(dtype.clone()),
        (ast::TypeKind::Option(written), Type::Option(inner)) => Type::Option(Box::new(
            well_formed(written, inner, facts, owner, diagnostics),
        )),
        (ast::TypeKind::Tuple(written), Type::Tuple(parts)) => Type::Tuple(
            written
                .iter()
                .zip(parts)
                .map(|(written, part)| well_formed(written, part, facts, owner, diagnostics))
                .collect(),
        ),
        (_, Type::Unit) => Type::Unit,
        _ => Type::Unknown,
    }
}
