//! Which other items an item must ask for their signatures.

use std::collections::HashSet;

use syn::visit::{self, Visit};

use super::without_arguments;
use crate::ast::{BlockDecl, FnDecl, ImplDecl, MemberKind, OpDecl};
use crate::builtins;

/// Every block that a member names and every operation that a body calls,
/// each once, in the order of the source.
pub fn block_callee_paths(implementation: &ImplDecl, block: &BlockDecl) -> Vec<syn::Path> {
    let mut paths = Paths::new(&block.name.to_string());
    for member in &block.members {
        if let MemberKind::Sub { ty, .. } = &member.kind {
            paths.add(&ty.path);
        }
    }
    let generics: Vec<_> = block.generics.iter().map(|g| g.name.to_string()).collect();
    for function in &implementation.functions {
        paths.add_body(function, &generics);
    }
    paths.list
}

/// Every operation that the body of an operation calls, each once, in the
/// order of the source.
pub fn op_callee_paths(op: &OpDecl) -> Vec<syn::Path> {
    let mut paths = Paths::new(&op.function.name.to_string());
    paths.add_body(&op.function, &[]);
    paths.list
}

struct Paths {
    /// The item that asks. It has no signature to answer yet, and recursion is
    /// the checker's to report.
    own: String,
    seen: HashSet<String>,
    list: Vec<syn::Path>,
    /// First segments that name no module: generics and dtypes.
    generics: HashSet<String>,
}

impl Paths {
    fn new(own: &str) -> Self {
        Self {
            own: own.to_owned(),
            seen: HashSet::new(),
            list: Vec::new(),
            generics: HashSet::new(),
        }
    }

    fn add(&mut self, path: &syn::Path) {
        let path = without_arguments(path);
        if path.is_ident(&self.own) {
            return;
        }
        let first = path.segments[0].ident.to_string();
        if path.segments.len() > 1
            && (first == "Self"
                || builtins::dtype(&first).is_some()
                || self.generics.contains(&first))
        {
            return;
        }
        if self.seen.insert(super::text(&path)) {
            self.list.push(path);
        }
    }

    fn add_body(&mut self, function: &FnDecl, block_generics: &[String]) {
        let Some(body) = &function.body else {
            return;
        };
        self.generics = block_generics.iter().cloned().collect();
        self.generics
            .extend(function.generics.iter().map(|g| g.name.to_string()));
        self.visit_block(body);
    }
}

// Macros within bodies (`index!`, `s!`) hold only what the language defines,
// so `visit_macro` stays as it is and looks into none.
impl<'ast> Visit<'ast> for Paths {
    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let syn::Expr::Path(func) = call.func.as_ref()
            && func.qself.is_none()
        {
            let is_builtin = func.path.segments.len() == 1 && {
                let name = func.path.segments[0].ident.to_string();
                builtins::is_function(&name) || builtins::CONSTRUCTORS.contains(&name.as_str())
            };
            if !is_builtin {
                self.add(&func.path);
            }
        }
        visit::visit_expr_call(self, call);
    }
}
