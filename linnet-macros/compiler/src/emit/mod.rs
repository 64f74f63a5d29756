//! Rust items: what a checked block or operation becomes.
//!
//! An item that has errors becomes the same Rust types and functions over an
//! empty descriptor. They never run, since the crate does not compile, but
//! rustc finds every name that the author's other code uses and reports
//! nothing on top of our errors.

mod block;
mod descriptor;
mod function;
mod op;
mod rust_type;
mod tensor_macro;

#[cfg(test)]
mod tests;

pub use block::{emit_block, emit_struct};
pub use op::emit_op;
pub use tensor_macro::emit_tensor_type;

use proc_macro2::TokenStream;
use quote::quote;

/// Names the module of descriptor types by one letter inside an anonymous
/// constant, where it can meet no name of the author.
fn descriptor_alias() -> TokenStream {
    quote! {
        #[allow(unused_imports)]
        use ::linnet_runtime::descriptor as __d;
    }
}
