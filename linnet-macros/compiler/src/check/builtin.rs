//! Functions that the language defines.

use quote::ToTokens;
use syn::Expr;

use super::body::{Body, Hint, Value};
use super::literal::{BOOL, Class, I64};
use super::operator::{binary_function, unary_function};
use super::source;
use super::types::{Item, Ty, Type, show_dtype};
use crate::ast::GenericArg;
use crate::builtins;
use crate::diagnostic::Rule;
use crate::ir::{self, DTypeExpr, NodeOp};
use crate::syntax;

impl Body<'_, '_> {
    /// A call that is no method call.
    pub(crate) fn call_expr(&mut self, call: &syn::ExprCall, hint: Hint<'_>, expr: &Expr) -> Value {
        let Expr::Path(path) = &*call.func else {
            return self.unsupported(
                "calling a value",
                "call an operation, or a function of a block, by its name",
                &call.func,
            );
        };
        let args: Vec<&Expr> = call.args.iter().collect();
        let lone = path.path.segments.len() == 1;
        let name = path
            .path
            .segments
            .last()
            .map(|segment| segment.ident.to_string());
        let name = name.unwrap_or_default();
        if lone && name == "Some" {
            return self.some(&args, hint, expr);
        }
        if lone && builtins::is_function(&name) {
            return self.builtin(&name, path, &args, hint, expr);
        }
        self.op_call(path, &args, hint, expr)
    }

    fn some(&mut self, args: &[&Expr], hint: Hint<'_>, expr: &Expr) -> Value {
        let [arg] = args else {
            return self.argument_count("Some", &["value"], args, expr);
        };
        let inner = match hint {
            Hint::Type(Type::Option(inner)) => Hint::Type(inner),
            Hint::DType(dtype) => Hint::DType(dtype),
            _ => Hint::None,
        };
        let value = self.expr(arg, inner);
        match value.ty {
            Type::Unknown => Value::unknown(),
            Type::Unit | Type::Option(_) => self.fail(
                Rule::TypeMismatch {
                    place: "`Some(..)`".to_owned(),
                    expected: "a value".to_owned(),
                    expected_note: None,
                    found: value.ty.to_string(),
                    help: None,
                },
                arg,
            ),
            ty => self.emit(NodeOp::Some(value.id), Type::Option(Box::new(ty)), expr),
        }
    }

    /// Reports too many or too few arguments of a built-in function.
    pub(crate) fn argument_count(
        &mut self,
        function: &str,
        parameters: &[&str],
        args: &[&Expr],
        expr: &Expr,
    ) -> Value {
        for arg in args {
            self.look_at(arg);
        }
        self.fail(
            Rule::ArgumentCount {
                function: function.to_owned(),
                parameters: parameters.iter().map(ToString::to_string).collect(),
                found: args.len(),
            },
            expr,
        )
    }

    fn builtin(
        &mut self,
        name: &str,
        path: &syn::ExprPath,
        args: &[&Expr],
        hint: Hint<'_>,
        expr: &Expr,
    ) -> Value {
        if let Some(op) = unary_function(name) {
            let [arg] = args else {
                return self.argument_count(name, &["x"], args, expr);
            };
            let value = self.expr(arg, self.element_hint(hint));
            return self.apply_unary(op, value, arg, expr);
        }
        if let Some(op) = binary_function(name) {
            let [a, b] = args else {
                return self.argument_count(name, &["a", "b"], args, expr);
            };
            return self.binary(op, a, b, hint, expr);
        }
        match name {
            "cast" => self.cast(path, args, expr),
            "select" => self.select(args, hint, expr),
            "iota" => self.iota(path, args, hint, expr),
            "fill" => self.fill(args, hint, expr),
            "concat" => self.concat(args, hint, expr),
            _ => self.unsupported(
                format!("`{name}` in a body"),
                "write it within `#[require(..)]`",
                expr,
            ),
        }
    }

    /// The dtype of `cast::<f32>` and `iota::<i32>`; None where it is not written.
    pub(crate) fn dtype_argument(&mut self, path: &syn::ExprPath) -> Result<Option<DTypeExpr>, ()> {
        let Some(segment) = path.path.segments.last() else {
            return Ok(None);
        };
        let syn::PathArguments::AngleBracketed(turbofish) = &segment.arguments else {
            return Ok(None);
        };
        let name = segment.ident.to_string();
        let args = match syntax::parse_turbofish(turbofish) {
            Ok(args) => args,
            Err(errors) => {
                self.report_all(errors);
                return Err(());
            }
        };
        let [arg] = &args[..] else {
            self.report(
                Rule::GenericCount {
                    of: name,
                    generics: vec!["T: DType".to_owned()],
                    found: args.len(),
                },
                turbofish,
            );
            return Err(());
        };
        let dtype = match arg {
            GenericArg::Infer(_) => return Ok(None),
            GenericArg::DType(dtype, _) => Some(DTypeExpr::Concrete(*dtype)),
            GenericArg::Dim(dim) => match &dim.kind {
                crate::ast::DimKind::Name(name) => {
                    let mut diagnostics = Vec::new();
                    let written = crate::ast::DTypeExpr::Generic(name.clone());
                    let dtype = self.scope.dtype(&written, &mut diagnostics);
                    self.report_all(diagnostics);
                    dtype
                }
                _ => {
                    self.report(
                        Rule::GenericArgument {
                            parameter: "`T: DType`".to_owned(),
                            of: name,
                            found: source::text(&dim.tokens),
                        },
                        turbofish,
                    );
                    None
                }
            },
        };
        dtype.map(Some).ok_or(())
    }

    fn cast(&mut self, path: &syn::ExprPath, args: &[&Expr], expr: &Expr) -> Value {
        let dtype = self.dtype_argument(path);
        let [arg] = args else {
            return self.argument_count("cast", &["x"], args, expr);
        };
        let dtype = match dtype {
            Ok(Some(dtype)) => dtype,
            Ok(None) => {
                self.look_at(arg);
                let help = "write the dtype: `cast::<f32>(..)`".to_owned();
                return self.fail(
                    Rule::CannotInfer {
                        generic: "T".to_owned(),
                        function: "cast".to_owned(),
                        help,
                    },
                    path,
                );
            }
            Err(()) => return Value::unknown(),
        };
        // Literals are made in the dtype itself; a dimension is an integer first.
        let literal = self.flexible(arg, &|_| false) && !self.has_integer_name(arg);
        let is_int = self.class(&dtype) == Class::Int;
        let hint = if literal || is_int {
            Hint::DType(&dtype)
        } else {
            Hint::DType(&I64)
        };
        let hint = if self.flexible(arg, &|_| false) {
            hint
        } else {
            Hint::None
        };
        let value = self.expr(arg, hint);
        let Some(from) = self.element(&value, "cast", arg) else {
            return Value::unknown();
        };
        if from == dtype {
            return value;
        }
        if dtype == BOOL {
            let zero = if self.class(&from) == Class::Float {
                "0.0"
            } else {
                "0"
            };
            let text = super::agree::short_text(&arg.to_token_stream());
            return self.fail(
                Rule::OperandKind {
                    operator: "cast::<bool>".to_owned(),
                    needs: "truth values".to_owned(),
                    found: value.ty.to_string(),
                    help: Some(format!("compare: `{text} != {zero}`")),
                },
                arg,
            );
        }
        let ty = value.ty.with_dtype(dtype);
        self.emit(NodeOp::Cast(value.id), ty, expr)
    }

    /// Whether a flexible expression names a dimension or loop index.
    pub(crate) fn has_integer_name(&self, expr: &Expr) -> bool {
        struct Finder(bool);
        impl<'ast> syn::visit::Visit<'ast> for Finder {
            fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
                self.0 |= path
                    .path
                    .get_ident()
                    .is_some_and(|name| !builtins::is_function(&name.to_string()));
            }
        }
        let mut finder = Finder(false);
        syn::visit::Visit::visit_expr(&mut finder, expr);
        finder.0
    }

    fn select(&mut self, args: &[&Expr], hint: Hint<'_>, expr: &Expr) -> Value {
        let [condition, yes, no] = args else {
            return self.argument_count("select", &["condition", "yes", "no"], args, expr);
        };
        let c = self.expr(condition, Hint::DType(&BOOL));
        let none: &dyn Fn(&str) -> bool = &|_| false;
        let inner = self.element_hint(hint);
        let (a, b) = if self.flexible(yes, none) && !self.flexible(no, none) {
            let b = self.expr(no, inner);
            let dtype = b.ty.dtype().cloned();
            let a = match &dtype {
                Some(dtype) => self.expr(yes, Hint::DType(dtype)),
                None => Value::unknown(),
            };
            (a, b)
        } else {
            let a = self.expr(yes, inner);
            let dtype = a.ty.dtype().cloned();
            let b = match &dtype {
                Some(dtype) => self.expr(no, Hint::DType(dtype)),
                None if self.flexible(no, none) => Value::unknown(),
                None => self.expr(no, inner),
            };
            (a, b)
        };
        let c_dtype = self.element(&c, "select", condition);
        let a_dtype = self.element(&a, "select", yes);
        let b_dtype = self.element(&b, "select", no);
        let (Some(c_dtype), Some(a_dtype), Some(b_dtype)) = (c_dtype, a_dtype, b_dtype) else {
            return Value::unknown();
        };
        if c_dtype != BOOL {
            let text = super::agree::short_text(&condition.to_token_stream());
            return self.fail(
                Rule::OperandKind {
                    operator: "select".to_owned(),
                    needs: "truth values as its condition".to_owned(),
                    found: c.ty.to_string(),
                    help: Some(format!("compare: `{text} != 0`")),
                },
                condition,
            );
        }
        if a_dtype != b_dtype {
            let help = super::operator::mixed_help(
                &a_dtype,
                &b_dtype,
                &super::agree::short_text(&yes.to_token_stream()),
                &super::agree::short_text(&no.to_token_stream()),
                |dtype| self.class(dtype),
            );
            return self.fail(
                Rule::OperandDTypes {
                    operator: "select".to_owned(),
                    left: a.ty.to_string(),
                    right: b.ty.to_string(),
                    help,
                },
                expr,
            );
        }
        let both = self
            .broadcast_types(&a.ty, &b.ty, a_dtype.clone(), "select")
            .and_then(|both| self.broadcast_types(&c.ty, &both, a_dtype, "select"));
        match both {
            Ok(ty) => self.emit(NodeOp::Select(c.id, a.id, b.id), ty, expr),
            Err(rule) => self.fail(*rule, expr),
        }
    }

    fn iota(&mut self, path: &syn::ExprPath, args: &[&Expr], hint: Hint<'_>, expr: &Expr) -> Value {
        let Ok(written) = self.dtype_argument(path) else {
            return Value::unknown();
        };
        let [length] = args else {
            return self.argument_count("iota", &["N"], args, expr);
        };
        let dim = self.written_dim(length);
        let Some(dtype) = written.or_else(|| hint.dtype().cloned()) else {
            if hint.is_poisoned() {
                return Value::unknown();
            }
            return self.fail(
                Rule::CannotInfer {
                    generic: "T".to_owned(),
                    function: "iota".to_owned(),
                    help: "write the dtype: `iota::<i32>(..)`".to_owned(),
                },
                path,
            );
        };
        if !matches!(self.class(&dtype), Class::Int | Class::Float) {
            return self.fail(
                Rule::OperandKind {
                    operator: "iota".to_owned(),
                    needs: "a dtype of numbers".to_owned(),
                    found: show_dtype(&dtype),
                    help: None,
                },
                path,
            );
        }
        match dim {
            Some(dim) => self.emit(
                NodeOp::Iota,
                Type::tensor(vec![Item::One(dim)], dtype),
                expr,
            ),
            None => Value::unknown(),
        }
    }

    fn fill(&mut self, args: &[&Expr], hint: Hint<'_>, expr: &Expr) -> Value {
        let [value, dims] = args else {
            return self.argument_count("fill", &["value", "[dims]"], args, expr);
        };
        let filled = self.expr(value, self.element_hint(hint));
        let dims = self.written_shape(dims);
        let dtype = match &filled.ty {
            Type::Unknown => return Value::unknown(),
            Type::Scalar(dtype) => dtype.clone(),
            ty => {
                let found = ty.to_string();
                return self.fail(
                    Rule::TypeMismatch {
                        place: "the call to `fill`".to_owned(),
                        expected: "a scalar".to_owned(),
                        expected_note: None,
                        found,
                        help: Some("repeat a tensor with `.broadcast_to([..])`".to_owned()),
                    },
                    value,
                );
            }
        };
        match dims {
            Some(dims) => self.emit(NodeOp::Fill(filled.id), Type::tensor(dims, dtype), expr),
            None => Value::unknown(),
        }
    }

    fn concat(&mut self, args: &[&Expr], hint: Hint<'_>, expr: &Expr) -> Value {
        let [list, axis] = args else {
            return self.argument_count("concat", &["[a, b]", "axis"], args, expr);
        };
        let Expr::Array(list) = list else {
            return self.unsupported(
                "anything but a list as the first argument of `concat`",
                "write the tensors in brackets: `concat([a, b], 0)`",
                list,
            );
        };
        let mut values: Vec<Value> = Vec::new();
        for part in &list.elems {
            let dtype = values.iter().find_map(|value| value.ty.dtype().cloned());
            let inner = match &dtype {
                Some(dtype) => Hint::DType(dtype),
                None if values.is_empty() => self.element_hint(hint),
                None => Hint::Type(&Type::Unknown),
            };
            let value = self.expr(part, inner);
            values.push(value);
        }
        let Some(number) = self.axis_number(axis) else {
            return Value::unknown();
        };
        if values.iter().any(|value| value.ty.is_unknown()) {
            return Value::unknown();
        }
        let mut result: Option<(Vec<Item>, DTypeExpr)> = None;
        let mut at = (0, ir::Axis::Front(0));
        for (value, part) in values.iter().zip(&list.elems) {
            let Type::Tensor(tensor) = &value.ty else {
                let ty = &value.ty;
                let rule = match ty {
                    Type::Option(_) => Rule::OptionalBare {
                        what: super::agree::short_text(&part.to_token_stream()),
                        ty: ty.to_string(),
                    },
                    _ => Rule::TypeMismatch {
                        place: "the call to `concat`".to_owned(),
                        expected: "a tensor".to_owned(),
                        expected_note: None,
                        found: ty.to_string(),
                        help: None,
                    },
                };
                return self.fail(rule, part);
            };
            let Some((dims, dtype)) = &mut result else {
                match self.resolve_axis(number, axis, &value.ty) {
                    Some(place) => at = place,
                    None => return Value::unknown(),
                }
                result = Some((tensor.dims.clone(), tensor.dtype.clone()));
                continue;
            };
            let mut due = dims.clone();
            let sum = match (dims.get(at.0), tensor.dims.get(at.0)) {
                (Some(Item::One(a)), Some(Item::One(b))) => {
                    due[at.0] = Item::One(b.clone());
                    a.add(b).ok()
                }
                _ => None,
            };
            let due = Ty::tensor(due, dtype.clone());
            if !self.expect(value, &due, "the call to `concat`", None, part) {
                return Value::unknown();
            }
            let Some(sum) = sum else {
                let found = "the length of these side by side, which does not fit in 64 bits,";
                return self.fail(
                    Rule::NotADim {
                        found: found.to_owned(),
                        help: None,
                    },
                    expr,
                );
            };
            dims[at.0] = Item::One(sum);
        }
        let Some((dims, dtype)) = result else {
            return self.unsupported("`concat` of nothing", "give it at least one tensor", expr);
        };
        let ids = values.iter().map(|value| value.id).collect();
        self.emit(NodeOp::Concat(ids, at.1), Type::tensor(dims, dtype), expr)
    }
}
