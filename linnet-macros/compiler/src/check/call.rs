//! Calls of functions of blocks and of operations.

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::Expr;
use syn::spanned::Spanned;

use super::agree::{Agreement, compare};
use super::body::{Binding, Body, Hint, MemberKind, Value};
use super::infer::Inference;
use super::library::{argument, dtype_with_bound, fits};
use super::member::Receiver;
use super::nearest::nearest;
use super::obligation::{clause_to_add, sign, undecidable};
use super::scope::{
    Bindings, Bound, bound_name, has_unbound, identity_of, instantiate, substitute_tree,
};
use super::signature::{ClauseKind, FnSig, SigParam};
use super::source;
use super::types::{Item, Ty, Type, plain};
use crate::ast::{GenericArg, GenericParam};
use crate::diagnostic::Rule;
use crate::dim::Poly;
use crate::ir::{self, Callee, Comparison, NodeOp};
use crate::syntax;

/// An argument after it has been looked at.
enum Given {
    /// Takes its type from the parameter: a literal, a dimension, `None`.
    Later,
    /// A value or an updated tensor, and its type.
    Known(ir::Arg, Ty),
}

/// Who is called.
struct Target {
    callee: Callee,
    sig: FnSig,
    bindings: Bindings,
    /// Its name in the source.
    name: TokenStream,
}

impl<'a> Body<'_, 'a> {
    /// A call of a function of a block. `None` if the receiver is no block.
    pub(crate) fn block_call(
        &mut self,
        receiver: Receiver,
        call: &syn::ExprMethodCall,
        hint: Hint<'_>,
        expr: &Expr,
    ) -> Value {
        let function = call.method.to_string();
        let target = match receiver {
            Receiver::Own => self.own_target(&function, call),
            Receiver::Sub(member) => self.usable_sub(&member, &call.receiver).and_then(|block| {
                let sig = self.function_of(&block, &function, &call.method)?;
                let callee = Callee::Member {
                    member,
                    function: function.clone(),
                };
                let name = call.method.to_token_stream();
                Some(Target {
                    callee,
                    sig,
                    bindings: block.bindings.clone(),
                    name,
                })
            }),
            Receiver::Element(element) => self.element_target(&element, &function, call),
        };
        let Some(target) = target else {
            // The arguments may have errors of their own.
            for arg in &call.args {
                self.look_at(arg);
            }
            return Value::unknown();
        };
        if target.sig.receiver == ir::Receiver::Mut && self.sig.receiver != ir::Receiver::Mut {
            let name = &self.sig.name;
            let rule = Rule::MutCallInRef {
                what: format!("`{}`", target.sig.display),
                against: format!("`{name}` takes `&self`"),
                help: format!("declare `fn {name}(&mut self, ..)`"),
            };
            self.report(rule, &call.method);
        }
        let turbofish = call
            .turbofish
            .as_ref()
            .map(|turbofish| (turbofish, &call.method));
        let args: Vec<&Expr> = call.args.iter().collect();
        self.invoke(target, turbofish.map(|(args, _)| args), &args, hint, expr)
    }

    /// Looks at an argument of a call whose callee is not known.
    pub(crate) fn look_at(&mut self, arg: &Expr) {
        let inner = match arg {
            Expr::Reference(reference) => &reference.expr,
            arg => arg,
        };
        self.expr(inner, Hint::Type(&Type::Unknown));
    }

    fn own_target(&mut self, function: &str, call: &syn::ExprMethodCall) -> Option<Target> {
        let item = self.item;
        let Some(block) = &item.block else {
            self.unsupported(
                "`self`",
                "an operation calls other operations by their names",
                &call.receiver,
            );
            return None;
        };
        match block.functions.iter().find(|known| known.name == function) {
            Some(sig) => Some(Target {
                callee: Callee::Own(function.to_owned()),
                sig: sig.clone(),
                bindings: identity_of(&block.generics),
                name: call.method.to_token_stream(),
            }),
            None => {
                let known: Vec<String> = block
                    .functions
                    .iter()
                    .map(|function| function.name.clone())
                    .collect();
                let nearest = nearest(function, known.iter().map(String::as_str));
                let rule = Rule::UnknownFunction {
                    block: block.name.clone(),
                    name: function.to_owned(),
                    nearest,
                    known,
                };
                self.report(rule, &call.method);
                None
            }
        }
    }

    fn element_target(
        &mut self,
        element: &str,
        function: &str,
        call: &syn::ExprMethodCall,
    ) -> Option<Target> {
        let Some(Binding::Element {
            id,
            block,
            by_mut,
            of,
        }) = self.lookup(element).cloned()
        else {
            return None;
        };
        let block = block?;
        let sig = self.function_of(&block, function, &call.method)?;
        let writes = sig.receiver == ir::Receiver::Mut;
        if writes && !by_mut && self.sig.receiver == ir::Receiver::Mut {
            let rule = Rule::MutCallInRef {
                what: format!("`{}`", sig.display),
                against: format!("`{element}` is taken from `&{of}`"),
                help: format!("take it from `&mut {of}`"),
            };
            self.report(rule, &call.method);
        }
        Some(Target {
            callee: Callee::Element {
                element: id,
                function: function.to_owned(),
            },
            sig,
            bindings: block.bindings.clone(),
            name: call.method.to_token_stream(),
        })
    }

    /// A function of another block. Reports where it has none of that name, or
    /// keeps it to itself.
    fn function_of(
        &mut self,
        block: &super::library::SubBlock<'_>,
        function: &str,
        tokens: &Ident,
    ) -> Option<FnSig> {
        match block.function(function) {
            Some(sig) if !sig.public => {
                self.report(
                    Rule::PrivateFunction {
                        block: block.name(),
                        name: function.to_owned(),
                    },
                    tokens,
                );
                None
            }
            Some(sig) => Some(sig),
            None => {
                let known: Vec<String> = block
                    .functions
                    .iter()
                    .filter(|function| !matches!(function.vis, syn::Visibility::Inherited))
                    .map(|function| function.name.to_string())
                    .collect();
                let nearest = nearest(function, known.iter().map(String::as_str));
                self.report(
                    Rule::UnknownFunction {
                        block: block.name(),
                        name: function.to_owned(),
                        nearest,
                        known,
                    },
                    tokens,
                );
                None
            }
        }
    }

    /// A call of an operation.
    pub(crate) fn op_call(
        &mut self,
        path: &syn::ExprPath,
        args: &[&Expr],
        hint: Hint<'_>,
        expr: &Expr,
    ) -> Value {
        let name = path
            .path
            .segments
            .last()
            .map(|segment| segment.ident.to_string());
        let name = name.unwrap_or_default();
        let own = self.item.block.is_none() && path.path.segments.len() == 1;
        if own && name == self.sig.name {
            let circle = vec![name.clone(), name];
            return self.fail(Rule::Recursion { circle }, path);
        }
        let Some(sig) = self.item.library.op(&path.path) else {
            for arg in args {
                self.look_at(arg);
            }
            let in_block = self.item.block.as_ref().is_some_and(|block| {
                path.path.segments.len() == 1
                    && block.functions.iter().any(|function| function.name == name)
            });
            let nearest = if in_block {
                Some(format!("self.{name}"))
            } else {
                let ops = self.item.library.op_names();
                nearest(&name, ops.chain(crate::builtins::FUNCTIONS.iter().copied()))
            };
            return self.fail(Rule::UnknownOperation { name, nearest }, path);
        };
        let turbofish = path
            .path
            .segments
            .last()
            .and_then(|segment| match &segment.arguments {
                syn::PathArguments::AngleBracketed(args) => Some(args),
                _ => None,
            });
        let bare = syntax::without_arguments(&path.path);
        let target = Target {
            callee: Callee::Op(bare.clone()),
            sig,
            bindings: Bindings::new(),
            name: bare.to_token_stream(),
        };
        self.invoke(target, turbofish, args, hint, expr)
    }

    /// Whether an argument takes its type from its parameter.
    fn takes_type(&self, arg: &Expr) -> bool {
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

    fn invoke(
        &mut self,
        target: Target,
        turbofish: Option<&syn::AngleBracketedGenericArguments>,
        args: &[&Expr],
        hint: Hint<'_>,
        expr: &Expr,
    ) -> Value {
        let Target {
            callee,
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
                Hint::Type(ty) => inference.bind(&sig.ret, ty, "the result"),
                Hint::DType(dtype) => {
                    if let Some(pattern) = sig.ret.dtype() {
                        inference.bind_dtype(pattern, dtype, "the result");
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
                    Some(dtype) => !super::scope::dtype_unbound(dtype),
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
                if let (Some((turned, axes)), Rule::ShapeMismatch { help, .. }) =
                    (turned, &mut rule)
                {
                    let text = super::agree::short_text(&args[turned].to_token_stream());
                    *help = Some(format!("reorder its axes: `{text}.permute({axes:?})`"));
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
        if super::infer::mentions(&sig.ret, &doubtful) {
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

    /// Whether exchanging the last two axes of one argument would make the
    /// argument at `place` right: which argument, and the order of its axes.
    fn reordered(
        &self,
        sig: &FnSig,
        start: &Bindings,
        given: &[(ir::Arg, Ty)],
        args: &[&Expr],
        place: usize,
    ) -> Option<(usize, Vec<usize>)> {
        let candidates = std::iter::once(place).chain((0..given.len()).filter(|i| *i != place));
        for turned_place in candidates {
            let Type::Tensor(tensor) = &given[turned_place].1 else {
                continue;
            };
            if sig.params[turned_place].by_mut {
                continue;
            }
            let rank = tensor.dims.len();
            if rank < 2 || tensor.dims.iter().any(|item| matches!(item, Item::Pack(_))) {
                continue;
            }
            let mut axes: Vec<usize> = (0..rank).collect();
            axes.swap(rank - 2, rank - 1);
            let dims = axes.iter().map(|axis| tensor.dims[*axis].clone()).collect();
            let turned = Ty::tensor(dims, tensor.dtype.clone());
            let mut types: Vec<&Ty> = given.iter().map(|(_, ty)| ty).collect();
            types[turned_place] = &turned;
            let mut inference = Inference::new(sig, start.clone());
            for ((param, ty), arg) in sig.params.iter().zip(&types).zip(args) {
                if !self.takes_type(arg) {
                    inference.bind(&param.ty, ty, &param.name);
                }
            }
            inference.solve(&self.facts);
            let right = sig
                .params
                .iter()
                .zip(&types)
                .zip(args)
                .all(|((param, ty), arg)| {
                    self.takes_type(arg)
                        || inference
                            .expected(&param.ty, &self.facts)
                            .is_some_and(|expected| {
                                compare(&expected, ty, &self.facts) == Agreement::Yes
                            })
                });
            if right {
                return Some((turned_place, axes));
            }
        }
        None
    }

    /// The generics of a turbofish.
    fn turbofish(
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
                    super::obligation::dimension(&tree, facts, owner, &dim.tokens, diagnostics)
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
    fn value_argument(
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
    fn later_argument(&mut self, param: &SigParam, arg: &Expr, inference: &Inference<'_>) -> Value {
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
    fn mut_argument(&mut self, param: &SigParam, arg: &Expr, display: &str) -> Given {
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
    fn mut_twice(&mut self, given: &[(ir::Arg, Ty)], args: &[&Expr], display: &str) {
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

    /// Whether the dtypes that generics are bound to satisfy their bounds.
    fn bounds(&mut self, sig: &FnSig, inference: &Inference<'_>, name: &TokenStream) {
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
    fn solutions(&mut self, inference: &Inference<'_>, name: &TokenStream) {
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

    /// Proves requirements on dimensions under the facts of this function, or
    /// reports them.
    pub(crate) fn requirements(
        &mut self,
        requires: &[super::signature::Clause],
        bindings: &Bindings,
        of: &str,
        tokens: &TokenStream,
    ) {
        let mut diagnostics = Vec::new();
        prove_requirements(
            requires,
            bindings,
            of,
            tokens,
            &self.facts,
            &self.owner,
            &mut diagnostics,
        );
        self.report_all(diagnostics);
    }
}

/// Proves requirements on dimensions from `facts`, or reports them.
pub(crate) fn prove_requirements(
    requires: &[super::signature::Clause],
    bindings: &Bindings,
    of: &str,
    tokens: &TokenStream,
    facts: &crate::dim::Facts,
    owner: &super::obligation::Owner,
    diagnostics: &mut Vec<crate::diagnostic::Diagnostic>,
) {
    // What has been reported is taken for true, so that each clause that is
    // missing is reported for itself.
    let mut facts = facts.clone();
    for clause in requires {
        let ClauseKind::Dims(left, comparison, right) = &clause.kind else {
            continue;
        };
        let left_tree = substitute_tree(left, bindings);
        let right_tree = substitute_tree(right, bindings);
        let (left, right) = match (facts.normalize(&left_tree), facts.normalize(&right_tree)) {
            (Ok(left), Ok(right)) => (left, right),
            (Err(error), _) | (_, Err(error)) => {
                if diagnostics.is_empty() {
                    let expression = format!("{left_tree} {} {right_tree}", sign(*comparison));
                    diagnostics.push(crate::diagnostic::Diagnostic {
                        rule: undecidable(&error, &expression, &facts, owner),
                        tokens: tokens.clone(),
                    });
                }
                continue;
            }
        };
        if facts.prove(&left, *comparison, &right) {
            continue;
        }
        let here = plain(&format!("{left_tree} {} {right_tree}", sign(*comparison)));
        let refuted = facts.refute(&left, *comparison, &right);
        let missing = (!refuted).then(|| {
            let clause = facts.missing(&left, *comparison, &right);
            owner.add(&clause.unwrap_or_else(|| here.clone()))
        });
        diagnostics.push(crate::diagnostic::Diagnostic {
            rule: Rule::Unproved {
                of: of.to_owned(),
                clause: clause.text.clone(),
                here,
                missing,
            },
            tokens: tokens.clone(),
        });
        if !refuted {
            facts.assume(&left, *comparison, &right);
        }
    }
}

/// Whether the dimension at a place still has generics that are not bound.
fn is_open(ty: &Ty, place: usize) -> bool {
    match ty {
        Type::Tensor(tensor) => tensor.dims.get(place).is_some_and(|item| {
            has_unbound(&Type::tensor(vec![item.clone()], super::literal::I64))
        }),
        Type::Option(inner) => is_open(inner, place),
        _ => false,
    }
}

/// The name of a callee and its arguments.
fn call_tokens(name: &TokenStream, args: &[&Expr]) -> TokenStream {
    let mut tokens = name.clone();
    for arg in args {
        arg.to_tokens(&mut tokens);
    }
    tokens
}

/// How to write the generics of a call that cannot be inferred.
fn turbofish_help(sig: &FnSig, inference: &Inference<'_>) -> String {
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
