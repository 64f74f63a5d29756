//! The state of checking one function: what is in scope, what is known of
//! dimensions, and the nodes lowered so far.

use std::collections::HashMap;
use std::rc::Rc;

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::spanned::Spanned;

use super::library::{Library, SubBlock};
use super::nearest::nearest;
use super::obligation::Owner;
use super::scope::Scope;
use super::signature::FnSig;
use super::types::{Ty, Type};
use crate::diagnostic::{Diagnostic, Rule};
use crate::dim::Facts;
use crate::ir::{self, ValueId};

/// What the functions of one item share.
pub(crate) struct ItemContext<'a> {
    /// The other items that it names.
    pub(crate) library: Library<'a>,
    /// The block, if the item is one.
    pub(crate) block: Option<BlockContext<'a>>,
}

/// The block whose functions are checked.
pub(crate) struct BlockContext<'a> {
    /// Its name.
    pub(crate) name: String,
    /// Its generics.
    pub(crate) generics: Vec<(String, ir::GenericKind)>,
    /// Its members.
    pub(crate) members: Vec<Member<'a>>,
    /// Its functions.
    pub(crate) functions: Vec<FnSig>,
}

/// A member of the block.
pub(crate) struct Member<'a> {
    /// Its name.
    pub(crate) name: String,
    /// What it is.
    pub(crate) kind: MemberKind<'a>,
}

/// What a member is.
pub(crate) enum MemberKind<'a> {
    /// A parameter or state.
    Tensor {
        /// Its type.
        ty: Ty,
        /// Whether it is a state.
        state: bool,
    },
    /// A block; without content where its type has an error.
    Sub {
        /// The block.
        block: Option<Rc<SubBlock<'a>>>,
        /// Whether it is an array.
        array: bool,
        /// Whether it may be absent.
        optional: bool,
    },
}

/// A value and its type.
#[derive(Debug, Clone)]
pub(crate) struct Value {
    /// Its number; of no meaning if the type is unknown.
    pub(crate) id: ValueId,
    /// Its type.
    pub(crate) ty: Ty,
}

impl Value {
    /// What stands in for a value after an error.
    pub(crate) fn unknown() -> Self {
        Value {
            id: 0,
            ty: Type::Unknown,
        }
    }
}

/// What a context expects of an expression.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Hint<'h> {
    /// Nothing.
    None,
    /// A dtype: literals take it.
    DType(&'h ir::DTypeExpr),
    /// A type.
    Type(&'h Ty),
}

impl<'h> Hint<'h> {
    /// Whether what the context expects has an error that was reported.
    pub(crate) fn is_poisoned(self) -> bool {
        matches!(self, Hint::Type(Type::Unknown))
    }

    /// The dtype that a literal takes, if the context tells one.
    pub(crate) fn dtype(self) -> Option<&'h ir::DTypeExpr> {
        let dtype = match self {
            Hint::None => None,
            Hint::DType(dtype) => Some(dtype),
            Hint::Type(ty) => ty.dtype(),
        };
        dtype.filter(|dtype| !super::scope::dtype_unbound(dtype))
    }
}

/// What a name in a body stands for.
#[derive(Clone)]
pub(crate) enum Binding<'a> {
    /// A local variable or by-value parameter, by its slot.
    Local(usize),
    /// A `&mut` parameter, by its number.
    MutParam(u32),
    /// The element of a loop over a block array, or the content of an optional block.
    Element {
        /// The value that stands for it.
        id: ValueId,
        /// Its block; None where its type has an error.
        block: Option<Rc<SubBlock<'a>>>,
        /// Whether `&mut self` functions may be called.
        by_mut: bool,
        /// As written after `for .. in`, for messages.
        of: String,
    },
    /// The index of a loop over dimensions: an i64 that takes the integer
    /// dtype of its context.
    LoopIndex(ValueId),
}

/// A local variable.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    /// Its value at this point.
    pub(crate) id: ValueId,
    /// Its type, which assignments keep.
    pub(crate) ty: Ty,
    /// Whether it was declared `let mut`.
    pub(crate) mutable: bool,
    /// Whether it is a parameter.
    pub(crate) param: bool,
}

/// One function while it is checked.
pub(crate) struct Body<'c, 'a> {
    /// What the functions of the item share.
    pub(crate) item: &'c ItemContext<'a>,
    /// The function.
    pub(crate) sig: &'c FnSig,
    /// Its parameters' types in its own normal form.
    pub(crate) params: Vec<Ty>,
    /// Its generics and those of its block.
    pub(crate) scope: Scope,
    /// What the requirements say.
    pub(crate) facts: Facts,
    /// Where requirements can be added.
    pub(crate) owner: Owner,
    /// Everything that is wrong so far.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Whether the declarations around it are right.
    pub(crate) item_is_right: bool,
    /// Names, innermost scope last.
    pub(crate) frames: Vec<HashMap<String, Binding<'a>>>,
    /// Local variables; those of a scope go when it ends.
    pub(crate) slots: Vec<Slot>,
    /// The nodes of the body that is being lowered.
    pub(crate) nodes: Vec<ir::Node>,
    /// The number of the next value.
    pub(crate) next: ValueId,
}

impl<'a> Body<'_, 'a> {
    /// Notes an error, once.
    pub(crate) fn report(&mut self, rule: Rule, tokens: impl ToTokens) {
        let diagnostic = Diagnostic::new(rule, tokens);
        self.report_all([diagnostic]);
    }

    /// Notes an error and results in a value that stays silent.
    pub(crate) fn fail(&mut self, rule: Rule, tokens: impl ToTokens) -> Value {
        self.report(rule, tokens);
        Value::unknown()
    }

    /// Notes errors, each once.
    pub(crate) fn report_all(&mut self, diagnostics: impl IntoIterator<Item = Diagnostic>) {
        for diagnostic in diagnostics {
            let at = place(&diagnostic.tokens);
            let known = self
                .diagnostics
                .iter()
                .any(|other| other.rule == diagnostic.rule && place(&other.tokens) == at);
            if !known {
                self.diagnostics.push(diagnostic);
            }
        }
    }

    /// A value without a type comes from an error that was reported. Should
    /// none have been, this is reported instead of going on without it.
    pub(crate) fn assert_reported(&mut self, value: &Value, tokens: impl ToTokens) {
        if value.ty.is_unknown() && self.item_is_right && self.diagnostics.is_empty() {
            let rule = Rule::Unsupported {
                what: "this expression".to_owned(),
                help: "this is an error of linnet: please report it".to_owned(),
            };
            self.report(rule, tokens);
        }
    }

    /// A new value number.
    pub(crate) fn fresh(&mut self) -> ValueId {
        let id = self.next;
        self.next += 1;
        id
    }

    /// Adds a node and results in its value.
    pub(crate) fn emit(&mut self, op: ir::NodeOp, ty: Ty, at: &impl Spanned) -> Value {
        let out = self.fresh();
        let line = u32::try_from(at.span().start().line).unwrap_or(0);
        self.nodes.push(ir::Node {
            out,
            ty: ty.to_ir(),
            op,
            line,
        });
        Value { id: out, ty }
    }

    /// Lowers what `inside` emits into nodes of their own, with its own scope.
    pub(crate) fn nested<R>(&mut self, inside: impl FnOnce(&mut Self) -> R) -> (R, Vec<ir::Node>) {
        let outer = std::mem::take(&mut self.nodes);
        let result = self.scoped(inside);
        (result, std::mem::replace(&mut self.nodes, outer))
    }

    /// Runs `inside` with a scope of its own.
    pub(crate) fn scoped<R>(&mut self, inside: impl FnOnce(&mut Self) -> R) -> R {
        let n_slots = self.slots.len();
        self.frames.push(HashMap::new());
        let result = inside(self);
        self.frames.pop();
        self.slots.truncate(n_slots);
        result
    }

    /// Binds a name in the innermost scope.
    pub(crate) fn bind(&mut self, name: String, binding: Binding<'a>) {
        if let Some(frame) = self.frames.last_mut() {
            frame.insert(name, binding);
        }
    }

    /// Binds a name to a value.
    pub(crate) fn bind_local(&mut self, name: String, value: Value, mutable: bool) {
        let slot = Slot {
            id: value.id,
            ty: value.ty,
            mutable,
            param: false,
        };
        self.slots.push(slot);
        self.bind(name, Binding::Local(self.slots.len() - 1));
    }

    /// What a name stands for, unless it is a generic or nothing.
    pub(crate) fn lookup(&self, name: &str) -> Option<&Binding<'a>> {
        self.frames.iter().rev().find_map(|frame| frame.get(name))
    }

    /// Whether a name stands for a `Dim` generic here.
    pub(crate) fn is_dim(&self, name: &str) -> bool {
        self.lookup(name).is_none() && self.scope.kind(name) == Some(ir::GenericKind::Dim)
    }

    /// Every name of the scope, for "did you mean".
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .frames
            .iter()
            .flat_map(|frame| frame.keys().cloned())
            .collect();
        names.sort();
        names.dedup();
        names.extend(
            self.scope
                .names()
                .filter(|name| self.scope.kind(name) == Some(ir::GenericKind::Dim))
                .map(str::to_owned),
        );
        names
    }

    /// Reports a name that stands for nothing.
    pub(crate) fn unknown_name(&mut self, name: &str, tokens: impl ToTokens) -> Value {
        let known = self.names();
        let nearest = nearest(name, known.iter().map(String::as_str));
        let members = self.item.block.iter().flat_map(|block| &block.members);
        let member = members
            .map(|member| &member.name)
            .find(|member| *member == name);
        let nearest = match member {
            Some(member) => Some(format!("self.{member}")),
            None => nearest,
        };
        self.fail(
            Rule::UnknownName {
                name: name.to_owned(),
                nearest,
                known,
            },
            tokens,
        )
    }

    /// The member of the block of this name.
    pub(crate) fn member(&self, name: &str) -> Option<&Member<'a>> {
        let block = self.item.block.as_ref()?;
        block.members.iter().find(|member| member.name == name)
    }
}

/// Where tokens stand, for telling one place from another.
fn place(tokens: &TokenStream) -> String {
    let spans = tokens
        .clone()
        .into_iter()
        .map(|token| format!("{:?}", token.span()));
    spans.collect::<Vec<_>>().join(" ")
}
