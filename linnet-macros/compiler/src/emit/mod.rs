//! Rust items: what a checked block or operation becomes.
//!
//! Types and functions are emitted from the declaration alone, before the item
//! is checked; its descriptor follows when it has been.

mod block;
mod descriptor;
mod docs;
mod fallback;
mod function;
mod op;
mod rust_type;
mod tensor_macro;

#[cfg(test)]
mod tests;

pub use block::{emit_block, emit_block_descriptor, emit_struct};
pub use op::{emit_op, emit_op_descriptor};
pub use tensor_macro::emit_tensor_type;

use proc_macro2::TokenStream;
use quote::quote;

/// Names the module of descriptor types by one letter, inside a block where
/// it can meet no name of the author.
fn descriptor_alias() -> TokenStream {
    quote! {
        #[allow(unused_imports)]
        use ::linnet_runtime::descriptor as __d;
    }
}
