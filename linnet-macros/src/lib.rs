//! The macros of linnet: a model is written with [`macro@block`] and [`macro@op`].
//!
//! They only turn tokens into tokens; everything else is in `linnet-compiler`.
//! Use them through `linnet-runtime`, which the code that they emit needs.

use std::hash::{DefaultHasher, Hash, Hasher};

use proc_macro::TokenStream;
use proc_macro2::TokenStream as TokenStream2;

/// Declares a block: a part of a neural network with its parameters, states,
/// sub-blocks and functions.
///
/// It stands above a struct, and above one `impl` below that in the same module.
#[proc_macro_attribute]
pub fn block(args: TokenStream, item: TokenStream) -> TokenStream {
    let hash = item_hash(&item);
    linnet_compiler::expand::expand_block(args.into(), item.into(), hash).into()
}

/// Declares an operation: a function of tensors whose body is its meaning, and
/// which a kernel may compute faster.
#[proc_macro_attribute]
pub fn op(args: TokenStream, item: TokenStream) -> TokenStream {
    let hash = item_hash(&item);
    linnet_compiler::expand::expand_op(args.into(), item.into(), hash).into()
}

/// The type of a tensor: `Tensor![B, S, 3 * H; f32]`.
#[proc_macro]
#[allow(non_snake_case, reason = "it reads as the type that it is")]
pub fn Tensor(tokens: TokenStream) -> TokenStream {
    linnet_compiler::expand::expand_tensor(tokens.into()).into()
}

/// Index notation: `index!([b, v] = sum[i] h[b, i] * w[v, i])`, in the body of
/// a block's function or of an operation.
#[proc_macro]
pub fn index(_: TokenStream) -> TokenStream {
    linnet_compiler::expand::expand_outside("index").into()
}

/// The entries of a slice: `x.slice(s![.., 0..H])`, in the body of a block's
/// function or of an operation.
#[proc_macro]
pub fn s(_: TokenStream) -> TokenStream {
    linnet_compiler::expand::expand_outside("s").into()
}

#[doc(hidden)]
#[proc_macro]
pub fn declare_block(tokens: TokenStream) -> TokenStream {
    linnet_compiler::expand::declare_block(tokens.into()).into()
}

#[doc(hidden)]
#[proc_macro]
pub fn check_block(tokens: TokenStream) -> TokenStream {
    linnet_compiler::expand::check_block(tokens.into()).into()
}

#[doc(hidden)]
#[proc_macro]
pub fn check_op(tokens: TokenStream) -> TokenStream {
    linnet_compiler::expand::check_op(tokens.into()).into()
}

/// Keeps items of one name in a crate apart: by where they stand, and, where a
/// macro writes several at one place, by what they say.
fn item_hash(item: &TokenStream) -> u64 {
    let mut hasher = DefaultHasher::new();
    let tokens = TokenStream2::from(item.clone());
    if let Some(token) = tokens.clone().into_iter().next() {
        let span = token.span().unwrap();
        (span.file(), span.line(), span.column()).hash(&mut hasher);
    }
    tokens.to_string().hash(&mut hasher);
    hasher.finish()
}
