//! The blocks and operations that an item names.

use std::collections::HashMap;

use super::scope::{Bindings, Bound, Scope, bound_name, instantiate, is_dtype, substitute_tree};
use super::signature::FnSig;
use super::source;
use super::types::{Item, Ty, show_dtype};
use crate::ast;
use crate::diagnostic::{Diagnostic, Rule};
use crate::dim::{Facts, Poly};
use crate::ir::{self, GenericKind};

/// Signatures by the paths under which the item names them.
#[derive(Debug)]
pub(crate) struct Library<'a> {
    by_path: HashMap<String, &'a ast::SignatureKind>,
}

impl<'a> Library<'a> {
    /// From what the macros of other items answered.
    pub(crate) fn new(signatures: &'a [ast::Signature]) -> Self {
        let by_path = signatures
            .iter()
            .map(|signature| (key(&signature.path), &signature.kind))
            .collect();
        Library { by_path }
    }

    /// The block of this path.
    pub(crate) fn block(
        &self,
        path: &syn::Path,
    ) -> Option<(&'a ast::BlockDecl, &'a [ast::FnDecl])> {
        match self.by_path.get(&key(path)) {
            Some(ast::SignatureKind::Block(decl, functions)) => Some((decl, functions)),
            _ => None,
        }
    }

    /// The operation of this path.
    pub(crate) fn op(&self, path: &syn::Path) -> Option<FnSig> {
        match self.by_path.get(&key(path)) {
            Some(ast::SignatureKind::Op(op)) => {
                Some(FnSig::resolve(&op.function, None, &mut Vec::new()))
            }
            _ => None,
        }
    }

    /// The last names of all paths that are operations, sorted.
    pub(crate) fn op_names(&self) -> Vec<&str> {
        let ops = self
            .by_path
            .iter()
            .filter(|(_, kind)| matches!(kind, ast::SignatureKind::Op(_)));
        let mut names: Vec<&str> = ops
            .map(|(path, _)| path.rsplit("::").next().unwrap_or(path))
            .collect();
        names.sort_unstable();
        names
    }
}

fn key(path: &syn::Path) -> String {
    let segments = path
        .segments
        .iter()
        .map(|segment| segment.ident.to_string());
    segments.collect::<Vec<_>>().join("::")
}

/// A block that a member of the checked block names, with its generics bound.
#[derive(Debug, Clone)]
pub(crate) struct SubBlock<'a> {
    /// Its declaration.
    pub(crate) decl: &'a ast::BlockDecl,
    /// Its functions.
    pub(crate) functions: &'a [ast::FnDecl],
    /// What its generics are bound to.
    pub(crate) bindings: Bindings,
}

impl SubBlock<'_> {
    /// Its name.
    pub(crate) fn name(&self) -> String {
        self.decl.name.to_string()
    }

    /// One of its functions.
    pub(crate) fn function(&self, name: &str) -> Option<FnSig> {
        let decl = self
            .functions
            .iter()
            .find(|function| function.name == name)?;
        let block = (self.name(), &self.decl.generics[..]);
        Some(FnSig::resolve(
            decl,
            Some((&block.0, block.1)),
            &mut Vec::new(),
        ))
    }

    /// The type of one of its tensors, in the generics of the caller. Unknown
    /// where its own requirements do not hold, which has been reported.
    pub(crate) fn tensor(&self, name: &str, facts: &Facts) -> Option<Ty> {
        let member = self
            .decl
            .members
            .iter()
            .find(|member| member.name == name)?;
        let (ast::MemberKind::Param(ty) | ast::MemberKind::State(ty)) = &member.kind else {
            return None;
        };
        let scope = Scope::new(&self.decl.generics, &[]);
        let pattern = scope.ty(ty, &mut Vec::new());
        Some(instantiate(&pattern, &self.bindings, facts).unwrap_or(Ty::Unknown))
    }

    /// The names of its tensors.
    pub(crate) fn tensor_names(&self) -> Vec<String> {
        let members = self.decl.members.iter();
        members
            .filter(|member| !matches!(member.kind, ast::MemberKind::Sub { .. }))
            .map(|member| member.name.to_string())
            .collect()
    }
}

/// Binds the generics of a member's block to its arguments, defaults included.
/// Reports arguments of the wrong number or kind; dimensions are given their
/// normal form by `dimension`, which reports what it cannot accept.
pub(crate) fn bind_arguments(
    ty: &ast::BlockType,
    decl: &ast::BlockDecl,
    scope: &Scope,
    dimension: &mut dyn FnMut(&ast::Dim, &mut Vec<Diagnostic>) -> Option<Poly>,
    facts: &Facts,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Bindings> {
    let name = decl.name.to_string();
    let least = decl
        .generics
        .iter()
        .filter(|generic| generic.default.is_none())
        .count();
    if ty.args.len() < least || ty.args.len() > decl.generics.len() {
        let generics = decl.generics.iter().map(|generic| {
            let default = match &generic.default {
                Some(ast::GenericArg::Dim(dim)) => format!(" = {}", source::text(&dim.tokens)),
                Some(ast::GenericArg::DType(dtype, _)) => {
                    format!(" = {}", super::types::dtype_name(*dtype))
                }
                _ => String::new(),
            };
            format!("{}: {}{default}", generic.name, bound_name(generic.kind))
        });
        diagnostics.push(Diagnostic::new(
            Rule::GenericCount {
                of: name,
                generics: generics.collect(),
                found: ty.args.len(),
            },
            &ty.tokens,
        ));
        return None;
    }
    let mut bindings = Bindings::new();
    let mut complete = true;
    for (i, generic) in decl.generics.iter().enumerate() {
        let bound = match ty.args.get(i) {
            Some(arg) => argument(arg, generic, &name, scope, dimension, diagnostics),
            None => default(generic, &bindings, facts),
        };
        match bound {
            Some(bound) => {
                bindings.insert(generic.name.to_string(), bound);
            }
            None => complete = false,
        }
    }
    complete.then_some(bindings)
}

/// The default of a generic, in the generics bound before it.
fn default(generic: &ast::GenericParam, bindings: &Bindings, facts: &Facts) -> Option<Bound> {
    match generic.default.as_ref()? {
        ast::GenericArg::DType(dtype, _) => Some(Bound::DType(ir::DTypeExpr::Concrete(*dtype))),
        ast::GenericArg::Dim(dim) => {
            let tree = substitute_tree(&crate::dim::DimTree::from(dim), bindings);
            facts.normalize(&tree).ok().map(Bound::Dim)
        }
        ast::GenericArg::Infer(_) => None,
    }
}

/// One generic argument as written.
pub(crate) fn argument(
    arg: &ast::GenericArg,
    generic: &ast::GenericParam,
    of: &str,
    scope: &Scope,
    dimension: &mut dyn FnMut(&ast::Dim, &mut Vec<Diagnostic>) -> Option<Poly>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Bound> {
    let wrong = |found: String, tokens: proc_macro2::TokenStream| Diagnostic {
        rule: Rule::GenericArgument {
            parameter: format!("`{}: {}`", generic.name, bound_name(generic.kind)),
            of: of.to_owned(),
            found,
        },
        tokens,
    };
    match arg {
        ast::GenericArg::Infer(span) => {
            let mark = proc_macro2::Ident::new("_found", *span);
            diagnostics.push(wrong(
                "_".to_owned(),
                quote::ToTokens::to_token_stream(&mark),
            ));
            None
        }
        ast::GenericArg::DType(dtype, span) => {
            let text = super::types::dtype_name(*dtype);
            if fits(generic.kind, &ir::DTypeExpr::Concrete(*dtype), scope) {
                return Some(Bound::DType(ir::DTypeExpr::Concrete(*dtype)));
            }
            let mark = proc_macro2::Ident::new(text, *span);
            diagnostics.push(wrong(
                text.to_owned(),
                quote::ToTokens::to_token_stream(&mark),
            ));
            None
        }
        ast::GenericArg::Dim(dim) => {
            let lone = match &dim.kind {
                ast::DimKind::Name(name) => Some(name),
                _ => None,
            };
            let lone_kind = lone.and_then(|name| scope.kind(&name.to_string()));
            match (generic.kind, lone, lone_kind) {
                (GenericKind::Dim, _, None | Some(GenericKind::Dim)) => {
                    dimension(dim, diagnostics).map(Bound::Dim)
                }
                (GenericKind::Shape, Some(name), Some(GenericKind::Shape)) => {
                    Some(Bound::Shape(vec![Item::Pack(name.to_string())]))
                }
                (wanted, Some(name), Some(kind)) if is_dtype(wanted) && is_dtype(kind) => {
                    let dtype = ir::DTypeExpr::Generic(name.to_string());
                    if fits(wanted, &dtype, scope) {
                        return Some(Bound::DType(dtype));
                    }
                    diagnostics.push(wrong(
                        format!("{name}: {}", bound_name(kind)),
                        dim.tokens.clone(),
                    ));
                    None
                }
                (wanted, Some(name), None) if is_dtype(wanted) => {
                    let dtype = ast::DTypeExpr::Generic(name.clone());
                    scope.dtype(&dtype, diagnostics).map(Bound::DType)
                }
                _ => {
                    let found = match (lone, lone_kind) {
                        (Some(name), Some(kind)) => format!("{name}: {}", bound_name(kind)),
                        _ => source::text(&dim.tokens),
                    };
                    diagnostics.push(wrong(found, dim.tokens.clone()));
                    None
                }
            }
        }
    }
}

/// Whether a dtype satisfies a bound.
pub(crate) fn fits(wanted: GenericKind, dtype: &ir::DTypeExpr, scope: &Scope) -> bool {
    use ir::DType::{BF16, F16, F32, I8, I32, I64, U8};
    match (wanted, dtype) {
        (GenericKind::AnyDType, _) => true,
        (GenericKind::Float, ir::DTypeExpr::Concrete(dtype)) => matches!(dtype, F32 | F16 | BF16),
        (GenericKind::Int, ir::DTypeExpr::Concrete(dtype)) => matches!(dtype, I8 | I32 | I64 | U8),
        (wanted, ir::DTypeExpr::Generic(name)) => scope.kind(name) == Some(wanted),
        (GenericKind::Dim | GenericKind::Shape, _) => false,
    }
}

/// A dtype and its bound, for messages: `T: DType`.
pub(crate) fn dtype_with_bound(dtype: &ir::DTypeExpr, scope: &Scope) -> String {
    match dtype {
        ir::DTypeExpr::Generic(name) => match scope.kind(name) {
            Some(kind) => format!("{name}: {}", bound_name(kind)),
            None => show_dtype(dtype),
        },
        ir::DTypeExpr::Concrete(_) => show_dtype(dtype),
    }
}
