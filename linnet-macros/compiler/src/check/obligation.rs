//! What must be proved of dimensions, and what to add where it does not follow.

use proc_macro2::TokenStream;

use super::types::plain;
use crate::diagnostic::{Diagnostic, Missing, Rule};
use crate::dim::{DimTree, Facts, Poly, Undecidable};
use crate::ir::Comparison;

/// Where a requirement can be added.
#[derive(Debug, Clone, Default)]
pub(crate) struct Owner {
    /// The block, if there is one.
    pub(crate) block: Option<String>,
    /// The generics of the block.
    pub(crate) block_generics: Vec<String>,
    /// The function, if one is checked.
    pub(crate) function: Option<String>,
}

impl Owner {
    /// Where a clause that would make something provable is to be added: to the
    /// block where the clause mentions only its generics.
    pub(crate) fn add(&self, clause: &str) -> Missing {
        let clause = plain(clause);
        let of_block = names_in(&clause)
            .iter()
            .all(|name| self.block_generics.contains(name));
        let place = match (&self.block, &self.function) {
            (Some(block), _) if of_block => Some(block),
            (_, Some(function)) => Some(function),
            (block, None) => block.as_ref(),
        };
        Missing {
            clause,
            place: place.cloned(),
        }
    }
}

/// The names in a clause, without those of functions.
fn names_in(clause: &str) -> Vec<String> {
    clause
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| {
            word.chars()
                .next()
                .is_some_and(|c| c.is_alphabetic() || c == '_')
        })
        .filter(|word| !matches!(*word, "min" | "max"))
        .map(str::to_owned)
        .collect()
}

/// How a comparison is written.
pub(crate) fn sign(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Eq => "==",
        Comparison::Ne => "!=",
        Comparison::Lt => "<",
        Comparison::Le => "<=",
        Comparison::Gt => ">",
        Comparison::Ge => ">=",
    }
}

/// The requirement that would make a claim provable: the least one that is
/// found, else the claim itself.
pub(crate) fn clause_to_add(
    facts: &Facts,
    left: &Poly,
    comparison: Comparison,
    right: &Poly,
) -> String {
    facts
        .missing(left, comparison, right)
        .unwrap_or_else(|| format!("{left} {} {right}", sign(comparison)))
}

/// The normal form of a dimension. Reports a divisor that may be zero and a
/// number that does not fit.
pub(crate) fn normal_form(
    tree: &DimTree,
    facts: &Facts,
    owner: &Owner,
    tokens: &TokenStream,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Poly> {
    match facts.normalize(tree) {
        Ok(dim) => Some(dim),
        Err(error) => {
            diagnostics.push(Diagnostic {
                rule: undecidable(&error, &tree.to_string(), facts, owner),
                tokens: tokens.clone(),
            });
            None
        }
    }
}

/// The rule that an expression without a normal form breaks.
pub(crate) fn undecidable(
    error: &Undecidable,
    expression: &str,
    facts: &Facts,
    owner: &Owner,
) -> Rule {
    match error {
        Undecidable::Divisor(divisor) if divisor.as_constant().is_some() => Rule::Divisor {
            expression: plain(expression),
            divisor: divisor.to_string(),
            missing: None,
        },
        Undecidable::Divisor(divisor) => {
            let clause = clause_to_add(facts, divisor, Comparison::Gt, &Poly::constant(0));
            Rule::Divisor {
                expression: plain(expression),
                divisor: plain(&divisor.to_string()),
                missing: Some(owner.add(&clause)),
            }
        }
        Undecidable::Overflow => Rule::NotADim {
            found: format!("`{}`, which does not fit in 64 bits,", plain(expression)),
            help: Some("use smaller numbers".to_owned()),
        },
    }
}

/// The normal form of something used as a dimension: also reports what may be negative.
pub(crate) fn dimension(
    tree: &DimTree,
    facts: &Facts,
    owner: &Owner,
    tokens: &TokenStream,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Poly> {
    let dim = normal_form(tree, facts, owner, tokens, diagnostics)?;
    let zero = Poly::constant(0);
    if facts.prove(&dim, Comparison::Ge, &zero) {
        return Some(dim);
    }
    let expression = plain(&tree.to_string());
    let missing = if facts.refute(&dim, Comparison::Ge, &zero) {
        None
    } else {
        let clause = match tree {
            DimTree::Sub(a, b) => facts
                .missing(&dim, Comparison::Ge, &zero)
                .unwrap_or_else(|| format!("{b} <= {a}")),
            _ => clause_to_add(facts, &dim, Comparison::Ge, &zero),
        };
        Some(owner.add(&clause))
    };
    diagnostics.push(Diagnostic {
        rule: Rule::Negative {
            expression,
            missing,
        },
        tokens: tokens.clone(),
    });
    None
}
