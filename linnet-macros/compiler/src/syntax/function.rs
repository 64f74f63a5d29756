//! Functions of blocks and of operations.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{FnArg, Pat, ReceiverKind, ReturnType, Safety, Type};

use super::Parsed;
use super::dims::parse_requirements;
use super::error::Errors;
use super::generics::parse_generics;
use super::types::parse_type;
use crate::ast::{FnDecl, Param, TypeExpr, TypeKind};
use crate::determined::{Known, determined};
use crate::ir::Receiver;

/// Functions without bodies, as another item's macro answers them.
pub fn parse_signatures(tokens: TokenStream) -> Parsed<Vec<FnDecl>> {
    struct Functions(Vec<syn::TraitItemFn>);
    impl Parse for Functions {
        fn parse(input: ParseStream) -> syn::Result<Self> {
            let mut functions = Vec::new();
            while !input.is_empty() {
                // A trait's function has no visibility of its own.
                let attrs = input.call(syn::Attribute::parse_outer)?;
                let vis: syn::Visibility = input.parse()?;
                let mut function: syn::TraitItemFn = input.parse()?;
                function.attrs = attrs;
                function.attrs.extend(match vis {
                    syn::Visibility::Inherited => None,
                    _ => Some(syn::parse_quote!(#[public])),
                });
                functions.push(function);
            }
            Ok(Self(functions))
        }
    }
    let mut errors = Errors::default();
    let mut item = Vec::new();
    match syn::parse2::<Functions>(tokens) {
        Ok(functions) => {
            for function in functions.0 {
                let (public, attrs): (Vec<_>, Vec<_>) = function
                    .attrs
                    .into_iter()
                    .partition(|attr| attr.path().is_ident("public"));
                let vis = match public.is_empty() {
                    true => syn::Visibility::Inherited,
                    false => syn::Visibility::Public(Default::default()),
                };
                item.push(parse_function(attrs, vis, &function.sig, None, &mut errors));
            }
        }
        Err(error) => errors.push_syn(&error, "this is an error of linnet: please report it"),
    }
    Parsed {
        item,
        errors: errors.into_vec(),
    }
}

/// Attributes that the Rust function keeps.
const KEPT: &[&str] = &[
    "doc",
    "allow",
    "expect",
    "warn",
    "deny",
    "forbid",
    "deprecated",
    "must_use",
    "inline",
];

/// A function, with every form that the language does not have noted.
pub(crate) fn parse_function(
    attrs: Vec<syn::Attribute>,
    vis: syn::Visibility,
    sig: &syn::Signature,
    body: Option<syn::Block>,
    errors: &mut Errors,
) -> FnDecl {
    let mut entry = false;
    let mut requires = Vec::new();
    let mut kept = Vec::new();
    for attr in attrs {
        if attr.path().is_ident("entry") {
            if !matches!(attr.meta, syn::Meta::Path(_)) {
                errors.push(&attr, "`#[entry]` takes no arguments", "write `#[entry]`");
            }
            entry = true;
        } else if attr.path().is_ident("require") {
            requires.extend(parse_requirements(&attr, errors));
        } else if KEPT.iter().any(|name| attr.path().is_ident(name)) {
            kept.push(attr);
        } else {
            errors.push(
                &attr,
                "a function here has no such attribute",
                "there are `#[entry]`, `#[require(..)]`, documentation and lint levels",
            );
        }
    }
    if let Some(token) = &sig.constness {
        errors.push(token, "functions here are not `const`", "remove `const`");
    }
    if let Some(token) = &sig.asyncness {
        errors.push(token, "functions here are not `async`", "remove `async`");
    }
    if let Safety::Unsafe(token) = &sig.safety {
        errors.push(token, "functions here are not `unsafe`", "remove `unsafe`");
    }
    if let Some(abi) = &sig.abi {
        errors.push(abi, "functions here have no ABI", "remove it");
    }
    if let Some(variadic) = &sig.variadic {
        errors.push(variadic, "functions here are not variadic", "remove `...`");
    }
    let name = sig.ident.clone();
    let generics = parse_generics(&sig.generics, &format!("`{name}`"), errors);
    for generic in &generics {
        if let Some(default) = &generic.default {
            let at = match default {
                crate::ast::GenericArg::Dim(dim) => dim.tokens.clone(),
                _ => {
                    let name = &generic.name;
                    quote!(#name)
                }
            };
            errors.push(
                at,
                "a generic of a function has no default",
                "remove the default; it is inferred from the arguments",
            );
        }
    }
    let mut receiver = Receiver::None;
    let mut params: Vec<Param> = Vec::new();
    for arg in &sig.inputs {
        match arg {
            FnArg::Receiver(this) => match &this.kind {
                ReceiverKind::Reference(_, None, None) => receiver = Receiver::Ref,
                ReceiverKind::Reference(_, None, Some(_)) => receiver = Receiver::Mut,
                _ => errors.push(
                    this,
                    "a function takes its block as `&self` or `&mut self`",
                    "write `&self`, or `&mut self` if it writes state",
                ),
            },
            FnArg::Typed(arg) => {
                if let Some(param) = parse_param(arg, errors) {
                    params.push(param);
                }
            }
        }
    }
    let ret = match &sig.output {
        ReturnType::Default => None,
        ReturnType::Type(_, ty) => parse_type(ty, errors),
    };
    let function = FnDecl {
        attrs: kept,
        vis,
        name,
        entry,
        receiver,
        generics,
        requires,
        params,
        ret: ret.unwrap_or(TypeExpr {
            kind: TypeKind::Tuple(Vec::new()),
            tokens: quote!(()),
        }),
        body,
    };
    if entry {
        check_entry(&function, errors);
    }
    function
}

/// An entry is called from plain Rust, which has fewer types to pass and infers
/// less than a body.
fn check_entry(function: &FnDecl, errors: &mut Errors) {
    for param in &function.params {
        if holds_tuple(&param.ty) {
            errors.push(
                &param.ty.tokens,
                "an entry has no tuple as a parameter",
                "pass its parts as parameters of their own",
            );
        }
    }
    for (generic, known) in determined(function) {
        if known == Known::Not {
            errors.push(
                generic,
                format!("no argument of the entry determines `{generic}`"),
                format!("let a parameter have `{generic}` as a dimension or dtype of its own"),
            );
        }
    }
}

fn holds_tuple(ty: &TypeExpr) -> bool {
    match &ty.kind {
        TypeKind::Tuple(_) => true,
        TypeKind::Option(inner) => holds_tuple(inner),
        TypeKind::Tensor { .. } | TypeKind::Scalar(_) => false,
    }
}

fn parse_param(arg: &syn::PatType, errors: &mut Errors) -> Option<Param> {
    for attr in &arg.attrs {
        errors.push(
            attr,
            "a parameter has no attributes",
            "remove it; requirements go above the function",
        );
    }
    let name = match arg.pat.as_ref() {
        Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => {
            if let Some(token) = &pat.mutability {
                errors.push(
                    token,
                    "a parameter is not `mut`",
                    format!("bind it again: `let mut {0} = {0};`", pat.ident),
                );
            }
            pat.ident.clone()
        }
        pat => {
            errors.push(
                pat,
                "a parameter is a plain name",
                "name it and take it apart in the body, e.g. `let (a, b) = pair;`",
            );
            return None;
        }
    };
    let (ty, by_mut) = match arg.ty.as_ref() {
        Type::Reference(reference) if reference.mutability.is_some() => {
            if let Some(lifetime) = &reference.lifetime {
                errors.push(lifetime, "there are no lifetimes here", "remove it");
            }
            (reference.elem.as_ref(), true)
        }
        ty => (ty, false),
    };
    let ty = parse_type(ty, errors)?;
    if by_mut && !matches!(ty.kind, TypeKind::Tensor { .. }) {
        errors.push(
            &arg.ty,
            "only a tensor can be `&mut`",
            "pass the value and return the new one",
        );
        return None;
    }
    Some(Param { name, ty, by_mut })
}
