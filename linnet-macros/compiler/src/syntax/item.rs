//! The items: `#[block] struct`, `#[block] impl` and `#[op] fn`.

use proc_macro2::TokenStream;
use syn::{Fields, ImplItem, Type};

use super::Parsed;
use super::dims::parse_requirements;
use super::error::Errors;
use super::function::parse_function;
use super::generics::parse_generics;
use super::types::{MemberType, parse_member_type};
use crate::ast::{BlockDecl, ImplDecl, Member, MemberKind, OpDecl, TypeKind};
use crate::builtins;
use crate::diagnostic::{Diagnostic, Rule};
use crate::ir::{GenericKind, Receiver};

/// `#[block] struct`, without the `#[block]`.
///
/// # Errors
/// Where the tokens are no struct at all; anything else wrong is in
/// [`Parsed::errors`].
pub fn parse_struct(item: TokenStream) -> Result<Parsed<BlockDecl>, Vec<Diagnostic>> {
    let mut errors = Errors::default();
    let item = match syn::parse2::<syn::ItemStruct>(item) {
        Ok(item) => item,
        Err(error) => {
            errors.push_syn(&error, "`#[block]` stands above a struct or its `impl`");
            return Err(errors.into_vec());
        }
    };
    let mut attrs = Vec::new();
    let mut requires = Vec::new();
    for attr in item.attrs {
        if attr.path().is_ident("require") {
            requires.extend(parse_requirements(&attr, &mut errors));
        } else {
            attrs.push(attr);
        }
    }
    let generics = parse_generics(&item.generics, &format!("`{}`", item.ident), &mut errors);
    for (i, generic) in generics.iter().enumerate() {
        if generics[..i]
            .iter()
            .any(|before| before.name == generic.name)
        {
            let rule = Rule::Duplicate {
                what: "generic".to_owned(),
                name: generic.name.to_string(),
            };
            errors.push_rule(rule, &generic.name);
        }
        if generic.kind == GenericKind::Shape {
            errors.push(
                &generic.name,
                "a block has no shape pack",
                "declare the pack on the function: `fn forward<S: Shape>(..)`",
            );
        }
    }
    let mut members: Vec<Member> = Vec::new();
    match &item.fields {
        Fields::Named(fields) => {
            for field in &fields.named {
                let member = parse_member(field, &mut errors);
                if let Some(MemberKind::Sub { ty, .. }) = member.as_ref().map(|member| &member.kind)
                    && generics
                        .iter()
                        .any(|generic| ty.path.is_ident(&generic.name))
                {
                    super::types::push_scalar_member(&ty.tokens, &mut errors);
                    continue;
                }
                members.extend(member);
            }
        }
        Fields::Unit => {}
        Fields::Unnamed(fields) => errors.push(
            fields,
            "the members of a block have names",
            "write `struct Name { member: Type }`",
        ),
    }
    Ok(Parsed {
        item: BlockDecl {
            attrs,
            vis: item.vis,
            name: item.ident,
            generics,
            requires,
            members,
        },
        errors: errors.into_vec(),
    })
}

fn parse_member(field: &syn::Field, errors: &mut Errors) -> Option<Member> {
    let name = field.ident.clone()?;
    let mut param = None;
    let mut state = None;
    let mut attrs = Vec::new();
    let mut is_doubtful = false;
    for attr in &field.attrs {
        let slot = if attr.path().is_ident("param") {
            &mut param
        } else if attr.path().is_ident("state") {
            &mut state
        } else if attr.path().is_ident("doc") {
            attrs.push(attr.clone());
            continue;
        } else {
            errors.push(
                attr,
                "a member has no such attribute",
                "a tensor is `#[param]` or `#[state]`; a block has no attribute",
            );
            is_doubtful = true;
            continue;
        };
        if !matches!(attr.meta, syn::Meta::Path(_)) {
            errors.push(
                attr,
                "this attribute takes no arguments",
                "remove the arguments",
            );
        }
        *slot = Some(attr);
    }
    let ty = parse_member_type(&field.ty, errors)?;
    let kind = match (ty, param, state) {
        (_, Some(_), Some(second)) => {
            errors.push(
                second,
                "a member is either `#[param]` or `#[state]`",
                "a param comes from the checkpoint, a state is zero at first and written by calls",
            );
            return None;
        }
        // The unknown attribute was meant to be one of them.
        (MemberType::Tensor(_), None, None) if is_doubtful => return None,
        (MemberType::Tensor(ty), None, None) => {
            errors.push(
                &name,
                format!("the tensor `{name}` is neither `#[param]` nor `#[state]`"),
                "write `#[param]` if it comes from the checkpoint, `#[state]` if calls update it",
            );
            drop(ty);
            return None;
        }
        (MemberType::Tensor(ty), Some(_), None) => match member_tensor(&ty.kind) {
            true => MemberKind::Param(ty),
            false => {
                errors.push(
                    &field.ty,
                    "a param is one tensor",
                    "write `Tensor![..]` or `Option<Tensor![..]>`",
                );
                return None;
            }
        },
        (MemberType::Tensor(ty), None, Some(_)) => match ty.kind {
            TypeKind::Tensor { .. } => MemberKind::State(ty),
            _ => {
                errors.push(&field.ty, "a state is one tensor", "write `Tensor![..]`");
                return None;
            }
        },
        (MemberType::Sub { .. }, Some(attr), None) | (MemberType::Sub { .. }, None, Some(attr)) => {
            errors.push(
                attr,
                format!("`{name}` is a block, which has its own params and states"),
                "remove the attribute",
            );
            return None;
        }
        (
            MemberType::Sub {
                ty,
                length,
                optional,
            },
            None,
            None,
        ) => MemberKind::Sub {
            ty,
            length,
            optional,
        },
    };
    Some(Member {
        attrs,
        vis: field.vis.clone(),
        name,
        kind,
    })
}

/// Whether a param may have this type.
fn member_tensor(kind: &TypeKind) -> bool {
    match kind {
        TypeKind::Tensor { .. } => true,
        TypeKind::Option(inner) => matches!(inner.kind, TypeKind::Tensor { .. }),
        _ => false,
    }
}

/// `#[block] impl`, without the `#[block]`.
///
/// # Errors
/// Where the tokens are no `impl` of a plain name; anything else wrong is in
/// [`Parsed::errors`].
pub fn parse_impl(item: TokenStream) -> Result<Parsed<ImplDecl>, Vec<Diagnostic>> {
    let mut errors = Errors::default();
    let item = match syn::parse2::<syn::ItemImpl>(item) {
        Ok(item) => item,
        Err(error) => {
            errors.push_syn(&error, "`#[block]` stands above a struct or its `impl`");
            return Err(errors.into_vec());
        }
    };
    let block = match item.self_ty.as_ref() {
        Type::Path(path) if path.qself.is_none() && path.path.segments.len() == 1 => {
            let segment = &path.path.segments[0];
            if !segment.arguments.is_none() {
                errors.push(
                    &segment.arguments,
                    "the generics of a block are not repeated",
                    format!("write `impl {}`", segment.ident),
                );
            }
            segment.ident.clone()
        }
        other => {
            errors.push(
                other,
                "`#[block] impl` names a block of the same module",
                "write `impl Name`, below `#[block] struct Name`",
            );
            return Err(errors.into_vec());
        }
    };
    if let Some((path, _)) = &item.trait_ {
        errors.push(
            path,
            "a block implements no trait here",
            format!("write `impl {block}`; traits go into an impl without `#[block]`"),
        );
    }
    // `impl<H: Dim> Block<H>` is one mistake.
    let is_reported = matches!(item.self_ty.as_ref(), Type::Path(path)
        if path.path.segments.iter().any(|segment| !segment.arguments.is_none()));
    if !item.generics.params.is_empty() && !is_reported {
        errors.push(
            &item.generics,
            "the generics of a block are not repeated",
            format!("write `impl {block}`"),
        );
    }
    if let Some(clause) = &item.generics.where_clause {
        errors.push(
            clause,
            "a block has no `where` clause",
            "requirements go into `#[require(..)]` on the struct",
        );
    }
    for attr in &item.attrs {
        let is_lint = ["doc", "allow", "expect", "warn", "deny", "cfg"]
            .iter()
            .any(|name| attr.path().is_ident(name));
        if !is_lint {
            errors.push(
                attr,
                "this attribute does not belong on the `impl`",
                "requirements go on the struct or on a function",
            );
        }
    }
    let mut functions: Vec<crate::ast::FnDecl> = Vec::new();
    for item in item.items {
        let ImplItem::Fn(function) = item else {
            errors.push(
                &item,
                "a block has only functions",
                "put it into an impl without `#[block]`",
            );
            continue;
        };
        let declared = parse_function(
            function.attrs,
            function.vis,
            &function.sig,
            Some(function.block),
            &mut errors,
        );
        if declared.receiver == Receiver::None && !has_receiver(&function.sig) {
            errors.push(
                &declared.name,
                format!("`{}` takes no block", declared.name),
                "add `&self` or `&mut self`, or make it an `#[op]` outside the impl",
            );
        }
        functions.push(declared);
    }
    Ok(Parsed {
        item: ImplDecl { block, functions },
        errors: errors.into_vec(),
    })
}

fn has_receiver(sig: &syn::Signature) -> bool {
    sig.receiver().is_some()
}

/// `#[op(args)] fn`: the tokens between the parentheses and the function.
///
/// # Errors
/// Where the tokens are no function at all; anything else wrong is in
/// [`Parsed::errors`].
pub fn parse_op(args: TokenStream, item: TokenStream) -> Result<Parsed<OpDecl>, Vec<Diagnostic>> {
    let mut errors = Errors::default();
    let item = match syn::parse2::<syn::ItemFn>(item) {
        Ok(item) => item,
        Err(error) => {
            errors.push_syn(&error, "`#[op]` stands above a function");
            return Err(errors.into_vec());
        }
    };
    let kernel = parse_op_args(args, &mut errors);
    let function = parse_function(
        item.attrs,
        item.vis,
        &item.sig,
        Some(*item.block),
        &mut errors,
    );
    if let Some(receiver) = item.sig.receiver() {
        errors.push(
            receiver,
            "an operation belongs to no block",
            "remove the receiver, or move the function into the block's `impl`",
        );
    }
    if function.entry {
        errors.push(
            &function.name,
            "an operation is no entry",
            "remove `#[entry]`: an operation can be called from Rust as it is",
        );
    }
    let name = function.name.to_string();
    if builtins::is_function(&name) {
        errors.push(
            &function.name,
            format!("`{name}` is a function of the language itself"),
            "give the operation another name",
        );
    }
    Ok(Parsed {
        item: OpDecl { kernel, function },
        errors: errors.into_vec(),
    })
}

fn parse_op_args(args: TokenStream, errors: &mut Errors) -> Option<syn::Path> {
    const HELP: &str = "write `#[op]` or `#[op(kernel = name)]`";
    if args.is_empty() {
        return None;
    }
    let parser =
        syn::punctuated::Punctuated::<syn::MetaNameValue, syn::Token![,]>::parse_terminated;
    let pairs = match syn::parse::Parser::parse2(parser, args) {
        Ok(pairs) => pairs,
        Err(error) => {
            errors.push_syn(&error, HELP);
            return None;
        }
    };
    let mut kernel = None;
    for pair in pairs {
        match &pair.value {
            syn::Expr::Path(value) if pair.path.is_ident("kernel") && kernel.is_none() => {
                kernel = Some(value.path.clone());
            }
            _ => errors.push(&pair, "`#[op]` has no such argument", HELP),
        }
    }
    kernel
}
