//! Types of parameters, results and members.

use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Expr, GenericArgument, PathArguments, Token, Type};

use super::dims::{parse_dim, parse_dim_item};
use super::error::Errors;
use crate::ast::{BlockType, DTypeExpr, Dim, GenericArg, TypeExpr, TypeKind};
use crate::builtins;

const TYPE_HELP: &str = "a type is `Tensor![dims; dtype]`, a dtype such as `i32` or `T`, \
                         `Option<..>` or a tuple of those";

/// The tokens between the brackets of `Tensor![dims; dtype]`.
pub(crate) struct TensorTokens {
    /// The shape, as Rust expressions.
    pub(crate) dims: Vec<Expr>,
    /// The dtype.
    pub(crate) dtype: Type,
}

impl Parse for TensorTokens {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let mut dims = Vec::new();
        while !input.peek(Token![;]) {
            if input.is_empty() {
                return Err(input.error("expected `;` and a dtype after the dimensions"));
            }
            dims.push(input.parse()?);
            if input.peek(Token![;]) {
                break;
            }
            if input.is_empty() {
                return Err(input.error("expected `;` and a dtype after the dimensions"));
            }
            input.parse::<Token![,]>()?;
        }
        input.parse::<Token![;]>()?;
        let dtype = input.parse()?;
        if !input.is_empty() {
            return Err(input.error("expected nothing after the dtype"));
        }
        Ok(Self { dims, dtype })
    }
}

/// A type of the language.
pub(crate) fn parse_type(ty: &Type, errors: &mut Errors) -> Option<TypeExpr> {
    let kind = match ty {
        Type::Macro(mac) if last_is(&mac.mac.path, "Tensor") => {
            let parsed = match syn::parse2::<TensorTokens>(mac.mac.tokens.clone()) {
                Ok(parsed) => parsed,
                Err(error) => {
                    errors.push(ty, error.to_string(), "write `Tensor![B, S, H; T]`");
                    return None;
                }
            };
            let n_before = errors.len();
            let dims = parsed
                .dims
                .iter()
                .filter_map(|dim| parse_dim_item(dim, errors))
                .collect();
            let dtype = parse_dtype(&parsed.dtype, errors);
            if errors.len() > n_before {
                return None;
            }
            TypeKind::Tensor {
                dims,
                dtype: dtype?,
            }
        }
        Type::Path(path) if path.qself.is_none() && last_is(&path.path, "Option") => {
            match lone_type_argument(&path.path) {
                Some(inner) => TypeKind::Option(Box::new(parse_type(inner, errors)?)),
                None => {
                    errors.push(
                        ty,
                        "`Option` takes one type",
                        "write `Option<Tensor![H; T]>`",
                    );
                    return None;
                }
            }
        }
        Type::Path(path) if path.qself.is_none() && path.path.get_ident().is_some() => {
            TypeKind::Scalar(parse_dtype(ty, errors)?)
        }
        Type::Tuple(tuple) => {
            let parts: Vec<_> = tuple
                .elems
                .iter()
                .map(|part| parse_type(part, errors))
                .collect();
            TypeKind::Tuple(parts.into_iter().collect::<Option<_>>()?)
        }
        Type::Paren(paren) => return parse_type(&paren.elem, errors),
        Type::Group(group) => return parse_type(&group.elem, errors),
        Type::Reference(reference) => {
            errors.push(
                ty,
                "values are passed without references here",
                format!(
                    "write `{}`; only a parameter that is updated is a `&mut Tensor![..]`",
                    super::text(&reference.elem)
                ),
            );
            return None;
        }
        Type::Path(path) if last_is(&path.path, "Tensor") => {
            errors.push(
                ty,
                "tensor types are written with the macro",
                "write `Tensor![B, S, H; T]`",
            );
            return None;
        }
        _ => {
            errors.push(ty, "this is no type of the language", TYPE_HELP);
            return None;
        }
    };
    Some(TypeExpr {
        kind,
        tokens: ty.to_token_stream(),
    })
}

/// `f32` or `T`.
fn parse_dtype(ty: &Type, errors: &mut Errors) -> Option<DTypeExpr> {
    if let Type::Path(path) = ty
        && path.qself.is_none()
    {
        let last = path.path.segments.last();
        if let Some(segment) = last
            && segment.arguments.is_none()
            && let Some(dtype) = builtins::dtype(&segment.ident.to_string())
        {
            return Some(DTypeExpr::Concrete(dtype, segment.ident.span()));
        }
        if let Some(name) = path.path.get_ident() {
            if let Some(instead) = foreign_dtype(&name.to_string()) {
                errors.push(name, format!("`{name}` is no dtype"), instead);
                return None;
            }
            return Some(DTypeExpr::Generic(name.clone()));
        }
    }
    errors.push(
        ty,
        "this is no dtype",
        "write one of `f32 f16 bf16 i8 i32 i64 u8 bool` or a generic such as `T: Float`",
    );
    None
}

/// What to write in place of a Rust number type that no tensor has.
fn foreign_dtype(name: &str) -> Option<&'static str> {
    Some(match name {
        "f64" => "use `f32`",
        "usize" | "u32" | "u64" | "isize" | "u128" | "i128" => "use `i32` or `i64`",
        "i16" | "u16" => "use `i32`, `i8` or `u8`",
        _ => return None,
    })
}

/// What the type of a member is, before its attributes are known.
pub(crate) enum MemberType {
    /// A tensor or `Option` of one.
    Tensor(TypeExpr),
    /// A block.
    Sub {
        ty: BlockType,
        length: Option<Dim>,
        optional: bool,
    },
}

/// The type of a member.
pub(crate) fn parse_member_type(ty: &Type, errors: &mut Errors) -> Option<MemberType> {
    match ty {
        Type::Paren(paren) => parse_member_type(&paren.elem, errors),
        Type::Group(group) => parse_member_type(&group.elem, errors),
        Type::Array(array) => {
            let block = parse_block_type(&array.elem, errors);
            let length = parse_dim(&array.len, errors);
            Some(MemberType::Sub {
                ty: block?,
                length: Some(length?),
                optional: false,
            })
        }
        Type::Path(path) if path.qself.is_none() && last_is(&path.path, "Option") => {
            match lone_type_argument(&path.path) {
                Some(Type::Macro(_)) => parse_type(ty, errors).map(MemberType::Tensor),
                Some(inner) => Some(MemberType::Sub {
                    ty: parse_block_type(inner, errors)?,
                    length: None,
                    optional: true,
                }),
                None => parse_type(ty, errors).map(MemberType::Tensor),
            }
        }
        Type::Path(path) if path.qself.is_none() && !last_is(&path.path, "Tensor") => {
            let scalar = path.path.get_ident().map(ToString::to_string);
            if scalar.is_some_and(|name| {
                builtins::dtype(&name).is_some() || foreign_dtype(&name).is_some()
            }) {
                push_scalar_member(ty, errors);
                return None;
            }
            Some(MemberType::Sub {
                ty: parse_block_type(ty, errors)?,
                length: None,
                optional: false,
            })
        }
        _ => parse_type(ty, errors).map(MemberType::Tensor),
    }
}

/// Notes that a member has a scalar's type.
pub(crate) fn push_scalar_member(ty: impl ToTokens, errors: &mut Errors) {
    errors.push(
        ty,
        "a member is a tensor or a block, not a scalar",
        "pass the scalar as a parameter, or store it as `Tensor![; f32]`",
    );
}

/// `Conv1D<H, { 3 * H }, T>`.
fn parse_block_type(ty: &Type, errors: &mut Errors) -> Option<BlockType> {
    let Type::Path(path) = ty else {
        errors.push(
            ty,
            "expected a block here",
            "write the block's name with its generics, e.g. `Conv1D<H, { 3 * H }, T>`",
        );
        return None;
    };
    let args = match &path.path.segments.last()?.arguments {
        PathArguments::None => Vec::new(),
        PathArguments::AngleBracketed(args) => parse_generic_args(&args.args, errors)?,
        PathArguments::Parenthesized(_) => {
            errors.push(ty, "expected a block here", "write generics in `<..>`");
            return None;
        }
    };
    Some(BlockType {
        path: super::without_arguments(&path.path),
        args,
        tokens: ty.to_token_stream(),
    })
}

/// The arguments between `<` and `>` of a block type or of a turbofish.
/// Returns None after noting an error.
pub(crate) fn parse_generic_args(
    args: &Punctuated<GenericArgument, Token![,]>,
    errors: &mut Errors,
) -> Option<Vec<GenericArg>> {
    let args: Vec<_> = args
        .iter()
        .map(|arg| parse_generic_arg(arg, errors))
        .collect();
    args.into_iter().collect()
}

fn parse_generic_arg(arg: &GenericArgument, errors: &mut Errors) -> Option<GenericArg> {
    match arg {
        GenericArgument::Type(ty) => parse_generic_arg_type(ty, errors),
        GenericArgument::Const(expr) => parse_dim(expr, errors).map(GenericArg::Dim),
        _ => {
            errors.push(
                arg,
                "this is no generic argument of the language",
                "write a dimension (`H`, `3`, `{ 3 * H }`), a dtype or `_`",
            );
            None
        }
    }
}

/// A generic argument that Rust's grammar sees as a type: `H`, `f32`, `_`, `Const<3>`.
pub(crate) fn parse_generic_arg_type(ty: &Type, errors: &mut Errors) -> Option<GenericArg> {
    match ty {
        Type::Infer(infer) => return Some(GenericArg::Infer(infer.underscore_token.span)),
        Type::Paren(paren) => return parse_generic_arg_type(&paren.elem, errors),
        Type::Group(group) => return parse_generic_arg_type(&group.elem, errors),
        Type::Path(path) if path.qself.is_none() => {
            let segment = path.path.segments.last()?;
            let name = segment.ident.to_string();
            match &segment.arguments {
                PathArguments::None => {
                    if let Some(dtype) = builtins::dtype(&name) {
                        return Some(GenericArg::DType(dtype, segment.ident.span()));
                    }
                    if let Some(ident) = path.path.get_ident() {
                        if let Some(instead) = foreign_dtype(&name) {
                            errors.push(ident, format!("`{ident}` is no dtype"), instead);
                            return None;
                        }
                        return Some(GenericArg::Dim(Dim {
                            kind: crate::ast::DimKind::Name(ident.clone()),
                            tokens: ty.to_token_stream(),
                        }));
                    }
                }
                // `Const<3>` is what plain Rust calls the dimension 3.
                PathArguments::AngleBracketed(args) if name == "Const" => {
                    if let (1, Some(GenericArgument::Const(expr))) =
                        (args.args.len(), args.args.first())
                    {
                        return parse_dim(expr, errors).map(GenericArg::Dim);
                    }
                }
                _ => {}
            }
        }
        _ => {}
    }
    errors.push(
        ty,
        "this is no generic argument of the language",
        "write a dimension (`H`, `3`, `{ 3 * H }`), a dtype or `_`",
    );
    None
}

/// Whether the last name of a path is `name`.
fn last_is(path: &syn::Path, name: &str) -> bool {
    path.segments.last().is_some_and(|last| last.ident == name)
}

/// The `X` of `Option<X>`.
fn lone_type_argument(path: &syn::Path) -> Option<&Type> {
    match &path.segments.last()?.arguments {
        PathArguments::AngleBracketed(args) if args.args.len() == 1 => match args.args.first()? {
            GenericArgument::Type(ty) => Some(ty),
            _ => None,
        },
        _ => None,
    }
}
