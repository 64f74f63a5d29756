//! Statements: let, assignment, and the value of a block.

use quote::ToTokens;
use syn::{Expr, Pat, Stmt};

use super::agree::{Agreement, compare};
use super::body::{Binding, Body, Hint, MemberKind, Value};
use super::member::Receiver;
use super::source;
use super::types::{Ty, Type};
use crate::diagnostic::Rule;
use crate::ir::{self, BinaryOp, NodeOp};
use crate::syntax;

/// Something that an assignment writes.
enum Place {
    Local(usize),
    MutParam(u32),
    State(String, Ty),
}

impl Body<'_, '_> {
    /// The statements of a block; results in the value of its last expression.
    pub(crate) fn statements(&mut self, block: &syn::Block, hint: Hint<'_>) -> Option<Value> {
        let n = block.stmts.len();
        let mut result = None;
        for (i, stmt) in block.stmts.iter().enumerate() {
            match stmt {
                Stmt::Local(local) => self.local(local),
                Stmt::Expr(expr, None) if i + 1 == n => result = Some(self.expr(expr, hint)),
                Stmt::Expr(expr, _) => self.statement(expr),
                Stmt::Macro(mac) => {
                    let expr = Expr::Macro(syn::ExprMacro {
                        attrs: mac.attrs.clone(),
                        mac: mac.mac.clone(),
                    });
                    if i + 1 == n && mac.semi_token.is_none() {
                        result = Some(self.expr(&expr, hint));
                    } else {
                        self.statement(&expr);
                    }
                }
                Stmt::Item(item) => {
                    self.unsupported(
                        "an item within a body",
                        "declare it outside of the block",
                        item,
                    );
                }
            }
        }
        result
    }

    /// The statements of a function, of which the last may be `return`.
    pub(crate) fn function_body(&mut self, block: &syn::Block, ret: &Ty) -> Option<Value> {
        let hint = Hint::Type(ret);
        if let Some(Stmt::Expr(Expr::Return(returned), _)) = block.stmts.last() {
            let mut before = block.clone();
            before.stmts.pop();
            self.statements(&before, Hint::None);
            return returned.expr.as_ref().map(|expr| self.expr(expr, hint));
        }
        self.statements(block, hint)
    }

    /// An expression whose value nobody reads.
    fn statement(&mut self, expr: &Expr) {
        // A literal that nobody reads needs no dtype.
        if !self.flexible(expr, &|_| false) {
            let value = self.expr(expr, Hint::None);
            self.assert_reported(&value, expr);
        }
    }

    fn local(&mut self, local: &syn::Local) {
        let (pat, written) = match &local.pat {
            Pat::Type(typed) => (&*typed.pat, Some(&*typed.ty)),
            pat => (pat, None),
        };
        let Some(init) = &local.init else {
            self.unsupported("`let` without a value", "write `let x = ..;`", local);
            self.bind_unknown(pat);
            return;
        };
        if let Some((_, diverge)) = &init.diverge {
            self.unsupported(
                "`let .. else`",
                "write `if let Some(x) = .. { .. } else { .. }`",
                diverge,
            );
            self.bind_unknown(pat);
            return;
        }
        let expected = match written {
            Some(ty) => match self.written_type(ty) {
                Some(ty) => Some(ty),
                None => {
                    // The value may have errors of its own.
                    self.expr(&init.expr, Hint::Type(&Type::Unknown));
                    self.bind_unknown(pat);
                    return;
                }
            },
            None => None,
        };
        let hint = expected.as_ref().map_or(Hint::None, Hint::Type);
        let mut value = self.expr(&init.expr, hint);
        if let Some(expected) = expected {
            let name = source::text(pat);
            let place = format!("the value of `{name}`");
            self.expect(&value, &expected, &place, None, &init.expr);
            if !value.ty.is_unknown() {
                value.ty = expected;
            }
        }
        self.assert_reported(&value, &init.expr);
        self.bind_pattern(pat, value);
    }

    /// A type written in a body. None after an error.
    pub(crate) fn written_type(&mut self, ty: &syn::Type) -> Option<Ty> {
        let parsed = match syntax::parse_type(ty) {
            Ok(parsed) => parsed,
            Err(errors) => {
                self.report_all(errors);
                return None;
            }
        };
        let mut diagnostics = Vec::new();
        let pattern = self.scope.ty(&parsed, &mut diagnostics);
        self.report_all(diagnostics);
        if pattern.is_unknown() {
            return None;
        }
        let ty = super::declared::well_formed(
            &parsed,
            &pattern,
            &self.facts,
            &self.owner,
            &mut self.diagnostics,
        );
        (!ty.is_unknown()).then_some(ty)
    }

    /// Binds the names of a pattern to a value.
    pub(crate) fn bind_pattern(&mut self, pat: &Pat, value: Value) {
        match pat {
            Pat::Ident(ident) if ident.subpat.is_none() && ident.by_ref.is_none() => {
                if value.ty == Type::Unit {
                    self.report(
                        Rule::TypeMismatch {
                            place: format!("the value of `{}`", ident.ident),
                            expected: "a value".to_owned(),
                            expected_note: None,
                            found: "()".to_owned(),
                            help: Some("what is called here returns nothing".to_owned()),
                        },
                        pat,
                    );
                    return self.bind_unknown(pat);
                }
                self.bind_local(ident.ident.to_string(), value, ident.mutability.is_some());
            }
            Pat::Wild(_) => {}
            Pat::Paren(paren) => self.bind_pattern(&paren.pat, value),
            Pat::Tuple(tuple) => match &value.ty {
                Type::Unknown => tuple.elems.iter().for_each(|pat| self.bind_unknown(pat)),
                Type::Tuple(parts) if parts.len() == tuple.elems.len() => {
                    let parts = parts.clone();
                    for (i, (pat, ty)) in tuple.elems.iter().zip(parts).enumerate() {
                        let part = if value.ty.is_unknown() {
                            Value { id: 0, ty }
                        } else {
                            let number = u32::try_from(i).unwrap_or(u32::MAX);
                            self.emit(NodeOp::Field(value.id, number), ty, pat)
                        };
                        self.bind_pattern(pat, part);
                    }
                }
                ty => {
                    let n = tuple.elems.len();
                    let found = ty.to_string();
                    self.report(
                        Rule::TypeMismatch {
                            place: "the pattern of a `let`".to_owned(),
                            expected: format!("a tuple of {n} values"),
                            expected_note: None,
                            found,
                            help: None,
                        },
                        pat,
                    );
                    tuple.elems.iter().for_each(|pat| self.bind_unknown(pat));
                }
            },
            _ => {
                self.unsupported(
                    "this pattern",
                    "write a name, `_`, or a tuple of those",
                    pat,
                );
                self.bind_unknown(pat);
            }
        }
    }

    /// Binds the names of a pattern after an error, so that their uses stay silent.
    pub(crate) fn bind_unknown(&mut self, pat: &Pat) {
        struct Names(Vec<String>);
        impl<'ast> syn::visit::Visit<'ast> for Names {
            fn visit_pat_ident(&mut self, ident: &'ast syn::PatIdent) {
                self.0.push(ident.ident.to_string());
            }
        }
        let mut names = Names(Vec::new());
        syn::visit::Visit::visit_pat(&mut names, pat);
        for name in names.0 {
            self.bind_local(name, Value::unknown(), true);
        }
    }

    /// `x = e`, `x += e`, `self.state = e` and `*param = e`.
    pub(crate) fn assignment(&mut self, expr: &Expr) -> Value {
        let unit = Value {
            id: 0,
            ty: Type::Unit,
        };
        let (target, op, value) = match expr {
            Expr::Assign(assign) => (&*assign.left, None, &*assign.right),
            Expr::Binary(binary) => match super::operator::compound(&binary.op) {
                Some(op) => (&*binary.left, Some(op), &*binary.right),
                None => {
                    return self.unsupported(
                        "this operator",
                        "write `+ - * / %`, comparisons, `&& ||` or `& | ^ << >>`",
                        binary.op,
                    );
                }
            },
            _ => return unit,
        };
        let Some(place) = self.place(target) else {
            self.expr(value, Hint::Type(&Type::Unknown));
            return unit;
        };
        let ty = match &place {
            Place::Local(slot) => self.slots[*slot].ty.clone(),
            Place::MutParam(number) => self.params[*number as usize].clone(),
            Place::State(_, ty) => ty.clone(),
        };
        let new = match op {
            None => self.expr(value, Hint::Type(&ty)),
            Some(op) => self.updated(&place, &ty, op, target, value, expr),
        };
        let name = source::text(target);
        let what = match &place {
            Place::State(..) => format!("the new value of the state `{name}`"),
            _ => format!("the new value of `{name}`"),
        };
        self.assert_reported(&new, value);
        let ok = self.expect(&new, &ty, &what, None, value);
        if new.ty.is_unknown() || !ok {
            if let Place::Local(slot) = place
                && ty.is_unknown()
            {
                self.slots[slot].id = new.id;
            }
            return unit;
        }
        match place {
            Place::Local(slot) => {
                // What was unknown until here takes the first type that it gets.
                if ty.is_unknown() && compare(&ty, &new.ty, &self.facts) == Agreement::Yes {
                    return unit;
                }
                self.slots[slot].id = new.id;
            }
            Place::MutParam(number) => {
                self.emit(NodeOp::SetMut(number, new.id), Type::Unit, expr);
            }
            Place::State(state, _) => {
                self.emit(NodeOp::SetState(state, new.id), Type::Unit, expr);
            }
        }
        unit
    }

    /// The value of a compound assignment.
    fn updated(
        &mut self,
        place: &Place,
        ty: &Ty,
        op: BinaryOp,
        target: &Expr,
        value: &Expr,
        whole: &Expr,
    ) -> Value {
        let old = match place {
            Place::Local(slot) => Value {
                id: self.slots[*slot].id,
                ty: ty.clone(),
            },
            Place::MutParam(number) => self.emit(NodeOp::ReadMut(*number), ty.clone(), target),
            Place::State(state, _) => {
                self.emit(NodeOp::Member(vec![state.clone()]), ty.clone(), target)
            }
        };
        let hint = old.ty.dtype().cloned();
        let right = match &hint {
            Some(dtype) => self.expr(value, Hint::DType(dtype)),
            None if self.flexible(value, &|_| false) => Value::unknown(),
            None => self.expr(value, Hint::None),
        };
        self.apply_binary(op, old, right, target, value, whole)
    }

    /// What an assignment writes. None after an error.
    fn place(&mut self, target: &Expr) -> Option<Place> {
        match target {
            Expr::Paren(paren) => self.place(&paren.expr),
            Expr::Path(path) if path.path.get_ident().is_some() => {
                let name = source::text(path);
                match self.lookup(&name).cloned() {
                    Some(Binding::Local(slot)) if self.slots[slot].mutable => {
                        Some(Place::Local(slot))
                    }
                    Some(Binding::Local(slot)) => {
                        let (what, help) = if self.slots[slot].param {
                            (
                                "the parameter",
                                format!("write `let mut {name} = {name};` first"),
                            )
                        } else {
                            ("the variable", format!("declare it with `let mut {name}`"))
                        };
                        self.report(
                            Rule::NotAssignable {
                                what: format!("{what} `{name}`"),
                                help,
                            },
                            target,
                        );
                        None
                    }
                    Some(Binding::MutParam(_)) => {
                        self.report(
                            Rule::NotAssignable {
                                what: format!("the reference `{name}`"),
                                help: format!("write `*{name} = ..`"),
                            },
                            target,
                        );
                        None
                    }
                    Some(Binding::Element { .. } | Binding::LoopIndex(_)) => {
                        self.report(
                            Rule::NotAssignable {
                                what: format!("the loop's `{name}`"),
                                help: "it is what the turn of the loop is about".to_owned(),
                            },
                            target,
                        );
                        None
                    }
                    None => {
                        self.unknown_name(&name, target);
                        None
                    }
                }
            }
            Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Deref(_)) => {
                if let Expr::Path(path) = &*unary.expr
                    && let Some(name) = path.path.get_ident()
                {
                    let text = name.to_string();
                    match self.lookup(&text).cloned() {
                        Some(Binding::MutParam(number)) => return Some(Place::MutParam(number)),
                        Some(Binding::Local(slot)) => {
                            let (what, help) = if self.slots[slot].param {
                                (
                                    format!("the parameter `{text}`"),
                                    format!("declare it `{text}: &mut ..` to update the caller's"),
                                )
                            } else {
                                (format!("`*{text}`"), format!("write `{text} = ..`"))
                            };
                            self.report(Rule::NotAssignable { what, help }, target);
                            return None;
                        }
                        None => {
                            self.unknown_name(&text, name);
                            return None;
                        }
                        Some(_) => {}
                    }
                }
                self.not_assignable(target)
            }
            Expr::Field(field) => {
                let Some(Receiver::Own) = self.receiver(&field.base) else {
                    return self.not_assignable(target);
                };
                let syn::Member::Named(name) = &field.member else {
                    return self.not_assignable(target);
                };
                let text = name.to_string();
                match self.member(&text).map(|member| &member.kind) {
                    Some(MemberKind::Tensor { ty, state: true }) => {
                        let ty = ty.clone();
                        if self.sig.receiver != ir::Receiver::Mut {
                            let function = self.sig.name.clone();
                            self.report(
                                Rule::WriteInRef {
                                    function,
                                    state: text,
                                },
                                target,
                            );
                            return None;
                        }
                        Some(Place::State(text, ty))
                    }
                    Some(MemberKind::Tensor { state: false, .. }) => {
                        self.report(
                            Rule::NotAssignable {
                                what: format!("the parameter `self.{text}`"),
                                help: "declare it `#[state]` to let functions update it".to_owned(),
                            },
                            target,
                        );
                        None
                    }
                    Some(MemberKind::Sub { .. }) => {
                        self.report(
                            Rule::NotAssignable {
                                what: format!("the block `self.{text}`"),
                                help: "call one of its functions".to_owned(),
                            },
                            target,
                        );
                        None
                    }
                    None => {
                        self.no_member(&text, name);
                        None
                    }
                }
            }
            _ => self.not_assignable(target),
        }
    }

    fn not_assignable(&mut self, target: &Expr) -> Option<Place> {
        let of_block = match target {
            Expr::Field(field) => match self.receiver(&field.base) {
                Some(Receiver::Sub(name) | Receiver::Element(name)) => Some(name),
                _ => None,
            },
            _ => None,
        };
        let help = match of_block {
            Some(block) => {
                format!("a block writes its own states: call a function of `{block}` that does")
            }
            None => "assign to a variable, a state `self.name`, or a `&mut` parameter, `*name`"
                .to_owned(),
        };
        let what = format!("`{}`", source::text(target));
        self.report(Rule::NotAssignable { what, help }, target.to_token_stream());
        None
    }
}
