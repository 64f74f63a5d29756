//! A call with all its calls inlined: operations on buffers, in order.

use std::sync::Arc;

use crate::descriptor::{BinaryOp, Comparison, UnaryOp};
use crate::dtype::{DType, ScalarValue};
use crate::instance::SlotId;
use crate::kernel::KernelPlan;

use super::expr::Nest;
use super::product::Product;
use super::requirement::RuntimeDim;
use super::view::View;
use super::{RootId, ScalarId};

/// A place in memory that outlives a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Location {
    /// A parameter or state of the instance.
    Slot(SlotId),
    /// A tensor that the caller lends to be updated, by its argument's number.
    Argument(usize),
}

/// A buffer that views are parts of.
#[derive(Debug, Clone)]
pub(crate) struct Root {
    pub(crate) kind: RootKind,
    pub(crate) dtype: DType,
    pub(crate) n_elements: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum RootKind {
    /// A result of an operation.
    Temporary,
    /// What a location holds at the `Read` that defines this root.
    Content(Location),
    /// A tensor that the caller passes to be read.
    Argument(usize),
    /// A result of the call.
    Output(usize),
}

/// A scalar: known when planning, or when running.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ScalarRef {
    Known(ScalarValue),
    Slot(ScalarId, DType),
}

impl ScalarRef {
    pub(crate) fn dtype(self) -> DType {
        match self {
            ScalarRef::Known(value) => value.dtype(),
            ScalarRef::Slot(_, dtype) => dtype,
        }
    }
}

/// How a scalar comes from others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ScalarCompute {
    Move(ScalarRef),
    Unary(UnaryOp, ScalarRef),
    Binary(BinaryOp, ScalarRef, ScalarRef),
    Select(ScalarRef, ScalarRef, ScalarRef),
    /// To this dtype.
    Cast(ScalarRef, DType),
}

/// An argument of a kernel.
#[derive(Debug, Clone)]
pub(crate) enum KernelOperand {
    Input(View),
    /// The whole of a location, in row-major order: its dtype and number of elements.
    Mutable(Location, DType, usize),
    Scalar(ScalarRef),
    Absent,
}

/// A call of a kernel.
#[derive(Debug)]
pub(crate) struct KernelOp {
    pub(crate) name: &'static str,
    pub(crate) plan: KernelPlan,
    pub(crate) operands: Vec<KernelOperand>,
    pub(crate) outputs: Vec<RootId>,
    pub(crate) scratch: Option<RootId>,
}

/// A check of a requirement when it runs.
#[derive(Debug, Clone)]
pub(crate) enum Check {
    Compare {
        left: RuntimeDim,
        comparison: Comparison,
        right: RuntimeDim,
        /// What the names in it are, to say in an error.
        names: Vec<(&'static str, RuntimeDim)>,
    },
    Elements {
        view: View,
        param: &'static str,
        comparison: Comparison,
        bound: RuntimeDim,
        bound_text: String,
    },
    Distinct {
        view: View,
        param: &'static str,
        /// Room for one `i64` for each element.
        scratch: RootId,
    },
    /// Rows, positions and segments of tokens side by side.
    Packed {
        views: Box<[View; 3]>,
        params: [&'static str; 3],
    },
}

/// An operation.
#[derive(Debug)]
pub(crate) enum GraphOp {
    Nest(Nest),
    Product(Product),
    Kernel(KernelOp),
    /// Defines a root of kind `Content`.
    Read(RootId),
    /// Overwrites a location.
    Write {
        location: Location,
        value: View,
        place: Arc<str>,
    },
    Scalar {
        out: ScalarId,
        compute: ScalarCompute,
        place: Arc<str>,
    },
    /// The one element of a tensor as a scalar.
    ReadElement {
        out: ScalarId,
        view: View,
    },
    Check {
        check: Check,
        place: Arc<str>,
        clause: &'static str,
    },
    /// That a slice's run-time start stays within its axis.
    CheckStart {
        scalar: ScalarId,
        length: usize,
        step: usize,
        axis: usize,
        axis_length: usize,
        index: bool,
        place: Arc<str>,
    },
    /// Runs what follows up to `Else` if the scalar is true, else from there to `EndIf`.
    If(ScalarId),
    Else,
    EndIf,
}

/// One result of the call.
#[derive(Debug, Clone)]
pub(crate) enum ResultRef {
    Tensor(View),
    Scalar(ScalarRef),
    Absent,
}

/// A call with all its calls inlined.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(crate) roots: Vec<Root>,
    pub(crate) ops: Vec<GraphOp>,
    pub(crate) n_scalars: usize,
    /// Which scalar each scalar argument is: argument number and scalar.
    pub(crate) scalar_arguments: Vec<(usize, ScalarId)>,
    pub(crate) results: Vec<ResultRef>,
}

impl Graph {
    pub(crate) fn root(&mut self, kind: RootKind, dtype: DType, n_elements: usize) -> RootId {
        self.roots.push(Root {
            kind,
            dtype,
            n_elements,
        });
        self.roots.len() - 1
    }

    pub(crate) fn scalar(&mut self) -> ScalarId {
        self.n_scalars += 1;
        self.n_scalars - 1
    }
}
