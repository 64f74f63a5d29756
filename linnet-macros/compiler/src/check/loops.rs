//! Loops over block arrays and over dimensions.

use std::collections::BTreeSet;

use syn::{Expr, Pat};

use super::body::{Binding, Body, Hint, MemberKind, Value};
use super::literal::tail;
use super::member::Receiver;
use super::types::{Type, dim_to_ir};
use crate::diagnostic::Rule;
use crate::ir::{self, Carried, Comparison, NodeOp, ValueId};

impl Body<'_, '_> {
    /// `for block in &self.blocks` and `for i in a..b`.
    pub(crate) fn for_loop(&mut self, looped: &syn::ExprForLoop, expr: &Expr) -> Value {
        let unit = Value {
            id: 0,
            ty: Type::Unit,
        };
        if let Some(label) = &looped.label {
            return self.unsupported("a label", "remove it", label);
        }
        match &*looped.expr {
            Expr::Range(range) => self.for_range(looped, range, expr),
            Expr::Reference(reference) => {
                self.for_blocks(
                    looped,
                    &reference.expr,
                    reference.mutability.is_some(),
                    expr,
                );
                unit
            }
            iterated => {
                let help = match self.receiver(iterated) {
                    Some(Receiver::Sub(member)) => {
                        format!("write `for block in &self.{member}`, or `&mut` to change state")
                    }
                    _ => "write `for block in &self.blocks` or `for i in 0..N`".to_owned(),
                };
                self.bind_loop_unknown(looped);
                self.unsupported("a loop over this", help, iterated)
            }
        }
    }

    /// Checks the body of a loop whose head has an error.
    fn bind_loop_unknown(&mut self, looped: &syn::ExprForLoop) {
        self.nested(|body| {
            body.bind_unknown(&looped.pat);
            body.statements(&looped.body, Hint::None);
        });
    }

    fn for_blocks(
        &mut self,
        looped: &syn::ExprForLoop,
        iterated: &Expr,
        by_mut: bool,
        expr: &Expr,
    ) {
        let Some(Receiver::Sub(member)) = self.receiver(iterated) else {
            if let Expr::Field(field) = iterated
                && let Some(Receiver::Own) = self.receiver(&field.base)
                && let syn::Member::Named(name) = &field.member
                && self.member(&name.to_string()).is_none()
            {
                self.no_member(&name.to_string(), name);
            } else {
                self.unsupported(
                    "a loop over this",
                    "write `for block in &self.blocks`, where `blocks` is an array of blocks",
                    iterated,
                );
            }
            return self.bind_loop_unknown(looped);
        };
        let (block, array) = match self.member(&member).map(|member| &member.kind) {
            Some(MemberKind::Sub { block, array, .. }) => (block.clone(), *array),
            _ => (None, false),
        };
        if !array {
            self.report(
                Rule::TypeMismatch {
                    place: "a loop".to_owned(),
                    expected: "an array of blocks".to_owned(),
                    expected_note: None,
                    found: "one block".to_owned(),
                    help: Some(format!(
                        "call one of its functions, as in `self.{member}.forward(x)`"
                    )),
                },
                iterated,
            );
            return self.bind_loop_unknown(looped);
        }
        if by_mut && self.sig.receiver != ir::Receiver::Mut {
            self.report(
                Rule::MutCallInRef {
                    what: format!("a loop over `&mut self.{member}`"),
                    against: format!("`{}` takes `&self`", self.sig.name),
                    help: format!(
                        "declare `fn {}(&mut self, ..)`, or loop over `&self.{member}`",
                        self.sig.name
                    ),
                },
                &looped.expr,
            );
        }
        let name = match &*looped.pat {
            Pat::Ident(ident) if ident.subpat.is_none() && ident.mutability.is_none() => {
                Some(ident.ident.to_string())
            }
            Pat::Wild(_) => None,
            pat => {
                self.unsupported("this pattern", "name the block: `for block in ..`", pat);
                return self.bind_loop_unknown(looped);
            }
        };
        let id = self.fresh();
        let of = format!("self.{member}");
        let (carried, body) = self.turn(looped, |body| {
            if let Some(name) = name {
                body.bind(
                    name,
                    Binding::Element {
                        id,
                        block,
                        by_mut,
                        of,
                    },
                );
            }
        });
        self.emit(
            NodeOp::ForBlocks {
                member,
                element: id,
                carried,
                body,
            },
            Type::Unit,
            expr,
        );
    }

    fn for_range(
        &mut self,
        looped: &syn::ExprForLoop,
        range: &syn::ExprRange,
        expr: &Expr,
    ) -> Value {
        let unit = Value {
            id: 0,
            ty: Type::Unit,
        };
        let (Some(start), Some(end), syn::RangeLimits::HalfOpen(_)) =
            (&range.start, &range.end, &range.limits)
        else {
            self.bind_loop_unknown(looped);
            return self.unsupported("this range", "write both ends: `0..N`", range);
        };
        let first = self.written_dim(start);
        let last = self.written_dim(end);
        let name = match &*looped.pat {
            Pat::Ident(ident) if ident.subpat.is_none() && ident.mutability.is_none() => {
                Some(ident.ident.to_string())
            }
            Pat::Wild(_) => None,
            pat => {
                self.bind_loop_unknown(looped);
                return self.unsupported("this pattern", "name the index: `for i in 0..N`", pat);
            }
        };
        let (Some(first), Some(last)) = (first, last) else {
            self.bind_loop_unknown(looped);
            return unit;
        };
        if !self.facts.prove(&first, Comparison::Le, &last) {
            let expression = format!("{last} - {first}");
            let clause =
                super::obligation::clause_to_add(&self.facts, &first, Comparison::Le, &last);
            let missing = (!self.facts.refute(&first, Comparison::Le, &last))
                .then(|| self.owner.add(&clause));
            self.report(
                Rule::Negative {
                    expression,
                    missing,
                },
                range,
            );
        }
        let id = self.fresh();
        let (carried, body) = self.turn(looped, |body| {
            if let Some(name) = name {
                body.bind(name, Binding::LoopIndex(id));
            }
        });
        let op = NodeOp::ForRange {
            start: dim_to_ir(&first),
            end: dim_to_ir(&last),
            index: id,
            carried,
            body,
        };
        self.emit(op, Type::Unit, expr);
        unit
    }

    /// One turn of a loop, and the variables that it carries to the next.
    fn turn(
        &mut self,
        looped: &syn::ExprForLoop,
        before: impl FnOnce(&mut Self),
    ) -> (Vec<Carried>, ir::Body) {
        let assigned = assigned_names(&looped.body);
        let mut carried: Vec<(usize, ValueId, ValueId)> = Vec::new();
        for name in assigned {
            if let Some(Binding::Local(slot)) = self.lookup(&name)
                && self.slots[*slot].mutable
            {
                carried.push((*slot, self.slots[*slot].id, 0));
            }
        }
        for (slot, _, entering) in &mut carried {
            *entering = self.fresh();
            self.slots[*slot].id = *entering;
        }
        let (leaving, nodes) = self.nested(|body| {
            before(body);
            let value = body.scoped(|body| body.statements(&looped.body, Hint::None));
            if let Some(value) = value
                && !matches!(value.ty, Type::Unit | Type::Unknown)
                && let Some(last) = tail(&looped.body)
            {
                body.report(
                    Rule::TypeMismatch {
                        place: "the body of a loop".to_owned(),
                        expected: "()".to_owned(),
                        expected_note: None,
                        found: value.ty.to_string(),
                        help: Some("assign it to a variable, or end it with `;`".to_owned()),
                    },
                    last,
                );
            }
            carried
                .iter()
                .map(|(slot, ..)| body.slots[*slot].id)
                .collect::<Vec<_>>()
        });
        let carried = carried
            .into_iter()
            .zip(leaving)
            .map(|((slot, init, entering), leaving)| {
                let out = self.fresh();
                self.slots[slot].id = out;
                Carried {
                    init,
                    entering,
                    leaving,
                    out,
                }
            })
            .collect();
        (
            carried,
            ir::Body {
                nodes,
                result: None,
            },
        )
    }
}

/// The names that a body assigns to.
fn assigned_names(block: &syn::Block) -> BTreeSet<String> {
    struct Assigned(BTreeSet<String>);
    impl Assigned {
        fn target(&mut self, target: &Expr) {
            match target {
                Expr::Path(path) => {
                    self.0
                        .extend(path.path.get_ident().map(ToString::to_string));
                }
                Expr::Paren(paren) => self.target(&paren.expr),
                _ => {}
            }
        }
    }
    impl<'ast> syn::visit::Visit<'ast> for Assigned {
        fn visit_expr_assign(&mut self, assign: &'ast syn::ExprAssign) {
            self.target(&assign.left);
            syn::visit::visit_expr_assign(self, assign);
        }

        fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
            if super::operator::compound(&binary.op).is_some() {
                self.target(&binary.left);
            }
            syn::visit::visit_expr_binary(self, binary);
        }
    }
    let mut assigned = Assigned(BTreeSet::new());
    syn::visit::Visit::visit_block(&mut assigned, block);
    assigned.0
}
