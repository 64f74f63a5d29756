//! Literals and dimensions as values: what takes its dtype from its context.

use quote::ToTokens;
use syn::{Expr, Lit, UnOp};

use super::body::{Binding, Body, Hint, Value};
use super::source;
use super::types::{Type, show_dtype};
use crate::ast::DimOp;
use crate::builtins;
use crate::diagnostic::Rule;
use crate::dim::DimTree;
use crate::ir::{self, DType, DTypeExpr, GenericKind, NodeOp};

/// What a dtype can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Float,
    Int,
    Bool,
    /// A generic bound by `DType`: it may be any of them.
    Any,
}

/// i64, the dtype of dimensions that no context gives another.
pub(crate) const I64: DTypeExpr = DTypeExpr::Concrete(DType::I64);

/// The dtype of conditions.
pub(crate) const BOOL: DTypeExpr = DTypeExpr::Concrete(DType::Bool);

impl Body<'_, '_> {
    /// What a dtype can do.
    pub(crate) fn class(&self, dtype: &DTypeExpr) -> Class {
        match dtype {
            DTypeExpr::Concrete(DType::F32 | DType::F16 | DType::BF16) => Class::Float,
            DTypeExpr::Concrete(DType::I8 | DType::I32 | DType::I64 | DType::U8) => Class::Int,
            DTypeExpr::Concrete(DType::Bool) => Class::Bool,
            DTypeExpr::Generic(name) => match self.scope.kind(name) {
                Some(GenericKind::Float) => Class::Float,
                Some(GenericKind::Int) => Class::Int,
                _ => Class::Any,
            },
        }
    }

    /// Whether an expression takes the dtype of its context: it consists of
    /// literals, dimensions and loop or index variables alone. `extra` says of
    /// further names whether they do.
    pub(crate) fn flexible(&self, expr: &Expr, extra: &dyn Fn(&str) -> bool) -> bool {
        let again = |expr: &Expr| self.flexible(expr, extra);
        match expr {
            Expr::Lit(lit) => match &lit.lit {
                Lit::Int(value) => value.suffix().is_empty(),
                Lit::Float(value) => value.suffix().is_empty(),
                _ => false,
            },
            Expr::Path(path) => path.path.get_ident().is_some_and(|name| {
                let name = name.to_string();
                extra(&name)
                    || self.is_dim(&name)
                    || matches!(self.lookup(&name), Some(Binding::LoopIndex(_)))
            }),
            Expr::Paren(paren) => again(&paren.expr),
            Expr::Group(group) => again(&group.expr),
            Expr::Unary(unary) => matches!(unary.op, UnOp::Neg(_)) && again(&unary.expr),
            Expr::Binary(binary) => {
                super::operator::arithmetic(&binary.op).is_some_and(|op| !op.compares)
                    && again(&binary.left)
                    && again(&binary.right)
            }
            Expr::Call(call) => {
                let Expr::Path(function) = &*call.func else {
                    return false;
                };
                let Some(name) = function.path.get_ident().map(ToString::to_string) else {
                    return false;
                };
                let mut args = call.args.iter();
                match name.as_str() {
                    "cast" | "iota" | "fill" | "concat" | "distinct" | "packed" => false,
                    "select" => args.skip(1).all(again),
                    name => builtins::is_function(name) && args.all(again),
                }
            }
            Expr::Block(block) => tail(&block.block).is_some_and(again),
            Expr::If(branch) => {
                tail(&branch.then_branch).is_some_and(again)
                    && branch.else_branch.as_ref().is_some_and(|(_, no)| again(no))
            }
            _ => false,
        }
    }

    /// An expression of dimensions and integers alone, with at least one
    /// dimension in it.
    pub(crate) fn as_dim(&self, expr: &Expr) -> Option<DimTree> {
        let tree = self.as_dim_or_integer(expr)?;
        (!tree.symbols().is_empty()).then_some(tree)
    }

    /// An expression of dimensions and integers alone.
    pub(crate) fn as_dim_or_integer(&self, expr: &Expr) -> Option<DimTree> {
        match expr {
            Expr::Lit(lit) => match &lit.lit {
                Lit::Int(value) if value.suffix().is_empty() => {
                    value.base10_parse().ok().map(DimTree::Const)
                }
                _ => None,
            },
            Expr::Path(path) => {
                let name = path.path.get_ident()?.to_string();
                self.is_dim(&name).then(|| DimTree::name(name))
            }
            Expr::Paren(paren) => self.as_dim_or_integer(&paren.expr),
            Expr::Group(group) => self.as_dim_or_integer(&group.expr),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
                match self.as_dim_or_integer(&unary.expr)? {
                    DimTree::Const(value) => value.checked_neg().map(DimTree::Const),
                    tree => Some(DimTree::binary(DimOp::Sub, DimTree::Const(0), tree)),
                }
            }
            Expr::Binary(binary) => {
                let op = match super::operator::arithmetic(&binary.op)?.op {
                    ir::BinaryOp::Add => DimOp::Add,
                    ir::BinaryOp::Sub => DimOp::Sub,
                    ir::BinaryOp::Mul => DimOp::Mul,
                    ir::BinaryOp::Div => DimOp::Div,
                    ir::BinaryOp::Rem => DimOp::Rem,
                    _ => return None,
                };
                let left = self.as_dim_or_integer(&binary.left)?;
                let right = self.as_dim_or_integer(&binary.right)?;
                Some(DimTree::binary(op, left, right))
            }
            Expr::Call(call) => {
                let Expr::Path(function) = &*call.func else {
                    return None;
                };
                let op = match function.path.get_ident()?.to_string().as_str() {
                    "min" => DimOp::Min,
                    "max" => DimOp::Max,
                    _ => return None,
                };
                if call.args.len() != 2 {
                    return None;
                }
                let left = self.as_dim_or_integer(&call.args[0])?;
                let right = self.as_dim_or_integer(&call.args[1])?;
                Some(DimTree::binary(op, left, right))
            }
            _ => None,
        }
    }

    /// A dimension as a scalar value.
    pub(crate) fn dim_value(&mut self, tree: &DimTree, expr: &Expr, hint: Hint<'_>) -> Value {
        let Some(dtype) = self.dim_dtype(expr, hint) else {
            return Value::unknown();
        };
        match self.dim_expr(tree, expr) {
            Some(dim) => self.emit(NodeOp::Dim(dim), Type::Scalar(dtype), expr),
            None => Value::unknown(),
        }
    }

    /// The integer dtype that a dimension takes. Reports where the context has
    /// none, or one that is not an integer.
    pub(crate) fn dim_dtype(&mut self, expr: &Expr, hint: Hint<'_>) -> Option<DTypeExpr> {
        let text = source::text(expr);
        if hint.is_poisoned() {
            return None;
        }
        let Some(dtype) = hint.dtype().cloned() else {
            self.report(Rule::LiteralWithoutContext { literal: text }, expr);
            return None;
        };
        match self.class(&dtype) {
            Class::Int => Some(dtype),
            Class::Float => {
                self.report(
                    Rule::DimAsFloat {
                        dim: text,
                        dtype: show_dtype(&dtype),
                    },
                    expr,
                );
                None
            }
            Class::Bool | Class::Any => {
                self.report(
                    Rule::LiteralRange {
                        literal: text,
                        dtype: show_dtype(&dtype),
                    },
                    expr,
                );
                None
            }
        }
    }

    /// A dimension in value position as the descriptor has it; its divisors
    /// must be positive, but it may be negative.
    pub(crate) fn dim_expr(&mut self, tree: &DimTree, at: &Expr) -> Option<ir::DimExpr> {
        let mut diagnostics = Vec::new();
        let tokens = at.to_token_stream();
        let dim = super::obligation::normal_form(
            tree,
            &self.facts,
            &self.owner,
            &tokens,
            &mut diagnostics,
        );
        self.report_all(diagnostics);
        dim.map(|_| tree.to_expr().unwrap_or(ir::DimExpr::Const(0)))
    }

    /// A literal, negated or not, with the dtype of its context.
    pub(crate) fn literal(
        &mut self,
        lit: &Lit,
        negative: bool,
        hint: Hint<'_>,
        at: &Expr,
    ) -> Option<(ir::Literal, DTypeExpr)> {
        let suffix = match lit {
            Lit::Bool(value) => {
                return Some((ir::Literal::Bool(value.value), BOOL));
            }
            Lit::Int(value) => value.suffix(),
            Lit::Float(value) => value.suffix(),
            _ => {
                self.report(
                    Rule::Unsupported {
                        what: "this literal".to_owned(),
                        help: "values are numbers and truth values".to_owned(),
                    },
                    at,
                );
                return None;
            }
        };
        let text = source::text(at);
        let dtype = if suffix.is_empty() {
            match hint.dtype() {
                Some(dtype) => dtype.clone(),
                None if hint.is_poisoned() => return None,
                None => {
                    self.report(Rule::LiteralWithoutContext { literal: text }, at);
                    return None;
                }
            }
        } else {
            match builtins::dtype(suffix) {
                Some(dtype) => DTypeExpr::Concrete(dtype),
                None => {
                    self.report(
                        Rule::Syntax {
                            message: format!("`{suffix}` is no dtype"),
                            help: Some(
                                "leave the suffix out: a literal takes its context's dtype"
                                    .to_owned(),
                            ),
                        },
                        at,
                    );
                    return None;
                }
            }
        };
        let literal = match (lit, self.class(&dtype)) {
            (Lit::Int(value), Class::Int) => {
                let value = value
                    .base10_parse::<i128>()
                    .ok()
                    .map(|v| if negative { -v } else { v });
                let (low, high) = range(&dtype);
                value
                    .filter(|value| (low..=high).contains(value))
                    .and_then(|value| i64::try_from(value).ok())
                    .map(ir::Literal::Int)
            }
            (Lit::Int(value), Class::Float) => value
                .base10_parse::<f64>()
                .ok()
                .map(|v| if negative { -v } else { v })
                .and_then(|v| float(v, &dtype)),
            (Lit::Float(value), Class::Float) => value
                .base10_parse::<f64>()
                .ok()
                .map(|v| if negative { -v } else { v })
                .and_then(|v| float(v, &dtype)),
            _ => None,
        };
        match literal {
            Some(literal) => Some((literal, dtype)),
            None => {
                self.report(
                    Rule::LiteralRange {
                        literal: text,
                        dtype: show_dtype(&dtype),
                    },
                    at,
                );
                None
            }
        }
    }
}

/// The last expression of a block.
pub(crate) fn tail(block: &syn::Block) -> Option<&Expr> {
    match block.stmts.last() {
        Some(syn::Stmt::Expr(expr, None)) => Some(expr),
        _ => None,
    }
}

/// The integers that a dtype holds; of a generic, those that all of them hold.
fn range(dtype: &DTypeExpr) -> (i128, i128) {
    match dtype {
        DTypeExpr::Concrete(DType::I8) => (i8::MIN.into(), i8::MAX.into()),
        DTypeExpr::Concrete(DType::U8) => (0, u8::MAX.into()),
        DTypeExpr::Concrete(DType::I32) => (i32::MIN.into(), i32::MAX.into()),
        DTypeExpr::Concrete(_) => (i64::MIN.into(), i64::MAX.into()),
        DTypeExpr::Generic(_) => (0, i8::MAX.into()),
    }
}

/// A float that does not round to infinity.
fn float(value: f64, dtype: &DTypeExpr) -> Option<ir::Literal> {
    let most = match dtype {
        DTypeExpr::Concrete(DType::F16) => 65_504.0,
        _ => f64::from(f32::MAX),
    };
    (value.abs() <= most).then_some(ir::Literal::Float(value))
}
