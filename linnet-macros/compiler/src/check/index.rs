//! `index!([outputs] = fold[reduced] element)`.

use std::collections::HashMap;

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Expr, Lit, UnOp};

use super::body::{Binding, Body, Hint, Value};
use super::literal::{BOOL, Class, I64, tail};
use super::nearest::nearest;
use super::obligation::dimension;
use super::operator::{
    self, arithmetic, binary_function, binary_operands, compares, unary_function, unary_name,
    unary_result,
};
use super::slice::{is_punct, split};
use super::source;
use super::types::{Item, Ty, Type, show_dtype};
use crate::builtins;
use crate::diagnostic::Rule;
use crate::dim::{DimTree, Poly};
use crate::ir::{
    self, BinaryOp, Comparison, DTypeExpr, ElementIndex, IndexExpr, IndexVar, NodeOp, ReduceOp,
    Scalar, ScalarOp, UnaryOp,
};

/// An index variable.
struct Var {
    name: Ident,
    pack: bool,
    reduced: bool,
    /// Its extent and what told it.
    extent: Option<(Item, String)>,
    /// Whether the element uses it at all.
    used: bool,
}

/// One `index!` while it is checked.
struct Notation {
    vars: Vec<Var>,
    /// Tensors that have been looked at, by their source.
    tensors: HashMap<String, Value>,
}

impl Notation {
    fn var(&self, name: &str) -> Option<usize> {
        self.vars.iter().position(|var| var.name == name)
    }

    fn names(&self) -> Vec<String> {
        self.vars.iter().map(Var::text).collect()
    }
}

impl Var {
    fn text(&self) -> String {
        if self.pack {
            format!("*{}", self.name)
        } else {
            self.name.to_string()
        }
    }
}

/// The parts of `index!` as written.
struct Written {
    outputs: Vec<(Ident, bool, Option<TokenStream>)>,
    fold: Option<ReduceOp>,
    reduced: Vec<(Ident, bool, Option<TokenStream>)>,
    element: Expr,
}

impl Body<'_, '_> {
    /// A macro in a body.
    pub(crate) fn macro_expr(
        &mut self,
        mac: &syn::ExprMacro,
        hint: Hint<'_>,
        expr: &Expr,
    ) -> Value {
        let name = mac
            .mac
            .path
            .segments
            .last()
            .map(|segment| segment.ident.to_string());
        match name.as_deref() {
            Some("index") => self.index(&mac.mac.tokens, hint, expr),
            Some("s") => self.unsupported(
                "`s![..]` by itself",
                "write it as the argument of `.slice(..)`",
                expr,
            ),
            _ => self.unsupported(
                "this macro",
                "bodies have `index!`, and `s!` in `.slice(..)`",
                &mac.mac.path,
            ),
        }
    }

    fn index(&mut self, tokens: &TokenStream, hint: Hint<'_>, expr: &Expr) -> Value {
        let Some(written) = self.parse_index(tokens, expr) else {
            return Value::unknown();
        };
        let mut notation = Notation {
            vars: Vec::new(),
            tensors: HashMap::new(),
        };
        let mut failed = false;
        let reduced = written.reduced.iter().map(|var| (var, true));
        for ((name, pack, extent), reduced) in written
            .outputs
            .iter()
            .map(|var| (var, false))
            .chain(reduced)
        {
            if notation.var(&name.to_string()).is_some() {
                self.report(
                    Rule::IndexTwice {
                        index: name.to_string(),
                    },
                    name,
                );
                failed = true;
                continue;
            }
            let extent = match extent {
                Some(extent) => match self.declared_extent(extent, *pack) {
                    Some(item) => {
                        let text = format!("{name}: {item}");
                        Some((item, text))
                    }
                    None => {
                        failed = true;
                        Some((Item::Pack("?".to_owned()), String::new()))
                    }
                },
                None => None,
            };
            notation.vars.push(Var {
                name: name.clone(),
                pack: *pack,
                reduced,
                extent,
                used: false,
            });
        }
        let element_hint = match hint.dtype() {
            // What the context expects has an error: any dtype will do.
            None if hint.is_poisoned() => Some(I64),
            dtype => dtype.cloned(),
        };
        let element = self.scalar(&written.element, element_hint.as_ref(), &mut notation);
        let before = self.diagnostics.len();
        // A name without an extent may be the fault of an error in the element.
        if element.is_some() {
            for var in &notation.vars {
                if var.extent.is_none() {
                    self.without_extent(var);
                    failed = true;
                }
            }
        }
        let Some(element) = element else {
            return Value::unknown();
        };
        if failed || self.diagnostics.len() > before {
            return Value::unknown();
        }
        if let Some(fold) = written.fold
            && let Some(needs) = fold_needs(fold, self.class(&element.dtype))
        {
            return self.fail(
                Rule::OperandKind {
                    operator: fold_name(fold).to_owned(),
                    needs: needs.to_owned(),
                    found: show_dtype(&element.dtype),
                    help: None,
                },
                &written.element,
            );
        }
        let mut outputs = Vec::new();
        let mut reduced = Vec::new();
        let mut dims = Vec::new();
        for var in notation.vars {
            let Some((extent, _)) = var.extent else {
                return Value::unknown();
            };
            let entry = IndexVar {
                name: var.name.to_string(),
                extent: extent.to_ir(),
            };
            if var.reduced {
                reduced.push(entry);
            } else {
                dims.push(extent);
                outputs.push(entry);
            }
        }
        let ty = Type::tensor(dims, element.dtype.clone());
        let index = IndexExpr {
            outputs,
            reduce: written.fold,
            reduced,
            element,
        };
        self.emit(NodeOp::Index(Box::new(index)), ty, expr)
    }

    fn without_extent(&mut self, var: &Var) {
        let help = match (var.used, var.reduced, var.pack) {
            (_, false, false) => {
                format!("declare it where it stands: `[.., {}: N]`", var.name)
            }
            (false, true, _) => {
                format!("leave `{}` out, or index a tensor with it", var.text())
            }
            _ => format!(
                "index a tensor with it plainly, as in `x[.., {}]`",
                var.text()
            ),
        };
        let rule = Rule::IndexWithoutExtent {
            index: var.text(),
            reduced: var.reduced,
            help,
        };
        self.report(rule, &var.name);
    }

    /// The `M` of `[m: M]`.
    fn declared_extent(&mut self, tokens: &TokenStream, pack: bool) -> Option<Item> {
        let expr: Expr = match syn::parse2(tokens.clone()) {
            Ok(expr) => expr,
            Err(error) => {
                self.report_all([error.into()]);
                return None;
            }
        };
        let item = self.written_item(&expr)?;
        if pack != matches!(item, Item::Pack(_)) {
            self.report(
                Rule::IndexPack {
                    what: format!("the extent `{item}` does not fit its index"),
                    help: Some("write `*s: *S` for a pack, `m: M` for an axis".to_owned()),
                },
                tokens,
            );
            return None;
        }
        Some(item)
    }

    /// Takes `[outputs] = fold[reduced] element` apart. None after an error.
    fn parse_index(&mut self, tokens: &TokenStream, expr: &Expr) -> Option<Written> {
        let form = |body: &mut Self, message: &str, tokens: TokenStream| {
            let tokens = if tokens.is_empty() {
                expr.to_token_stream()
            } else {
                tokens
            };
            body.report(
                Rule::Syntax {
                    message: message.to_owned(),
                    help: Some("write `index!([b, o] = sum[i] x[b, i] * w[o, i])`".to_owned()),
                },
                tokens,
            );
        };
        let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
        let Some(TokenTree::Group(outputs)) = tokens.first() else {
            form(
                self,
                "`index!` starts with its outputs in brackets",
                TokenStream::new(),
            );
            return None;
        };
        if outputs.delimiter() != Delimiter::Bracket {
            form(
                self,
                "`index!` starts with its outputs in brackets",
                outputs.to_token_stream(),
            );
            return None;
        }
        if !tokens.get(1).is_some_and(|token| is_punct(token, '=')) {
            form(self, "`=` follows the outputs", TokenStream::new());
            return None;
        }
        let outputs = self.index_vars(&outputs.stream())?;
        let mut rest = &tokens[2..];
        let mut fold = None;
        let mut reduced = Vec::new();
        if let [TokenTree::Ident(name), TokenTree::Group(group), after @ ..] = rest
            && group.delimiter() == Delimiter::Bracket
            && let Some(op) = fold_op(&name.to_string())
            && !after.is_empty()
        {
            fold = Some(op);
            reduced = self.index_vars(&group.stream())?;
            if reduced.is_empty() {
                form(self, "the fold names no index", group.to_token_stream());
                return None;
            }
            rest = after;
        }
        if rest.is_empty() {
            form(self, "the element is missing", TokenStream::new());
            return None;
        }
        let element = bracketed(rest.iter().cloned().collect());
        match syn::parse2::<Expr>(element) {
            Ok(element) => Some(Written {
                outputs,
                fold,
                reduced,
                element,
            }),
            Err(error) => {
                self.report_all([error.into()]);
                None
            }
        }
    }

    /// `b, *s, m: M`.
    fn index_vars(
        &mut self,
        tokens: &TokenStream,
    ) -> Option<Vec<(Ident, bool, Option<TokenStream>)>> {
        let mut vars = Vec::new();
        for part in split(tokens, ',') {
            let (pack, rest) = match &part[..] {
                [] => continue,
                [star, rest @ ..] if is_punct(star, '*') => (true, rest),
                rest => (false, rest),
            };
            match rest {
                [TokenTree::Ident(name)] => vars.push((name.clone(), pack, None)),
                [TokenTree::Ident(name), colon, extent @ ..]
                    if is_punct(colon, ':') && !extent.is_empty() =>
                {
                    vars.push((name.clone(), pack, Some(extent.iter().cloned().collect())));
                }
                _ => {
                    let tokens: TokenStream = part.into_iter().collect();
                    self.report(
                        Rule::Syntax {
                            message: format!("`{}` is no index", source::text(&tokens)),
                            help: Some(
                                "write a name, `*s` for a pack, or `m: M` with an extent"
                                    .to_owned(),
                            ),
                        },
                        tokens,
                    );
                    return None;
                }
            }
        }
        Some(vars)
    }

    /// Whether an expression of the element takes its context's dtype.
    fn element_flexible(&self, expr: &Expr, notation: &Notation) -> bool {
        self.flexible(expr, &|name| notation.var(name).is_some())
    }

    /// One scalar expression. None after an error.
    fn scalar(
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

    fn form(&mut self, what: &str, help: &str, tokens: impl ToTokens) {
        let rule = Rule::IndexForm {
            what: what.to_owned(),
            help: help.to_owned(),
        };
        self.report(rule, tokens);
    }

    /// Whether an expression names an index variable.
    fn names_var(&self, expr: &Expr, notation: &Notation) -> bool {
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

    fn scalar_literal(
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

    fn scalar_path(
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
    fn scalar_of_value(&mut self, value: Value, text: &str, expr: &Expr) -> Option<Scalar> {
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

    fn scalar_unary(&mut self, op: UnaryOp, value: Scalar, operand: &Expr) -> Option<Scalar> {
        let class = self.class(&value.dtype);
        if let Err(needs) = unary_result(op, class) {
            let text = super::agree::short_text(&operand.to_token_stream());
            let found = super::library::dtype_with_bound(&value.dtype, &self.scope);
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
    fn pair(
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
        if left_flexible && right_flexible {
            return (
                self.scalar(left, hint, notation),
                self.scalar(right, hint, notation),
            );
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

    fn scalar_binary(
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

    fn scalar_apply(
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
                let found = super::library::dtype_with_bound(&scalar.dtype, &self.scope);
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
                &super::agree::short_text(&left.to_token_stream()),
                &super::agree::short_text(&right.to_token_stream()),
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

    fn scalar_call(
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
                    let text = super::agree::short_text(&arg.to_token_stream());
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

    fn scalar_if(
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

    fn scalar_choice(
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

    /// `t[i, *s, m - pos]`.
    fn element_of(
        &mut self,
        index: &syn::ExprIndex,
        expr: &Expr,
        notation: &mut Notation,
    ) -> Option<Scalar> {
        let text = source::text(&index.expr);
        let value = match notation.tensors.get(&text) {
            Some(value) => value.clone(),
            None => {
                let base = match &*index.expr {
                    Expr::Index(_) => {
                        self.form(
                            "indexing twice",
                            "write all indices in one pair of brackets: `x[i, j]`",
                            &index.expr,
                        );
                        return None;
                    }
                    base => base,
                };
                let value = self.expr(base, Hint::None);
                notation.tensors.insert(text.clone(), value.clone());
                value
            }
        };
        let entries: Vec<&Expr> = match &*index.index {
            Expr::Tuple(tuple) => tuple.elems.iter().collect(),
            other => vec![other],
        };
        let tensor = match &value.ty {
            Type::Unknown => {
                self.mark_used(&entries, notation);
                return None;
            }
            Type::Tensor(tensor) => tensor.clone(),
            ty @ Type::Option(_) => {
                if !ty.is_unknown() {
                    let rule = Rule::OptionalBare {
                        what: text,
                        ty: ty.to_string(),
                    };
                    self.report(rule, &index.expr);
                }
                return None;
            }
            ty => {
                let rule = Rule::NotIndexable {
                    what: text,
                    ty: ty.to_string(),
                };
                self.report(rule, &index.expr);
                return None;
            }
        };
        if entries.len() != tensor.dims.len() {
            let has_pack = tensor.dims.iter().any(|item| matches!(item, Item::Pack(_)));
            let help = if has_pack {
                Some("a pack has one index, with a star: `x[*s, i]`".to_owned())
            } else {
                Some(format!(
                    "write one index for each of its {} axes",
                    tensor.dims.len()
                ))
            };
            self.report(
                Rule::IndexCount {
                    tensor: text,
                    ty: value.ty.to_string(),
                    found: entries.len(),
                    help,
                },
                expr,
            );
            self.mark_used(&entries, notation);
            return None;
        }
        let source = source::text(expr)
            .replace("[(", "[")
            .replace(",)]", "]")
            .replace(")]", "]");
        let mut at = Vec::new();
        let mut failed = false;
        for (entry, item) in entries.iter().zip(&tensor.dims) {
            match self.element_index(entry, item, &source, notation) {
                Some(index) => at.push(index),
                None => failed = true,
            }
        }
        if failed {
            return None;
        }
        Some(Scalar {
            op: ScalarOp::Element {
                tensor: value.id,
                at,
            },
            dtype: tensor.dtype,
        })
    }

    /// After an error in a tensor, its indices count as used.
    fn mark_used(&mut self, entries: &[&Expr], notation: &mut Notation) {
        for entry in entries {
            let inner = match entry {
                Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => &*unary.expr,
                entry => entry,
            };
            if let Expr::Path(path) = inner
                && let Some(name) = path.path.get_ident()
                && let Some(var) = notation.var(&name.to_string())
            {
                notation.vars[var].used = true;
            }
        }
    }

    fn element_index(
        &mut self,
        entry: &Expr,
        item: &Item,
        source: &str,
        notation: &mut Notation,
    ) -> Option<ElementIndex> {
        let entry = match entry {
            Expr::Paren(paren) => &*paren.expr,
            entry => entry,
        };
        if let Expr::Unary(unary) = entry
            && matches!(unary.op, UnOp::Deref(_))
        {
            return self.pack_index(&unary.expr, item, entry, source, notation);
        }
        if let Item::Pack(name) = item {
            let lower = name.to_lowercase();
            self.report(
                Rule::IndexPack {
                    what: format!(
                        "`{}` indexes `*{name}`, which is a pack",
                        source::text(entry)
                    ),
                    help: Some(format!("a pack has one index, with a star: `*{lower}`")),
                },
                entry,
            );
            return None;
        }
        let Item::One(axis) = item else { return None };
        let lone = match entry {
            Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
            _ => None,
        };
        if let Some(name) = &lone
            && notation.var(name).is_none()
            && self.lookup(name).is_none()
            && self.scope.kind(name).is_none()
        {
            return self.unbound_index(name, "", entry, notation);
        }
        if let Some(name) = &lone
            && let Some(var) = notation.var(name)
        {
            if notation.vars[var].pack {
                self.report(
                    Rule::IndexPack {
                        what: format!("`{name}` is the index of a pack"),
                        help: Some(format!("write `*{name}` on the axes of a pack")),
                    },
                    entry,
                );
                return None;
            }
            notation.vars[var].used = true;
            return self
                .extent(var, &Item::One(axis.clone()), source, entry, notation)
                .then(|| ElementIndex::Var(var_number(var)));
        }
        self.computed_index(entry, axis, source, notation)
    }

    fn pack_index(
        &mut self,
        name: &Expr,
        item: &Item,
        entry: &Expr,
        source: &str,
        notation: &mut Notation,
    ) -> Option<ElementIndex> {
        let ident = match name {
            Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
            _ => None,
        };
        let Some(name) = ident else {
            self.form(
                "`*` before this",
                "write the name of a pack's index: `*s`",
                entry,
            );
            return None;
        };
        let Some(var) = notation.var(&name) else {
            return self.unbound_index(&name, "*", entry, notation);
        };
        notation.vars[var].used = true;
        let help = format!("write `{name}` without the star for one axis");
        if !notation.vars[var].pack {
            self.report(
                Rule::IndexPack {
                    what: format!("`{name}` is the index of one axis, not of a pack"),
                    help: Some(help),
                },
                entry,
            );
            return None;
        }
        let Item::Pack(_) = item else {
            self.report(
                Rule::IndexPack {
                    what: format!("`*{name}` indexes the axis `{item}`, which is not a pack"),
                    help: Some(help),
                },
                entry,
            );
            return None;
        };
        self.extent(var, item, source, entry, notation)
            .then(|| ElementIndex::Pack(var_number(var)))
    }

    /// Reports a name between brackets that is no index.
    fn unbound_index<R>(
        &mut self,
        name: &str,
        star: &str,
        entry: &Expr,
        notation: &Notation,
    ) -> Option<R> {
        let plain: Vec<String> = notation
            .vars
            .iter()
            .map(|var| var.name.to_string())
            .collect();
        let nearest = nearest(name, plain.iter().map(String::as_str));
        let index = format!("{star}{name}");
        self.report(
            Rule::IndexUnbound {
                index,
                nearest,
                known: notation.names(),
            },
            entry,
        );
        None
    }

    /// Whether an axis has the extent of an index variable, which the first
    /// axis that it indexes tells.
    fn extent(
        &mut self,
        var: usize,
        item: &Item,
        source: &str,
        entry: &Expr,
        notation: &mut Notation,
    ) -> bool {
        let Some((known, from)) = &notation.vars[var].extent else {
            notation.vars[var].extent = Some((item.clone(), source.to_owned()));
            return true;
        };
        if from.is_empty() {
            return false;
        }
        let help = match (known, item) {
            (Item::Pack(a), Item::Pack(b)) if a == b => return true,
            (Item::One(a), Item::One(b)) => {
                if self.facts.equal(a, b) {
                    return true;
                }
                let clause = self.facts.missing(a, Comparison::Eq, b);
                clause.map(|clause| format!("if they are the same, {}", self.owner.add(&clause)))
            }
            _ => None,
        };
        let rule = Rule::IndexExtent {
            index: notation.vars[var].text(),
            first: (from.clone(), known.to_string()),
            second: (source.to_owned(), item.to_string()),
            help,
        };
        self.report(rule, entry);
        false
    }

    /// An index that is computed: proved where dimensions alone make it up,
    /// else checked when it runs.
    fn computed_index(
        &mut self,
        entry: &Expr,
        axis: &Poly,
        source: &str,
        notation: &mut Notation,
    ) -> Option<ElementIndex> {
        if !self.names_var(entry, notation)
            && let Some(tree) = self.as_dim_or_integer(entry)
        {
            return self.fixed_index(&tree, entry, axis);
        }
        let scalar = self.scalar(entry, Some(&I64), notation)?;
        if self.class(&scalar.dtype) != Class::Int {
            self.report(
                Rule::TypeMismatch {
                    place: format!("an index of `{source}`"),
                    expected: "an integer".to_owned(),
                    expected_note: None,
                    found: show_dtype(&scalar.dtype),
                    help: Some(format!("write `cast::<i32>({})`", source::text(entry))),
                },
                entry,
            );
            return None;
        }
        Some(ElementIndex::Computed(scalar))
    }

    fn fixed_index(&mut self, tree: &DimTree, entry: &Expr, axis: &Poly) -> Option<ElementIndex> {
        let mut diagnostics = Vec::new();
        let tokens = entry.to_token_stream();
        let dim = dimension(tree, &self.facts, &self.owner, &tokens, &mut diagnostics);
        self.report_all(diagnostics);
        let dim = dim?;
        self.within(&dim, Comparison::Lt, axis, axis, &tokens);
        let dim = super::types::dim_to_ir(&dim);
        let op = match dim {
            ir::DimExpr::Const(value) => ScalarOp::Literal(ir::Literal::Int(value)),
            dim => ScalarOp::Dim(dim),
        };
        Some(ElementIndex::Computed(Scalar { op, dtype: I64 }))
    }
}

/// The number of a variable as the descriptor has it.
fn var_number(var: usize) -> u32 {
    u32::try_from(var).unwrap_or(u32::MAX)
}

/// Rust's grammar has one expression in brackets after a value; the indices
/// become a tuple: `x[i, *s]` is read as `x[(i, *s)]`.
fn bracketed(tokens: TokenStream) -> TokenStream {
    let mut result = TokenStream::new();
    let mut after_value = false;
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let indexes = after_value && group.delimiter() == Delimiter::Bracket;
                let mut inner = bracketed(group.stream());
                if indexes {
                    let has_comma = inner.clone().into_iter().any(|token| is_punct(&token, ','));
                    if has_comma || inner.is_empty() {
                        let mut tuple = Group::new(Delimiter::Parenthesis, inner);
                        tuple.set_span(group.span());
                        inner = TokenTree::Group(tuple).into();
                    }
                }
                let mut copy = Group::new(group.delimiter(), inner);
                copy.set_span(group.span());
                after_value = group.delimiter() != Delimiter::Brace;
                result.extend([TokenTree::Group(copy)]);
            }
            TokenTree::Ident(name) => {
                let text = name.to_string();
                after_value = !matches!(text.as_str(), "if" | "else" | "in" | "return" | "match");
                result.extend([TokenTree::Ident(name)]);
            }
            other => {
                after_value = false;
                result.extend([other]);
            }
        }
    }
    result
}

fn fold_op(name: &str) -> Option<ReduceOp> {
    Some(match name {
        "sum" => ReduceOp::Sum,
        "prod" => ReduceOp::Prod,
        "min" => ReduceOp::Min,
        "max" => ReduceOp::Max,
        "any" => ReduceOp::Any,
        "all" => ReduceOp::All,
        _ => return None,
    })
}

fn fold_name(fold: ReduceOp) -> &'static str {
    match fold {
        ReduceOp::Sum => "sum",
        ReduceOp::Prod => "prod",
        ReduceOp::Min => "min",
        ReduceOp::Max => "max",
        ReduceOp::Any => "any",
        ReduceOp::All => "all",
    }
}

/// What a fold needs, if it does not take a dtype.
fn fold_needs(fold: ReduceOp, class: Class) -> Option<&'static str> {
    match fold {
        ReduceOp::Any | ReduceOp::All => (class != Class::Bool).then_some("truth values"),
        _ => (!matches!(class, Class::Float | Class::Int)).then_some("numbers"),
    }
}
