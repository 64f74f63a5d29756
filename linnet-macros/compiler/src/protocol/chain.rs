//! Asking.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};

/// The macro by which the struct of a block hands its declaration to the
/// `impl` below it. `finish` is called with `{ struct } { impl }`.
///
/// It is found by an import and not by its own name: rustc calls a macro
/// ambiguous that hides one of an outer module, and blocks of nested modules
/// may share a name.
pub fn struct_macro(
    name: &Ident,
    hash: u64,
    declaration: &TokenStream,
    finish: &TokenStream,
) -> TokenStream {
    let import = struct_macro_name(name);
    let macro_name = format_ident!("{}_{:016x}", import, hash, span = name.span());
    quote! {
        #[doc(hidden)]
        #[allow(unused_macros)]
        macro_rules! #macro_name {
            ($implementation:tt) => {
                #finish! { { #declaration } $implementation }
            };
        }
        #[doc(hidden)]
        #[allow(unused_imports)]
        use #macro_name as #import;
    }
}

/// The call of [`struct_macro`]'s macro, with the tokens of the `impl`.
pub fn ask_struct(name: &Ident, implementation: &TokenStream) -> TokenStream {
    let macro_name = struct_macro_name(name);
    quote!(#macro_name! { { #implementation } })
}

fn struct_macro_name(name: &Ident) -> Ident {
    format_ident!("__linnet_struct_{}", name, span = name.span())
}

/// Asks each of `paths` in turn, and calls `finish` with `{ payload } [ answers ]`.
/// Without paths that call is all.
///
/// A chain breaks at the first name that does not exist, which rustc reports.
/// So that it reports those after it too, each is called by itself as well;
/// rustc says nothing twice.
pub fn ask(paths: &[syn::Path], finish: &TokenStream, payload: &TokenStream) -> TokenStream {
    match paths {
        [] => quote!(#finish! { { #payload } [] }),
        [first, rest @ ..] => quote! {
            #first! { @ask [] [#({#rest})*] {#first} {{#finish} { #payload }} }
            #(#rest! { @exists })*
        },
    }
}

/// Moves tokens that came out of a macro back to where their author wrote
/// them: errors then show the source without a trace of macros.
pub(crate) fn resolved_at(tokens: TokenStream, at: Span) -> TokenStream {
    tokens
        .into_iter()
        .map(|token| match token {
            TokenTree::Group(group) => {
                let mut moved = Group::new(group.delimiter(), resolved_at(group.stream(), at));
                moved.set_span(group.span().resolved_at(at));
                TokenTree::Group(moved)
            }
            mut token => {
                token.set_span(token.span().resolved_at(at));
                token
            }
        })
        .collect::<TokenStream>()
        .into_token_stream()
}
