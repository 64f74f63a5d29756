//! The generics and arguments of a call.

use proc_macro2::Ident;
use syn::Expr;
use syn::spanned::Spanned;

use crate::ast::{GenericArg, GenericParam};
use crate::check::body::{Binding, Body, Hint, MemberKind, Value};
use crate::check::infer::Inference;
use crate::check::library::argument;
use crate::check::member::Receiver;
use crate::check::scope::has_unbound;
use crate::check::signature::{FnSig, SigParam};
use crate::check::source;
use crate::check::types::{Ty, Type};
use crate::diagnostic::Rule;
use crate::ir::{self};
use crate::syntax;

/// An argument after it has been looked at.
pub(super) enum Given {
    /// Takes its type from the parameter: a literal, a dimension, `None`.
    Later,
    /// A value or an updated tensor, and its type.
    Known(ir::Arg, Ty),
}

impl Body<'_, '_> {
    /// Whether an argument takes its type from its parameter.
    pub(super) fn takes_type(&self, arg: &Expr) -> bool {
        match arg {
            Expr::Paren(paren) => self.takes_type(&paren.expr),
            Expr::Group(group) => self.takes_type(&group.expr),
            Expr::Path(path) if path.path.is_ident("None") => true,
            Expr::Call(call) => match &*call.func {
                Expr::Path(path) if path.path.is_ident("Some") && call.args.len() == 1 => {
                    self.takes_type(&call.args[0])
                }
                _ => self.flexible(arg, &|_| false),
            },
            arg => self.flexible(arg, &|_| false),
        }
    }

    /// The generics of a turbofish.
    pub(super) fn turbofish(
        &mut self,
        turbofish: &syn::AngleBracketedGenericArguments,
        sig: &FnSig,
        inference: &mut Inference<'_>,
    ) {
        let args = match syntax::parse_turbofish(turbofish) {
            Ok(args) => args,
            Err(errors) => return self.report_all(errors),
        };
        if args.len() != sig.generics.len() {
            let generics = sig.generics_text();
            let rule = Rule::GenericCount {
                of: sig.display.clone(),
                generics,
                found: args.len(),
            };
            return self.report(rule, turbofish);
        }
        let mut diagnostics = Vec::new();
        let (facts, owner, scope) = (&self.facts, &self.owner, &self.scope);
        for ((name, kind), arg) in sig.generics.iter().zip(&args) {
            if matches!(arg, GenericArg::Infer(_)) {
                continue;
            }
            let generic = GenericParam {
                name: Ident::new(name, turbofish.span()),
                kind: *kind,
                default: None,
            };
            let bound = argument(
                arg,
                &generic,
                &sig.display,
                scope,
                &mut |dim, diagnostics| {
                    let tree = scope.dim(dim, diagnostics)?;
                    crate::check::obligation::dimension(
                        &tree,
                        facts,
                        owner,
                        &dim.tokens,
                        diagnostics,
                    )
                },
                &mut diagnostics,
            );
            if let Some(bound) = bound {
                inference.bindings.insert(name.clone(), bound);
            }
        }
        self.report_all(diagnostics);
    }

    /// An argument of a by-value parameter.
    pub(super) fn value_argument(
        &mut self,
        param: &SigParam,
        arg: &Expr,
        hint: Hint<'_>,
        display: &str,
    ) -> Value {
        if let Expr::Reference(reference) = arg {
            let inner = source::text(&reference.expr);
            return self.fail(
                Rule::MutArgument {
                    parameter: param.text(),
                    function: display.to_owned(),
                    help: format!("values are passed without references: write `{inner}`"),
                },
                arg,
            );
        }
        self.expr(arg, hint)
    }

    /// An argument that takes its type from its parameter.
    pub(super) fn later_argument(
        &mut self,
        param: &SigParam,
        arg: &Expr,
        inference: &Inference<'_>,
    ) -> Value {
        let expected = inference.expected(&param.ty, &self.facts);
        let dtype = inference.expected_dtype(&param.ty);
        match (&expected, &dtype) {
            (Some(ty), _) if !has_unbound(ty) => self.expr(arg, Hint::Type(ty)),
            (_, Some(dtype)) if !matches!(param.ty, Type::Option(_)) => {
                self.expr(arg, Hint::DType(dtype))
            }
            (None, _) => Value::unknown(),
            (Some(ty), _) if matches!(param.ty, Type::Option(_)) => {
                // `None` for a parameter whose generics nothing else tells.
                let unknown = Type::Option(Box::new(Type::Unknown));
                let _ = ty;
                Value { id: 0, ty: unknown }
            }
            _ => self.expr(arg, Hint::None),
        }
    }

    /// An argument of a `&mut` parameter: a state of `self`, or a `&mut`
    /// parameter handed on.
    pub(super) fn mut_argument(&mut self, param: &SigParam, arg: &Expr, display: &str) -> Given {
        let (inner, has_mut) = match arg {
            Expr::Reference(reference) => (&*reference.expr, reference.mutability.is_some()),
            arg => (arg, false),
        };
        let inner = match inner {
            Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Deref(_)) => &*unary.expr,
            inner => inner,
        };
        let unknown = Given::Known(ir::Arg::Value(0), Type::Unknown);
        let wrong = |body: &mut Self, help: String| {
            body.report(
                Rule::MutArgument {
                    parameter: param.text(),
                    function: display.to_owned(),
                    help,
                },
                arg,
            );
        };
        if let Expr::Path(path) = inner
            && let Some(name) = path.path.get_ident()
        {
            let name = name.to_string();
            match self.lookup(&name) {
                Some(Binding::MutParam(number)) => {
                    let number = *number;
                    let ty = self.params[number as usize].clone();
                    return Given::Known(ir::Arg::MutParam(number), ty);
                }
                Some(_) => {
                    wrong(
                        self,
                        format!(
                            "`{name}` is a local value: give a state, `&mut self.name`, or a \
                             `&mut` parameter"
                        ),
                    );
                    return unknown;
                }
                None => {
                    self.unknown_name(&name, inner);
                    return unknown;
                }
            }
        }
        if let Expr::Field(field) = inner
            && let Some(Receiver::Own) = self.receiver(&field.base)
            && let syn::Member::Named(name) = &field.member
        {
            let text = name.to_string();
            match self.member(&text).map(|member| &member.kind) {
                Some(MemberKind::Tensor { ty, state: true }) => {
                    let ty = ty.clone();
                    if !has_mut {
                        wrong(self, format!("write `&mut self.{text}`"));
                        return unknown;
                    }
                    if self.sig.receiver != ir::Receiver::Mut {
                        let function = self.sig.name.clone();
                        self.report(
                            Rule::WriteInRef {
                                function,
                                state: text,
                            },
                            arg,
                        );
                        return Given::Known(ir::Arg::Value(0), Type::Unknown);
                    }
                    return Given::Known(ir::Arg::State(text), ty);
                }
                Some(MemberKind::Tensor { state: false, .. }) => {
                    wrong(
                        self,
                        format!("`{text}` is a `#[param]`: only a `#[state]` changes"),
                    );
                    return unknown;
                }
                Some(MemberKind::Sub { .. }) => {
                    wrong(
                        self,
                        format!("`{text}` is a block: call one of its functions"),
                    );
                    return unknown;
                }
                None => {
                    self.no_member(&text, name);
                    return unknown;
                }
            }
        }
        wrong(
            self,
            "give a state, `&mut self.name`, or a `&mut` parameter of this function".to_owned(),
        );
        unknown
    }

    /// Reports a state or `&mut` parameter that one call is given twice.
    pub(super) fn mut_twice(&mut self, given: &[(ir::Arg, Ty)], args: &[&Expr], display: &str) {
        for (i, (arg, _)) in given.iter().enumerate() {
            let updated = !matches!(arg, ir::Arg::Value(_));
            if updated && given[..i].iter().any(|(other, _)| other == arg) {
                let what = match args[i] {
                    Expr::Reference(reference) => source::text(&reference.expr),
                    other => source::text(other),
                };
                self.report(
                    Rule::MutTwice {
                        what,
                        function: display.to_owned(),
                    },
                    args[i],
                );
            }
        }
    }
}
