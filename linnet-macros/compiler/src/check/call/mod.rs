//! Calls of functions of blocks and of operations: who is called.

mod argument;
mod invoke;
mod requirement;
mod suggest;

use std::rc::Rc;

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::Expr;

use super::body::{Binding, Body, Hint, Value};
use super::library::SubBlock;
use super::member::Receiver;
use super::nearest::nearest;
use super::scope::{Bindings, identity_of};
use super::signature::FnSig;
use super::types::Type;
use crate::diagnostic::Rule;
use crate::ir::{self, Callee};
use crate::syntax;

pub(crate) use requirement::prove_requirements;

/// Who is called.
struct Target<'a> {
    callee: Callee,
    /// The block whose function it is, if that is another one.
    block: Option<Rc<SubBlock<'a>>>,
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
                let bindings = block.bindings.clone();
                let block = Some(block);
                Some(Target {
                    callee,
                    block,
                    sig,
                    bindings,
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

    fn own_target(&mut self, function: &str, call: &syn::ExprMethodCall) -> Option<Target<'a>> {
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
                block: None,
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
    ) -> Option<Target<'a>> {
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
            block: Some(block),
            name: call.method.to_token_stream(),
        })
    }

    /// A function of another block. Reports where it has none of that name, or
    /// keeps it to itself.
    fn function_of(
        &mut self,
        block: &crate::check::library::SubBlock<'_>,
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
                nearest(
                    &name,
                    ops.into_iter()
                        .chain(crate::builtins::FUNCTIONS.iter().copied()),
                )
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
            block: None,
            sig,
            bindings: Bindings::new(),
            name: bare.to_token_stream(),
        };
        self.invoke(target, turbofish, args, hint, expr)
    }
}
