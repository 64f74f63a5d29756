//! What the author of a call that does not fit may have meant.

use syn::Expr;

use crate::check::agree::{Agreement, compare};
use crate::check::body::{Body, Hint};
use crate::check::infer::Inference;
use crate::check::library::SubBlock;
use crate::check::scope::{Bindings, Bound};
use crate::check::signature::FnSig;
use crate::check::types::{Item, Ty, Type};
use crate::dim::DimTree;
use crate::ir;

impl Body<'_, '_> {
    /// What a call with arguments of these types infers, if all of them are right.
    fn fitting_call<'s>(
        &self,
        sig: &'s FnSig,
        start: Bindings,
        types: &[&Ty],
        args: &[&Expr],
    ) -> Option<Inference<'s>> {
        let mut inference = Inference::new(sig, start);
        for ((param, ty), arg) in sig.params.iter().zip(types).zip(args) {
            if !self.takes_type(arg) {
                inference.bind(&param.ty, ty, &param.name);
            }
        }
        inference.solve(&self.facts);
        let fits = sig
            .params
            .iter()
            .zip(types)
            .zip(args)
            .all(|((param, ty), arg)| {
                self.takes_type(arg)
                    || inference
                        .expected(&param.ty, &self.facts)
                        .is_some_and(|expected| {
                            compare(&expected, ty, &self.facts) == Agreement::Yes
                        })
            });
        fits.then_some(inference)
    }

    /// Whether exchanging the last two axes of one argument would make all
    /// right: which argument, `place` before the others, and the order of its axes.
    pub(super) fn reordered(
        &self,
        sig: &FnSig,
        start: &Bindings,
        given: &[(ir::Arg, Ty)],
        args: &[&Expr],
        place: usize,
    ) -> Option<(usize, Vec<usize>)> {
        let others = (0..given.len()).filter(|i| *i != place);
        std::iter::once(place)
            .chain(others)
            .find_map(|turned_place| {
                let Type::Tensor(tensor) = &given[turned_place].1 else {
                    return None;
                };
                let rank = tensor.dims.len();
                let has_pack = tensor.dims.iter().any(|item| matches!(item, Item::Pack(_)));
                if sig.params[turned_place].by_mut || has_pack || rank < 2 {
                    return None;
                }
                let mut axes: Vec<usize> = (0..rank).collect();
                axes.swap(rank - 2, rank - 1);
                let dims = axes.iter().map(|axis| tensor.dims[*axis].clone()).collect();
                let turned = Ty::tensor(dims, tensor.dtype.clone());
                let mut types: Vec<&Ty> = given.iter().map(|(_, ty)| ty).collect();
                types[turned_place] = &turned;
                self.fitting_call(sig, start.clone(), &types, args)?;
                Some((turned_place, axes))
            })
    }

    /// Whether exchanging two dimensions among the generics of a member's block
    /// would make all right, the result included: which generics, and the type
    /// that the member would have.
    pub(super) fn swapped(
        &self,
        sig: &FnSig,
        block: &SubBlock<'_>,
        start: &Bindings,
        given: &[(ir::Arg, Ty)],
        args: &[&Expr],
        hint: Hint<'_>,
    ) -> Option<([String; 2], String)> {
        let Hint::Type(due) = hint else { return None };
        let types: Vec<&Ty> = given.iter().map(|(_, ty)| ty).collect();
        let names: Vec<String> = block
            .decl
            .generics
            .iter()
            .map(|generic| generic.name.to_string())
            .collect();
        for (i, first) in names.iter().enumerate() {
            for second in &names[i + 1..] {
                let (Some(a @ Bound::Dim(_)), Some(b @ Bound::Dim(_))) =
                    (start.get(first), start.get(second))
                else {
                    continue;
                };
                let mut exchanged = start.clone();
                exchanged.insert(first.clone(), b.clone());
                exchanged.insert(second.clone(), a.clone());
                let Some(inference) = self.fitting_call(sig, exchanged.clone(), &types, args)
                else {
                    continue;
                };
                let result = inference.expected(&sig.ret, &self.facts);
                let fits =
                    result.is_some_and(|ty| compare(due, &ty, &self.facts) == Agreement::Yes);
                if fits {
                    let args: Vec<String> = names
                        .iter()
                        .filter_map(|name| exchanged.get(name))
                        .map(as_argument)
                        .collect();
                    let ty = format!("{}<{}>", block.name(), args.join(", "));
                    return Some(([first.clone(), second.clone()], ty));
                }
            }
        }
        None
    }
}

/// A generic argument as it is written in Rust.
fn as_argument(bound: &Bound) -> String {
    match bound {
        Bound::Dim(dim) if !matches!(dim.to_tree(), DimTree::Atom(_) | DimTree::Const(_)) => {
            format!("{{ {dim} }}")
        }
        bound => bound.to_string(),
    }
}
