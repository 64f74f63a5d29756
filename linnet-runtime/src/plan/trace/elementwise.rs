//! Operations element by element, and folds over axes.

use crate::descriptor::{Axis, BinaryOp, Node, ReduceOp, UnaryOp, ValueId};
use crate::dtype::{DType, ScalarValue};
use crate::error::{Error, Result};
use crate::exec::primitive::{
    binary_defined, is_comparison, scalar_binary, scalar_unary, unary_defined,
};
use crate::shape::Dims;

use super::{Frame, Tracer, Value};
use crate::plan::expr::{ExprId, ExprKind, NestBuilder, broadcast};
use crate::plan::graph::{GraphOp, ScalarCompute, ScalarRef};
use crate::plan::view::View;

impl<'a> Tracer<'a> {
    pub(super) fn unary(
        &mut self,
        frame: &Frame<'a>,
        node: &Node,
        op: UnaryOp,
        input: ValueId,
    ) -> Result<Value<'a>> {
        let input = frame.value(input)?;
        let dtype = dtype_of(frame, &input)?;
        if !unary_defined(op, dtype) {
            return Err(frame.invalid_at(node, &format!("{op:?} of {dtype}")));
        }
        match &input {
            Value::Scalar(ScalarRef::Known(x)) => Ok(known(scalar_unary(op, *x))),
            Value::Scalar(x) => Ok(self.compute(frame, node, ScalarCompute::Unary(op, *x), dtype)),
            _ => self.elementwise(frame, node, &[&input], |builder, ids| {
                builder.push(ExprKind::Unary(op, ids[0]), dtype)
            }),
        }
    }

    pub(super) fn binary(
        &mut self,
        frame: &Frame<'a>,
        node: &Node,
        op: BinaryOp,
        left: ValueId,
        right: ValueId,
    ) -> Result<Value<'a>> {
        let (left, right) = (frame.value(left)?, frame.value(right)?);
        let dtype = dtype_of(frame, &left)?;
        if dtype_of(frame, &right)? != dtype || !binary_defined(op, dtype) {
            return Err(frame.invalid_at(node, &format!("{op:?} of {left:?} and {right:?}")));
        }
        let out = if is_comparison(op) {
            DType::Bool
        } else {
            dtype
        };
        match (&left, &right) {
            (Value::Scalar(ScalarRef::Known(a)), Value::Scalar(ScalarRef::Known(b))) => {
                let value = scalar_binary(op, *a, *b).map_err(|undefined| Error::Arithmetic {
                    place: frame.line(node).to_string(),
                    what: undefined.message().to_owned(),
                })?;
                Ok(known(value))
            }
            (Value::Scalar(a), Value::Scalar(b)) => {
                Ok(self.compute(frame, node, ScalarCompute::Binary(op, *a, *b), out))
            }
            _ => self.elementwise(frame, node, &[&left, &right], |builder, ids| {
                builder.push(ExprKind::Binary(op, ids[0], ids[1]), out)
            }),
        }
    }

    pub(super) fn select(
        &mut self,
        frame: &Frame<'a>,
        node: &Node,
        condition: ValueId,
        yes: ValueId,
        no: ValueId,
    ) -> Result<Value<'a>> {
        let (condition, yes, no) = (frame.value(condition)?, frame.value(yes)?, frame.value(no)?);
        let dtype = dtype_of(frame, &yes)?;
        if dtype_of(frame, &condition)? != DType::Bool || dtype_of(frame, &no)? != dtype {
            return Err(frame.invalid_at(node, "select of values of other dtypes"));
        }
        match (&condition, &yes, &no) {
            (Value::Scalar(ScalarRef::Known(c)), Value::Scalar(_), Value::Scalar(_)) => {
                Ok(if c.to_i64() != 0 { yes } else { no })
            }
            (Value::Scalar(c), Value::Scalar(a), Value::Scalar(b)) => {
                Ok(self.compute(frame, node, ScalarCompute::Select(*c, *a, *b), dtype))
            }
            _ => self.elementwise(frame, node, &[&condition, &yes, &no], |builder, ids| {
                builder.push(ExprKind::If(ids[0], ids[1], ids[2]), dtype)
            }),
        }
    }

    pub(super) fn cast(
        &mut self,
        frame: &Frame<'a>,
        node: &Node,
        input: ValueId,
    ) -> Result<Value<'a>> {
        let input = frame.value(input)?;
        let dtype = frame.scalar_dtype(&node.ty)?;
        if dtype_of(frame, &input)? == dtype {
            return Ok(input);
        }
        match &input {
            Value::Scalar(ScalarRef::Known(x)) => Ok(known(x.cast(dtype))),
            Value::Scalar(x) => {
                Ok(self.compute(frame, node, ScalarCompute::Cast(*x, dtype), dtype))
            }
            _ => self.elementwise(frame, node, &[&input], |builder, ids| {
                builder.push(ExprKind::Cast(ids[0]), dtype)
            }),
        }
    }

    pub(super) fn iota(&mut self, frame: &Frame<'a>, node: &Node) -> Result<Value<'a>> {
        let (dtype, shape) = frame.tensor_type(&node.ty)?;
        if shape.len() != 1 || dtype == DType::Bool {
            return Err(frame.invalid_at(node, "iota is a vector of numbers"));
        }
        let mut builder = NestBuilder::over(&shape);
        let result = match dtype.is_int() {
            true => builder.push(ExprKind::Var(0), dtype),
            false => {
                let number = builder.push(ExprKind::Var(0), DType::I64);
                builder.push(ExprKind::Cast(number), dtype)
            }
        };
        self.finish(frame, node, builder, result, None, dtype, shape)
    }

    pub(super) fn fill(
        &mut self,
        frame: &Frame<'a>,
        node: &Node,
        input: ValueId,
    ) -> Result<Value<'a>> {
        let (dtype, shape) = frame.tensor_type(&node.ty)?;
        let value = frame.value(input)?;
        let mut builder = NestBuilder::over(&shape);
        let result = operand(frame, &mut builder, &value, shape.len())?;
        if builder.nodes[result].dtype != dtype {
            return Err(frame.invalid_at(node, "fill with a value of another dtype"));
        }
        self.finish(frame, node, builder, result, None, dtype, shape)
    }

    pub(super) fn reduce(
        &mut self,
        frame: &Frame<'a>,
        node: &Node,
        op: ReduceOp,
        input: ValueId,
        axes: &[Axis],
        keep: bool,
    ) -> Result<Value<'a>> {
        let view = frame.tensor(input)?;
        let rank = view.shape.len();
        let mut folded = [false; crate::shape::MAX_RANK];
        for &axis in axes {
            let axis = frame.axis(axis, rank)?;
            if std::mem::replace(&mut folded[axis], true) {
                return Err(frame.invalid_at(node, "an axis is folded twice"));
            }
        }
        let dtype = view.value_dtype();
        check_fold(frame, node, op, dtype)?;
        let (kept, gone): (Vec<usize>, Vec<usize>) = (0..rank).partition(|&axis| !folded[axis]);
        let order: Vec<usize> = kept.iter().chain(&gone).copied().collect();
        let view = view.permute(&order);
        let mut builder = NestBuilder::over(&view.shape);
        let result = builder.aligned(&view, rank);
        let shape = Dims::new(&view.shape[..kept.len()])?;
        let out = self.finish(frame, node, builder, result, Some(op), dtype, shape)?;
        match out {
            Value::Tensor(out) if keep => {
                let shape = frame.dims(&node.ty)?;
                let kept = out.reshape(shape).filter(|_| shape.len() == rank);
                kept.map(Value::Tensor)
                    .ok_or_else(|| frame.invalid_at(node, "a fold of another shape"))
            }
            out => Ok(out),
        }
    }

    /// Adds the nest that writes to a new buffer.
    #[allow(
        clippy::too_many_arguments,
        reason = "what a nest consists of, at its three call sites"
    )]
    pub(super) fn finish(
        &mut self,
        frame: &Frame<'a>,
        node: &Node,
        builder: NestBuilder,
        result: ExprId,
        reduce: Option<ReduceOp>,
        dtype: DType,
        shape: Dims,
    ) -> Result<Value<'a>> {
        let out = self.temporary(dtype, shape)?;
        self.nest(builder.finish(result, reduce, &out, frame.line(node)));
        Ok(Value::Tensor(out))
    }

    /// One element from operands that broadcast.
    fn elementwise(
        &mut self,
        frame: &Frame<'a>,
        node: &Node,
        operands: &[&Value<'a>],
        build: impl FnOnce(&mut NestBuilder, &[ExprId]) -> ExprId,
    ) -> Result<Value<'a>> {
        let mut shape = Dims::EMPTY;
        for value in operands {
            if let Value::Tensor(view) = value {
                shape = broadcast(&shape, &view.shape).ok_or_else(|| {
                    frame.invalid_at(
                        node,
                        &format!("{shape:?} and {:?} do not broadcast", view.shape),
                    )
                })?;
            }
        }
        let mut builder = NestBuilder::over(&shape);
        let ids = operands
            .iter()
            .map(|value| operand(frame, &mut builder, value, shape.len()))
            .collect::<Result<Vec<_>>>()?;
        let result = build(&mut builder, &ids);
        let dtype = builder.nodes[result].dtype;
        self.finish(frame, node, builder, result, None, dtype, shape)
    }

    /// Copies a view to a new buffer in row-major order.
    pub(super) fn materialise(
        &mut self,
        frame: &Frame<'a>,
        node: &Node,
        view: &View,
    ) -> Result<View> {
        let out = self.temporary(view.value_dtype(), view.shape)?;
        self.copy(frame, node, view, &out);
        Ok(out)
    }

    /// Copies a view to another of the same shape.
    pub(super) fn copy(&mut self, frame: &Frame<'a>, node: &Node, from: &View, to: &View) {
        let mut builder = NestBuilder::over(&from.shape);
        let result = builder.aligned(from, from.shape.len());
        self.nest(builder.finish(result, None, to, frame.line(node)));
    }

    /// A scalar that is computed when it runs.
    pub(super) fn compute(
        &mut self,
        frame: &Frame<'a>,
        node: &Node,
        compute: ScalarCompute,
        dtype: DType,
    ) -> Value<'a> {
        let out = self.graph.scalar();
        self.graph.ops.push(GraphOp::Scalar {
            out,
            compute,
            place: frame.line(node),
        });
        Value::Scalar(ScalarRef::Slot(out, dtype))
    }
}

fn known<'a>(value: ScalarValue) -> Value<'a> {
    Value::Scalar(ScalarRef::Known(value))
}

fn dtype_of(frame: &Frame<'_>, value: &Value<'_>) -> Result<DType> {
    match value {
        Value::Tensor(view) => Ok(view.value_dtype()),
        Value::Scalar(scalar) => Ok(scalar.dtype()),
        other => Err(frame.invalid(&format!("{other:?} has no elements"))),
    }
}

/// A scalar in an expression.
pub(super) fn scalar_operand(builder: &mut NestBuilder, scalar: ScalarRef) -> ExprId {
    match scalar {
        ScalarRef::Known(value) => builder.constant(value),
        ScalarRef::Slot(scalar, dtype) => builder.push(ExprKind::Scalar(scalar), dtype),
    }
}

/// An operand in an expression over `n` loop variables.
fn operand(
    frame: &Frame<'_>,
    builder: &mut NestBuilder,
    value: &Value<'_>,
    n: usize,
) -> Result<ExprId> {
    match value {
        Value::Tensor(view) if view.shape.len() <= n => Ok(builder.aligned(view, n)),
        Value::Scalar(scalar) => Ok(scalar_operand(builder, *scalar)),
        other => Err(frame.invalid(&format!("{other:?} is no operand here"))),
    }
}

/// Checks that a fold is defined on a dtype.
pub(super) fn check_fold(frame: &Frame<'_>, node: &Node, op: ReduceOp, dtype: DType) -> Result<()> {
    let on_bools = matches!(op, ReduceOp::Any | ReduceOp::All);
    if on_bools == (dtype == DType::Bool) {
        return Ok(());
    }
    Err(frame.invalid_at(node, &format!("{op:?} of {dtype}")))
}
