//! The name under which an item's descriptor is found.
//!
//! The descriptor is emitted last, when the item has been checked, and not at
//! all where it has errors or names something that does not exist. All that
//! refers to it is emitted before. So that rustc then finds something under
//! the name, and reports nothing on top of the errors, a glob import brings in
//! a stand-in, which the descriptor hides as soon as it exists.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

/// The name of the static that holds the descriptor of the item `name`.
pub(super) fn descriptor_name(name: &Ident, hash: u64) -> Ident {
    format_ident!("__LINNET_{}_{:016x}", name, hash)
}

/// Imports `stand_in`, a static of `linnet_runtime::__private`, as the
/// descriptor of the item `name`.
pub(super) fn emit_stand_in(name: &Ident, hash: u64, stand_in: &str) -> TokenStream {
    let module = format_ident!("__linnet_stand_in_{}_{:016x}", name, hash);
    let descriptor = descriptor_name(name, hash);
    let stand_in = format_ident!("{}", stand_in);
    quote! {
        #[doc(hidden)]
        #[allow(non_snake_case, non_upper_case_globals, unused_imports)]
        mod #module {
            pub(super) use ::linnet_runtime::__private::#stand_in as #descriptor;
        }
        #[allow(unused_imports)]
        use #module::*;
    }
}
