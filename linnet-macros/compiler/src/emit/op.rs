//! Operations.

use proc_macro2::TokenStream;
use quote::quote;

use super::function::{Signature, documented, signature};
use super::{descriptor, descriptor_alias};
use crate::ast::OpDecl;
use crate::ir;

const OP_ERRORS: &str = "If the shapes of the arguments do not go together, a requirement does \
                         not hold for them, or an index that they hold leaves its axis.";

/// What an operation becomes: its Rust function, and under the same name the
/// type that has its descriptor. `lowered` is None where it has errors.
pub fn emit_op(op: &OpDecl, lowered: Option<&ir::OpDescriptor>) -> TokenStream {
    let function = &op.function;
    let (vis, name) = (&function.vis, &function.name);
    let empty;
    let lowered = match lowered {
        Some(lowered) => lowered,
        None => {
            empty = empty_descriptor(name.to_string());
            &empty
        }
    };
    let descriptor = descriptor::op(lowered);
    let alias = descriptor_alias();
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
                ::linnet_runtime::call_op(
                    <#name as ::linnet_runtime::Op>::DESCRIPTOR,
                    &mut [#(#args),*],
                )?
                .into_typed()
            }
        }
    });
    quote! {
        #[doc(hidden)]
        #[allow(non_camel_case_types, dead_code)]
        #vis enum #name {}

        #[allow(clippy::all)]
        const _: () = {
            #alias
            static DESCRIPTOR: __d::OpDescriptor = #descriptor;

            #[automatically_derived]
            impl ::linnet_runtime::Op for #name {
                const DESCRIPTOR: &'static __d::OpDescriptor = &DESCRIPTOR;
            }
        };

        #rust_function
    }
}

fn empty_descriptor(name: String) -> ir::OpDescriptor {
    ir::OpDescriptor {
        function: ir::Function {
            name,
            public: false,
            entry: false,
            receiver: ir::Receiver::None,
            generics: Vec::new(),
            requires: Vec::new(),
            params: Vec::new(),
            ret: ir::Type::Unit,
            body: ir::Body {
                nodes: Vec::new(),
                result: None,
            },
            n_values: 0,
        },
        kernel: None,
    }
}
