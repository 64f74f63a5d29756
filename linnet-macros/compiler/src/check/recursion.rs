//! Functions of a block may not call each other in a circle.

use std::collections::BTreeMap;

use syn::Expr;

use crate::ast;
use crate::diagnostic::{Diagnostic, Rule};

/// Reports every circle of calls once, at the first of its functions.
pub(crate) fn check_recursion(functions: &[ast::FnDecl], diagnostics: &mut Vec<Diagnostic>) {
    let calls: BTreeMap<String, Vec<String>> = functions
        .iter()
        .map(|function| (function.name.to_string(), own_calls(function)))
        .collect();
    let mut reported: Vec<String> = Vec::new();
    for function in functions {
        let name = function.name.to_string();
        if reported.contains(&name) {
            continue;
        }
        if let Some(circle) = circle_from(&name, &calls) {
            reported.extend(circle.iter().cloned());
            diagnostics.push(Diagnostic::new(Rule::Recursion { circle }, &function.name));
        }
    }
}

/// The shortest circle of calls through a function, itself at both ends.
fn circle_from(start: &str, calls: &BTreeMap<String, Vec<String>>) -> Option<Vec<String>> {
    let mut paths = vec![vec![start.to_owned()]];
    let mut seen: Vec<String> = Vec::new();
    while !paths.is_empty() {
        let mut longer = Vec::new();
        for path in paths {
            let last = path.last()?;
            for next in calls.get(last).into_iter().flatten() {
                let mut path = path.clone();
                path.push(next.clone());
                if next == start {
                    return Some(path);
                }
                if calls.contains_key(next) && !seen.contains(next) {
                    seen.push(next.clone());
                    longer.push(path);
                }
            }
        }
        paths = longer;
    }
    None
}

/// The functions of the same block that a body calls.
fn own_calls(function: &ast::FnDecl) -> Vec<String> {
    struct Calls(Vec<String>);
    impl<'ast> syn::visit::Visit<'ast> for Calls {
        fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
            if matches!(&*call.receiver, Expr::Path(path) if path.path.is_ident("self")) {
                self.0.push(call.method.to_string());
            }
            syn::visit::visit_expr_method_call(self, call);
        }
    }
    let mut calls = Calls(Vec::new());
    if let Some(body) = &function.body {
        syn::visit::Visit::visit_block(&mut calls, body);
    }
    calls.0
}
