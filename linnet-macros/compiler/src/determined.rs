//! Which generics of a function the arguments of a call determine when it runs.
//!
//! In a body the checker infers the generics of a call, or asks for them. A
//! call from plain Rust comes with tensors of known shapes instead, and its
//! generics are read off those. `linnet_runtime` does so by the same rules.

use proc_macro2::Ident;

use crate::ast::{DTypeExpr, Dim, DimItem, DimKind, DimOp, FnDecl, TypeExpr, TypeKind};

/// How a call from plain Rust comes to know a generic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// The Rust type of a parameter names it.
    FromType,
    /// The Rust type of the parameter is open there, beside a pack or in a
    /// computed dimension: the runtime finds it from the argument's shape.
    FromShape,
    /// No argument tells it.
    Not,
}

/// How a call of `function` comes to know each of its generics, in the order
/// of their declaration.
pub fn determined(function: &FnDecl) -> Vec<(&Ident, Known)> {
    let mut known: Vec<(&Ident, Known)> = function
        .generics
        .iter()
        .map(|generic| {
            let known = function
                .params
                .iter()
                .map(|param| stands_alone(&generic.name, &param.ty))
                .fold(Known::Not, |a, b| if rank(a) < rank(b) { a } else { b });
            (&generic.name, known)
        })
        .collect();
    // Each round solves what the ones before made solvable.
    for _ in 0..known.len() {
        let open: Vec<Ident> = known
            .iter()
            .filter(|(_, known)| *known == Known::Not)
            .map(|(name, _)| (*name).clone())
            .collect();
        for param in &function.params {
            if let Some(solved) = solvable_in(&param.ty, &open) {
                for entry in known.iter_mut().filter(|(name, _)| **name == solved) {
                    entry.1 = Known::FromShape;
                }
            }
        }
    }
    known
}

fn rank(known: Known) -> u8 {
    match known {
        Known::FromType => 0,
        Known::FromShape => 1,
        Known::Not => 2,
    }
}

/// How a parameter of this type tells a generic that stands alone in it.
fn stands_alone(generic: &Ident, ty: &TypeExpr) -> Known {
    match &ty.kind {
        TypeKind::Tensor { dims, dtype } => {
            if matches!(dtype, DTypeExpr::Generic(name) if name == generic) {
                return Known::FromType;
            }
            let named = dims.iter().any(|dim| match dim {
                DimItem::Pack(name) => name == generic,
                DimItem::One(dim) => matches!(&dim.kind, DimKind::Name(name) if name == generic),
            });
            let n_packs = dims
                .iter()
                .filter(|dim| matches!(dim, DimItem::Pack(_)))
                .count();
            match (named, n_packs, dims.len()) {
                (true, 0, _) | (true, 1, 1) => Known::FromType,
                (true, 1, _) => Known::FromShape,
                // Where one of two packs ends nobody knows.
                _ => Known::Not,
            }
        }
        TypeKind::Scalar(DTypeExpr::Generic(name)) if name == generic => Known::FromType,
        TypeKind::Option(inner) => stands_alone(generic, inner),
        TypeKind::Scalar(_) | TypeKind::Tuple(_) => Known::Not,
    }
}

/// A generic of `open` that a computed dimension of this type tells.
fn solvable_in(ty: &TypeExpr, open: &[Ident]) -> Option<Ident> {
    match &ty.kind {
        TypeKind::Tensor { dims, .. } => dims.iter().find_map(|dim| match dim {
            DimItem::One(dim) => solvable(dim, open),
            DimItem::Pack(_) => None,
        }),
        TypeKind::Option(inner) => solvable_in(inner, open),
        _ => None,
    }
}

/// The one open generic of `dim == n`, if sums, differences and products lead to it.
fn solvable(dim: &Dim, open: &[Ident]) -> Option<Ident> {
    match &dim.kind {
        DimKind::Const(_) => None,
        DimKind::Name(name) => open.contains(name).then(|| name.clone()),
        DimKind::Binary(DimOp::Add | DimOp::Sub | DimOp::Mul, a, b) => {
            match (names_open(a, open), names_open(b, open)) {
                (true, false) => solvable(a, open),
                (false, true) => solvable(b, open),
                _ => None,
            }
        }
        DimKind::Binary(..) => None,
    }
}

fn names_open(dim: &Dim, open: &[Ident]) -> bool {
    match &dim.kind {
        DimKind::Const(_) => false,
        DimKind::Name(name) => open.contains(name),
        DimKind::Binary(_, a, b) => names_open(a, open) || names_open(b, open),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(function: &str) -> String {
        let file = crate::syntax::parse_file(&format!("#[op] {function}")).unwrap();
        assert!(file.errors.is_empty(), "{:?}", file.errors);
        determined(&file.ops[0].function)
            .iter()
            .map(|(name, known)| format!("{name}: {known:?}"))
            .collect::<Vec<_>>()
            .join(", ")
    }

    #[test]
    fn a_generic_that_stands_alone_is_known_from_the_type() {
        assert_eq!(
            known(
                "fn f<N: Dim, S: Shape, T: Float, U: Float>(x: Tensor![N, 2 * N; T], y: Option<Tensor![*S; T]>, z: U) {}"
            ),
            "N: FromType, S: FromType, T: FromType, U: FromType"
        );
    }

    #[test]
    fn beside_a_pack_it_is_known_from_the_shape() {
        assert_eq!(
            known("fn f<S: Shape, N: Dim, T: Float>(x: Tensor![*S, N; T]) {}"),
            "S: FromShape, N: FromShape, T: FromType"
        );
        assert_eq!(
            known("fn f<S: Shape, N: Dim>(x: Tensor![*S, N; f32], y: Tensor![N; f32]) {}"),
            "S: FromShape, N: FromType"
        );
    }

    #[test]
    fn a_computed_dimension_tells_its_one_open_generic() {
        assert_eq!(
            known("fn f<A: Dim, B: Dim, C: Dim>(x: Tensor![2 * (C + B), 3 - B; f32]) {}"),
            "A: Not, B: FromShape, C: FromShape"
        );
        assert_eq!(
            known("fn f<A: Dim, B: Dim>(x: Tensor![A * B; f32], y: Tensor![A / 2; f32]) {}"),
            "A: Not, B: Not"
        );
    }

    #[test]
    fn a_result_tells_nothing_and_two_packs_hide_each_other() {
        assert_eq!(
            known(
                "fn f<N: Dim, S: Shape, R: Shape>(x: Tensor![*S, *R; f32]) -> Tensor![N; f32] {}"
            ),
            "N: Not, S: Not, R: Not"
        );
    }
}
