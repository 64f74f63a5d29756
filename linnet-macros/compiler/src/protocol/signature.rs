//! A declaration as the tokens of an answer: as the author wrote it, without
//! bodies, documentation and defaults that nobody asks for.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};

use crate::ast::{BlockDecl, FnDecl, GenericArg, GenericParam, MemberKind, OpDecl, Requirement};
use crate::ir::{DType, GenericKind, Receiver};

/// What an item answers: its kind and its declaration.
#[derive(Debug, Clone)]
pub struct Answer {
    /// `block`, `op` or `broken`: what stands before the path.
    pub(super) kind: &'static str,
    /// What stands after it.
    pub(super) declaration: TokenStream,
}

/// The answer of a block.
pub fn block_answer(block: &BlockDecl, functions: &[FnDecl]) -> Answer {
    let requires = requirements(&block.requires);
    let name = &block.name;
    let generics = generic_params(&block.generics);
    let members = block.members.iter().map(|member| {
        let name = &member.name;
        match &member.kind {
            MemberKind::Param(ty) => {
                let ty = &ty.tokens;
                quote!(#[param] #name: #ty)
            }
            MemberKind::State(ty) => {
                let ty = &ty.tokens;
                quote!(#[state] #name: #ty)
            }
            MemberKind::Sub {
                ty,
                length,
                optional,
            } => {
                let ty = &ty.tokens;
                match (length, optional) {
                    (Some(length), _) => {
                        let length = &length.tokens;
                        quote!(#name: [#ty; #length])
                    }
                    (None, true) => quote!(#name: Option<#ty>),
                    (None, false) => quote!(#name: #ty),
                }
            }
        }
    });
    let functions = functions.iter().map(function);
    Answer {
        kind: "block",
        declaration: quote! {
            { #requires struct #name #generics { #(#members,)* } }
            { #(#functions)* }
        },
    }
}

/// The answer of an operation.
pub fn op_answer(op: &OpDecl) -> Answer {
    let function = function(&op.function);
    Answer {
        kind: "op",
        declaration: quote!({ #function }),
    }
}

/// The answer of an item whose declaration has errors: those who name it
/// cannot be checked before it is repaired.
pub fn broken_answer() -> Answer {
    Answer {
        kind: "broken",
        declaration: TokenStream::new(),
    }
}

fn function(function: &FnDecl) -> TokenStream {
    let requires = requirements(&function.requires);
    let entry = function.entry.then(|| quote!(#[entry]));
    let public = match function.vis {
        syn::Visibility::Inherited => None,
        _ => Some(quote!(pub)),
    };
    let name = &function.name;
    let generics = generic_params(&function.generics);
    let receiver = match function.receiver {
        Receiver::None => None,
        Receiver::Ref => Some(quote!(&self,)),
        Receiver::Mut => Some(quote!(&mut self,)),
    };
    let params = function.params.iter().map(|param| {
        let name = &param.name;
        let ty = &param.ty.tokens;
        match param.by_mut {
            true => quote!(#name: &mut #ty),
            false => quote!(#name: #ty),
        }
    });
    let ret = &function.ret.tokens;
    quote!(#requires #entry #public fn #name #generics(#receiver #(#params),*) -> #ret;)
}

fn requirements(requires: &[Requirement]) -> Option<TokenStream> {
    let clauses = requires.iter().map(|clause| &clause.tokens);
    (!requires.is_empty()).then(|| quote!(#[require(#(#clauses),*)]))
}

fn generic_params(generics: &[GenericParam]) -> Option<TokenStream> {
    let params = generics.iter().map(|generic| {
        let name = &generic.name;
        let bound = Ident::new(bound_name(generic.kind), Span::call_site());
        let default = generic.default.as_ref().map(|default| {
            let default = generic_arg(default);
            quote!(= #default)
        });
        quote!(#name: #bound #default)
    });
    (!generics.is_empty()).then(|| quote!(<#(#params),*>))
}

fn generic_arg(arg: &GenericArg) -> TokenStream {
    match arg {
        GenericArg::Dim(dim) => match &dim.kind {
            crate::ast::DimKind::Name(name) => name.to_token_stream(),
            _ => {
                let tokens = &dim.tokens;
                quote!(Const<{ #tokens }>)
            }
        },
        GenericArg::DType(dtype, span) => Ident::new(dtype_name(*dtype), *span).into_token_stream(),
        GenericArg::Infer(_) => quote!(_),
    }
}

/// The bound of this kind in the language.
pub(crate) fn bound_name(kind: GenericKind) -> &'static str {
    match kind {
        GenericKind::Dim => "Dim",
        GenericKind::Shape => "Shape",
        GenericKind::Float => "Float",
        GenericKind::Int => "Int",
        GenericKind::AnyDType => "DType",
    }
}

/// The name of a dtype in the language.
pub(crate) fn dtype_name(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "f32",
        DType::F16 => "f16",
        DType::BF16 => "bf16",
        DType::I8 => "i8",
        DType::I32 => "i32",
        DType::I64 => "i64",
        DType::U8 => "u8",
        DType::Bool => "bool",
    }
}
