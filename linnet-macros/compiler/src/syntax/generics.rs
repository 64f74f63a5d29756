//! Generic parameters.

use syn::{TypeParamBound, WherePredicate};

use super::error::Errors;
use super::types::parse_generic_arg_type;
use crate::ast::GenericParam;
use crate::ir::GenericKind;

const BOUND_HELP: &str = "write `N: Dim`, `S: Shape`, `T: Float`, `T: Int` or `T: DType`";

/// The generic parameters of a block or function. `owner` is what has them, for messages.
pub(crate) fn parse_generics(
    generics: &syn::Generics,
    owner: &str,
    errors: &mut Errors,
) -> Vec<GenericParam> {
    let mut params: Vec<GenericParam> = Vec::new();
    for param in &generics.params {
        let syn::GenericParam::Type(param) = param else {
            errors.push(
                param,
                format!("{owner} has only type parameters"),
                BOUND_HELP,
            );
            continue;
        };
        let bounds: Vec<_> = param.bounds.iter().collect();
        let kind = match bounds.as_slice() {
            [bound] => match bound_kind(bound) {
                Some(kind) => kind,
                None => {
                    errors.push(
                        bound,
                        format!("`{}` is no kind of generic", super::text(bound)),
                        BOUND_HELP,
                    );
                    continue;
                }
            },
            _ => {
                errors.push(
                    param,
                    format!("the generic `{}` needs exactly one bound", param.ident),
                    BOUND_HELP,
                );
                continue;
            }
        };
        let default = match &param.default {
            Some((_, ty)) => parse_generic_arg_type(ty, errors),
            None => None,
        };
        params.push(GenericParam {
            name: param.ident.clone(),
            kind,
            default,
        });
    }
    if let Some(clause) = &generics.where_clause {
        for predicate in &clause.predicates {
            let what = match predicate {
                WherePredicate::Type(_) => "write the bound where the generic is declared",
                _ => "remove it",
            };
            errors.push(
                predicate,
                format!("{owner} has no `where` clause"),
                format!("{what}; requirements on dimensions go into `#[require(..)]`"),
            );
        }
    }
    params
}

fn bound_kind(bound: &TypeParamBound) -> Option<GenericKind> {
    let TypeParamBound::Trait(bound) = bound else {
        return None;
    };
    let last = bound.path.segments.last()?;
    if !last.arguments.is_none() {
        return None;
    }
    Some(match last.ident.to_string().as_str() {
        "Dim" => GenericKind::Dim,
        "Shape" => GenericKind::Shape,
        "Float" => GenericKind::Float,
        "Int" => GenericKind::Int,
        "DType" => GenericKind::AnyDType,
        _ => return None,
    })
}
