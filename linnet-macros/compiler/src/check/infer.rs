//! What the generics of a callee are, from the types of its arguments.

use std::collections::HashMap;

use super::agree::Agreement;
use super::scope::{
    Bindings, Bound, dtype_unbound, instantiate, instantiate_dtype, substitute_tree,
};
use super::signature::{FnSig, SigParam};
use super::types::{Item, Pattern, Ty, Type, UNBOUND};
use crate::dim::{DimTree, Facts, Poly};
use crate::ir;

/// The origin of what the expected result tells, where others are parameters.
pub(crate) const THE_RESULT: &str = "the result";

/// The generics of one call while they are inferred.
pub(crate) struct Inference<'s> {
    sig: &'s FnSig,
    /// What is bound so far: the generics of the callee's block, those of the
    /// turbofish, and what the arguments told.
    pub(crate) bindings: Bindings,
    /// Which parameter told a generic.
    origins: HashMap<String, String>,
    /// Dimensions of patterns that mention generics not bound when they were met.
    deferred: Vec<(DimTree, Poly, String)>,
    /// Generics that were solved for, and what they are: to be proved not negative.
    pub(crate) solved: Vec<(String, Poly)>,
}

/// One place of a declared shape once bound packs are written out.
enum Place<'p> {
    One(&'p DimTree),
    Given,
    Free(&'p str),
}

impl<'s> Inference<'s> {
    /// Starts with what is known before any argument.
    pub(crate) fn new(sig: &'s FnSig, bindings: Bindings) -> Self {
        Inference {
            sig,
            bindings,
            origins: HashMap::new(),
            deferred: Vec::new(),
            solved: Vec::new(),
        }
    }

    /// The first generic of the callee that is not bound.
    pub(crate) fn unbound(&self) -> Vec<&'s str> {
        let generics = self.sig.generics.iter().map(|(name, _)| name.as_str());
        generics
            .filter(|name| !self.bindings.contains_key(*name))
            .collect()
    }

    /// Takes from an argument's type what it tells. Whether the type is right
    /// is decided when all arguments are known.
    pub(crate) fn bind(&mut self, pattern: &Pattern, actual: &Ty, origin: &str) {
        match (pattern, actual) {
            (Type::Tensor(pattern), Type::Tensor(actual)) => {
                self.bind_dims(&pattern.dims, &actual.dims, origin);
                self.bind_dtype(&pattern.dtype, &actual.dtype, origin);
            }
            (Type::Scalar(pattern), Type::Scalar(actual)) => {
                self.bind_dtype(pattern, actual, origin);
            }
            (Type::Option(pattern), Type::Option(actual)) => self.bind(pattern, actual, origin),
            (Type::Tuple(patterns), Type::Tuple(actuals)) if patterns.len() == actuals.len() => {
                for (pattern, actual) in patterns.iter().zip(actuals) {
                    self.bind(pattern, actual, origin);
                }
            }
            _ => {}
        }
    }

    /// Takes a dtype from what the context expects.
    pub(crate) fn bind_dtype(
        &mut self,
        pattern: &ir::DTypeExpr,
        actual: &ir::DTypeExpr,
        origin: &str,
    ) {
        if let ir::DTypeExpr::Generic(name) = pattern
            && !self.bindings.contains_key(name)
            && !dtype_unbound(actual)
        {
            self.put(name, Bound::DType(actual.clone()), origin);
        }
    }

    fn put(&mut self, name: &str, bound: Bound, origin: &str) {
        self.bindings.insert(name.to_owned(), bound);
        self.origins.insert(name.to_owned(), origin.to_owned());
    }

    fn places<'p>(&self, dims: &'p [Item<DimTree>]) -> Vec<Place<'p>> {
        let mut places = Vec::new();
        for item in dims {
            match item {
                Item::One(tree) => places.push(Place::One(tree)),
                Item::Pack(name) => match self.bindings.get(name) {
                    Some(Bound::Shape(items)) => places.extend(items.iter().map(|_| Place::Given)),
                    _ => places.push(Place::Free(name)),
                },
            }
        }
        places
    }

    fn bind_dims(&mut self, pattern: &[Item<DimTree>], actual: &[Item], origin: &str) {
        let places = self.places(pattern);
        let is_free = |place: &Place<'_>| matches!(place, Place::Free(_));
        let Some(front) = places.iter().position(is_free) else {
            if places.len() == actual.len() {
                for (place, item) in places.iter().zip(actual) {
                    self.bind_place(place, item, origin);
                }
            }
            return;
        };
        let last = places.iter().rposition(is_free).unwrap_or(front);
        let back = places.len() - last - 1;
        if actual.len() < front + back {
            return;
        }
        for (place, item) in places.iter().zip(actual).take(front) {
            self.bind_place(place, item, origin);
        }
        for (place, item) in places.iter().rev().zip(actual.iter().rev()).take(back) {
            self.bind_place(place, item, origin);
        }
        if front == last
            && let Place::Free(name) = places[front]
        {
            let middle = actual[front..actual.len() - back].to_vec();
            self.put(name, Bound::Shape(middle), origin);
        }
    }

    fn bind_place(&mut self, place: &Place<'_>, item: &Item, origin: &str) {
        let (Place::One(tree), Item::One(dim)) = (place, item) else {
            return;
        };
        if dim
            .symbols()
            .iter()
            .any(|symbol| symbol.name.contains(UNBOUND))
        {
            return;
        }
        match tree {
            DimTree::Atom(symbol) => {
                if !self.bindings.contains_key(&symbol.name) {
                    self.put(&symbol.name, Bound::Dim(dim.clone()), origin);
                }
            }
            tree => self
                .deferred
                .push(((*tree).clone(), dim.clone(), origin.to_owned())),
        }
    }

    /// Solves what was met before its generics were bound, one unknown at a time.
    pub(crate) fn solve(&mut self, facts: &Facts) {
        loop {
            let mut progress = false;
            for (tree, actual, origin) in std::mem::take(&mut self.deferred) {
                let known = substitute_tree(&tree, &self.bindings);
                let unknown: Vec<String> = known
                    .symbols()
                    .into_iter()
                    .map(|symbol| symbol.name)
                    .filter(|name| name.contains(UNBOUND))
                    .collect();
                match &unknown[..] {
                    [] => {}
                    [name] => {
                        let solution = facts
                            .normalize(&known)
                            .ok()
                            .and_then(|left| facts.solve_for(name, &left, &actual));
                        match solution {
                            Some(value) if value.to_expr().is_some() => {
                                let name = name.replace(UNBOUND, "");
                                self.solved.push((name.clone(), value.clone()));
                                self.put(&name, Bound::Dim(value), &origin);
                                progress = true;
                            }
                            _ => self.deferred.push((tree, actual, origin)),
                        }
                    }
                    _ => self.deferred.push((tree, actual, origin)),
                }
            }
            if !progress {
                return;
            }
        }
    }

    /// A parameter's type as far as its generics are bound. None where a
    /// divisor in it is not known to be positive.
    pub(crate) fn expected(&self, pattern: &Pattern, facts: &Facts) -> Option<Ty> {
        // A generic that is not bound may stand below a line.
        instantiate(pattern, &self.bindings, facts).ok()
    }

    /// The dtype of a parameter, if it is bound.
    pub(crate) fn expected_dtype(&self, pattern: &Pattern) -> Option<ir::DTypeExpr> {
        let dtype = match pattern {
            Type::Option(inner) => return self.expected_dtype(inner),
            pattern => instantiate_dtype(pattern.dtype()?, &self.bindings),
        };
        (!dtype_unbound(&dtype)).then_some(dtype)
    }

    /// The generics of a parameter's type at the places where it is at odds
    /// with its argument.
    fn at_odds(&self, param: &SigParam, agreement: &Agreement) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let mut add = |name: &str| {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        };
        match (agreement, tensor_of(&param.ty)) {
            (Agreement::Dims(differ), Some(tensor)) => {
                for (i, place) in self.places(&tensor.dims).iter().enumerate() {
                    if let Place::One(tree) = place
                        && differ.contains(&i)
                    {
                        tree.symbols().iter().for_each(|symbol| add(&symbol.name));
                    }
                }
            }
            (Agreement::Rank, Some(tensor)) => {
                for item in &tensor.dims {
                    match item {
                        Item::One(tree) => {
                            tree.symbols().iter().for_each(|symbol| add(&symbol.name));
                        }
                        Item::Pack(name) => add(name),
                    }
                }
            }
            (Agreement::DType, _) => {
                if let Some(ir::DTypeExpr::Generic(name)) = innermost_dtype(&param.ty) {
                    add(name);
                }
            }
            _ => {}
        }
        names
    }

    /// The generics that an argument of the wrong type leaves in doubt: those
    /// that it told, or those of another argument that it contradicts.
    pub(crate) fn doubtful(&self, param: &SigParam, agreement: &Agreement) -> Vec<String> {
        let told = self
            .origins
            .iter()
            .filter(|(_, origin)| **origin == param.name);
        match agreement {
            Agreement::Dims(_) | Agreement::DType => {
                let at_odds = self.at_odds(param, agreement).into_iter();
                at_odds
                    .filter(|name| self.origins.contains_key(name))
                    .collect()
            }
            _ => told.map(|(name, _)| name.clone()).collect(),
        }
    }

    /// How a parameter's type comes about: its declaration, and what the
    /// generics at the places that differ are bound to and by which argument.
    pub(crate) fn note(&self, param: &SigParam, agreement: &Agreement) -> String {
        let names = self.at_odds(param, agreement);
        let bound: Vec<String> = names
            .iter()
            .filter_map(|name| {
                let bound = self.bindings.get(name)?;
                let text = bound.to_string();
                let same = text == *name || text == format!("[*{name}]");
                let origin = self
                    .origins
                    .get(name)
                    .filter(|origin| **origin != param.name);
                match origin {
                    Some(_) if same => None,
                    Some(origin) if origin == THE_RESULT => {
                        Some(format!("{name} = {text} from {origin}"))
                    }
                    Some(origin) => Some(format!("{name} = {text} from `{origin}`")),
                    None if same || self.origins.contains_key(name) => None,
                    None => Some(format!("{name} = {text}")),
                }
            })
            .collect();
        let declared = format!("`{}`", param.text());
        if bound.is_empty() {
            declared
        } else {
            format!("{declared} with {}", bound.join(", "))
        }
    }
}

/// Whether a declared type mentions one of these generics.
pub(crate) fn mentions(ty: &Pattern, names: &[String]) -> bool {
    let dtype = |dtype: &ir::DTypeExpr| match dtype {
        ir::DTypeExpr::Generic(name) => names.contains(name),
        ir::DTypeExpr::Concrete(_) => false,
    };
    match ty {
        Type::Tensor(tensor) => {
            dtype(&tensor.dtype)
                || tensor.dims.iter().any(|item| match item {
                    Item::One(tree) => tree
                        .symbols()
                        .iter()
                        .any(|symbol| names.contains(&symbol.name)),
                    Item::Pack(name) => names.contains(name),
                })
        }
        Type::Scalar(of) => dtype(of),
        Type::Option(inner) => mentions(inner, names),
        Type::Tuple(parts) => parts.iter().any(|part| mentions(part, names)),
        Type::Unit | Type::Unknown => false,
    }
}

/// The tensor in a parameter's type, optional or not.
fn tensor_of(ty: &Pattern) -> Option<&super::types::Tensor<DimTree>> {
    match ty {
        Type::Tensor(tensor) => Some(tensor),
        Type::Option(inner) => tensor_of(inner),
        _ => None,
    }
}

fn innermost_dtype(ty: &Pattern) -> Option<&ir::DTypeExpr> {
    match ty {
        Type::Option(inner) => innermost_dtype(inner),
        ty => ty.dtype(),
    }
}
