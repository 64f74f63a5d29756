//! `Tensor![..]` as a Rust type, outside blocks.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Expr, ExprPath, Token, Type};

use crate::ast::{Dim, DimKind, DimOp};
use crate::syntax;

/// The type that `Tensor![dims; dtype]` is in plain Rust:
/// `linnet_runtime::Tensor<(dims..), dtype>`.
///
/// A dimension is an integer, a Rust type such as `Const<3>` or `H`, or
/// computed from those (`3 * H`); a lone `*S` is the whole shape.
///
/// # Errors
/// Where the tokens have another form.
pub fn emit_tensor_type(tokens: TokenStream) -> syn::Result<TokenStream> {
    let TensorType { shape, dtype } = syn::parse2(tokens)?;
    Ok(quote!(::linnet_runtime::Tensor<#shape, #dtype>))
}

struct TensorType {
    shape: TokenStream,
    dtype: TokenStream,
}

impl Parse for TensorType {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let mut dims = Vec::new();
        let mut pack = None;
        while !input.peek(Token![;]) {
            if input.peek(Token![*]) {
                let star: Token![*] = input.parse()?;
                let name: Type = input.parse()?;
                if !dims.is_empty() || !input.peek(Token![;]) {
                    return Err(syn::Error::new_spanned(
                        quote!(#star #name),
                        "Rust has no type for a pack beside other dimensions; \
                         write `Tensor<AnyShape, T>` here",
                    ));
                }
                pack = Some(name);
                break;
            }
            dims.push(parse_dim(input)?);
            if !input.peek(Token![;]) {
                input.parse::<Token![,]>()?;
            }
        }
        input.parse::<Token![;]>()?;
        let dtype: Type = input.parse()?;
        if !input.is_empty() {
            return Err(input.error("expected nothing after the dtype"));
        }
        Ok(Self {
            shape: match pack {
                Some(pack) => pack.into_token_stream(),
                None => quote!((#(#dims,)*)),
            },
            dtype: dtype_type(dtype),
        })
    }
}

/// `bf16` and `f16` are dtypes without an import, as they are in a block.
fn dtype_type(dtype: Type) -> TokenStream {
    match &dtype {
        Type::Path(path) if path.path.is_ident("bf16") => quote!(::linnet_runtime::bf16),
        Type::Path(path) if path.path.is_ident("f16") => quote!(::linnet_runtime::f16),
        _ => dtype.into_token_stream(),
    }
}

fn parse_dim(input: ParseStream) -> syn::Result<TokenStream> {
    // `Const<3>` is no expression and `3 * H` no type; both end at `,` or `;`.
    let ahead = input.fork();
    if ahead.parse::<Type>().is_ok() && (ahead.peek(Token![,]) || ahead.peek(Token![;])) {
        return Ok(input.parse::<Type>()?.into_token_stream());
    }
    let expr: Expr = input.parse()?;
    if let Expr::Path(ExprPath { path, .. }) = &expr {
        return Ok(path.to_token_stream());
    }
    match syntax::parse_dim(&expr) {
        Ok(dim) => Ok(dim_type(&dim)),
        Err(_) => Err(syn::Error::new_spanned(
            expr,
            "expected a dimension: an integer, a type such as `H` or `Const<3>`, or `3 * H`",
        )),
    }
}

fn dim_type(dim: &Dim) -> TokenStream {
    match &dim.kind {
        DimKind::Const(value) => {
            let value = proc_macro2::Literal::i64_unsuffixed(*value);
            quote!(::linnet_runtime::Const<{ #value }>)
        }
        DimKind::Name(name) => quote!(#name),
        DimKind::Binary(op, a, b) => {
            let op = match op {
                DimOp::Add => quote!(Add),
                DimOp::Sub => quote!(Sub),
                DimOp::Mul => quote!(Mul),
                DimOp::Div => quote!(Div),
                DimOp::Rem => quote!(Rem),
                DimOp::Min => quote!(Min),
                DimOp::Max => quote!(Max),
            };
            let (a, b) = (dim_type(a), dim_type(b));
            quote!(::linnet_runtime::dim::#op<#a, #b>)
        }
    }
}
