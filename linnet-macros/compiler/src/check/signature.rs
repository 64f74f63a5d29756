//! What a function promises: its types in its own generics, resolved once.

use quote::ToTokens;

use super::scope::{Scope, bound_name};
use super::source;
use super::types::{Pattern, Type};
use crate::ast;
use crate::diagnostic::{Diagnostic, Rule};
use crate::dim::{DimTree, Symbol};
use crate::ir::{self, Comparison, GenericKind};

/// A clause of `#[require(..)]`.
#[derive(Debug, Clone)]
pub(crate) struct Clause {
    /// Its two sides.
    pub(crate) kind: ClauseKind,
    /// As written.
    pub(crate) text: String,
    /// As written.
    pub(crate) tokens: proc_macro2::TokenStream,
}

/// What a clause is about.
#[derive(Debug, Clone)]
pub(crate) enum ClauseKind {
    /// Dimensions alone: proved at every call.
    Dims(DimTree, Comparison, DimTree),
    /// Scalar parameters too: checked when it runs, and a fact from then on.
    Scalars(DimTree, Comparison, DimTree),
    /// Every element of a tensor parameter.
    Elements(String, Comparison, DimTree),
    /// `distinct(slots)`.
    Distinct(String),
    /// `packed(rows, positions, segments)`.
    Packed([String; 3]),
}

/// A parameter.
#[derive(Debug, Clone)]
pub(crate) struct SigParam {
    /// Its name.
    pub(crate) name: String,
    /// Its type.
    pub(crate) ty: Pattern,
    /// Whether it is `&mut`.
    pub(crate) by_mut: bool,
}

impl SigParam {
    /// As declared: `x: Tensor[*S, In; T]`.
    pub(crate) fn text(&self) -> String {
        let by_mut = if self.by_mut { "&mut " } else { "" };
        format!("{}: {by_mut}{}", self.name, self.ty)
    }
}

/// A function as its callers see it.
#[derive(Debug, Clone)]
pub(crate) struct FnSig {
    /// As messages name it: `Conv1D::forward`, `linear`.
    pub(crate) display: String,
    /// Its own name.
    pub(crate) name: String,
    /// Whether other blocks may call it.
    pub(crate) public: bool,
    /// How it takes its block.
    pub(crate) receiver: ir::Receiver,
    /// Its own generics.
    pub(crate) generics: Vec<(String, GenericKind)>,
    /// What must hold when it is called.
    pub(crate) requires: Vec<Clause>,
    /// Its parameters without `self`.
    pub(crate) params: Vec<SigParam>,
    /// Its result.
    pub(crate) ret: Pattern,
}

impl FnSig {
    /// Resolves a declaration. `block` is the name and generics of its block.
    pub(crate) fn resolve(
        decl: &ast::FnDecl,
        block: Option<(&str, &[ast::GenericParam])>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Self {
        let block_generics = block.map_or(&[][..], |(_, generics)| generics);
        let scope = Scope::new(block_generics, &decl.generics);
        let params = decl.params.iter();
        let params: Vec<_> = params
            .map(|param| SigParam {
                name: param.name.to_string(),
                ty: scope.ty(&param.ty, diagnostics),
                by_mut: param.by_mut,
            })
            .collect();
        let ret = scope.ty(&decl.ret, diagnostics);
        let requires = clauses(&decl.requires, &scope, &params, diagnostics);
        let name = decl.name.to_string();
        FnSig {
            display: match block {
                Some((block, _)) => format!("{block}::{name}"),
                None => name.clone(),
            },
            name,
            public: !matches!(decl.vis, syn::Visibility::Inherited),
            receiver: decl.receiver,
            generics: decl
                .generics
                .iter()
                .map(|g| (g.name.to_string(), g.kind))
                .collect(),
            requires,
            params,
            ret,
        }
    }

    /// Its generics as declared: `S: Shape`.
    pub(crate) fn generics_text(&self) -> Vec<String> {
        self.generics
            .iter()
            .map(|(name, kind)| format!("{name}: {}", bound_name(*kind)))
            .collect()
    }
}

/// Resolves the clauses of `#[require(..)]`.
pub(crate) fn clauses(
    requires: &[ast::Requirement],
    scope: &Scope,
    params: &[SigParam],
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Clause> {
    requires
        .iter()
        .filter_map(|clause| resolve_clause(clause, scope, params, diagnostics))
        .collect()
}

/// What a name in a clause stands for.
enum Named {
    Dim,
    Scalar,
    Elements,
}

fn resolve_clause(
    clause: &ast::Requirement,
    scope: &Scope,
    params: &[SigParam],
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Clause> {
    let text = source::text(&clause.tokens);
    let kind = match &clause.kind {
        ast::RequirementKind::Distinct(name) => {
            match named(name, &text, scope, params, diagnostics)? {
                Named::Elements => ClauseKind::Distinct(name.to_string()),
                Named::Dim | Named::Scalar => {
                    diagnostics.push(not_a_clause(
                        &text,
                        format!("`{name}` is one number"),
                        "name an integer tensor parameter, e.g. `distinct(slots)`",
                        name,
                    ));
                    return None;
                }
            }
        }
        ast::RequirementKind::Packed(names) => {
            for name in names {
                match named(name, &text, scope, params, diagnostics)? {
                    Named::Elements => {}
                    Named::Dim | Named::Scalar => {
                        diagnostics.push(not_a_clause(
                            &text,
                            format!("`{name}` is one number"),
                            "name integer tensor parameters, e.g. `packed(rows, positions, segments)`",
                            name,
                        ));
                        return None;
                    }
                }
            }
            let ty = |name: &proc_macro2::Ident| {
                params
                    .iter()
                    .find(|param| *name == param.name)
                    .map(|param| param.ty.to_string())
            };
            if let Some(other) = names[1..].iter().find(|name| ty(name) != ty(&names[0])) {
                diagnostics.push(not_a_clause(
                    &text,
                    format!("`{other}` is not of the type of `{}`", names[0]),
                    "the three tensors describe the same tokens: give them one type, e.g. `Tensor![P; i32]`",
                    other,
                ));
                return None;
            }
            ClauseKind::Packed(names.clone().map(|name| name.to_string()))
        }
        ast::RequirementKind::Compare(left, comparison, right) => {
            let elements = |side: &ast::Dim| match &side.kind {
                ast::DimKind::Name(name) if scope.kind(&name.to_string()).is_none() => params
                    .iter()
                    .find(|param| *name == param.name && int_tensor(&param.ty))
                    .map(|param| param.name.clone()),
                _ => None,
            };
            match (elements(left), elements(right)) {
                (Some(param), None) => {
                    let bound = side(right, &text, scope, params, diagnostics)?.0;
                    ClauseKind::Elements(param, *comparison, bound)
                }
                (None, Some(param)) => {
                    let bound = side(left, &text, scope, params, diagnostics)?.0;
                    ClauseKind::Elements(param, turned(*comparison), bound)
                }
                (Some(_), Some(_)) => {
                    diagnostics.push(not_a_clause(
                        &text,
                        "both sides are tensors".to_owned(),
                        "compare every element to a dimension or a scalar parameter",
                        &clause.tokens,
                    ));
                    return None;
                }
                (None, None) => {
                    let left = side(left, &text, scope, params, diagnostics);
                    let right = side(right, &text, scope, params, diagnostics);
                    let (left, left_scalar) = left?;
                    let (right, right_scalar) = right?;
                    if left_scalar || right_scalar {
                        ClauseKind::Scalars(left, *comparison, right)
                    } else {
                        ClauseKind::Dims(left, *comparison, right)
                    }
                }
            }
        }
    };
    Some(Clause {
        kind,
        text,
        tokens: clause.tokens.clone(),
    })
}

/// One side of a comparison, and whether it mentions a scalar parameter.
fn side(
    dim: &ast::Dim,
    text: &str,
    scope: &Scope,
    params: &[SigParam],
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<(DimTree, bool)> {
    match &dim.kind {
        ast::DimKind::Const(value) => Some((DimTree::Const(*value), false)),
        ast::DimKind::Name(name) => match named(name, text, scope, params, diagnostics)? {
            Named::Dim => Some((DimTree::name(name.to_string()), false)),
            Named::Scalar => Some((DimTree::Atom(Symbol::scalar(name.to_string())), true)),
            Named::Elements => {
                diagnostics.push(not_a_clause(
                    text,
                    format!("the tensor `{name}` is part of an expression"),
                    "let the tensor stand alone on its side, e.g. `0 <= tokens` or `tokens < Vocab`",
                    name,
                ));
                None
            }
        },
        ast::DimKind::Binary(op, left, right) => {
            let left = side(left, text, scope, params, diagnostics);
            let right = side(right, text, scope, params, diagnostics);
            let ((left, a), (right, b)) = (left?, right?);
            Some((DimTree::binary(*op, left, right), a || b))
        }
    }
}

fn named(
    name: &proc_macro2::Ident,
    text: &str,
    scope: &Scope,
    params: &[SigParam],
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Named> {
    let known = name.to_string();
    if let Some(kind) = scope.kind(&known) {
        if kind == GenericKind::Dim {
            return Some(Named::Dim);
        }
        diagnostics.push(not_a_clause(
            text,
            format!("`{name}` is {}", super::scope::kind_name(kind)),
            "requirements are about dimensions and integer parameters",
            name,
        ));
        return None;
    }
    let Some(param) = params.iter().find(|param| param.name == known) else {
        let all: Vec<String> = scope
            .names()
            .map(str::to_owned)
            .chain(params.iter().map(|param| param.name.clone()))
            .collect();
        let nearest = super::nearest::nearest(&known, all.iter().map(String::as_str));
        diagnostics.push(Diagnostic::new(
            Rule::UnknownName {
                name: known,
                nearest,
                known: all,
            },
            name,
        ));
        return None;
    };
    match &param.ty {
        Type::Unknown => None,
        ty if int_tensor(ty) => Some(Named::Elements),
        Type::Scalar(ir::DTypeExpr::Concrete(ir::DType::I32 | ir::DType::I64)) => {
            Some(Named::Scalar)
        }
        ty => {
            diagnostics.push(not_a_clause(
                text,
                format!("`{name}` is {ty}"),
                "requirements are about dimensions, `i32` and `i64` parameters, and the elements \
                 of integer tensors",
                name,
            ));
            None
        }
    }
}

/// Whether a clause may speak of the elements of a parameter of this type. An
/// optional tensor that is absent has none.
fn int_tensor(ty: &Pattern) -> bool {
    use ir::DType::{I8, I32, I64, U8};
    match ty {
        Type::Tensor(tensor) => {
            matches!(tensor.dtype, ir::DTypeExpr::Concrete(I8 | I32 | I64 | U8))
        }
        Type::Option(inner) => int_tensor(inner),
        _ => false,
    }
}

fn not_a_clause(clause: &str, reason: String, help: &str, tokens: impl ToTokens) -> Diagnostic {
    Diagnostic::new(
        Rule::Clause {
            clause: clause.to_owned(),
            reason,
            help: Some(help.to_owned()),
        },
        tokens,
    )
}

/// The comparison with its sides exchanged.
fn turned(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Lt => Comparison::Gt,
        Comparison::Le => Comparison::Ge,
        Comparison::Gt => Comparison::Lt,
        Comparison::Ge => Comparison::Le,
        same => same,
    }
}

impl Clause {
    /// As the descriptor has it.
    pub(crate) fn to_ir(&self) -> ir::Requirement {
        let expr = |tree: &DimTree| tree.to_expr().unwrap_or(ir::DimExpr::Const(0));
        let text = self.text.clone();
        match &self.kind {
            ClauseKind::Dims(left, comparison, right)
            | ClauseKind::Scalars(left, comparison, right) => ir::Requirement::Compare {
                left: expr(left),
                comparison: *comparison,
                right: expr(right),
                text,
            },
            ClauseKind::Elements(param, comparison, bound) => ir::Requirement::Elements {
                param: param.clone(),
                comparison: *comparison,
                bound: expr(bound),
                text,
            },
            ClauseKind::Distinct(param) => ir::Requirement::Distinct {
                param: param.clone(),
                text,
            },
            ClauseKind::Packed(params) => ir::Requirement::Packed {
                params: params.clone(),
                text,
            },
        }
    }
}
