//! One function: its signature, the facts of its requirements, its body.

use std::collections::HashMap;

use quote::ToTokens;

use super::body::{Binding, Body, ItemContext, Slot, Value};
use super::declared::well_formed;
use super::obligation::{Owner, normal_form, undecidable};
use super::scope::Scope;
use super::signature::{Clause, ClauseKind, FnSig};
use super::types::{Ty, Type};
use crate::ast;
use crate::diagnostic::{Diagnostic, Rule};
use crate::dim::{DimTree, Facts};
use crate::ir::{self, Comparison};

/// What requirements say of dimensions and scalar parameters. Reports clauses
/// that have no meaning even with all others, and clauses that contradict.
pub(crate) fn facts_of(
    facts: &Facts,
    clauses: &[Clause],
    owner: &Owner,
    diagnostics: &mut Vec<Diagnostic>,
) -> Facts {
    let mut facts = facts.clone();
    let mut sides: Vec<(DimTree, Comparison, DimTree)> = Vec::new();
    let mut origin: Vec<&Clause> = Vec::new();
    for clause in clauses {
        if let ClauseKind::Dims(left, comparison, right)
        | ClauseKind::Scalars(left, comparison, right) = &clause.kind
        {
            sides.push((left.clone(), *comparison, right.clone()));
            origin.push(clause);
        }
    }
    for (at, error) in facts.assume_all(&sides) {
        diagnostics.push(Diagnostic {
            rule: undecidable(&error, &origin[at].text, &facts, owner),
            tokens: origin[at].tokens.clone(),
        });
    }
    for clause in clauses {
        if let ClauseKind::Elements(_, _, bound) = &clause.kind {
            normal_form(bound, &facts, owner, &clause.tokens, diagnostics);
        }
    }
    if let Some(last) = origin.last()
        && facts.contradiction()
    {
        diagnostics.push(Diagnostic {
            rule: Rule::Clause {
                clause: last.text.clone(),
                reason: "the requirements contradict each other".to_owned(),
                help: Some("remove the clause that no dimensions can satisfy".to_owned()),
            },
            tokens: last.tokens.clone(),
        });
    }
    facts
}

/// The generics of a declaration as the descriptor has them.
pub(crate) fn generics_to_ir(generics: &[ast::GenericParam]) -> Vec<ir::Generic> {
    generics
        .iter()
        .map(|generic| ir::Generic {
            name: generic.name.to_string(),
            kind: generic.kind,
            default: match &generic.default {
                Some(ast::GenericArg::Dim(dim)) => {
                    DimTree::from(dim).to_expr().map(ir::GenericArg::Dim)
                }
                Some(ast::GenericArg::DType(dtype, _)) => {
                    Some(ir::GenericArg::DType(ir::DTypeExpr::Concrete(*dtype)))
                }
                Some(ast::GenericArg::Infer(_)) | None => None,
            },
        })
        .collect()
}

/// Checks and lowers one function. `facts` are those of its block.
pub(crate) fn check_function<'a>(
    item: &ItemContext<'a>,
    decl: &ast::FnDecl,
    sig: &FnSig,
    block_generics: &[ast::GenericParam],
    facts: &Facts,
    owner: &Owner,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<ir::Function> {
    let owner = Owner {
        function: Some(sig.name.clone()),
        ..owner.clone()
    };
    duplicates(decl, block_generics, diagnostics);
    let facts = facts_of(facts, &sig.requires, &owner, diagnostics);
    let params: Vec<Ty> = decl
        .params
        .iter()
        .zip(&sig.params)
        .map(|(written, param)| well_formed(&written.ty, &param.ty, &facts, &owner, diagnostics))
        .collect();
    let ret = well_formed(&decl.ret, &sig.ret, &facts, &owner, diagnostics);

    let mut frame = HashMap::new();
    let mut slots = Vec::new();
    for (i, (param, ty)) in sig.params.iter().zip(&params).enumerate() {
        let number = u32::try_from(i).unwrap_or(u32::MAX);
        let binding = if param.by_mut {
            Binding::MutParam(number)
        } else {
            slots.push(Slot {
                id: number,
                ty: ty.clone(),
                mutable: false,
                param: true,
            });
            Binding::Local(slots.len() - 1)
        };
        frame.insert(param.name.clone(), binding);
    }
    let n_params = u32::try_from(params.len()).unwrap_or(u32::MAX);
    let mut body = Body {
        item,
        sig,
        params: params.clone(),
        scope: Scope::new(block_generics, &decl.generics),
        facts,
        owner,
        diagnostics: Vec::new(),
        item_is_right: diagnostics.is_empty(),
        frames: vec![frame],
        slots,
        nodes: Vec::new(),
        next: n_params,
    };
    let block = decl.body.as_ref()?;
    let value = body.function_body(block, &ret);
    let result = result(&mut body, value, &ret, block, &decl.name);
    let Body {
        nodes,
        next,
        diagnostics: found,
        ..
    } = body;
    diagnostics.extend(found);
    Some(ir::Function {
        name: sig.name.clone(),
        public: sig.public,
        entry: decl.entry,
        receiver: sig.receiver,
        generics: generics_to_ir(&decl.generics),
        requires: sig.requires.iter().map(Clause::to_ir).collect(),
        params: sig
            .params
            .iter()
            .zip(&params)
            .map(|(param, ty)| ir::Param {
                name: param.name.clone(),
                ty: ty.to_ir(),
                by_mut: param.by_mut,
            })
            .collect(),
        ret: ret.to_ir(),
        body: ir::Body { nodes, result },
        n_values: next,
    })
}

/// Checks the value of the body against the declared result.
fn result(
    body: &mut Body<'_, '_>,
    value: Option<Value>,
    ret: &Ty,
    block: &syn::Block,
    name: &proc_macro2::Ident,
) -> Option<ir::ValueId> {
    let tokens = match block.stmts.last() {
        Some(syn::Stmt::Expr(syn::Expr::Return(returned), _)) => match &returned.expr {
            Some(expr) => expr.to_token_stream(),
            None => returned.to_token_stream(),
        },
        Some(last) => last.to_token_stream(),
        None => name.to_token_stream(),
    };
    if let Some(value) = &value {
        body.assert_reported(value, &tokens);
    }
    match value {
        Some(value) if value.ty != Type::Unit => {
            let place = format!("the result of `{}`", body.sig.name);
            if *ret == Type::Unit {
                if value.ty.is_unknown() {
                    return None;
                }
                let rule = Rule::TypeMismatch {
                    place,
                    expected: "()".to_owned(),
                    expected_note: None,
                    found: value.ty.to_string(),
                    help: Some(format!(
                        "declare the result, `-> {}`, or end the last line with `;`",
                        written(&value.ty)
                    )),
                };
                body.report(rule, tokens);
                return None;
            }
            body.expect(&value, ret, &place, None, tokens);
            Some(value.id)
        }
        _ => {
            if !matches!(ret, Type::Unit | Type::Unknown) {
                let rule = Rule::MissingResult {
                    function: body.sig.name.clone(),
                    expected: ret.to_string(),
                };
                body.report(rule, name);
            }
            None
        }
    }
}

/// A type as the author would write it.
fn written(ty: &Ty) -> String {
    ty.to_string().replace("Tensor[", "Tensor![")
}

/// Reports names that a signature declares twice.
fn duplicates(
    decl: &ast::FnDecl,
    block_generics: &[ast::GenericParam],
    diagnostics: &mut Vec<Diagnostic>,
) {
    for (i, generic) in decl.generics.iter().enumerate() {
        let earlier = decl.generics[..i].iter().chain(block_generics);
        if earlier.into_iter().any(|other| other.name == generic.name) {
            diagnostics.push(Diagnostic::new(
                Rule::Duplicate {
                    what: "generic".to_owned(),
                    name: generic.name.to_string(),
                },
                &generic.name,
            ));
        }
    }
    for (i, param) in decl.params.iter().enumerate() {
        if decl.params[..i]
            .iter()
            .any(|other| other.name == param.name)
        {
            diagnostics.push(Diagnostic::new(
                Rule::Duplicate {
                    what: "parameter".to_owned(),
                    name: param.name.to_string(),
                },
                &param.name,
            ));
        }
    }
}
