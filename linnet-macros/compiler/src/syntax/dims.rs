//! Dimension expressions and the clauses of `#[require(..)]`.

use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::{BinOp, Expr, Lit, Token, UnOp};

use super::error::Errors;
use crate::ast::{Dim, DimItem, DimKind, DimOp, Requirement, RequirementKind};
use crate::ir::Comparison;

const DIM_HELP: &str =
    "write integers, generics, `+ - * / %`, `min(a, b)` and `max(a, b)`, e.g. `3 * H`";

/// A dimension expression such as `3 * H`.
pub(crate) fn parse_dim(expr: &Expr, errors: &mut Errors) -> Option<Dim> {
    let kind = match expr {
        Expr::Lit(lit) => match &lit.lit {
            Lit::Int(value) if value.suffix().is_empty() || value.suffix() == "usize" => {
                match value.base10_parse::<i64>() {
                    Ok(value) => DimKind::Const(value),
                    Err(_) => {
                        errors.push(
                            expr,
                            "this dimension does not fit in 63 bits",
                            "dimensions are below 9223372036854775808",
                        );
                        return None;
                    }
                }
            }
            _ => {
                errors.push(expr, "a dimension is an integer", DIM_HELP);
                return None;
            }
        },
        Expr::Path(path) => match super::lone_ident(path) {
            Some(name) => DimKind::Name(name),
            None => {
                errors.push(expr, "a dimension names a generic by itself", DIM_HELP);
                return None;
            }
        },
        Expr::Binary(binary) => {
            let op = match binary.op {
                BinOp::Add(_) => DimOp::Add,
                BinOp::Sub(_) => DimOp::Sub,
                BinOp::Mul(_) => DimOp::Mul,
                BinOp::Div(_) => DimOp::Div,
                BinOp::Rem(_) => DimOp::Rem,
                op => {
                    errors.push(
                        op,
                        format!("`{}` is no operator of dimensions", op.to_token_stream()),
                        DIM_HELP,
                    );
                    return None;
                }
            };
            let left = parse_dim(&binary.left, errors);
            let right = parse_dim(&binary.right, errors);
            DimKind::Binary(op, Box::new(left?), Box::new(right?))
        }
        Expr::Unary(unary) => match (&unary.op, unary.expr.as_ref()) {
            (UnOp::Neg(_), inner @ Expr::Lit(_)) => match parse_dim(inner, errors)?.kind {
                DimKind::Const(value) => DimKind::Const(-value),
                kind => kind,
            },
            _ => {
                errors.push(expr, "this is no dimension expression", DIM_HELP);
                return None;
            }
        },
        Expr::Call(call) => {
            let op = match call.func.as_ref() {
                Expr::Path(path) => match super::lone_ident(path) {
                    Some(name) if name == "min" => Some(DimOp::Min),
                    Some(name) if name == "max" => Some(DimOp::Max),
                    _ => None,
                },
                _ => None,
            };
            let (Some(op), 2) = (op, call.args.len()) else {
                errors.push(
                    expr,
                    "only `min(a, b)` and `max(a, b)` are functions of dimensions",
                    DIM_HELP,
                );
                return None;
            };
            let left = parse_dim(&call.args[0], errors);
            let right = parse_dim(&call.args[1], errors);
            DimKind::Binary(op, Box::new(left?), Box::new(right?))
        }
        Expr::Paren(paren) => parse_dim(&paren.expr, errors)?.kind,
        Expr::Group(group) => parse_dim(&group.expr, errors)?.kind,
        Expr::Block(block) => match super::lone_expr(&block.block) {
            // The braces belong to Rust's generic arguments, not to the dimension.
            Some(inner) => return parse_dim(inner, errors),
            None => {
                errors.push(expr, "this is no dimension expression", DIM_HELP);
                return None;
            }
        },
        _ => {
            errors.push(expr, "this is no dimension expression", DIM_HELP);
            return None;
        }
    };
    Some(Dim {
        kind,
        tokens: expr.to_token_stream(),
    })
}

/// One place in a shape: `H`, `3 * H` or `*S`.
pub(crate) fn parse_dim_item(expr: &Expr, errors: &mut Errors) -> Option<DimItem> {
    if let Expr::Unary(unary) = expr
        && let UnOp::Deref(_) = unary.op
    {
        if let Expr::Path(path) = unary.expr.as_ref()
            && let Some(name) = super::lone_ident(path)
        {
            return Some(DimItem::Pack(name));
        }
        errors.push(
            expr,
            "`*` is followed by the name of a shape pack",
            "declare it as `S: Shape` and write `*S`",
        );
        return None;
    }
    parse_dim(expr, errors).map(DimItem::One)
}

/// The clauses of one `#[require(..)]`.
pub(crate) fn parse_requirements(attr: &syn::Attribute, errors: &mut Errors) -> Vec<Requirement> {
    const HELP: &str =
        "write comparisons separated by commas, e.g. `#[require(Heads > 0, H % Heads == 0)]`";
    let clauses = match attr.parse_args_with(Punctuated::<Expr, Token![,]>::parse_terminated) {
        Ok(clauses) => clauses,
        Err(error) => {
            errors.push_syn(&error, HELP);
            return Vec::new();
        }
    };
    if clauses.is_empty() {
        errors.push(attr, "this `#[require]` says nothing", HELP);
    }
    clauses
        .iter()
        .filter_map(|clause| parse_requirement(clause, errors))
        .collect()
}

fn parse_requirement(clause: &Expr, errors: &mut Errors) -> Option<Requirement> {
    let kind = match clause {
        Expr::Paren(paren) => parse_requirement(&paren.expr, errors)?.kind,
        Expr::Group(group) => parse_requirement(&group.expr, errors)?.kind,
        Expr::Binary(binary) => {
            let comparison = match binary.op {
                BinOp::Eq(_) => Comparison::Eq,
                BinOp::Ne(_) => Comparison::Ne,
                BinOp::Lt(_) => Comparison::Lt,
                BinOp::Le(_) => Comparison::Le,
                BinOp::Gt(_) => Comparison::Gt,
                BinOp::Ge(_) => Comparison::Ge,
                BinOp::And(_) => {
                    errors.push(
                        binary.op,
                        "clauses are separated by commas",
                        "write `#[require(A > 0, B > 0)]` instead of `&&`",
                    );
                    return None;
                }
                _ => {
                    errors.push(
                        clause,
                        "a requirement is a comparison",
                        "compare two dimensions with `== != < <= > >=`, e.g. `H % Heads == 0`",
                    );
                    return None;
                }
            };
            let left = parse_dim(&binary.left, errors);
            let right = parse_dim(&binary.right, errors);
            RequirementKind::Compare(left?, comparison, right?)
        }
        Expr::Call(call)
            if matches!(call.func.as_ref(), Expr::Path(path)
                if super::lone_ident(path).is_some_and(|name| name == "distinct")) =>
        {
            match call.args.first() {
                Some(Expr::Path(path)) if call.args.len() == 1 => match super::lone_ident(path) {
                    Some(name) => RequirementKind::Distinct(name),
                    None => {
                        errors.push(
                            path,
                            "`distinct` takes a parameter",
                            "write `distinct(slots)`",
                        );
                        return None;
                    }
                },
                _ => {
                    errors.push(
                        clause,
                        "`distinct` takes one parameter",
                        "name an integer tensor parameter, e.g. `distinct(slots)`",
                    );
                    return None;
                }
            }
        }
        Expr::Call(call)
            if matches!(call.func.as_ref(), Expr::Path(path)
                if super::lone_ident(path).is_some_and(|name| name == "packed")) =>
        {
            let names: Vec<_> = call
                .args
                .iter()
                .filter_map(|arg| match arg {
                    Expr::Path(path) => super::lone_ident(path),
                    _ => None,
                })
                .collect();
            match <[_; 3]>::try_from(names) {
                Ok(names) if call.args.len() == 3 => RequirementKind::Packed(names),
                _ => {
                    errors.push(
                        clause,
                        "`packed` takes three parameters",
                        "write `packed(rows, positions, segments)`",
                    );
                    return None;
                }
            }
        }
        _ => {
            errors.push(
                clause,
                "a requirement is a comparison, `distinct(..)` or `packed(..)`",
                "e.g. `#[require(H % Heads == 0)]`",
            );
            return None;
        }
    };
    Some(Requirement {
        kind,
        tokens: clause.to_token_stream(),
    })
}
