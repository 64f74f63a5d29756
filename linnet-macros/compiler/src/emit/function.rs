//! Functions that plain Rust calls: entries of a block, and operations.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use super::rust_type::{Place, Scope, bound, rust_type};
use crate::ast::{FnDecl, GenericParam};
use crate::determined::{Known, determined};

/// The Rust signature of a function, apart from its receiver.
pub(super) struct Signature {
    /// `<S: Dim>`, or nothing.
    pub(super) generics: TokenStream,
    /// `tokens: &Tensor<..>, pos: i32`.
    pub(super) params: Vec<TokenStream>,
    /// `Result<Tensor<..>>`.
    pub(super) ret: TokenStream,
    /// The arguments of the erased call.
    pub(super) args: Vec<TokenStream>,
}

/// The Rust signature of `function`, whose block has the generics `block`.
/// None where plain Rust cannot call it: a parameter is a tuple, or no
/// argument tells one of its generics.
pub(super) fn signature(function: &FnDecl, block: &[GenericParam]) -> Option<Signature> {
    let mut generics: Vec<&GenericParam> = Vec::new();
    for (generic, (_, known)) in function.generics.iter().zip(determined(function)) {
        // A name that is taken is reported, and rustc need not see it.
        let is_taken = block
            .iter()
            .chain(generics.iter().copied())
            .any(|before| before.name == generic.name);
        match known {
            Known::FromType if is_taken => {}
            Known::FromType => generics.push(generic),
            Known::FromShape => {}
            Known::Not => return None,
        }
    }
    let scope = Scope::new(block, generics.iter().copied());
    let mut params = Vec::new();
    let mut args = Vec::new();
    for (i, param) in function.params.iter().enumerate() {
        if function.params[..i]
            .iter()
            .any(|before| before.name == param.name)
        {
            return None;
        }
        let place = match param.by_mut {
            true => Place::MutParam,
            false => Place::Param,
        };
        let name = &param.name;
        let ty = rust_type(&param.ty, place, &scope)?;
        params.push(quote!(#name: #ty));
        args.push(quote!(::linnet_runtime::IntoArgument::into_argument(#name)));
    }
    let ret = rust_type(&function.ret, Place::Result, &scope)?;
    let generics = match generics.as_slice() {
        [] => TokenStream::new(),
        generics => {
            let params = generics.iter().map(|generic| {
                let (name, bound) = (&generic.name, bound(generic.kind));
                quote!(#name: #bound)
            });
            quote!(<#(#params),*>)
        }
    };
    Some(Signature {
        generics,
        params,
        ret: quote!(::linnet_runtime::Result<#ret>),
        args,
    })
}

/// The author's attributes with a section on errors after the documentation.
pub(super) fn documented(attrs: &[syn::Attribute], errors: &str) -> TokenStream {
    let mut tokens: TokenStream = attrs.iter().map(ToTokens::to_token_stream).collect();
    if attrs.iter().any(|attr| attr.path().is_ident("doc")) {
        tokens.extend(quote! {
            #[doc = ""]
            #[doc = "# Errors"]
            #[doc = #errors]
        });
    }
    tokens
}
