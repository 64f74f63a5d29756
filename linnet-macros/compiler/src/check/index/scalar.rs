//! Scalar expressions of the element.

use quote::ToTokens;
use syn::{Expr, Lit, UnOp};

use crate::builtins;
use crate::check::body::{Binding, Body, Hint, Value};
use crate::check::literal::{BOOL, Class, I64, tail};
use crate::check::nearest::nearest;
use crate::check::operator::{
    self, arithmetic, binary_function, binary_operands, compares, unary_function, unary_name,
    unary_result,
};
use crate::check::source;
use crate::check::types::{Ty, Type, show_dtype};
use crate::diagnostic::Rule;
use crate::ir::{BinaryOp, DTypeExpr, Scalar, ScalarOp, UnaryOp};

use super::{Notation, element::var_number};

impl Body<'_, '_> {
    /// Whether an expression of the element takes its context's dtype.
    pub(super) fn element_flexible(&self, expr: &Expr, notation: &Notation) -> bool {
        self.flexible(expr, &|name| notation.var(name).is_some())
    }

    /// One scalar expression. None after an error.
    pub(super) fn scalar(
        &mut self,
        expr: &Expr,
        hint: Option<&DTypeExpr>,
        notation: &mut Notation,
    ) -> Option<Scalar> {
        let shadowed = self.names_var(expr, notation);
        if !shadowed && let Some(tree) = self.as_dim(expr) {
            let dtype = self.dim_dtype(expr, hint.map_or(Hint::None, Hint::DType))?;
            let dim = self.dim_expr(&tree, expr)?;
            return Some(Scalar {
                op: ScalarOp::Dim(dim),
                dtype,
            });
        }
        match expr {
            Expr::Paren(paren) => self.scalar(&paren.expr, hint, notation),
            Expr::Group(group) => self.scalar(&group.expr, hint, notation),
            Expr::Lit(lit) => self.scalar_literal(&lit.lit, false, hint, expr),
            Expr::Path(path) => self.scalar_path(path, hint, expr, notation),
            Expr::Index(index) => self.element_of(index, expr, notation),
            Expr::Unary(unary) => match unary.op {
                UnOp::Neg(_) => {
                    if let Expr::Lit(lit) = &*unary.expr {
                        return self.scalar_literal(&lit.lit, true, hint, expr);
                    }
                    let value = self.scalar(&unary.expr, hint, notation)?;
                    self.scalar_unary(UnaryOp::Neg, value, &unary.expr)
                }
                UnOp::Not(_) => {
                    let value = self.scalar(&unary.expr, hint, notation)?;
                    self.scalar_unary(UnaryOp::Not, value, &unary.expr)
                }
                _ => {
                    self.form(
                        "`*` here",
                        "packs stand only within the brackets of a tensor",
                        expr,
                    );
                    None
                }
            },
            Expr::Binary(binary) => match arithmetic(&binary.op) {
                Some(op) => {
                    self.scalar_binary(op.op, &binary.left, &binary.right, hint, expr, notation)
                }
                None => {
                    self.form("an assignment", "write the element as one expression", expr);
                    None
                }
            },
            Expr::Call(call) => self.scalar_call(call, hint, expr, notation),
            Expr::If(branch) => self.scalar_if(branch, hint, expr, notation),
            Expr::Block(block) if block.block.stmts.len() == 1 => match tail(&block.block) {
                Some(inner) => self.scalar(inner, hint, notation),
                None => {
                    self.form("a statement", "write the element as one expression", expr);
                    None
                }
            },
            Expr::Field(_) => {
                let text = source::text(expr);
                let value = self.expr(expr, Hint::None);
                self.scalar_of_value(value, &text, expr)
            }
            Expr::MethodCall(call) => {
                let text = source::text(expr);
                let _ = call;
                self.form(
                    &format!("the call `{text}`"),
                    "call it before, with `let`, and index its result",
                    expr,
                );
                None
            }
            Expr::Macro(_) => {
                self.form("a macro", "compute it before, with `let`", expr);
                None
            }
            _ => {
                self.form(
                    "this expression",
                    "write elements `x[i]`, arithmetic, comparisons, functions of one element, \
                     and `if .. { .. } else { .. }`",
                    expr,
                );
                None
            }
        }
    }

    pub(super) fn form(&mut self, what: &str, help: &str, tokens: impl ToTokens) {
        let rule = Rule::IndexForm {
            what: what.to_owned(),
            help: help.to_owned(),
        };
        self.report(rule, tokens);
    }

    /// Whether an expression names an index variable.
    pub(super) fn names_var(&self, expr: &Expr, notation: &Notation) -> bool {
        struct Finder<'n>(&'n Notation, bool);
        impl<'ast> syn::visit::Visit<'ast> for Finder<'_> {
            fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
                if let Some(name) = path.path.get_ident() {
                    self.1 |= self.0.var(&name.to_string()).is_some();
                }
            }
        }
        let mut finder = Finder(notation, false);
        syn::visit::Visit::visit_expr(&mut finder, expr);
        finder.1
    }

    pub(super) fn scalar_literal(
        &mut self,
        lit: &Lit,
        negative: bool,
        hint: Option<&DTypeExpr>,
        expr: &Expr,
    ) -> Option<Scalar> {
        let (literal, dtype) =
            self.literal(lit, negative, hint.map_or(Hint::None, Hint::DType), expr)?;
        Some(Scalar {
            op: ScalarOp::Literal(literal),
            dtype,
        })
    }

    pub(super) fn scalar_path(
        &mut self,
        path: &syn::ExprPath,
        hint: Option<&DTypeExpr>,
        expr: &Expr,
        notation: &mut Notation,
    ) -> Option<Scalar> {
        let Some(name) = path.path.get_ident() else {
            let (literal, dtype) = self.constant_literal(path, expr)?;
            return Some(Scalar {
                op: ScalarOp::Literal(literal),
                dtype,
            });
        };
        let text = name.to_string();
        if let Some(var) = notation.var(&text) {
            notation.vars[var].used = true;
            if notation.vars[var].pack {
                self.report(
                    Rule::IndexPack {
                        what: format!("`*{text}` stands for several axes and is no number"),
                        help: Some("use it within the brackets of a tensor".to_owned()),
                    },
                    expr,
                );
                return None;
            }
            let dtype = self.dim_dtype(expr, hint.map_or(Hint::None, Hint::DType))?;
            return Some(Scalar {
                op: ScalarOp::Var(var_number(var)),
                dtype,
            });
        }
        match self.lookup(&text).cloned() {
            Some(Binding::LoopIndex(id)) => {
                let dtype = match hint {
                    None => I64,
                    Some(_) => self.dim_dtype(expr, hint.map_or(Hint::None, Hint::DType))?,
                };
                let index = Scalar {
                    op: ScalarOp::Value(id),
                    dtype: I64,
                };
                Some(if dtype == I64 {
                    index
                } else {
                    Scalar {
                        op: ScalarOp::Cast(Box::new(index)),
                        dtype,
                    }
                })
            }
            Some(_) => {
                let value = self.expr(expr, Hint::None);
                self.scalar_of_value(value, &text, expr)
            }
            None if self.scope.kind(&text).is_some() || text == "self" => {
                self.expr(expr, Hint::None);
                None
            }
            None => {
                let mut known = notation.names();
                known.extend(self.names());
                let nearest = nearest(&text, known.iter().map(String::as_str));
                let rule = Rule::UnknownName {
                    name: text,
                    nearest,
                    known,
                };
                self.report(rule, expr);
                None
            }
        }
    }

    /// A scalar of the function within the element.
    pub(super) fn scalar_of_value(
        &mut self,
        value: Value,
        text: &str,
        expr: &Expr,
    ) -> Option<Scalar> {
        match value.ty {
            Type::Unknown => None,
            Type::Scalar(dtype) => Some(Scalar {
                op: ScalarOp::Value(value.id),
                dtype,
            }),
            Type::Tensor(tensor) => {
                let entries: Vec<&str> = tensor.dims.iter().map(|_| "..").collect();
                let rule = Rule::IndexCount {
                    tensor: text.to_owned(),
                    ty: Ty::Tensor(tensor).to_string(),
                    found: 0,
                    help: Some(format!(
                        "write an index for each axis: `{text}[{}]`",
                        entries.join(", ")
                    )),
                };
                self.report(rule, expr);
                None
            }
            ty @ Type::Option(_) => {
                if !ty.is_unknown() {
                    let rule = Rule::OptionalBare {
                        what: text.to_owned(),
                        ty: ty.to_string(),
                    };
                    self.report(rule, expr);
                }
                None
            }
            ty => {
                let rule = Rule::NotIndexable {
                    what: text.to_owned(),
                    ty: ty.to_string(),
                };
                self.report(rule, expr);
                None
            }
        }
    }

    pub(super) fn scalar_unary(
        &mut self,
        op: UnaryOp,
        value: Scalar,
        operand: &Expr,
    ) -> Option<Scalar> {
        let class = self.class(&value.dtype);
        if let Err(needs) = unary_result(op, class) {
            let text = crate::check::agree::short_text(&operand.to_token_stream());
            let found = crate::check::library::dtype_with_bound(&value.dtype, &self.scope);
            let help = (class == Class::Int && needs == "floats")
                .then(|| format!("write `cast::<f32>({text})`"));
            self.report(
                Rule::OperandKind {
                    operator: unary_name(op).to_owned(),
                    needs: needs.to_owned(),
                    found,
                    help,
                },
                operand,
            );
            return None;
        }
        let dtype = value.dtype.clone();
        Some(Scalar {
            op: ScalarOp::Unary(op, Box::new(value)),
            dtype,
        })
    }

    /// Two scalars of one dtype, either of which may take it from the other.
    pub(super) fn pair(
        &mut self,
        left: &Expr,
        right: &Expr,
        hint: Option<&DTypeExpr>,
        notation: &mut Notation,
    ) -> (Option<Scalar>, Option<Scalar>) {
        let left_flexible = self.element_flexible(left, notation);
        let right_flexible = self.element_flexible(right, notation);
        if left_flexible && !right_flexible {
            let b = self.scalar(right, hint, notation);
            let dtype = b.as_ref().map(|b| b.dtype.clone());
            let a = dtype.and_then(|dtype| self.scalar(left, Some(&dtype), notation));
            return (a, b);
        }
        let a = self.scalar(left, hint, notation);
        let dtype = a.as_ref().map(|a| a.dtype.clone());
        let b = match &dtype {
            Some(dtype) => self.scalar(right, Some(dtype), notation),
            None if right_flexible => None,
            None => self.scalar(right, hint, notation),
        };
        (a, b)
    }

    pub(super) fn scalar_binary(
        &mut self,
        op: BinaryOp,
        left: &Expr,
        right: &Expr,
        hint: Option<&DTypeExpr>,
        whole: &Expr,
        notation: &mut Notation,
    ) -> Option<Scalar> {
        let (a, b) = if matches!(op, BinaryOp::And | BinaryOp::Or) {
            let a = self.scalar(left, Some(&BOOL), notation);
            (a, self.scalar(right, Some(&BOOL), notation))
        } else if compares(op) {
            // Two index variables, or one and a dimension, compare as integers.
            let both = self.element_flexible(left, notation)
                && self.element_flexible(right, notation)
                && (self.has_integer_name(left) || self.has_integer_name(right));
            self.pair(left, right, both.then_some(&I64), notation)
        } else {
            let both =
                self.element_flexible(left, notation) && self.element_flexible(right, notation);
            if both && hint.is_none() {
                let literal = source::text(whole);
                self.report(Rule::LiteralWithoutContext { literal }, whole);
                return None;
            }
            self.pair(left, right, hint, notation)
        };
        self.scalar_apply(op, a?, b?, left, right, whole)
    }

    pub(super) fn scalar_apply(
        &mut self,
        op: BinaryOp,
        a: Scalar,
        b: Scalar,
        left: &Expr,
        right: &Expr,
        whole: &Expr,
    ) -> Option<Scalar> {
        let operator = operator::sign(op).to_owned();
        for (scalar, tokens) in [(&a, left), (&b, right)] {
            if let Err(needs) = binary_operands(op, self.class(&scalar.dtype)) {
                let found = crate::check::library::dtype_with_bound(&scalar.dtype, &self.scope);
                self.report(
                    Rule::OperandKind {
                        operator,
                        needs: needs.to_owned(),
                        found,
                        help: None,
                    },
                    tokens,
                );
                return None;
            }
        }
        if a.dtype != b.dtype {
            let help = operator::mixed_help(
                &a.dtype,
                &b.dtype,
                &crate::check::agree::short_text(&left.to_token_stream()),
                &crate::check::agree::short_text(&right.to_token_stream()),
                |dtype| self.class(dtype),
            );
            self.report(
                Rule::OperandDTypes {
                    operator,
                    left: show_dtype(&a.dtype),
                    right: show_dtype(&b.dtype),
                    help,
                },
                whole,
            );
            return None;
        }
        let dtype = if compares(op) { BOOL } else { a.dtype.clone() };
        Some(Scalar {
            op: ScalarOp::Binary(op, Box::new(a), Box::new(b)),
            dtype,
        })
    }

    pub(super) fn scalar_call(
        &mut self,
        call: &syn::ExprCall,
        hint: Option<&DTypeExpr>,
        expr: &Expr,
        notation: &mut Notation,
    ) -> Option<Scalar> {
        let path = match &*call.func {
            Expr::Path(path) => path,
            _ => {
                self.form(
                    "calling a value",
                    "call a built-in function by its name",
                    &call.func,
                );
                return None;
            }
        };
        let name = path
            .path
            .segments
            .last()
            .map(|segment| segment.ident.to_string());
        let name = name.unwrap_or_default();
        let args: Vec<&Expr> = call.args.iter().collect();
        let wrong_count = |body: &mut Self, parameters: &[&str]| {
            body.report(
                Rule::ArgumentCount {
                    function: name.clone(),
                    parameters: parameters.iter().map(ToString::to_string).collect(),
                    found: args.len(),
                },
                expr,
            );
        };
        if let Some(op) = unary_function(&name) {
            let [arg] = args[..] else {
                wrong_count(self, &["x"]);
                return None;
            };
            let value = self.scalar(arg, hint, notation)?;
            return self.scalar_unary(op, value, arg);
        }
        if let Some(op) = binary_function(&name) {
            let [a, b] = args[..] else {
                wrong_count(self, &["a", "b"]);
                return None;
            };
            return self.scalar_binary(op, a, b, hint, expr, notation);
        }
        match name.as_str() {
            "cast" => {
                let dtype = self.dtype_argument(path);
                let [arg] = args[..] else {
                    wrong_count(self, &["x"]);
                    return None;
                };
                let Ok(Some(dtype)) = dtype else {
                    if dtype.is_ok() {
                        self.report(
                            Rule::CannotInfer {
                                generic: "T".to_owned(),
                                function: name,
                                help: "write the dtype: `cast::<f32>(..)`".to_owned(),
                            },
                            path,
                        );
                    }
                    return None;
                };
                let flexible = self.element_flexible(arg, notation);
                let literal = flexible && !self.has_integer_name(arg);
                let is_int = self.class(&dtype) == Class::Int;
                let inner = match (flexible, literal || is_int) {
                    (false, _) => None,
                    (true, true) => Some(&dtype),
                    (true, false) => Some(&I64),
                };
                let value = self.scalar(arg, inner, notation)?;
                if value.dtype == dtype {
                    return Some(value);
                }
                if dtype == BOOL {
                    let text = crate::check::agree::short_text(&arg.to_token_stream());
                    self.report(
                        Rule::OperandKind {
                            operator: "cast::<bool>".to_owned(),
                            needs: "truth values".to_owned(),
                            found: show_dtype(&value.dtype),
                            help: Some(format!("compare: `{text} != 0`")),
                        },
                        arg,
                    );
                    return None;
                }
                Some(Scalar {
                    op: ScalarOp::Cast(Box::new(value)),
                    dtype,
                })
            }
            "select" => {
                let [condition, yes, no] = args[..] else {
                    wrong_count(self, &["condition", "yes", "no"]);
                    return None;
                };
                self.scalar_choice(condition, yes, no, hint, expr, notation)
            }
            name if builtins::is_function(name) => {
                self.form(
                    &format!("`{name}`"),
                    "compute it before, with `let`, and index its result",
                    expr,
                );
                None
            }
            _ => {
                self.form(
                    &format!("the call of `{name}`"),
                    "call it before, with `let`, and index its result",
                    expr,
                );
                None
            }
        }
    }

    pub(super) fn scalar_if(
        &mut self,
        branch: &syn::ExprIf,
        hint: Option<&DTypeExpr>,
        expr: &Expr,
        notation: &mut Notation,
    ) -> Option<Scalar> {
        let yes = tail(&branch.then_branch).filter(|_| branch.then_branch.stmts.len() == 1);
        let no = branch.else_branch.as_ref().map(|(_, no)| &**no);
        match (yes, no) {
            (Some(yes), Some(no)) => {
                self.scalar_choice(&branch.cond, yes, no, hint, expr, notation)
            }
            (_, None) => {
                self.form(
                    "`if` without `else`",
                    "every element has a value: add `else`",
                    expr,
                );
                None
            }
            (None, _) => {
                self.form("a statement", "write each branch as one expression", expr);
                None
            }
        }
    }

    pub(super) fn scalar_choice(
        &mut self,
        condition: &Expr,
        yes: &Expr,
        no: &Expr,
        hint: Option<&DTypeExpr>,
        expr: &Expr,
        notation: &mut Notation,
    ) -> Option<Scalar> {
        let c = self.scalar(condition, Some(&BOOL), notation);
        let (a, b) = self.pair(yes, no, hint, notation);
        let (c, a, b) = (c?, a?, b?);
        if c.dtype != BOOL {
            self.report(
                Rule::OperandKind {
                    operator: "if".to_owned(),
                    needs: "a truth value".to_owned(),
                    found: show_dtype(&c.dtype),
                    help: None,
                },
                condition,
            );
            return None;
        }
        if a.dtype != b.dtype {
            self.report(
                Rule::Branches {
                    first: show_dtype(&a.dtype),
                    second: show_dtype(&b.dtype),
                    help: Some(format!(
                        "nothing converts by itself: `cast::<{}>(..)`",
                        show_dtype(&a.dtype)
                    )),
                },
                expr,
            );
            return None;
        }
        let dtype = a.dtype.clone();
        Some(Scalar {
            op: ScalarOp::If(Box::new(c), Box::new(a), Box::new(b)),
            dtype,
        })
    }
}
