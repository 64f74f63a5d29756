//! One call: what its arguments tell, whether they are right, and its result.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::Expr;

use crate::check::agree::{Agreement, compare};
use crate::check::body::{Body, Hint, Value};
use crate::check::infer::{Inference, THE_RESULT};
use crate::check::library::{dtype_with_bound, fits};
use crate::check::obligation::{clause_to_add, undecidable};
use crate::check::scope::{Bound, bound_name, has_unbound, instantiate};
use crate::check::signature::{FnSig, SigParam};
use crate::check::types::{Ty, Type};
use crate::diagnostic::Rule;
use crate::dim::Poly;
use crate::ir::{self, Comparison, NodeOp};

use super::{Target, argument::Given};

impl Body<'_, '_> {
    pub(super) fn invoke(
        &mut self,
        target: Target<'_>,
        turbofish: Option<&syn::AngleBracketedGenericArguments>,
        args: &[&Expr],
        hint: Hint<'_>,
        expr: &Expr,
    ) -> Value {
        let Target {
            callee,
            block,
            sig,
            bindings,
            name,
        } = target;
        let display = sig.display.clone();
        let n_errors = self.diagnostics.len();
        let mut inference = Inference::new(&sig, bindings);
        if let Some(turbofish) = turbofish {
            self.turbofish(turbofish, &sig, &mut inference);
        }
        let start = inference.bindings.clone();
        if args.len() != sig.params.len() {
            for arg in args {
                self.look_at(arg);
            }
            let parameters = sig.params.iter().map(SigParam::text).collect();
            let rule = Rule::ArgumentCount {
                function: display,
                parameters,
                found: args.len(),
            };
            return self.fail(rule, call_tokens(&name, args));
        }

        // What the arguments tell, those first that need no telling.
        let mut given: Vec<Given> = Vec::new();
        for (param, arg) in sig.params.iter().zip(args) {
            let one = if param.by_mut {
                self.mut_argument(param, arg, &display)
            } else if self.takes_type(arg) {
                Given::Later
            } else {
                let expected = inference.expected(&param.ty, &self.facts);
                let hint = match &expected {
                    Some(ty) if !has_unbound(ty) => Hint::Type(ty),
                    _ => Hint::None,
                };
                let value = self.value_argument(param, arg, hint, &display);
                Given::Known(ir::Arg::Value(value.id), value.ty)
            };
            if let Given::Known(_, ty) = &one {
                inference.bind(&param.ty, ty, &param.name);
            }
            given.push(one);
        }
        inference.solve(&self.facts);
        if !inference.unbound().is_empty() {
            match hint {
                Hint::Type(ty) => inference.bind(&sig.ret, ty, THE_RESULT),
                Hint::DType(dtype) => {
                    if let Some(pattern) = sig.ret.dtype() {
                        inference.bind_dtype(pattern, dtype, THE_RESULT);
                    }
                }
                Hint::None => {}
            }
            inference.solve(&self.facts);
        }
        for (i, param) in sig.params.iter().enumerate() {
            if matches!(given[i], Given::Later) {
                let value = self.later_argument(param, args[i], &inference);
                inference.bind(&param.ty, &value.ty, &param.name);
                given[i] = Given::Known(ir::Arg::Value(value.id), value.ty);
            }
        }
        inference.solve(&self.facts);

        // Whether they are right.
        let given: Vec<(ir::Arg, Ty)> = given
            .into_iter()
            .map(|one| match one {
                Given::Known(arg, ty) => (arg, ty),
                Given::Later => (ir::Arg::Value(0), Type::Unknown),
            })
            .collect();
        let place = format!("the call to `{display}`");
        let mut poisoned = false;
        let mut doubtful: Vec<String> = Vec::new();
        let mut undecided = None;
        for (i, ((param, (_, ty)), arg)) in sig.params.iter().zip(&given).zip(args).enumerate() {
            if ty.is_unknown() || param.ty.is_unknown() {
                // A `None` whose type nothing tells is no error of its own.
                poisoned |= param.ty.is_unknown() || !self.takes_type(arg);
                continue;
            }
            let expected = match instantiate(&param.ty, &inference.bindings, &self.facts) {
                Ok(expected) => expected,
                Err(error) => {
                    undecided = Some((error, param.text(), arg.to_token_stream()));
                    continue;
                }
            };
            let agreement = compare(&expected, ty, &self.facts);
            let open = has_unbound(&expected);
            let wrong = match &agreement {
                Agreement::Yes => false,
                Agreement::Dims(places) => {
                    !open || places.iter().any(|place| !is_open(&expected, *place))
                }
                Agreement::DType => match expected.dtype() {
                    Some(dtype) => !crate::check::scope::dtype_unbound(dtype),
                    None => !open,
                },
                Agreement::Rank | Agreement::Sort => true,
            };
            if wrong {
                let note = inference.note(param, &agreement);
                let tokens = arg.to_token_stream();
                let turned = self.reordered(&sig, &start, &given, args, i);
                doubtful.extend(inference.doubtful(param, &agreement));
                if let Some((turned, _)) = &turned {
                    doubtful.extend(inference.doubtful(param, &Agreement::Rank));
                    doubtful.extend(inference.doubtful(&sig.params[*turned], &Agreement::Rank));
                }
                let mut rule = self.mismatch(agreement, &expected, ty, &place, Some(note), &tokens);
                if let Rule::ShapeMismatch { help, .. } = &mut rule {
                    if let Some((turned, axes)) = turned {
                        let text = crate::check::agree::short_text(&args[turned].to_token_stream());
                        *help = Some(format!("reorder its axes: `{text}.permute({axes:?})`"));
                    } else if let Some(block) = &block
                        && let Some((names, ty)) =
                            self.swapped(&sig, block, &start, &given, args, hint)
                    {
                        doubtful.extend(names);
                        *help = Some(format!("its generics may be swapped: `{ty}` fits here"));
                    }
                }
                self.report(rule, tokens);
            }
        }
        self.mut_twice(&given, args, &display);
        if self.diagnostics.len() == n_errors && !poisoned {
            self.bounds(&sig, &inference, &name);
            if let Some(unbound) = inference.unbound().first() {
                let help = turbofish_help(&sig, &inference);
                return self.fail(
                    Rule::CannotInfer {
                        generic: (*unbound).to_owned(),
                        function: display,
                        help,
                    },
                    &name,
                );
            }
        }
        if !inference.unbound().is_empty() {
            return Value::unknown();
        }
        if self.diagnostics.len() == n_errors && !poisoned {
            self.solutions(&inference, &name);
            self.requirements(
                &sig.requires,
                &inference.bindings,
                &format!("`{display}`"),
                &name,
            );
        }
        if self.diagnostics.len() == n_errors
            && !poisoned
            && let Some((error, expression, tokens)) = undecided
        {
            let rule = undecidable(&error, &expression, &self.facts, &self.owner);
            return self.fail(rule, tokens);
        }
        if crate::check::infer::mentions(&sig.ret, &doubtful) {
            return Value::unknown();
        }
        let ty = match instantiate(&sig.ret, &inference.bindings, &self.facts) {
            Ok(ty) => ty,
            Err(error) => {
                if self.diagnostics.len() == n_errors && !poisoned {
                    let rule = undecidable(&error, &sig.ret.to_string(), &self.facts, &self.owner);
                    self.report(rule, &name);
                }
                Type::Unknown
            }
        };
        if ty.is_unknown() {
            return Value::unknown();
        }
        let generics = sig
            .generics
            .iter()
            .filter_map(|(name, _)| inference.bindings.get(name));
        let op = NodeOp::Call {
            callee,
            generics: generics.map(Bound::to_ir).collect(),
            args: given.into_iter().map(|(arg, _)| arg).collect(),
        };
        self.emit(op, ty, expr)
    }

    /// Whether the dtypes that generics are bound to satisfy their bounds.
    pub(super) fn bounds(&mut self, sig: &FnSig, inference: &Inference<'_>, name: &TokenStream) {
        for (generic, kind) in &sig.generics {
            if let Some(Bound::DType(dtype)) = inference.bindings.get(generic)
                && !fits(*kind, dtype, &self.scope)
            {
                let rule = Rule::GenericArgument {
                    parameter: format!("`{generic}: {}`", bound_name(*kind)),
                    of: sig.display.clone(),
                    found: dtype_with_bound(dtype, &self.scope),
                };
                self.report(rule, name);
            }
        }
    }

    /// Whether the generics that were solved for are dimensions.
    pub(super) fn solutions(&mut self, inference: &Inference<'_>, name: &TokenStream) {
        let zero = Poly::constant(0);
        for (_, value) in &inference.solved {
            if !self.facts.prove(value, Comparison::Ge, &zero) {
                let clause = clause_to_add(&self.facts, value, Comparison::Ge, &zero);
                let rule = Rule::Negative {
                    expression: value.to_string(),
                    missing: Some(self.owner.add(&clause)),
                };
                self.report(rule, name);
            }
        }
    }
}

/// Whether the dimension at a place still has generics that are not bound.
pub(super) fn is_open(ty: &Ty, place: usize) -> bool {
    match ty {
        Type::Tensor(tensor) => tensor.dims.get(place).is_some_and(|item| {
            has_unbound(&Type::tensor(
                vec![item.clone()],
                crate::check::literal::I64,
            ))
        }),
        Type::Option(inner) => is_open(inner, place),
        _ => false,
    }
}

/// The name of a callee and its arguments.
pub(super) fn call_tokens(name: &TokenStream, args: &[&Expr]) -> TokenStream {
    let mut tokens = name.clone();
    for arg in args {
        arg.to_tokens(&mut tokens);
    }
    tokens
}

/// How to write the generics of a call that cannot be inferred.
pub(super) fn turbofish_help(sig: &FnSig, inference: &Inference<'_>) -> String {
    let unbound = inference.unbound();
    let args = sig.generics.iter().map(|(name, _)| {
        if unbound.contains(&name.as_str()) {
            name.as_str()
        } else {
            "_"
        }
    });
    let args: Vec<&str> = args.collect();
    format!("write it: `{}::<{}>(..)`", sig.name, args.join(", "))
}
