//! Types of the language as Rust types, for what plain Rust calls.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{quote, quote_spanned};

use crate::ast::{
    DTypeExpr, Dim, DimItem, DimKind, DimOp, GenericArg, GenericParam, TypeExpr, TypeKind,
};
use crate::ir::{DType, GenericKind};

/// The generics that a Rust signature may name.
#[derive(Debug, Clone)]
pub(super) struct Scope<'a> {
    /// Of the block: its type names them, so they are known to a caller.
    block: &'a [GenericParam],
    /// Of the function: a call infers them.
    function: Vec<&'a GenericParam>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(
        block: &'a [GenericParam],
        function: impl IntoIterator<Item = &'a GenericParam>,
    ) -> Self {
        Self {
            block,
            function: function.into_iter().collect(),
        }
    }

    /// Whether `name` is a generic of one of these kinds.
    fn has(&self, name: &Ident, kinds: &[GenericKind]) -> bool {
        let of_function = self.function.iter().copied();
        self.block
            .iter()
            .chain(of_function)
            .any(|generic| generic.name == *name && kinds.contains(&generic.kind))
    }

    /// Whether a computed dimension has an exact type: a call cannot infer
    /// `N` from `2 * N`, so one that names generics of the function has none.
    fn is_exact(&self, dim: &Dim) -> bool {
        match &dim.kind {
            DimKind::Const(_) => true,
            DimKind::Name(name) => self.block.iter().any(|generic| generic.name == *name),
            DimKind::Binary(_, a, b) => self.is_exact(a) && self.is_exact(b),
        }
    }
}

/// The value of a dimension that names no generic.
fn value(dim: &Dim) -> Option<i64> {
    match &dim.kind {
        DimKind::Const(value) => Some(*value),
        DimKind::Name(_) => None,
        DimKind::Binary(op, a, b) => {
            let (a, b) = (value(a)?, value(b)?);
            match op {
                DimOp::Add => a.checked_add(b),
                DimOp::Sub => a.checked_sub(b),
                DimOp::Mul => a.checked_mul(b),
                DimOp::Div => a.checked_div_euclid(b),
                DimOp::Rem => a.checked_rem_euclid(b),
                DimOp::Min => Some(a.min(b)),
                DimOp::Max => Some(a.max(b)),
            }
        }
    }
}

/// The Rust trait that bounds a generic of this kind.
pub(super) fn bound(kind: GenericKind) -> TokenStream {
    match kind {
        GenericKind::Dim => quote!(::linnet_runtime::Dim),
        GenericKind::Shape => quote!(::linnet_runtime::Shape),
        GenericKind::Float => quote!(::linnet_runtime::Float),
        GenericKind::Int => quote!(::linnet_runtime::Int),
        GenericKind::AnyDType => quote!(::linnet_runtime::Element),
    }
}

/// A type that satisfies [`bound`], for where any will do.
pub(super) fn stand_in(kind: GenericKind) -> TokenStream {
    match kind {
        GenericKind::Dim => quote!(::linnet_runtime::Dyn),
        GenericKind::Shape => quote!(::linnet_runtime::AnyShape),
        GenericKind::Float | GenericKind::AnyDType => quote!(::core::primitive::f32),
        GenericKind::Int => quote!(::core::primitive::i32),
    }
}

/// Whether a concrete dtype satisfies the bound of a generic.
fn fits(dtype: DType, kind: GenericKind) -> bool {
    match kind {
        GenericKind::Float => matches!(dtype, DType::F32 | DType::F16 | DType::BF16),
        GenericKind::Int => matches!(dtype, DType::I8 | DType::I32 | DType::I64 | DType::U8),
        GenericKind::AnyDType => true,
        GenericKind::Dim | GenericKind::Shape => false,
    }
}

/// The default of a generic on the Rust struct. One of the wrong kind is the
/// checker's to report, and rustc need not see it.
pub(super) fn default(generic: &GenericParam, scope: &Scope<'_>) -> Option<TokenStream> {
    match (generic.default.as_ref()?, generic.kind) {
        (GenericArg::DType(dtype, span), kind) if fits(*dtype, kind) => {
            Some(concrete(*dtype, *span))
        }
        (GenericArg::Dim(dim), GenericKind::Dim) => Some(dim_type(dim, scope)),
        (GenericArg::Dim(dim), kind) => match &dim.kind {
            DimKind::Name(name) if scope.has(name, &[kind]) => Some(quote!(#name)),
            _ => None,
        },
        _ => None,
    }
}

/// A concrete dtype.
pub(super) fn concrete(dtype: DType, span: Span) -> TokenStream {
    match dtype {
        DType::F16 => quote_spanned!(span=> ::linnet_runtime::f16),
        DType::BF16 => quote_spanned!(span=> ::linnet_runtime::bf16),
        _ => {
            let name = Ident::new(crate::protocol::dtype_name(dtype), span);
            quote_spanned!(span=> ::core::primitive::#name)
        }
    }
}

/// A dtype. A name that is no dtype generic is reported elsewhere.
pub(super) fn dtype_type(dtype: &DTypeExpr, scope: &Scope<'_>) -> TokenStream {
    const KINDS: &[GenericKind] = &[GenericKind::Float, GenericKind::Int, GenericKind::AnyDType];
    match dtype {
        DTypeExpr::Concrete(dtype, span) => concrete(*dtype, *span),
        DTypeExpr::Generic(name) if scope.has(name, KINDS) => quote!(#name),
        DTypeExpr::Generic(name) => quote_spanned!(name.span()=> ::core::primitive::f32),
    }
}

/// A dimension as a type. A name that is no dimension is reported elsewhere.
pub(super) fn dim_type(dim: &Dim, scope: &Scope<'_>) -> TokenStream {
    if let Some(value) = value(dim) {
        // One below zero is the checker's to report.
        let value = Literal::u64_unsuffixed(u64::try_from(value).unwrap_or(0));
        return quote!(::linnet_runtime::Const<#value>);
    }
    match &dim.kind {
        DimKind::Const(_) => quote!(::linnet_runtime::Dyn),
        DimKind::Name(name) if scope.has(name, &[GenericKind::Dim]) => quote!(#name),
        DimKind::Name(name) => quote_spanned!(name.span()=> ::linnet_runtime::Dyn),
        DimKind::Binary(op, a, b) => {
            let op = Ident::new(
                match op {
                    DimOp::Add => "Add",
                    DimOp::Sub => "Sub",
                    DimOp::Mul => "Mul",
                    DimOp::Div => "Div",
                    DimOp::Rem => "Rem",
                    DimOp::Min => "Min",
                    DimOp::Max => "Max",
                },
                Span::call_site(),
            );
            let (a, b) = (dim_type(a, scope), dim_type(b, scope));
            quote!(::linnet_runtime::dim::#op<#a, #b>)
        }
    }
}

/// Where a type stands in a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A parameter: tensors are references, and open shapes `impl Shape`.
    Param,
    /// A `&mut` parameter.
    MutParam,
    /// A result: open shapes are `AnyShape`.
    Result,
}

/// A type of the language as the Rust type at this place. None for a
/// parameter that plain Rust cannot pass (a tuple).
pub(super) fn rust_type(ty: &TypeExpr, place: Place, scope: &Scope<'_>) -> Option<TokenStream> {
    Some(match &ty.kind {
        TypeKind::Tensor { dims, dtype } => {
            let shape = shape_type(dims, place, scope);
            let dtype = dtype_type(dtype, scope);
            let tensor = quote!(::linnet_runtime::Tensor<#shape, #dtype>);
            match place {
                Place::Param => quote!(&#tensor),
                Place::MutParam => quote!(&mut #tensor),
                Place::Result => tensor,
            }
        }
        TypeKind::Scalar(dtype) => dtype_type(dtype, scope),
        TypeKind::Option(inner) => {
            let inner = rust_type(inner, place, scope)?;
            quote!(::core::option::Option<#inner>)
        }
        TypeKind::Tuple(parts) => {
            if place != Place::Result {
                return None;
            }
            let parts = parts
                .iter()
                .map(|part| rust_type(part, place, scope))
                .collect::<Option<Vec<_>>>()?;
            quote!((#(#parts,)*))
        }
    })
}

/// The shape of a tensor. Rust cannot spell a pack beside other dimensions, so
/// there the shape is open and checked when it runs.
fn shape_type(dims: &[DimItem], place: Place, scope: &Scope<'_>) -> TokenStream {
    if let [DimItem::Pack(name)] = dims
        && scope.has(name, &[GenericKind::Shape])
    {
        return quote!(#name);
    }
    let mut types = Vec::new();
    for dim in dims {
        match dim {
            DimItem::Pack(_) => {
                return match place {
                    Place::Result => quote!(::linnet_runtime::AnyShape),
                    _ => quote!(impl ::linnet_runtime::Shape),
                };
            }
            DimItem::One(dim) => types.push(match (&dim.kind, place) {
                (DimKind::Binary(..), Place::Result) if !scope.is_exact(dim) => {
                    quote!(::linnet_runtime::Dyn)
                }
                (DimKind::Binary(..), _) if !scope.is_exact(dim) => {
                    quote!(impl ::linnet_runtime::Dim)
                }
                _ => dim_type(dim, scope),
            }),
        }
    }
    quote!((#(#types,)*))
}
