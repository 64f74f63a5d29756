//! Operations.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::fallback::{descriptor_name, emit_stand_in};
use super::function::{Signature, documented, signature};
use super::{descriptor, descriptor_alias};
use crate::ast::OpDecl;
use crate::ir::OpDescriptor;

const OP_ERRORS: &str = "If the shapes of the arguments do not go together, a requirement does \
                         not hold for them, or an index that they hold leaves its axis.";

/// What an operation becomes, apart from its descriptor: its Rust function,
/// and under the same name the type that has the descriptor. `hash` is that
/// of [`emit_op_descriptor`].
pub fn emit_op(op: &OpDecl, hash: u64) -> TokenStream {
    let function = &op.function;
    let (vis, name) = (&function.vis, &function.name);
    let stand_in = emit_stand_in(name, hash, "UNCHECKED_OP");
    let descriptor = descriptor_name(name, hash);
    let rust_function = signature(function, &[]).map(|signature| {
        let Signature {
            generics,
            params,
            ret,
            args,
        } = signature;
        let attrs = documented(&function.attrs, OP_ERRORS);
        quote! {
            #attrs
            #[allow(dead_code, clippy::too_many_arguments)]
            #vis fn #name #generics(#(#params),*) -> #ret {
                ::linnet_runtime::call_op(&#descriptor, &mut [#(#args),*])?.into_typed()
            }
        }
    });
    quote! {
        #stand_in

        #[doc(hidden)]
        #[allow(non_camel_case_types, dead_code)]
        #vis enum #name {}

        #[automatically_derived]
        impl ::linnet_runtime::Op for #name {
            const DESCRIPTOR: &'static ::linnet_runtime::descriptor::OpDescriptor = &#descriptor;
        }

        #rust_function
    }
}

/// The descriptor of a checked operation.
pub fn emit_op_descriptor(name: &Ident, hash: u64, lowered: &OpDescriptor) -> TokenStream {
    let descriptor_name = descriptor_name(name, hash);
    let descriptor = descriptor::op(lowered);
    let alias = descriptor_alias();
    quote! {
        #[doc(hidden)]
        #[allow(non_upper_case_globals, clippy::all)]
        static #descriptor_name: ::linnet_runtime::descriptor::OpDescriptor = {
            #alias
            #descriptor
        };
    }
}
