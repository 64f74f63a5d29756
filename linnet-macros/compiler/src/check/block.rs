//! The declaration of a block: requirements, members, the blocks they name.

use std::rc::Rc;

use super::body::{BlockContext, ItemContext, Member, MemberKind};
use super::call::prove_requirements;
use super::declared::well_formed;
use super::function::{check_function, facts_of, generics_to_ir};
use super::library::{Library, SubBlock, bind_arguments};
use super::obligation::{Owner, dimension};
use super::recursion::check_recursion;
use super::scope::Scope;
use super::signature::{Clause, FnSig, clauses};
use super::source;
use super::types::{Type, dim_to_ir};
use crate::ast;
use crate::diagnostic::{Checked, Diagnostic, Missing, Rule};
use crate::dim::Facts;
use crate::ir;

/// Checks the functions of a block and lowers it.
pub(crate) fn check_block(
    decl: &ast::BlockDecl,
    imp: &ast::ImplDecl,
    signatures: &[ast::Signature],
) -> Checked<ir::BlockDescriptor> {
    let mut diagnostics = Vec::new();
    let name = decl.name.to_string();
    let scope = Scope::new(&decl.generics, &[]);
    let owner = Owner {
        block: Some(name.clone()),
        block_generics: decl.generics.iter().map(|g| g.name.to_string()).collect(),
        function: None,
    };
    let requires = clauses(&decl.requires, &scope, &[], &mut diagnostics);
    let facts = facts_of(&Facts::new(), &requires, &owner, &mut diagnostics);

    let library = Library::new(signatures);
    let mut members = Vec::new();
    let mut lowered_members = Vec::new();
    for (i, member) in decl.members.iter().enumerate() {
        let earlier = &decl.members[..i];
        if earlier.iter().any(|other| other.name == member.name) {
            diagnostics.push(Diagnostic::new(
                Rule::Duplicate {
                    what: "member".to_owned(),
                    name: member.name.to_string(),
                },
                &member.name,
            ));
            continue;
        }
        let mut check = MemberCheck {
            library: &library,
            block: &name,
            scope: &scope,
            facts: &facts,
            owner: &owner,
            diagnostics: &mut diagnostics,
        };
        let (kind, lowered) = check.member(member);
        let name = member.name.to_string();
        members.push(Member {
            name: name.clone(),
            kind,
        });
        lowered_members.extend(lowered.map(|kind| ir::Member { name, kind }));
    }

    let mut functions = Vec::new();
    for (i, function) in imp.functions.iter().enumerate() {
        if imp.functions[..i]
            .iter()
            .any(|other| other.name == function.name)
        {
            diagnostics.push(Diagnostic::new(
                Rule::Duplicate {
                    what: "function".to_owned(),
                    name: function.name.to_string(),
                },
                &function.name,
            ));
        }
        functions.push(FnSig::resolve(
            function,
            Some((&name, &decl.generics)),
            &mut diagnostics,
        ));
    }
    check_recursion(&imp.functions, &mut diagnostics);
    let item = ItemContext {
        library,
        block: Some(BlockContext {
            name: name.clone(),
            generics: decl
                .generics
                .iter()
                .map(|g| (g.name.to_string(), g.kind))
                .collect(),
            members,
            functions: functions.clone(),
        }),
    };
    let mut lowered = Vec::new();
    for (function, sig) in imp.functions.iter().zip(&functions) {
        lowered.extend(check_function(
            &item,
            function,
            sig,
            &decl.generics,
            &facts,
            &owner,
            &mut diagnostics,
        ));
    }
    let descriptor = ir::BlockDescriptor {
        name,
        generics: generics_to_ir(&decl.generics),
        requires: requires.iter().map(Clause::to_ir).collect(),
        members: lowered_members,
        functions: lowered,
    };
    let value = diagnostics.is_empty().then_some(descriptor);
    Checked {
        value,
        diagnostics: each_once(diagnostics),
    }
}

/// Checks an operation's body and lowers it.
pub(crate) fn check_op(
    decl: &ast::OpDecl,
    signatures: &[ast::Signature],
) -> Checked<ir::OpDescriptor> {
    let mut diagnostics = Vec::new();
    let sig = FnSig::resolve(&decl.function, None, &mut diagnostics);
    let item = ItemContext {
        library: Library::new(signatures),
        block: None,
    };
    let function = check_function(
        &item,
        &decl.function,
        &sig,
        &[],
        &Facts::new(),
        &Owner::default(),
        &mut diagnostics,
    );
    let value = function
        .filter(|_| diagnostics.is_empty())
        .map(|function| ir::OpDescriptor {
            function,
            kernel: decl.kernel.clone(),
        });
    Checked {
        value,
        diagnostics: each_once(diagnostics),
    }
}

/// Without what is only a further place where a requirement is missing.
fn each_once(diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut reported: Vec<Missing> = Vec::new();
    let mut kept = Vec::new();
    for diagnostic in diagnostics {
        if let Some(missing) = diagnostic.rule.missing() {
            if reported.contains(missing) {
                continue;
            }
            reported.push(missing.clone());
        }
        kept.push(diagnostic);
    }
    kept
}

/// What checking one member needs.
struct MemberCheck<'c, 'a> {
    library: &'c Library<'a>,
    block: &'c str,
    scope: &'c Scope,
    facts: &'c Facts,
    owner: &'c Owner,
    diagnostics: &'c mut Vec<Diagnostic>,
}

impl<'a> MemberCheck<'_, 'a> {
    fn member(&mut self, member: &ast::Member) -> (MemberKind<'a>, Option<ir::MemberKind>) {
        match &member.kind {
            ast::MemberKind::Param(written) => {
                let pattern = self.scope.ty(written, self.diagnostics);
                let ty = well_formed(written, &pattern, self.facts, self.owner, self.diagnostics);
                let lowered = ir::MemberKind::Param(ty.to_ir());
                (MemberKind::Tensor { ty, state: false }, Some(lowered))
            }
            ast::MemberKind::State(written) => {
                let pattern = self.scope.ty(written, self.diagnostics);
                let ty = well_formed(written, &pattern, self.facts, self.owner, self.diagnostics);
                if !matches!(ty, Type::Tensor(_) | Type::Unknown) {
                    self.diagnostics.push(Diagnostic::new(
                        Rule::TypeMismatch {
                            place: format!("the state `{}`", member.name),
                            expected: "a tensor".to_owned(),
                            expected_note: None,
                            found: ty.to_string(),
                            help: Some("a state is always there: give it a tensor type".to_owned()),
                        },
                        &written.tokens,
                    ));
                }
                let lowered = ir::MemberKind::State(ty.to_ir());
                (MemberKind::Tensor { ty, state: true }, Some(lowered))
            }
            ast::MemberKind::Sub {
                ty,
                length,
                optional,
            } => self.sub(member, ty, length.as_ref(), *optional),
        }
    }

    fn sub(
        &mut self,
        member: &ast::Member,
        ty: &ast::BlockType,
        length: Option<&ast::Dim>,
        optional: bool,
    ) -> (MemberKind<'a>, Option<ir::MemberKind>) {
        let array = length.is_some();
        let length = length.map(|length| {
            let tree = self.scope.dim(length, self.diagnostics)?;
            dimension(
                &tree,
                self.facts,
                self.owner,
                &length.tokens,
                self.diagnostics,
            )
        });
        let unknown = (
            MemberKind::Sub {
                block: None,
                array,
                optional,
            },
            None,
        );
        if ty.path.is_ident(self.block) {
            self.diagnostics.push(Diagnostic::new(
                Rule::InfiniteBlock {
                    block: self.block.to_owned(),
                },
                &ty.path,
            ));
            return unknown;
        }
        let Some((decl, functions)) = self.library.block(&ty.path) else {
            self.diagnostics.push(Diagnostic::new(
                Rule::UnknownBlock {
                    path: source::text(&ty.path),
                },
                &ty.path,
            ));
            return unknown;
        };
        let (scope, facts, owner) = (self.scope, self.facts, self.owner);
        let bindings = bind_arguments(
            ty,
            decl,
            scope,
            &mut |dim, diagnostics| {
                let tree = scope.dim(dim, diagnostics)?;
                dimension(&tree, facts, owner, &dim.tokens, diagnostics)
            },
            facts,
            self.diagnostics,
        );
        let Some(bindings) = bindings else {
            return unknown;
        };
        let theirs = Scope::new(&decl.generics, &[]);
        let requires = clauses(&decl.requires, &theirs, &[], &mut Vec::new());
        let mut unproved = Vec::new();
        prove_requirements(
            &requires,
            &bindings,
            &format!("`{}`", decl.name),
            &ty.tokens,
            facts,
            owner,
            &mut unproved,
        );
        let sound = unproved.is_empty();
        self.diagnostics.extend(unproved);
        let args = decl
            .generics
            .iter()
            .filter_map(|g| bindings.get(&g.name.to_string()));
        let lowered = match length {
            Some(None) => None,
            length => Some(ir::MemberKind::Sub {
                block: ir::BlockRef {
                    path: ty.path.clone(),
                    kinds: decl.generics.iter().map(|generic| generic.kind).collect(),
                },
                args: args.map(super::scope::Bound::to_ir).collect(),
                length: length.flatten().as_ref().map(dim_to_ir),
                optional,
            }),
        };
        let _ = member;
        let block = sound.then(|| {
            Rc::new(SubBlock {
                decl,
                functions,
                bindings,
            })
        });
        (
            MemberKind::Sub {
                block,
                array,
                optional,
            },
            lowered,
        )
    }
}
