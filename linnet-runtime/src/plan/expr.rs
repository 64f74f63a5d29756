//! Loop nests: for every setting of some loop variables compute one element.
//!
//! Element-wise operations, folds over axes and `index!` all become nests, so
//! that one evaluator runs them and one fusion merges them.

use std::sync::Arc;

use crate::descriptor::{BinaryOp, ReduceOp, UnaryOp};
use crate::dtype::{DType, ScalarValue};
use crate::exec::primitive;
use crate::shape::Dims;

use super::view::{DynamicOffset, View};
use super::{RootId, ScalarId};

/// The number of a node in its nest.
pub(crate) type ExprId = usize;

/// A node of the element's expression. Operands come before what uses them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ExprNode {
    pub(crate) kind: ExprKind,
    pub(crate) dtype: DType,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ExprKind {
    Const(ScalarValue),
    /// A scalar known when it runs.
    Scalar(ScalarId),
    /// The value of a loop variable.
    Var(usize),
    /// An element of a tensor, by its number in the nest's accesses.
    Access(usize),
    Unary(UnaryOp, ExprId),
    /// Of `&&` and `||` the second operand counts only where the first leaves it open.
    Binary(BinaryOp, ExprId, ExprId),
    /// Only the branch taken counts.
    If(ExprId, ExprId, ExprId),
    Cast(ExprId),
}

/// Which element of a buffer each setting of the loop variables reads:
/// `offset + sum of coef[d] * variable d`, plus run-time parts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Access {
    pub(crate) root: RootId,
    pub(crate) dtype: DType,
    pub(crate) offset: isize,
    pub(crate) coef: Vec<isize>,
    pub(crate) dynamic: Vec<DynamicOffset>,
    /// Axes indexed by an expression, checked when it runs.
    pub(crate) computed: Vec<Computed>,
}

/// An axis indexed by an integer expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Computed {
    pub(crate) index: ExprId,
    pub(crate) stride: usize,
    pub(crate) length: usize,
    pub(crate) axis: usize,
}

/// Where a nest writes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Target {
    pub(crate) root: RootId,
    pub(crate) offset: usize,
    /// For each of the output's loop variables.
    pub(crate) coef: Vec<usize>,
}

/// A loop nest.
#[derive(Debug, Clone)]
pub(crate) struct Nest {
    /// The extents of the loop variables: those of the output, then those folded over.
    pub(crate) extents: Vec<usize>,
    pub(crate) n_out: usize,
    pub(crate) reduce: Option<ReduceOp>,
    pub(crate) nodes: Vec<ExprNode>,
    pub(crate) result: ExprId,
    pub(crate) accesses: Vec<Access>,
    pub(crate) target: Target,
    /// Function and line, for errors.
    pub(crate) place: Arc<str>,
}

impl Nest {
    pub(crate) fn dtype(&self) -> DType {
        self.nodes[self.result].dtype
    }

    /// Whether an element can be without result, so that it may only be
    /// computed where the program asks for it.
    pub(crate) fn can_fail(&self) -> bool {
        self.accesses
            .iter()
            .any(|access| !access.computed.is_empty())
            || self.nodes.iter().any(|node| match node.kind {
                ExprKind::Binary(op, a, _) => {
                    primitive::can_fail(op) && !self.nodes[a].dtype.is_float()
                }
                _ => false,
            })
    }
}

/// The expression of a nest while it is built. Equal nodes are made once.
#[derive(Debug, Default)]
pub(crate) struct NestBuilder {
    pub(crate) extents: Vec<usize>,
    pub(crate) nodes: Vec<ExprNode>,
    pub(crate) accesses: Vec<Access>,
}

impl NestBuilder {
    /// A nest with a loop variable for each axis of `shape`.
    pub(crate) fn over(shape: &[usize]) -> NestBuilder {
        NestBuilder {
            extents: shape.to_vec(),
            ..NestBuilder::default()
        }
    }

    pub(crate) fn push(&mut self, kind: ExprKind, dtype: DType) -> ExprId {
        let node = ExprNode { kind, dtype };
        // NaN constants are unequal to themselves and simply repeated.
        if let Some(same) = self.nodes.iter().position(|other| *other == node) {
            return same;
        }
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    pub(crate) fn constant(&mut self, value: ScalarValue) -> ExprId {
        // Zeros of both signs compare equal but are different constants.
        let bits = |v: ScalarValue| v.to_f64().to_bits();
        let same = |node: &ExprNode| match node.kind {
            ExprKind::Const(other) => other == value && bits(other) == bits(value),
            _ => false,
        };
        if let Some(same) = self.nodes.iter().position(same) {
            return same;
        }
        self.nodes.push(ExprNode {
            kind: ExprKind::Const(value),
            dtype: value.dtype(),
        });
        self.nodes.len() - 1
    }

    pub(crate) fn access(&mut self, access: Access) -> ExprId {
        let dtype = access.dtype;
        let number = match self.accesses.iter().position(|other| *other == access) {
            Some(same) => same,
            None => {
                self.accesses.push(access);
                self.accesses.len() - 1
            }
        };
        self.push(ExprKind::Access(number), dtype)
    }

    /// The element of `view` whose axes are aligned at the right with the first
    /// `n` loop variables.
    pub(crate) fn aligned(&mut self, view: &View, n: usize) -> ExprId {
        let mut coef = vec![0; self.extents.len()];
        let first = n - view.shape.len();
        for (axis, &stride) in view.strides.iter().enumerate() {
            if view.shape[axis] != 1 {
                coef[first + axis] = stride as isize;
            }
        }
        let element = self.access(Access {
            root: view.root,
            dtype: view.dtype,
            offset: view.offset as isize,
            coef,
            dynamic: view.dynamic.clone(),
            computed: Vec::new(),
        });
        self.widened(view, element)
    }

    /// An element of `view` as what it counts as.
    pub(crate) fn widened(&mut self, view: &View, element: ExprId) -> ExprId {
        if view.widened {
            self.push(ExprKind::Cast(element), DType::F32)
        } else {
            element
        }
    }

    /// The nest that folds away all but the first `n_out` loop variables and
    /// writes to `view`, whose axes they are.
    pub(crate) fn finish(
        self,
        result: ExprId,
        reduce: Option<ReduceOp>,
        view: &View,
        place: Arc<str>,
    ) -> Nest {
        Nest {
            n_out: view.shape.len(),
            extents: self.extents,
            reduce,
            nodes: self.nodes,
            result,
            accesses: self.accesses,
            target: Target {
                root: view.root,
                offset: view.offset,
                coef: view.strides.to_vec(),
            },
            place,
        }
    }
}

/// The shape that two shapes broadcast to, aligned at the right.
pub(crate) fn broadcast(a: &Dims, b: &Dims) -> Option<Dims> {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let mut out = *long;
    let first = long.len() - short.len();
    for (axis, &size) in short.iter().enumerate() {
        let other = out[first + axis];
        if size != other {
            if size != 1 && other != 1 {
                return None;
            }
            out[first + axis] = if size == 1 { other } else { size };
        }
    }
    Some(out)
}
