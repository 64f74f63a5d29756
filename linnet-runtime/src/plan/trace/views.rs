//! Views, and what cannot be one.

use crate::descriptor::{Axis, Node, SliceItem, Start, ValueId};
use crate::error::{Error, Result};

use super::{Frame, Tracer, Value};
use crate::plan::graph::{GraphOp, ScalarRef};
use crate::plan::view::{DynamicOffset, View};

impl<'a> Tracer<'a> {
    pub(super) fn reshape(
        &mut self,
        frame: &Frame<'a>,
        node: &Node,
        input: ValueId,
    ) -> Result<Value<'a>> {
        let view = frame.tensor(input)?;
        let shape = frame.dims(&node.ty)?;
        if shape.elements()? != view.shape.elements()? {
            return Err(
                frame.invalid_at(node, &format!("a reshape of {:?} to {shape:?}", view.shape))
            );
        }
        if let Some(out) = view.reshape(shape) {
            return Ok(Value::Tensor(out));
        }
        let copy = self.materialise(frame, node, &view)?;
        let out = copy
            .reshape(shape)
            .ok_or_else(|| frame.invalid_at(node, "a reshape of a row-major tensor"))?;
        Ok(Value::Tensor(out))
    }

    pub(super) fn permute(
        &mut self,
        frame: &Frame<'a>,
        input: ValueId,
        order: &[Axis],
    ) -> Result<Value<'a>> {
        let view = frame.tensor(input)?;
        let rank = view.shape.len();
        let named = order
            .iter()
            .map(|&axis| frame.axis(axis, rank))
            .collect::<Result<Vec<_>>>()?;
        let mut seen = [false; crate::shape::MAX_RANK];
        for &axis in &named {
            if std::mem::replace(&mut seen[axis], true) {
                return Err(frame.invalid("an axis is named twice in a permutation"));
            }
        }
        if named.len() != rank {
            return Err(frame.invalid(&format!(
                "a permutation of {} axes of a tensor of rank {rank}",
                named.len()
            )));
        }
        Ok(Value::Tensor(view.permute(&named)))
    }

    pub(super) fn broadcast_to(
        &mut self,
        frame: &Frame<'a>,
        node: &Node,
        input: ValueId,
    ) -> Result<Value<'a>> {
        let view = frame.tensor(input)?;
        let shape = frame.dims(&node.ty)?;
        let out = view.broadcast_to(shape).ok_or_else(|| {
            frame.invalid_at(
                node,
                &format!("a broadcast of {:?} to {shape:?}", view.shape),
            )
        })?;
        Ok(Value::Tensor(out))
    }

    pub(super) fn slice(
        &mut self,
        frame: &Frame<'a>,
        node: &Node,
        input: ValueId,
        items: &[SliceItem],
    ) -> Result<Value<'a>> {
        let view = frame.tensor(input)?;
        let shape = frame.dims(&node.ty)?;
        let rank = view.shape.len();
        let named = items
            .iter()
            .filter(|item| !matches!(item, SliceItem::Rest))
            .count();
        let has_rest = named < items.len();
        if named > rank || items.len() > named + 1 {
            return Err(frame.invalid_at(
                node,
                &format!("{} entries for a tensor of rank {rank}", items.len()),
            ));
        }
        let mut out = View {
            shape: Default::default(),
            strides: Default::default(),
            ..view.clone()
        };
        let mut axis = 0;
        for item in items {
            match item {
                SliceItem::Full | SliceItem::Rest => {
                    let n = if matches!(item, SliceItem::Full) {
                        1
                    } else {
                        rank - named
                    };
                    for _ in 0..n {
                        out.shape.push(view.shape[axis])?;
                        out.strides.push(view.strides[axis])?;
                        axis += 1;
                    }
                }
                SliceItem::Range { start, step } => {
                    let step = usize::try_from(*step).ok().filter(|&step| step > 0);
                    let step =
                        step.ok_or_else(|| frame.invalid_at(node, "a slice with a step below 1"))?;
                    let Some(&length) = shape.get(out.shape.len()) else {
                        return Err(frame.invalid_at(node, "a slice of another rank than its type"));
                    };
                    out.shape.push(length)?;
                    out.strides.push(view.strides[axis] * step)?;
                    self.start(
                        frame,
                        node,
                        &view,
                        &mut out,
                        *start,
                        Part {
                            axis,
                            length,
                            step,
                            index: false,
                        },
                    )?;
                    axis += 1;
                }
                SliceItem::Index(start) => {
                    self.start(
                        frame,
                        node,
                        &view,
                        &mut out,
                        *start,
                        Part {
                            axis,
                            length: 1,
                            step: 1,
                            index: true,
                        },
                    )?;
                    axis += 1;
                }
            }
        }
        // Axes after the last entry are whole.
        while axis < rank && !has_rest {
            out.shape.push(view.shape[axis])?;
            out.strides.push(view.strides[axis])?;
            axis += 1;
        }
        Ok(Value::Tensor(out))
    }

    /// Moves `out` to where a part of an axis starts, after checking that the part is inside.
    fn start(
        &mut self,
        frame: &Frame<'a>,
        node: &Node,
        view: &View,
        out: &mut View,
        start: Start,
        part: Part,
    ) -> Result<()> {
        let Part {
            axis,
            length,
            step,
            index,
        } = part;
        let axis_length = view.shape[axis];
        let stride = view.strides[axis];
        // How far the last element is from the first, plus one.
        let span = match length {
            0 => 0,
            _ => (length - 1)
                .checked_mul(step)
                .and_then(|n| n.checked_add(1))
                .unwrap_or(usize::MAX),
        };
        let scalar = match start {
            Start::Dim(dim) => ScalarRef::Known(crate::ScalarValue::I64(frame.env.eval(&dim)?)),
            Start::Value(id) => frame.scalar(id)?,
        };
        if scalar.dtype().is_float() {
            return Err(frame.invalid_at(node, "a slice that starts at a float"));
        }
        match scalar {
            ScalarRef::Known(value) => {
                let value = value.to_i64();
                let inside = usize::try_from(value).ok().filter(|&start| {
                    start
                        .checked_add(span)
                        .is_some_and(|end| end <= axis_length)
                });
                let Some(start) = inside else {
                    return Err(out_of_range(
                        &frame.line(node),
                        value,
                        span,
                        axis,
                        axis_length,
                        index,
                    ));
                };
                out.offset += start * stride;
            }
            ScalarRef::Slot(scalar, _) => {
                self.graph.ops.push(GraphOp::CheckStart {
                    scalar,
                    length,
                    step,
                    axis,
                    axis_length,
                    index,
                    place: frame.line(node),
                });
                let max = axis_length.saturating_sub(span);
                out.dynamic.push(DynamicOffset {
                    scalar,
                    stride,
                    max,
                });
            }
        }
        Ok(())
    }

    pub(super) fn concat(
        &mut self,
        frame: &Frame<'a>,
        node: &Node,
        parts: &[ValueId],
        axis: Axis,
    ) -> Result<Value<'a>> {
        let (dtype, shape) = frame.tensor_type(&node.ty)?;
        let axis = frame.axis(axis, shape.len())?;
        let out = self.temporary(dtype, shape)?;
        let mut at = 0;
        for &part in parts {
            let part = frame.tensor(part)?;
            let mut expected = shape;
            expected[axis] = *part.shape.get(axis).unwrap_or(&0);
            if part.shape != expected
                || part.value_dtype() != dtype
                || at + part.shape[axis] > shape[axis]
            {
                return Err(frame.invalid_at(
                    node,
                    &format!("{:?} in a concatenation to {shape:?}", part.shape),
                ));
            }
            let mut to = View {
                shape: part.shape,
                ..out.clone()
            };
            to.offset = at * out.strides[axis];
            at += part.shape[axis];
            self.copy(frame, node, &part, &to);
        }
        if at != shape[axis] {
            return Err(frame.invalid_at(node, "a concatenation shorter than its type"));
        }
        Ok(Value::Tensor(out))
    }
}

/// A part of an axis.
struct Part {
    axis: usize,
    length: usize,
    step: usize,
    index: bool,
}

/// The error for a part that leaves its axis. `span` is the distance from its
/// first to past its last element.
pub(crate) fn out_of_range(
    place: &str,
    start: i64,
    span: usize,
    axis: usize,
    length: usize,
    index: bool,
) -> Error {
    let place = place.to_owned();
    if index {
        return Error::IndexOutOfRange {
            place,
            index: start,
            axis,
            length,
        };
    }
    let end = start.saturating_add(i64::try_from(span).unwrap_or(i64::MAX));
    Error::SliceOutOfRange {
        place,
        start,
        end,
        axis,
        length,
    }
}
