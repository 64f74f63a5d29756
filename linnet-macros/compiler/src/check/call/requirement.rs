//! The requirements of a callee, or of a member's block.

use proc_macro2::TokenStream;

use crate::check::body::Body;
use crate::check::obligation::{sign, undecidable};
use crate::check::scope::{Bindings, substitute_tree};
use crate::check::signature::ClauseKind;
use crate::check::types::plain;
use crate::diagnostic::Rule;

impl Body<'_, '_> {
    /// Proves requirements on dimensions under the facts of this function, or
    /// reports them.
    pub(crate) fn requirements(
        &mut self,
        requires: &[crate::check::signature::Clause],
        bindings: &Bindings,
        of: &str,
        tokens: &TokenStream,
    ) {
        let mut diagnostics = Vec::new();
        prove_requirements(
            requires,
            bindings,
            of,
            tokens,
            &self.facts,
            &self.owner,
            &mut diagnostics,
        );
        self.report_all(diagnostics);
    }
}

/// Proves requirements on dimensions from `facts`, or reports them.
pub(crate) fn prove_requirements(
    requires: &[crate::check::signature::Clause],
    bindings: &Bindings,
    of: &str,
    tokens: &TokenStream,
    facts: &crate::dim::Facts,
    owner: &crate::check::obligation::Owner,
    diagnostics: &mut Vec<crate::diagnostic::Diagnostic>,
) {
    // What has been reported is taken for true, so that each clause that is
    // missing is reported for itself.
    let mut facts = facts.clone();
    for clause in requires {
        let ClauseKind::Dims(left, comparison, right) = &clause.kind else {
            continue;
        };
        let left_tree = substitute_tree(left, bindings);
        let right_tree = substitute_tree(right, bindings);
        let (left, right) = match (facts.normalize(&left_tree), facts.normalize(&right_tree)) {
            (Ok(left), Ok(right)) => (left, right),
            (Err(error), _) | (_, Err(error)) => {
                if diagnostics.is_empty() {
                    let expression = format!("{left_tree} {} {right_tree}", sign(*comparison));
                    diagnostics.push(crate::diagnostic::Diagnostic {
                        rule: undecidable(&error, &expression, &facts, owner),
                        tokens: tokens.clone(),
                    });
                }
                continue;
            }
        };
        if facts.prove(&left, *comparison, &right) {
            continue;
        }
        let here = plain(&format!("{left_tree} {} {right_tree}", sign(*comparison)));
        let refuted = facts.refute(&left, *comparison, &right);
        let missing = (!refuted).then(|| {
            let clause = facts.missing(&left, *comparison, &right);
            owner.add(&clause.unwrap_or_else(|| here.clone()))
        });
        diagnostics.push(crate::diagnostic::Diagnostic {
            rule: Rule::Unproved {
                of: of.to_owned(),
                clause: clause.text.clone(),
                here,
                missing,
            },
            tokens: tokens.clone(),
        });
        if !refuted {
            facts.assume(&left, *comparison, &right);
        }
    }
}
