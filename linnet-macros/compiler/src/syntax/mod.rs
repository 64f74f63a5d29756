//! Parsing: `#[block]` and `#[op]` items to [`crate::ast`].
//!
//! Parsing is tolerant: it notes every form that the language does not have
//! and returns what it understood of the rest. What it returns beside errors
//! is enough to emit the item, never enough to check it.

mod callees;
mod dims;
mod error;
mod file;
mod function;
mod generics;
mod item;
mod text;
mod types;

use proc_macro2::Ident;

pub use callees::{block_callee_paths, op_callee_paths};
pub use file::{SourceFile, parse_file};
pub use function::parse_signatures;
pub use item::{parse_impl, parse_op, parse_struct};
pub(crate) use text::text;

use crate::ast::GenericArg;
use crate::diagnostic::Diagnostic;

/// What was parsed, with every error found on the way.
#[derive(Debug)]
pub struct Parsed<T> {
    /// What was understood: complete only where `errors` is empty.
    pub item: T,
    /// In the order of the source.
    pub errors: Vec<Diagnostic>,
}

/// The generic arguments of a turbofish (`split_heads::<Batch, 1, _>`).
///
/// # Errors
/// Every argument that the language does not have.
pub fn parse_turbofish(
    args: &syn::AngleBracketedGenericArguments,
) -> Result<Vec<GenericArg>, Vec<Diagnostic>> {
    let mut errors = error::Errors::default();
    match types::parse_generic_args(&args.args, &mut errors) {
        Some(args) => Ok(args),
        None => Err(errors.into_vec()),
    }
}

/// A dimension expression in a body, such as the `H / Heads` of a `reshape`.
///
/// # Errors
/// Every part that is no dimension expression.
pub fn parse_dim(expr: &syn::Expr) -> Result<crate::ast::Dim, Vec<Diagnostic>> {
    let mut errors = error::Errors::default();
    match dims::parse_dim(expr, &mut errors) {
        Some(dim) => Ok(dim),
        None => Err(errors.into_vec()),
    }
}

/// One place of a shape in a body: a dimension expression or `*S`.
///
/// # Errors
/// Every part that is no dimension expression.
pub fn parse_dim_item(expr: &syn::Expr) -> Result<crate::ast::DimItem, Vec<Diagnostic>> {
    let mut errors = error::Errors::default();
    match dims::parse_dim_item(expr, &mut errors) {
        Some(dim) => Ok(dim),
        None => Err(errors.into_vec()),
    }
}

/// A type in a body, such as that of a `let`.
///
/// # Errors
/// Every part that is no type of the language.
pub fn parse_type(ty: &syn::Type) -> Result<crate::ast::TypeExpr, Vec<Diagnostic>> {
    let mut errors = error::Errors::default();
    match types::parse_type(ty, &mut errors) {
        Some(ty) => Ok(ty),
        None => Err(errors.into_vec()),
    }
}

/// The path without generic arguments: the name under which an item is asked
/// for its signature.
pub fn without_arguments(path: &syn::Path) -> syn::Path {
    let mut path = path.clone();
    for segment in &mut path.segments {
        segment.arguments = syn::PathArguments::None;
    }
    path
}

/// The name of a path expression that is one plain name.
fn lone_ident(path: &syn::ExprPath) -> Option<Ident> {
    match path.qself {
        None => path.path.get_ident().cloned(),
        Some(_) => None,
    }
}

/// The expression of a block that holds nothing else.
fn lone_expr(block: &syn::Block) -> Option<&syn::Expr> {
    match block.stmts.as_slice() {
        [syn::Stmt::Expr(expr, None)] => Some(expr),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
