//! Blocks.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};

use super::fallback::{descriptor_name, emit_stand_in};
use super::function::{documented, signature};
use super::rust_type::{Scope, bound, default, stand_in};
use super::{descriptor, descriptor_alias, docs};
use crate::ast::{BlockDecl, FnDecl, GenericParam, ImplDecl};
use crate::ir::{BlockDescriptor, GenericKind, Receiver};

const ENTRY_ERRORS: &str = "If a requirement does not hold for the arguments, \
                            or an index that they hold leaves its axis.";

/// The Rust struct of a block: an instance, typed by the block's generics.
pub fn emit_struct(block: &BlockDecl) -> TokenStream {
    let BlockDecl {
        attrs,
        vis,
        name,
        generics,
        ..
    } = block;
    let generics = &unique(generics);
    let scope = Scope::new(generics, []);
    let names: Vec<&Ident> = generics.iter().map(|generic| &generic.name).collect();
    let params = generics.iter().map(|generic| {
        let (name, bound) = (&generic.name, bound(generic.kind));
        let default = default(generic, &scope).map(|default| quote!(= #default));
        quote!(#name: #bound #default)
    });
    let stand_ins = generics.iter().map(|generic| stand_in(generic.kind));
    // Written on the struct's name, where rustc then reports it.
    let is_block = quote_spanned! {name.span()=>
        const _: () = ::linnet_runtime::__private::is_block::<#name<#(#stand_ins),*>>();
    };
    let debug = (!derives_debug(attrs)).then(|| {
        let bounds = generics.iter().map(|generic| bound(generic.kind));
        quote! {
            #[automatically_derived]
            impl<#(#names: #bounds),*> ::core::fmt::Debug for #name<#(#names),*> {
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    ::core::fmt::Debug::fmt(&self.__instance, f)
                }
            }
        }
    });
    // A block without documentation stays without: that is rustc's to report.
    let members = attrs
        .iter()
        .any(|attr| attr.path().is_ident("doc"))
        .then(|| docs::members(block))
        .filter(|text| !text.is_empty())
        .map(|text| quote!(#[doc = #text]));
    quote! {
        #(#attrs)*
        #members
        #[allow(dead_code)]
        #vis struct #name<#(#params),*> {
            __instance: ::linnet_runtime::Instance,
            __generics: ::core::marker::PhantomData<fn() -> (#(#names,)*)>,
        }

        #is_block

        #debug
    }
}

/// Whether the author derives `Debug`.
fn derives_debug(attrs: &[syn::Attribute]) -> bool {
    attrs.iter().any(|attr| {
        let mut found = false;
        if attr.path().is_ident("derive") {
            // What does not parse is rustc's to report.
            let _ = attr.parse_nested_meta(|meta| {
                found |= meta
                    .path
                    .segments
                    .last()
                    .is_some_and(|last| last.ident == "Debug");
                Ok(())
            });
        }
        found
    })
}

/// What a block implements, apart from its descriptor: `Block`, and its typed
/// entries. `hash` is that of [`emit_block_descriptor`].
pub fn emit_block(block: &BlockDecl, implementation: &ImplDecl, hash: u64) -> TokenStream {
    let name = &block.name;
    let stand_in = emit_stand_in(name, hash, "UNCHECKED_BLOCK");
    let descriptor = descriptor_name(name, hash);
    let generics = unique(&block.generics);
    let names: Vec<&Ident> = generics.iter().map(|generic| &generic.name).collect();
    let bounds = generics.iter().map(|generic| bound(generic.kind));
    let impl_generics = quote!(<#(#names: #bounds),*>);
    let ty = quote!(#name<#(#names),*>);
    let static_args = generics.iter().map(|generic| {
        let name = &generic.name;
        match generic.kind {
            GenericKind::Dim => quote! {
                ::linnet_runtime::StaticArg::Dim(<#name as ::linnet_runtime::Dim>::STATIC)
            },
            // Reported: a block has no pack.
            GenericKind::Shape => quote! {
                ::linnet_runtime::StaticArg::Dim(::core::option::Option::None)
            },
            _ => quote! {
                ::linnet_runtime::StaticArg::DType(<#name as ::linnet_runtime::Element>::DTYPE)
            },
        }
    });
    let functions = &implementation.functions;
    let entries: Vec<TokenStream> = functions
        .iter()
        .enumerate()
        .filter(|(i, function)| {
            // A second one of the same name is reported.
            function.entry
                && functions[..*i]
                    .iter()
                    .all(|before| before.name != function.name)
        })
        .filter_map(|(_, function)| emit_entry(function, &generics))
        .collect();
    let entries = (!entries.is_empty()).then(|| {
        quote! {
            #[allow(dead_code, clippy::too_many_arguments)]
            impl #impl_generics #ty {
                #(#entries)*
            }
        }
    });
    let docs = docs::functions(functions);
    quote! {
        #stand_in

        #[doc = #docs]
        #[automatically_derived]
        impl #impl_generics ::linnet_runtime::Block for #ty {
            const DESCRIPTOR: &'static ::linnet_runtime::descriptor::BlockDescriptor = &#descriptor;

            fn generic_args() -> ::std::vec::Vec<::linnet_runtime::StaticArg> {
                ::std::vec![#(#static_args),*]
            }

            fn from_instance(instance: ::linnet_runtime::Instance) -> Self {
                Self { __instance: instance, __generics: ::core::marker::PhantomData }
            }

            fn instance(&self) -> &::linnet_runtime::Instance {
                &self.__instance
            }

            fn instance_mut(&mut self) -> &mut ::linnet_runtime::Instance {
                &mut self.__instance
            }
        }

        #entries
    }
}

/// The descriptor of a checked block.
pub fn emit_block_descriptor(name: &Ident, hash: u64, lowered: &BlockDescriptor) -> TokenStream {
    let descriptor_name = descriptor_name(name, hash);
    let descriptor = descriptor::block(lowered);
    let alias = descriptor_alias();
    quote! {
        #[doc(hidden)]
        #[allow(non_upper_case_globals, clippy::all)]
        static #descriptor_name: ::linnet_runtime::descriptor::BlockDescriptor = {
            #alias
            #descriptor
        };
    }
}

/// The generics without those whose name is taken, which are reported.
fn unique(generics: &[GenericParam]) -> Vec<GenericParam> {
    let mut unique: Vec<GenericParam> = Vec::new();
    for generic in generics {
        if unique.iter().all(|before| before.name != generic.name) {
            unique.push(generic.clone());
        }
    }
    unique
}

/// A typed method that calls an entry.
fn emit_entry(function: &FnDecl, generics: &[GenericParam]) -> Option<TokenStream> {
    let signature = signature(function, generics)?;
    let attrs = documented(&function.attrs, ENTRY_ERRORS);
    let (vis, name) = (&function.vis, &function.name);
    let text = name.to_string();
    let receiver = match function.receiver {
        Receiver::Mut => quote!(&mut self),
        Receiver::Ref | Receiver::None => quote!(&self),
    };
    let super::function::Signature {
        generics,
        params,
        ret,
        args,
    } = signature;
    Some(quote! {
        #attrs
        #vis fn #name #generics(#receiver, #(#params),*) -> #ret {
            self.__instance.call(#text, &mut [#(#args),*])?.into_typed()
        }
    })
}
