//! The macro under an item's name, and what its answers say.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::{format_ident, quote};

use super::Answer;
use crate::ast::{OpDecl, Signature, SignatureKind};
use crate::syntax;

/// The macro that answers for the item `name`, and its import under that name.
///
/// `hash` keeps items of one name apart that share a crate: exported macros
/// have one namespace for all modules.
pub fn answer_macro(
    name: &Ident,
    vis: &syn::Visibility,
    hash: u64,
    answer: &Answer,
) -> TokenStream {
    let kind = Ident::new(answer.kind, proc_macro2::Span::call_site());
    let declaration = &answer.declaration;
    let macro_name = format_ident!("__linnet_{}_{:016x}", name, hash, span = name.span());
    let exported = matches!(vis, syn::Visibility::Public(_));
    let export = exported.then(|| quote!(#[macro_export]));
    let misuse = format!("`{name}` is called without `!`, in the body of a block or operation");
    quote! {
        #[doc(hidden)]
        #export
        #[allow(unused_macros, unused_macro_rules)]
        macro_rules! #macro_name {
            (@ask [$($answers:tt)*] [{$($next:tt)*} $($queue:tt)*] $path:tt $last:tt) => {
                $($next)*! {
                    @ask
                    [$($answers)* { #kind $path #declaration }]
                    [$($queue)*]
                    {$($next)*}
                    $last
                }
            };
            (@ask [$($answers:tt)*] [] $path:tt {{$($finish:tt)*} $payload:tt}) => {
                $($finish)*! {
                    $payload
                    [$($answers)* { #kind $path #declaration }]
                }
            };
            (@exists) => {};
            ($($any:tt)*) => {
                ::core::compile_error!(#misuse);
            };
        }
        #[doc(hidden)]
        #[allow(unused_imports, non_camel_case_types)]
        #vis use #macro_name as #name;
    }
}

/// What a chain of asks brought back.
#[derive(Debug)]
pub struct Answers {
    /// The signatures, in the order of asking.
    pub signatures: Vec<Signature>,
    /// Whether an item answered that its own declaration has errors.
    pub any_broken: bool,
}

/// Reads the list of answers that a chain ended with.
///
/// # Errors
/// Where an answer has another form, as from another version of linnet.
pub fn parse_answers(tokens: TokenStream) -> syn::Result<Answers> {
    let mut answers = Answers {
        signatures: Vec::new(),
        any_broken: false,
    };
    for token in tokens {
        let TokenTree::Group(answer) = &token else {
            return Err(unreadable(&token));
        };
        let mut parts = answer.stream().into_iter();
        let (Some(TokenTree::Ident(kind)), Some(TokenTree::Group(path))) =
            (parts.next(), parts.next())
        else {
            return Err(unreadable(&token));
        };
        let path: syn::Path = syn::parse2(path.stream())?;
        let groups: Vec<Group> = parts
            .filter_map(|part| match part {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group),
                _ => None,
            })
            .collect();
        let kind = match (kind.to_string().as_str(), groups.as_slice()) {
            ("broken", _) => {
                answers.any_broken = true;
                continue;
            }
            ("block", [block, functions]) => {
                let block = syntax::parse_struct(block.stream());
                let functions = syntax::parse_signatures(functions.stream());
                match block {
                    Ok(block) if block.errors.is_empty() && functions.errors.is_empty() => {
                        SignatureKind::Block(block.item, functions.item)
                    }
                    _ => return Err(unreadable(&token)),
                }
            }
            ("op", [function]) => {
                let mut functions = syntax::parse_signatures(function.stream());
                match functions.item.pop() {
                    Some(function) if functions.errors.is_empty() => SignatureKind::Op(OpDecl {
                        kernel: None,
                        function,
                    }),
                    _ => return Err(unreadable(&token)),
                }
            }
            _ => return Err(unreadable(&token)),
        };
        answers.signatures.push(Signature { path, kind });
    }
    Ok(answers)
}

fn unreadable(token: &TokenTree) -> syn::Error {
    syn::Error::new_spanned(
        token,
        "this item answers in a form that this version of linnet does not know; \
         use one version of linnet-runtime throughout",
    )
}
