//! Collecting what is wrong with the form of an item.

use quote::ToTokens;

use crate::diagnostic::{Diagnostic, Rule};

/// Collects the errors of one item, so that all are reported at once.
#[derive(Debug, Default)]
pub(crate) struct Errors {
    list: Vec<Diagnostic>,
}

impl Errors {
    /// Notes a form that the language does not have, at `tokens`.
    pub(crate) fn push(
        &mut self,
        tokens: impl ToTokens,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let rule = Rule::Syntax {
            message: message.into(),
            help: Some(help.into()),
        };
        self.push_rule(rule, tokens);
    }

    /// Notes that a rule is broken at `tokens`.
    pub(crate) fn push_rule(&mut self, rule: Rule, tokens: impl ToTokens) {
        self.list.push(Diagnostic::new(rule, tokens));
    }

    /// Notes what `syn` could not parse.
    pub(crate) fn push_syn(&mut self, error: &syn::Error, help: &str) {
        for error in error.clone() {
            let mut diagnostic = Diagnostic::from(error);
            if let Rule::Syntax { help: slot, .. } = &mut diagnostic.rule {
                *slot = Some(help.to_owned());
            }
            self.list.push(diagnostic);
        }
    }

    /// The number noted so far.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// All of them, in the order of the source.
    pub(crate) fn into_vec(self) -> Vec<Diagnostic> {
        self.list
    }
}
