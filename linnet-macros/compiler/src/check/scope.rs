//! Generics in scope, and declared types resolved against them.

use std::collections::HashMap;

use proc_macro2::Ident;

use super::nearest::nearest;
use super::types::{Item, Pattern, Ty, Type, UNBOUND, show_dtype};
use crate::ast;
use crate::diagnostic::{Diagnostic, Rule};
use crate::dim::{DimTree, Facts, Poly, Symbol, SymbolKind, Undecidable};
use crate::ir::{self, GenericKind};

/// The generics that a declaration may name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scope {
    generics: Vec<(String, GenericKind)>,
}

/// What a generic is bound to, in the generics of the function that is checked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Bound {
    /// A dimension.
    Dim(Poly),
    /// The places of a pack.
    Shape(Vec<Item>),
    /// A dtype.
    DType(ir::DTypeExpr),
}

/// What the generics of a callee are bound to.
pub(crate) type Bindings = HashMap<String, Bound>;

impl Bound {
    /// As the descriptor has it.
    pub(crate) fn to_ir(&self) -> ir::GenericArg {
        match self {
            Bound::Dim(dim) => ir::GenericArg::Dim(super::types::dim_to_ir(dim)),
            Bound::Shape(items) => ir::GenericArg::Shape(items.iter().map(Item::to_ir).collect()),
            Bound::DType(dtype) => ir::GenericArg::DType(dtype.clone()),
        }
    }
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Bound::Dim(dim) => f.write_str(&super::types::plain(&dim.to_string())),
            Bound::Shape(items) => write!(f, "[{}]", super::types::show_dims(items)),
            Bound::DType(dtype) => f.write_str(&show_dtype(dtype)),
        }
    }
}

impl Scope {
    /// The generics of a block, then those of a function.
    pub(crate) fn new(block: &[ast::GenericParam], function: &[ast::GenericParam]) -> Self {
        let all = block.iter().chain(function);
        Scope {
            generics: all.map(|g| (g.name.to_string(), g.kind)).collect(),
        }
    }

    /// The kind of a generic.
    pub(crate) fn kind(&self, name: &str) -> Option<GenericKind> {
        self.generics
            .iter()
            .rev()
            .find(|(known, _)| known == name)
            .map(|(_, kind)| *kind)
    }

    /// All names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.generics.iter().map(|(name, _)| name.as_str())
    }

    fn unknown(&self, name: &Ident, wanted: &dyn Fn(GenericKind) -> bool) -> Diagnostic {
        let known: Vec<String> = self
            .generics
            .iter()
            .filter(|(_, kind)| wanted(*kind))
            .map(|(name, _)| name.clone())
            .collect();
        let text = name.to_string();
        let nearest = nearest(&text, known.iter().map(String::as_str));
        Diagnostic::new(
            Rule::UnknownGeneric {
                name: text,
                nearest,
                known,
            },
            name,
        )
    }

    /// A dimension as declared; every name must be a `Dim` generic.
    pub(crate) fn dim(&self, dim: &ast::Dim, diagnostics: &mut Vec<Diagnostic>) -> Option<DimTree> {
        match &dim.kind {
            ast::DimKind::Const(value) => Some(DimTree::Const(*value)),
            ast::DimKind::Name(name) => match self.kind(&name.to_string()) {
                Some(GenericKind::Dim) => Some(DimTree::name(name.to_string())),
                Some(kind) => {
                    let help = (kind == GenericKind::Shape)
                        .then(|| format!("write `*{name}` for all its axes"));
                    diagnostics.push(Diagnostic::new(
                        Rule::GenericKind {
                            name: name.to_string(),
                            is: kind_name(kind).to_owned(),
                            due: "a dimension".to_owned(),
                            help,
                        },
                        name,
                    ));
                    None
                }
                None => {
                    diagnostics.push(self.unknown(name, &|kind| kind == GenericKind::Dim));
                    None
                }
            },
            ast::DimKind::Binary(op, left, right) => {
                let left = self.dim(left, diagnostics);
                let right = self.dim(right, diagnostics);
                Some(DimTree::binary(*op, left?, right?))
            }
        }
    }

    /// One place of a shape as declared.
    pub(crate) fn item(
        &self,
        item: &ast::DimItem,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Item<DimTree>> {
        match item {
            ast::DimItem::One(dim) => self.dim(dim, diagnostics).map(Item::One),
            ast::DimItem::Pack(name) => match self.kind(&name.to_string()) {
                Some(GenericKind::Shape) => Some(Item::Pack(name.to_string())),
                Some(kind) => {
                    diagnostics.push(Diagnostic::new(
                        Rule::GenericKind {
                            name: name.to_string(),
                            is: kind_name(kind).to_owned(),
                            due: "a shape pack".to_owned(),
                            help: Some(match kind {
                                GenericKind::Dim => format!(
                                    "write `{name}` without the star, or declare it `{name}: Shape`"
                                ),
                                _ => "name a generic that is declared `: Shape`".to_owned(),
                            }),
                        },
                        name,
                    ));
                    None
                }
                None => {
                    diagnostics.push(self.unknown(name, &|kind| kind == GenericKind::Shape));
                    None
                }
            },
        }
    }

    /// A dtype as declared.
    pub(crate) fn dtype(
        &self,
        dtype: &ast::DTypeExpr,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<ir::DTypeExpr> {
        match dtype {
            ast::DTypeExpr::Concrete(dtype, _) => Some(ir::DTypeExpr::Concrete(*dtype)),
            ast::DTypeExpr::Generic(name) => match self.kind(&name.to_string()) {
                Some(kind) if is_dtype(kind) => Some(ir::DTypeExpr::Generic(name.to_string())),
                Some(kind) => {
                    diagnostics.push(Diagnostic::new(
                        Rule::GenericKind {
                            name: name.to_string(),
                            is: kind_name(kind).to_owned(),
                            due: "a dtype".to_owned(),
                            help: Some(
                                "write a dtype such as `f32`, or a generic declared `: Float`, \
                                 `: Int` or `: DType`"
                                    .to_owned(),
                            ),
                        },
                        name,
                    ));
                    None
                }
                None => {
                    let dtypes = ["f32", "f16", "bf16", "i8", "i32", "i64", "u8", "bool"];
                    let text = name.to_string();
                    let generics = self.generics.iter().filter(|(_, kind)| is_dtype(*kind));
                    let known: Vec<String> = generics.map(|(name, _)| name.clone()).collect();
                    let nearest = nearest(&text, known.iter().map(String::as_str).chain(dtypes));
                    diagnostics.push(Diagnostic::new(
                        Rule::UnknownGeneric {
                            name: text,
                            nearest,
                            known,
                        },
                        name,
                    ));
                    None
                }
            },
        }
    }

    /// A type as declared. What cannot be resolved is unknown, and reported.
    pub(crate) fn ty(&self, ty: &ast::TypeExpr, diagnostics: &mut Vec<Diagnostic>) -> Pattern {
        match &ty.kind {
            ast::TypeKind::Tensor { dims, dtype } => {
                let items: Vec<_> = dims
                    .iter()
                    .map(|item| self.item(item, diagnostics))
                    .collect();
                let dtype = self.dtype(dtype, diagnostics);
                match (items.into_iter().collect::<Option<Vec<_>>>(), dtype) {
                    (Some(items), Some(dtype)) => Type::tensor(items, dtype),
                    _ => Type::Unknown,
                }
            }
            ast::TypeKind::Scalar(dtype) => self
                .dtype(dtype, diagnostics)
                .map_or(Type::Unknown, Type::Scalar),
            ast::TypeKind::Option(inner) => Type::Option(Box::new(self.ty(inner, diagnostics))),
            ast::TypeKind::Tuple(parts) if parts.is_empty() => Type::Unit,
            ast::TypeKind::Tuple(parts) => Type::Tuple(
                parts
                    .iter()
                    .map(|part| self.ty(part, diagnostics))
                    .collect(),
            ),
        }
    }
}

/// Whether a generic of this kind stands for a dtype.
pub(crate) fn is_dtype(kind: GenericKind) -> bool {
    matches!(
        kind,
        GenericKind::Float | GenericKind::Int | GenericKind::AnyDType
    )
}

/// What a generic of this kind is, with its article.
pub(crate) fn kind_name(kind: GenericKind) -> &'static str {
    match kind {
        GenericKind::Dim => "a dimension",
        GenericKind::Shape => "a shape pack",
        GenericKind::Float => "a float dtype",
        GenericKind::Int => "an integer dtype",
        GenericKind::AnyDType => "a dtype",
    }
}

/// The bound as it is declared.
pub(crate) fn bound_name(kind: GenericKind) -> &'static str {
    match kind {
        GenericKind::Dim => "Dim",
        GenericKind::Shape => "Shape",
        GenericKind::Float => "Float",
        GenericKind::Int => "Int",
        GenericKind::AnyDType => "DType",
    }
}

/// A declared dimension with generics replaced. A `Dim` generic that `bindings`
/// does not know is marked as unbound.
pub(crate) fn substitute_tree(tree: &DimTree, bindings: &Bindings) -> DimTree {
    let again = |tree: &DimTree| Box::new(substitute_tree(tree, bindings));
    match tree {
        DimTree::Const(value) => DimTree::Const(*value),
        DimTree::Atom(symbol) if symbol.kind == SymbolKind::Generic => {
            match bindings.get(&symbol.name) {
                Some(Bound::Dim(dim)) => dim.to_tree().clone(),
                _ => DimTree::Atom(Symbol::generic(format!("{UNBOUND}{}", symbol.name))),
            }
        }
        DimTree::Atom(symbol) => DimTree::Atom(symbol.clone()),
        DimTree::Add(a, b) => DimTree::Add(again(a), again(b)),
        DimTree::Sub(a, b) => DimTree::Sub(again(a), again(b)),
        DimTree::Mul(a, b) => DimTree::Mul(again(a), again(b)),
        DimTree::Div(a, b) => DimTree::Div(again(a), again(b)),
        DimTree::Rem(a, b) => DimTree::Rem(again(a), again(b)),
        DimTree::Min(a, b) => DimTree::Min(again(a), again(b)),
        DimTree::Max(a, b) => DimTree::Max(again(a), again(b)),
    }
}

/// A declared shape in the generics of the caller.
pub(crate) fn instantiate_dims(
    dims: &[Item<DimTree>],
    bindings: &Bindings,
    facts: &Facts,
) -> Result<Vec<Item>, Undecidable> {
    let mut items = Vec::new();
    for item in dims {
        match item {
            Item::One(tree) => {
                items.push(Item::One(
                    facts.normalize(&substitute_tree(tree, bindings))?,
                ));
            }
            Item::Pack(name) => match bindings.get(name) {
                Some(Bound::Shape(bound)) => items.extend(bound.iter().cloned()),
                _ => items.push(Item::Pack(format!("{UNBOUND}{name}"))),
            },
        }
    }
    Ok(items)
}

/// A declared dtype in the generics of the caller.
pub(crate) fn instantiate_dtype(dtype: &ir::DTypeExpr, bindings: &Bindings) -> ir::DTypeExpr {
    match dtype {
        ir::DTypeExpr::Concrete(dtype) => ir::DTypeExpr::Concrete(*dtype),
        ir::DTypeExpr::Generic(name) => match bindings.get(name) {
            Some(Bound::DType(dtype)) => dtype.clone(),
            _ => ir::DTypeExpr::Generic(format!("{UNBOUND}{name}")),
        },
    }
}

/// A declared type in the generics of the caller. Generics that are not bound
/// are marked.
///
/// # Errors
/// If a divisor is not known to be positive under the caller's facts.
pub(crate) fn instantiate(
    pattern: &Pattern,
    bindings: &Bindings,
    facts: &Facts,
) -> Result<Ty, Undecidable> {
    Ok(match pattern {
        Type::Tensor(tensor) => Type::tensor(
            instantiate_dims(&tensor.dims, bindings, facts)?,
            instantiate_dtype(&tensor.dtype, bindings),
        ),
        Type::Scalar(dtype) => Type::Scalar(instantiate_dtype(dtype, bindings)),
        Type::Option(inner) => Type::Option(Box::new(instantiate(inner, bindings, facts)?)),
        Type::Tuple(parts) => Type::Tuple(
            parts
                .iter()
                .map(|part| instantiate(part, bindings, facts))
                .collect::<Result<_, _>>()?,
        ),
        Type::Unit => Type::Unit,
        Type::Unknown => Type::Unknown,
    })
}

/// Whether a type still has generics of a callee that are not bound.
pub(crate) fn has_unbound(ty: &Ty) -> bool {
    match ty {
        Type::Tensor(tensor) => {
            dtype_unbound(&tensor.dtype)
                || tensor.dims.iter().any(|item| match item {
                    Item::One(dim) => dim.symbols().iter().any(|s| s.name.contains(UNBOUND)),
                    Item::Pack(name) => name.contains(UNBOUND),
                })
        }
        Type::Scalar(dtype) => dtype_unbound(dtype),
        Type::Option(inner) => has_unbound(inner),
        Type::Tuple(parts) => parts.iter().any(has_unbound),
        Type::Unit | Type::Unknown => false,
    }
}

/// Whether a dtype is a generic of a callee that is not bound.
pub(crate) fn dtype_unbound(dtype: &ir::DTypeExpr) -> bool {
    matches!(dtype, ir::DTypeExpr::Generic(name) if name.contains(UNBOUND))
}

/// Bindings of generics to themselves: a function's types in its own generics.
pub(crate) fn identity_of(generics: &[(String, GenericKind)]) -> Bindings {
    generics
        .iter()
        .map(|(name, kind)| {
            let name = name.clone();
            let bound = match kind {
                GenericKind::Dim => Bound::Dim(Poly::name(name.clone())),
                GenericKind::Shape => Bound::Shape(vec![Item::Pack(name.clone())]),
                _ => Bound::DType(ir::DTypeExpr::Generic(name.clone())),
            };
            (name, bound)
        })
        .collect()
}
