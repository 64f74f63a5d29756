//! Members of the block, of its sub-blocks and of loop elements; tuple fields.

use std::rc::Rc;

use syn::{Expr, Member as FieldName};

use super::body::{Binding, Body, MemberKind, Value};
use super::library::SubBlock;
use super::nearest::nearest;
use super::source;
use super::types::{Ty, Type};
use crate::diagnostic::Rule;
use crate::ir::NodeOp;

/// What the expression before a dot stands for, if it is no value.
pub(crate) enum Receiver {
    /// `self`.
    Own,
    /// `self.member`, where the member is a block.
    Sub(String),
    /// The element of a loop over a block array.
    Element(String),
}

impl<'a> Body<'_, 'a> {
    /// What stands before a dot, where that is a block.
    pub(crate) fn receiver(&self, expr: &Expr) -> Option<Receiver> {
        match expr {
            Expr::Paren(paren) => self.receiver(&paren.expr),
            Expr::Group(group) => self.receiver(&group.expr),
            Expr::Path(path) => {
                let name = path.path.get_ident()?.to_string();
                match self.lookup(&name) {
                    Some(Binding::Element { .. }) => Some(Receiver::Element(name)),
                    None if name == "self" => Some(Receiver::Own),
                    _ => None,
                }
            }
            Expr::Field(field) => {
                let Some(Receiver::Own) = self.receiver(&field.base) else {
                    return None;
                };
                let FieldName::Named(name) = &field.member else {
                    return None;
                };
                let name = name.to_string();
                match self.member(&name)?.kind {
                    MemberKind::Sub { .. } => Some(Receiver::Sub(name)),
                    MemberKind::Tensor { .. } => None,
                }
            }
            _ => None,
        }
    }

    /// `self.weight`, `self.linear.weight`, `block.weight` or `pair.0`.
    pub(crate) fn field(&mut self, field: &syn::ExprField, expr: &Expr) -> Value {
        match (self.receiver(&field.base), &field.member) {
            (Some(Receiver::Own), FieldName::Named(name)) => self.own_member(name, expr),
            (Some(Receiver::Sub(member)), FieldName::Named(name)) => {
                let Some(block) = self.usable_sub(&member, &field.base) else {
                    return Value::unknown();
                };
                match self.tensor_of(&block, name) {
                    Some(ty) if ty.is_unknown() => Value::unknown(),
                    Some(ty) => self.emit(NodeOp::Member(vec![member, name.to_string()]), ty, expr),
                    None => Value::unknown(),
                }
            }
            (Some(Receiver::Element(element)), FieldName::Named(name)) => {
                let Some(Binding::Element { id, block, .. }) = self.lookup(&element).cloned()
                else {
                    return Value::unknown();
                };
                let Some(block) = block else {
                    return Value::unknown();
                };
                match self.tensor_of(&block, name) {
                    Some(ty) if ty.is_unknown() => Value::unknown(),
                    Some(ty) => {
                        let op = NodeOp::ElementMember {
                            element: id,
                            path: vec![name.to_string()],
                        };
                        self.emit(op, ty, expr)
                    }
                    None => Value::unknown(),
                }
            }
            (Some(_), FieldName::Unnamed(_)) => self.unsupported(
                "a numbered member of a block",
                "members of blocks have names",
                &field.member,
            ),
            (None, FieldName::Unnamed(index)) => {
                let value = self.expr(&field.base, super::body::Hint::None);
                match &value.ty {
                    Type::Unknown => Value::unknown(),
                    Type::Tuple(parts) => match parts.get(index.index as usize) {
                        Some(Type::Unknown) => Value::unknown(),
                        Some(_) if value.ty.is_unknown() => Value::unknown(),
                        Some(part) => {
                            let ty = part.clone();
                            self.emit(NodeOp::Field(value.id, index.index), ty, expr)
                        }
                        None => self.no_field(&value.ty, field),
                    },
                    ty => self.no_field(ty, field),
                }
            }
            (None, FieldName::Named(_)) => {
                let value = self.expr(&field.base, super::body::Hint::None);
                if value.ty.is_unknown() {
                    return Value::unknown();
                }
                self.no_field(&value.ty, field)
            }
        }
    }

    fn no_field(&mut self, ty: &Ty, field: &syn::ExprField) -> Value {
        let name = source::text(&field.member);
        self.fail(
            Rule::TupleField {
                field: name,
                ty: ty.to_string(),
            },
            &field.member,
        )
    }

    /// A tensor of the block itself.
    fn own_member(&mut self, name: &syn::Ident, expr: &Expr) -> Value {
        let text = name.to_string();
        match self.member(&text).map(|member| &member.kind) {
            Some(MemberKind::Tensor { ty, .. }) => {
                let ty = ty.clone();
                if ty.is_unknown() {
                    return Value::unknown();
                }
                self.emit(NodeOp::Member(vec![text]), ty, expr)
            }
            Some(MemberKind::Sub { array, .. }) => {
                let help = if *array {
                    format!("loop over it: `for block in &self.{text} {{ .. }}`")
                } else {
                    format!("call one of its functions, as in `self.{text}.forward(x)`")
                };
                self.fail(
                    Rule::TypeMismatch {
                        place: format!("the use of `self.{text}`"),
                        expected: "a value".to_owned(),
                        expected_note: None,
                        found: if *array {
                            "an array of blocks"
                        } else {
                            "a block"
                        }
                        .to_owned(),
                        help: Some(help),
                    },
                    expr,
                )
            }
            None => self.no_member(&text, name),
        }
    }

    /// Reports a member that the block does not have.
    pub(crate) fn no_member(&mut self, text: &str, tokens: impl quote::ToTokens) -> Value {
        let Some(block) = &self.item.block else {
            return self.unsupported(
                "`self`",
                "an operation has no members: give it what it needs as parameters",
                tokens,
            );
        };
        let known: Vec<String> = block
            .members
            .iter()
            .map(|member| member.name.clone())
            .collect();
        let functions = block
            .functions
            .iter()
            .map(|function| function.name.as_str());
        let nearest = if functions.clone().any(|function| function == text) {
            Some(format!("{text}(..)"))
        } else {
            nearest(text, known.iter().map(String::as_str))
        };
        let block = block.name.clone();
        self.fail(
            Rule::UnknownMember {
                block,
                name: text.to_owned(),
                nearest,
                known,
            },
            tokens,
        )
    }

    /// The block of a member that is neither an array nor optional. Reports
    /// where it is.
    pub(crate) fn usable_sub(
        &mut self,
        member: &str,
        tokens: impl quote::ToTokens,
    ) -> Option<Rc<SubBlock<'a>>> {
        let MemberKind::Sub {
            block,
            array,
            optional,
        } = &self.member(member)?.kind
        else {
            return None;
        };
        let (block, array, optional) = (block.clone(), *array, *optional);
        if array {
            self.report(
                Rule::TypeMismatch {
                    place: format!("the use of `self.{member}`"),
                    expected: "a block".to_owned(),
                    expected_note: None,
                    found: "an array of blocks".to_owned(),
                    help: Some(format!(
                        "loop over it: `for block in &self.{member} {{ .. }}`"
                    )),
                },
                tokens,
            );
            return None;
        }
        if optional {
            let ty = block
                .as_ref()
                .map_or("Option<..>".to_owned(), |b| format!("Option<{}>", b.name()));
            self.report(
                Rule::OptionalBare {
                    what: format!("&self.{member}"),
                    ty,
                },
                tokens,
            );
            return None;
        }
        block
    }

    /// The type of a tensor of a sub-block. Reports where it has none of that name.
    fn tensor_of(&mut self, block: &SubBlock<'_>, name: &syn::Ident) -> Option<Ty> {
        let text = name.to_string();
        if let Some(ty) = block.tensor(&text, &self.facts) {
            return Some(ty);
        }
        let known = block.tensor_names();
        let is_block = block.decl.members.iter().any(|member| member.name == text);
        if is_block {
            self.unsupported(
                "reaching through two blocks",
                format!("give `{}` a function that does it", block.name()),
                name,
            );
            return None;
        }
        let nearest = nearest(&text, known.iter().map(String::as_str));
        self.report(
            Rule::UnknownMember {
                block: block.name(),
                name: text,
                nearest,
                known,
            },
            name,
        );
        None
    }
}
