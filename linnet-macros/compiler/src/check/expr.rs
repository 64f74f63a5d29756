//! Expressions.

use quote::ToTokens;
use syn::{Expr, Lit, UnOp};

use super::body::{Binding, Body, Hint, Value};
use super::literal::{BOOL, I64};
use super::nearest::nearest;
use super::source;
use super::types::{Ty, Type, show_dtype};
use crate::builtins;
use crate::diagnostic::Rule;
use crate::ir::{self, DTypeExpr, NodeOp, UnaryOp};

impl Body<'_, '_> {
    /// Checks and lowers an expression. Literals take the dtype of `hint`;
    /// whether the result is what the context needs is the caller's to check.
    pub(crate) fn expr(&mut self, expr: &Expr, hint: Hint<'_>) -> Value {
        if let Some(tree) = self.as_dim(expr) {
            return self.dim_value(&tree, expr, hint);
        }
        match expr {
            Expr::Lit(lit) => self.literal_value(&lit.lit, false, hint, expr),
            Expr::Path(path) => self.path(path, hint, expr),
            Expr::Paren(paren) => self.expr(&paren.expr, hint),
            Expr::Group(group) => self.expr(&group.expr, hint),
            Expr::Unary(unary) => self.unary(unary, hint, expr),
            Expr::Binary(binary) => match super::operator::arithmetic(&binary.op) {
                Some(operator) => {
                    self.binary(operator.op, &binary.left, &binary.right, hint, expr)
                }
                None => self.assignment(expr),
            },
            Expr::Call(call) => self.call_expr(call, hint, expr),
            Expr::MethodCall(call) => self.method_call(call, hint, expr),
            Expr::Field(field) => self.field(field, expr),
            Expr::Macro(mac) => self.macro_expr(mac, hint, expr),
            Expr::Tuple(tuple) => self.tuple(tuple, hint, expr),
            Expr::Block(block) => {
                self.scoped(|body| body.statements(&block.block, hint)).unwrap_or(Value {
                    id: 0,
                    ty: Type::Unit,
                })
            }
            Expr::If(branch) => self.if_expr(branch, hint, expr),
            Expr::Match(branch) => self.match_expr(branch, hint, expr),
            Expr::Assign(_) => self.assignment(expr),
            Expr::ForLoop(looped) => self.for_loop(looped, expr),
            Expr::Return(_) => self.fail(Rule::EarlyReturn, expr),
            Expr::Index(index) => {
                let base = source::text(&index.expr);
                self.unsupported(
                    "indexing with brackets",
                    format!("write `{base}.slice(s![..])` for a part, or `index!(..)` for elements"),
                    expr,
                )
            }
            Expr::Cast(cast) => {
                let value = source::text(&cast.expr);
                let ty = source::text(&cast.ty);
                self.unsupported("`as`", format!("write `cast::<{ty}>({value})`"), expr)
            }
            Expr::Reference(reference) => {
                let inner = source::text(&reference.expr);
                self.unsupported(
                    "a reference here",
                    format!("write `{inner}`; only an argument for a `&mut` parameter has `&mut`"),
                    expr,
                )
            }
            Expr::Array(_) => self.unsupported(
                "an array as a value",
                "arrays stand for dimensions and axes, as in `x.reshape([B, H])`, and in `concat([a, b], 0)`",
                expr,
            ),
            Expr::While(_) | Expr::Loop(_) => self.unsupported(
                "a loop without bounds",
                "write `for i in 0..N` over dimensions or `for block in &self.blocks`",
                expr,
            ),
            Expr::Break(_) | Expr::Continue(_) => self.unsupported(
                "leaving a loop",
                "every turn runs to its end: use `if` within the body",
                expr,
            ),
            Expr::Closure(_) => {
                self.unsupported("a closure", "write an `#[op] fn` and call it", expr)
            }
            Expr::Try(_) => {
                self.unsupported("`?`", "functions of blocks have no errors to pass on", expr)
            }
            _ => self.unsupported(
                "this expression",
                "write operators, calls, `if`, `match`, `for`, `index!` and the methods of tensors",
                expr,
            ),
        }
    }

    /// Reports a Rust form that the language does not have.
    pub(crate) fn unsupported(
        &mut self,
        what: impl Into<String>,
        help: impl Into<String>,
        tokens: impl ToTokens,
    ) -> Value {
        self.fail(
            Rule::Unsupported {
                what: what.into(),
                help: help.into(),
            },
            tokens,
        )
    }

    fn literal_value(&mut self, lit: &Lit, negative: bool, hint: Hint<'_>, expr: &Expr) -> Value {
        match self.literal(lit, negative, hint, expr) {
            Some((literal, dtype)) => {
                self.emit(NodeOp::Literal(literal), Type::Scalar(dtype), expr)
            }
            None => Value::unknown(),
        }
    }

    fn unary(&mut self, unary: &syn::ExprUnary, hint: Hint<'_>, expr: &Expr) -> Value {
        match unary.op {
            UnOp::Neg(_) => {
                let mut inner = &*unary.expr;
                while let Expr::Paren(syn::ExprParen { expr, .. })
                | Expr::Group(syn::ExprGroup { expr, .. }) = inner
                {
                    inner = expr;
                }
                if let Expr::Lit(lit) = inner {
                    return self.literal_value(&lit.lit, true, hint, expr);
                }
                let value = self.expr(&unary.expr, self.element_hint(hint));
                self.apply_unary(UnaryOp::Neg, value, &unary.expr, expr)
            }
            UnOp::Not(_) => {
                let value = self.expr(&unary.expr, self.element_hint(hint));
                self.apply_unary(UnaryOp::Not, value, &unary.expr, expr)
            }
            UnOp::Deref(_) => {
                if let Expr::Path(path) = &*unary.expr
                    && let Some(name) = path.path.get_ident()
                    && let Some(Binding::MutParam(_)) = self.lookup(&name.to_string())
                {
                    return self.expr(&unary.expr, hint);
                }
                self.unsupported(
                    "`*` before a value",
                    "only a `&mut` parameter is written with `*`, as in `*cache = ..`",
                    expr,
                )
            }
            _ => self.unsupported("this operator", "write `-` or `!`", expr),
        }
    }

    fn path(&mut self, path: &syn::ExprPath, hint: Hint<'_>, expr: &Expr) -> Value {
        let Some(name) = path.path.get_ident() else {
            return self.constant(path, expr);
        };
        let text = name.to_string();
        match self.lookup(&text).cloned() {
            Some(Binding::Local(slot)) => {
                let slot = &self.slots[slot];
                Value {
                    id: slot.id,
                    ty: slot.ty.clone(),
                }
            }
            Some(Binding::MutParam(number)) => {
                let ty = self.params[number as usize].clone();
                self.emit(NodeOp::ReadMut(number), ty, expr)
            }
            Some(Binding::Element { of, .. }) => self.fail(
                Rule::TypeMismatch {
                    place: format!("the use of `{text}`"),
                    expected: "a value".to_owned(),
                    expected_note: None,
                    found: format!("a block of `{of}`"),
                    help: Some(format!(
                        "call one of its functions, as in `{text}.forward(x)`"
                    )),
                },
                expr,
            ),
            Some(Binding::LoopIndex(id)) => {
                let index = Value {
                    id,
                    ty: Type::Scalar(I64),
                };
                match hint.dtype() {
                    None => index,
                    Some(dtype) if *dtype == I64 => index,
                    Some(_) => match self.dim_dtype(expr, hint) {
                        Some(dtype) => self.emit(NodeOp::Cast(id), Type::Scalar(dtype), expr),
                        None => Value::unknown(),
                    },
                }
            }
            None if text == "None" => self.none(hint, expr),
            None if text == "self" => self.fail(
                Rule::TypeMismatch {
                    place: "the use of `self`".to_owned(),
                    expected: "a value".to_owned(),
                    expected_note: None,
                    found: "the block itself".to_owned(),
                    help: Some("name one of its members, as in `self.weight`".to_owned()),
                },
                expr,
            ),
            None => match self.scope.kind(&text) {
                Some(kind) => self.fail(
                    Rule::GenericKind {
                        name: text.clone(),
                        is: super::scope::kind_name(kind).to_owned(),
                        due: "a value".to_owned(),
                        help: None,
                    },
                    expr,
                ),
                None => self.unknown_name(&text, expr),
            },
        }
    }

    /// `None`, of the optional type that the context expects.
    fn none(&mut self, hint: Hint<'_>, expr: &Expr) -> Value {
        match hint {
            Hint::Type(ty @ Type::Option(inner))
                if !inner.is_unknown() && !super::scope::has_unbound(ty) =>
            {
                self.emit(NodeOp::None, ty.clone(), expr)
            }
            Hint::Type(Type::Unknown) => Value::unknown(),
            Hint::Type(ty @ Type::Option(inner)) if inner.is_unknown() => Value {
                id: 0,
                ty: ty.clone(),
            },
            Hint::Type(ty) if !matches!(ty, Type::Option(_)) => self.fail(
                Rule::TypeMismatch {
                    place: "the use of `None`".to_owned(),
                    expected: ty.to_string(),
                    expected_note: None,
                    found: "None".to_owned(),
                    help: None,
                },
                expr,
            ),
            _ => self.fail(
                Rule::LiteralWithoutContext {
                    literal: "None".to_owned(),
                },
                expr,
            ),
        }
    }

    /// `T::INFINITY`, `f32::NEG_INFINITY` and `T::NAN`.
    pub(crate) fn constant(&mut self, path: &syn::ExprPath, expr: &Expr) -> Value {
        match self.constant_literal(path, expr) {
            Some((literal, dtype)) => {
                self.emit(NodeOp::Literal(literal), Type::Scalar(dtype), expr)
            }
            None => Value::unknown(),
        }
    }

    /// The value of `T::INFINITY` and the like.
    pub(crate) fn constant_literal(
        &mut self,
        path: &syn::ExprPath,
        expr: &Expr,
    ) -> Option<(ir::Literal, DTypeExpr)> {
        let segments: Vec<String> = path
            .path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        let [of, name] = &segments[..] else {
            self.report(
                Rule::UnknownName {
                    name: segments.join("::"),
                    nearest: None,
                    known: Vec::new(),
                },
                expr,
            );
            return None;
        };
        let dtype = match builtins::dtype(of) {
            Some(dtype) => DTypeExpr::Concrete(dtype),
            None => match self.scope.kind(of) {
                Some(kind) if super::scope::is_dtype(kind) => DTypeExpr::Generic(of.clone()),
                _ => {
                    let known = self.names();
                    self.report(
                        Rule::UnknownName {
                            name: segments.join("::"),
                            nearest: nearest(of, known.iter().map(String::as_str)),
                            known: Vec::new(),
                        },
                        expr,
                    );
                    return None;
                }
            },
        };
        let value = match name.as_str() {
            "INFINITY" => f64::INFINITY,
            "NEG_INFINITY" => f64::NEG_INFINITY,
            "NAN" => f64::NAN,
            _ => {
                self.report(
                    Rule::UnknownName {
                        name: segments.join("::"),
                        nearest: Some(format!("{of}::INFINITY")),
                        known: Vec::new(),
                    },
                    expr,
                );
                return None;
            }
        };
        if self.class(&dtype) != super::literal::Class::Float {
            self.report(
                Rule::LiteralRange {
                    literal: name.clone(),
                    dtype: show_dtype(&dtype),
                },
                expr,
            );
            return None;
        }
        Some((ir::Literal::Float(value), dtype))
    }

    fn tuple(&mut self, tuple: &syn::ExprTuple, hint: Hint<'_>, expr: &Expr) -> Value {
        if tuple.elems.is_empty() {
            return Value {
                id: 0,
                ty: Type::Unit,
            };
        }
        let expected: Option<&[Ty]> = match hint {
            Hint::Type(Type::Tuple(parts)) if parts.len() == tuple.elems.len() => Some(parts),
            _ => None,
        };
        let mut values = Vec::new();
        for (i, part) in tuple.elems.iter().enumerate() {
            let hint = expected.map_or(Hint::None, |parts| Hint::Type(&parts[i]));
            values.push(self.expr(part, hint));
        }
        for (value, part) in values.iter().zip(&tuple.elems) {
            if value.ty == Type::Unit {
                let rule = Rule::TypeMismatch {
                    place: "a tuple".to_owned(),
                    expected: "a value".to_owned(),
                    expected_note: None,
                    found: "()".to_owned(),
                    help: Some("what is called here returns nothing".to_owned()),
                };
                return self.fail(rule, part);
            }
        }
        let ids = values.iter().map(|value| value.id).collect();
        let ty = Type::Tuple(values.into_iter().map(|value| value.ty).collect());
        if ty.is_unknown() {
            return Value { id: 0, ty };
        }
        self.emit(NodeOp::Tuple(ids), ty, expr)
    }

    /// A condition: a scalar bool. None after an error.
    pub(crate) fn condition(&mut self, expr: &Expr) -> Option<Value> {
        let value = self.expr(expr, Hint::DType(&BOOL));
        if value.ty.is_unknown() {
            return None;
        }
        let due = Type::Scalar(BOOL);
        if let Type::Tensor(tensor) = &value.ty
            && tensor.dtype == BOOL
        {
            let rule = Rule::TypeMismatch {
                place: "the condition".to_owned(),
                expected: "bool".to_owned(),
                expected_note: None,
                found: value.ty.to_string(),
                help: Some("choose between elements with `select(condition, yes, no)`".to_owned()),
            };
            self.report(rule, expr);
            return None;
        }
        self.expect(&value, &due, "the condition", None, expr)
            .then_some(value)
    }

    /// A scalar integer that is known when it runs. None after an error.
    pub(crate) fn runtime_integer(&mut self, expr: &Expr, place: &str) -> Option<Value> {
        let value = self.expr(expr, Hint::DType(&I64));
        match &value.ty {
            Type::Unknown => None,
            Type::Scalar(dtype) if self.class(dtype) == super::literal::Class::Int => Some(value),
            ty => {
                self.report(
                    Rule::TypeMismatch {
                        place: place.to_owned(),
                        expected: "an integer scalar".to_owned(),
                        expected_note: None,
                        found: ty.to_string(),
                        help: None,
                    },
                    expr,
                );
                None
            }
        }
    }
}
