//! `if`, and `match` and `if let` on optional values.

use syn::{Expr, Pat};

use super::agree::{Agreement, compare};
use super::body::{Binding, Body, Hint, MemberKind, Value};
use super::literal::tail;
use super::member::Receiver;
use super::types::{Ty, Type};
use crate::diagnostic::Rule;
use crate::ir::{self, Merge, NodeOp, ValueId};

/// One branch after it was lowered.
struct Branch {
    value: Option<Value>,
    nodes: Vec<ir::Node>,
    /// The value of every outer variable at its end.
    slots: Vec<ValueId>,
}

/// A branch as written.
enum Arm<'e> {
    Block(&'e syn::Block),
    Expr(&'e Expr),
}

impl<'e> Arm<'e> {
    /// The expression that it results in.
    fn value(&self) -> Option<&'e Expr> {
        match self {
            Arm::Block(block) => tail(block),
            Arm::Expr(Expr::Block(block)) => tail(&block.block),
            Arm::Expr(expr) => Some(expr),
        }
    }
}

enum OptionPattern<'p> {
    Some(&'p Pat),
    None,
}

impl Body<'_, '_> {
    /// `if c { .. } else { .. }`, also `if let Some(x) = o`.
    pub(crate) fn if_expr(&mut self, branch: &syn::ExprIf, hint: Hint<'_>, expr: &Expr) -> Value {
        if let Expr::Let(condition) = &*branch.cond {
            return self.if_let(branch, condition, hint, expr);
        }
        let condition = self.condition(&branch.cond);
        let yes = Arm::Block(&branch.then_branch);
        let no = branch.else_branch.as_ref().map(|(_, no)| Arm::Expr(no));
        let (yes, no) = self.branches(yes, no, hint, |_| {}, |_| {});
        let Some(ty) = self.branch_type(&yes, &no, expr) else {
            return Value::unknown();
        };
        let Some(condition) = condition else {
            return if ty == Type::Unit {
                Value { id: 0, ty }
            } else {
                Value::unknown()
            };
        };
        let (yes, no, merges) = self.merge(yes, no, &ty);
        self.emit(
            NodeOp::If {
                condition: condition.id,
                yes,
                no,
                merges,
            },
            ty,
            expr,
        )
    }

    fn if_let(
        &mut self,
        branch: &syn::ExprIf,
        condition: &syn::ExprLet,
        hint: Hint<'_>,
        expr: &Expr,
    ) -> Value {
        let yes = Arm::Block(&branch.then_branch);
        let no = branch.else_branch.as_ref().map(|(_, no)| Arm::Expr(no));
        match option_pattern(&condition.pat) {
            Some(OptionPattern::Some(pat)) => {
                self.match_option(&condition.expr, Some(pat), yes, no, hint, expr)
            }
            Some(OptionPattern::None) => match no {
                // `if let None = o { a } else { b }` has its branches the other way round.
                Some(other) => {
                    self.match_option(&condition.expr, None, other, Some(yes), hint, expr)
                }
                None => {
                    let empty: syn::Block = syn::parse_quote!({});
                    self.match_option(
                        &condition.expr,
                        None,
                        Arm::Block(&empty),
                        Some(yes),
                        hint,
                        expr,
                    )
                }
            },
            None => self.unsupported(
                "this pattern",
                "write `Some(name)` or `None`",
                &condition.pat,
            ),
        }
    }

    /// `match o { Some(x) => .., None => .. }`.
    pub(crate) fn match_expr(
        &mut self,
        matched: &syn::ExprMatch,
        hint: Hint<'_>,
        expr: &Expr,
    ) -> Value {
        let mut some: Option<(Option<&Pat>, &Expr)> = None;
        let mut none: Option<&Expr> = None;
        for arm in &matched.arms {
            let body = &*arm.body;
            match option_pattern(&arm.pat) {
                Some(OptionPattern::Some(pat)) if some.is_none() => some = Some((Some(pat), body)),
                Some(OptionPattern::None) if none.is_none() => none = Some(body),
                _ => match &arm.pat {
                    Pat::Wild(_) if some.is_none() || none.is_none() => {
                        if none.is_none() {
                            none = Some(body);
                        }
                        if some.is_none() {
                            some = Some((None, body));
                        }
                    }
                    _ => {
                        return self.unsupported(
                            "this pattern",
                            "match optional values with `Some(name)` and `None`, each once",
                            &arm.pat,
                        );
                    }
                },
            }
        }
        match (some, none) {
            (Some((pat, some)), Some(none)) => {
                let (yes, no) = (Arm::Expr(some), Some(Arm::Expr(none)));
                self.match_option(&matched.expr, pat, yes, no, hint, expr)
            }
            (some, _) => {
                let missing = if some.is_none() {
                    "Some(value)"
                } else {
                    "None"
                };
                self.fail(
                    Rule::NotExhaustive {
                        missing: missing.to_owned(),
                    },
                    matched.match_token,
                )
            }
        }
    }

    fn match_option(
        &mut self,
        input: &Expr,
        pat: Option<&Pat>,
        yes: Arm<'_>,
        no: Option<Arm<'_>>,
        hint: Hint<'_>,
        expr: &Expr,
    ) -> Value {
        let bare = match input {
            Expr::Reference(reference) => &*reference.expr,
            input => input,
        };
        let by_mut = matches!(input, Expr::Reference(reference) if reference.mutability.is_some());
        if let Some(Receiver::Sub(member)) = self.receiver(bare) {
            return self.match_block(&member, by_mut, bare, pat, (yes, no), hint, expr);
        }
        let value = self.expr(bare, Hint::None);
        let content = match &value.ty {
            Type::Unknown => Type::Unknown,
            Type::Option(inner) => (**inner).clone(),
            ty => {
                let rule = Rule::TypeMismatch {
                    place: "a pattern `Some(..)`".to_owned(),
                    expected: "an optional value".to_owned(),
                    expected_note: None,
                    found: ty.to_string(),
                    help: Some("it is always there: use it as it is".to_owned()),
                };
                self.report(rule, input);
                Type::Unknown
            }
        };
        let known = !content.is_unknown();
        let some = self.fresh();
        let (yes, no) = self.branches(
            yes,
            no,
            hint,
            |body| {
                if let Some(pat) = pat {
                    body.bind_pattern(
                        pat,
                        Value {
                            id: some,
                            ty: content,
                        },
                    );
                }
            },
            |_| {},
        );
        let Some(ty) = self.branch_type(&yes, &no, expr) else {
            return Value::unknown();
        };
        if !known {
            return if ty == Type::Unit {
                Value { id: 0, ty }
            } else {
                Value::unknown()
            };
        }
        let (yes, no, merges) = self.merge(yes, no, &ty);
        self.emit(
            NodeOp::MatchOption {
                input: value.id,
                some,
                yes,
                no,
                merges,
            },
            ty,
            expr,
        )
    }

    /// `if let Some(b) = &self.member`, where the member is an optional block:
    /// the name stands for the block as a loop's element does.
    #[allow(clippy::too_many_arguments, reason = "the parts of one expression")]
    fn match_block(
        &mut self,
        member: &str,
        by_mut: bool,
        input: &Expr,
        pat: Option<&Pat>,
        (yes, no): (Arm<'_>, Option<Arm<'_>>),
        hint: Hint<'_>,
        expr: &Expr,
    ) -> Value {
        let (block, optional) = match self.member(member).map(|member| &member.kind) {
            Some(MemberKind::Sub {
                block, optional, ..
            }) => (block.clone(), *optional),
            _ => (None, false),
        };
        if !optional {
            let rule = Rule::TypeMismatch {
                place: "a pattern `Some(..)`".to_owned(),
                expected: "an optional value".to_owned(),
                expected_note: None,
                found: "a block that is always there".to_owned(),
                help: Some(format!(
                    "call one of its functions, as in `self.{member}.forward(x)`"
                )),
            };
            return self.fail(rule, input);
        }
        let presence = Type::Option(Box::new(Type::Unit));
        let value = self.emit(NodeOp::Member(vec![member.to_owned()]), presence, input);
        let some = self.fresh();
        let of = format!("self.{member}");
        let name = match pat {
            Some(Pat::Ident(ident)) => Some(ident.ident.to_string()),
            Some(Pat::Wild(_)) | None => None,
            Some(pat) => {
                return self.unsupported("this pattern", "write `Some(name)`", pat);
            }
        };
        let (yes, no) = self.branches(
            yes,
            no,
            hint,
            |body| {
                if let Some(name) = name {
                    body.bind(
                        name,
                        Binding::Element {
                            id: some,
                            block,
                            by_mut,
                            of,
                        },
                    );
                }
            },
            |_| {},
        );
        let Some(ty) = self.branch_type(&yes, &no, expr) else {
            return Value::unknown();
        };
        let (yes, no, merges) = self.merge(yes, no, &ty);
        self.emit(
            NodeOp::MatchOption {
                input: value.id,
                some,
                yes,
                no,
                merges,
            },
            ty,
            expr,
        )
    }

    /// Lowers two branches, each from the variables as they are now. One whose
    /// value takes its type from the other comes second.
    fn branches(
        &mut self,
        yes: Arm<'_>,
        no: Option<Arm<'_>>,
        hint: Hint<'_>,
        before_yes: impl FnOnce(&mut Self),
        before_no: impl FnOnce(&mut Self),
    ) -> (Branch, Branch) {
        let Some(no) = no else {
            let yes = self.branch(yes, Hint::None, before_yes);
            let slots = self.slots.iter().map(|slot| slot.id).collect();
            return (
                yes,
                Branch {
                    value: None,
                    nodes: Vec::new(),
                    slots,
                },
            );
        };
        let takes = |body: &Self, arm: &Arm<'_>| {
            arm.value().is_some_and(|value| {
                body.flexible(value, &|_| false)
                    || matches!(value, Expr::Path(path) if path.path.is_ident("None"))
            })
        };
        if takes(self, &yes) && !takes(self, &no) && !matches!(hint, Hint::Type(_)) {
            let no = self.branch(no, hint, before_no);
            let ty = no.value.as_ref().map(|value| value.ty.clone());
            let yes = self.branch(yes, ty.as_ref().map_or(hint, Hint::Type), before_yes);
            return (yes, no);
        }
        let follows = takes(self, &no) && !matches!(hint, Hint::Type(_));
        let yes = self.branch(yes, hint, before_yes);
        let ty = yes.value.as_ref().map(|value| value.ty.clone());
        let no_hint = match &ty {
            Some(ty) if follows => Hint::Type(ty),
            _ => hint,
        };
        let no = self.branch(no, no_hint, before_no);
        (yes, no)
    }

    fn branch(&mut self, arm: Arm<'_>, hint: Hint<'_>, before: impl FnOnce(&mut Self)) -> Branch {
        let outer: Vec<ValueId> = self.slots.iter().map(|slot| slot.id).collect();
        let n = outer.len();
        let ((value, slots), nodes) = self.nested(|body| {
            before(body);
            let value = match arm {
                Arm::Block(block) => body.scoped(|body| body.statements(block, hint)),
                Arm::Expr(expr) => Some(body.expr(expr, hint)),
            };
            (value, body.slots[..n].iter().map(|slot| slot.id).collect())
        });
        for (slot, id) in self.slots.iter_mut().zip(outer) {
            slot.id = id;
        }
        let value = value.filter(|value| value.ty != Type::Unit);
        Branch {
            value,
            nodes,
            slots,
        }
    }

    /// The type of the two branches. None after an error.
    fn branch_type(&mut self, yes: &Branch, no: &Branch, expr: &Expr) -> Option<Ty> {
        match (&yes.value, &no.value) {
            (None, None) => Some(Type::Unit),
            (Some(a), Some(b)) => {
                if a.ty.is_unknown() || b.ty.is_unknown() {
                    return None;
                }
                let agreement = compare(&a.ty, &b.ty, &self.facts);
                if agreement == Agreement::Yes {
                    return Some(a.ty.clone());
                }
                let help = self.shape_help(&agreement, &a.ty, &b.ty, "value");
                let rule = Rule::Branches {
                    first: a.ty.to_string(),
                    second: b.ty.to_string(),
                    help,
                };
                self.report(rule, expr);
                None
            }
            (a, b) => {
                let text = |value: &Option<Value>| {
                    value
                        .as_ref()
                        .map_or("()".to_owned(), |value| value.ty.to_string())
                };
                let known = [a, b]
                    .into_iter()
                    .flatten()
                    .all(|value| !value.ty.is_unknown());
                if known {
                    let rule = Rule::Branches {
                        first: text(a),
                        second: text(b),
                        help: Some("let both end with a value, or neither".to_owned()),
                    };
                    self.report(rule, expr);
                }
                None
            }
        }
    }

    /// The bodies of two branches, and the variables that depend on which ran.
    fn merge(&mut self, yes: Branch, no: Branch, ty: &Ty) -> (ir::Body, ir::Body, Vec<Merge>) {
        let mut merges = Vec::new();
        for i in 0..self.slots.len() {
            let (first, second) = (yes.slots[i], no.slots[i]);
            if first == self.slots[i].id && second == self.slots[i].id {
                continue;
            }
            let out = self.fresh();
            self.slots[i].id = out;
            merges.push(Merge { first, second, out });
        }
        let body = |branch: Branch| ir::Body {
            nodes: branch.nodes,
            result: branch
                .value
                .filter(|_| *ty != Type::Unit)
                .map(|value| value.id),
        };
        (body(yes), body(no), merges)
    }
}

/// `Some(x)` or `None`.
fn option_pattern(pat: &Pat) -> Option<OptionPattern<'_>> {
    match pat {
        Pat::Paren(paren) => option_pattern(&paren.pat),
        Pat::TupleStruct(some) if some.path.is_ident("Some") && some.elems.len() == 1 => {
            some.elems.first().map(OptionPattern::Some)
        }
        Pat::Ident(ident) if ident.ident == "None" && ident.subpat.is_none() => {
            Some(OptionPattern::None)
        }
        Pat::Path(path) if path.path.is_ident("None") => Some(OptionPattern::None),
        _ => None,
    }
}
