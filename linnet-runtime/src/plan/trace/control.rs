//! Loops and branches.

use crate::descriptor::{Body, Carried, DimExpr, Merge, Node, ValueId};
use crate::dtype::{DType, ScalarValue};
use crate::error::{Error, Result};
use crate::instance::NodeMember;

use super::{Frame, Tracer, Value};
use crate::plan::graph::{GraphOp, ScalarCompute, ScalarRef};

/// The most turns of all loops of a call together. Models make some hundreds;
/// beyond this a loop's bound is a mistake.
const MAX_TURNS: usize = 1 << 20;

impl<'a> Tracer<'a> {
    pub(super) fn for_blocks(
        &mut self,
        frame: &mut Frame<'a>,
        member: &str,
        element: ValueId,
        carried: &[Carried],
        body: &'static Body,
    ) -> Result<Value<'a>> {
        let node = frame
            .node
            .ok_or_else(|| frame.invalid("an operation has no blocks"))?;
        let NodeMember::Array(blocks) = node.member(member)? else {
            return Err(frame.invalid(&format!("`{member}` is no array of blocks")));
        };
        self.turns(
            frame,
            blocks.iter().map(Value::Block),
            element,
            carried,
            body,
        )
    }

    pub(super) fn for_range(
        &mut self,
        frame: &mut Frame<'a>,
        start: &DimExpr,
        end: &DimExpr,
        index: ValueId,
        carried: &[Carried],
        body: &'static Body,
    ) -> Result<Value<'a>> {
        let range = frame.env.eval(start)?..frame.env.eval(end)?;
        let turns = range.map(|i| Value::Scalar(ScalarRef::Known(ScalarValue::I64(i))));
        self.turns(frame, turns, index, carried, body)
    }

    fn turns(
        &mut self,
        frame: &mut Frame<'a>,
        turns: impl Iterator<Item = Value<'a>>,
        variable: ValueId,
        carried: &[Carried],
        body: &'static Body,
    ) -> Result<Value<'a>> {
        let mut current = carried
            .iter()
            .map(|c| frame.value(c.init))
            .collect::<Result<Vec<_>>>()?;
        for turn in turns {
            self.turns += 1;
            if self.turns > MAX_TURNS {
                return Err(Error::TooLarge {
                    what: format!("`{}` with all its loops unrolled", frame.place),
                });
            }
            frame.define(variable, turn)?;
            for (carried, value) in carried.iter().zip(current.drain(..)) {
                frame.define(carried.entering, value)?;
            }
            self.body(frame, body)?;
            for carried in carried {
                current.push(frame.value(carried.leaving)?);
            }
        }
        for (carried, value) in carried.iter().zip(current) {
            frame.define(carried.out, value)?;
        }
        Ok(Value::Unit)
    }

    pub(super) fn match_option(
        &mut self,
        frame: &mut Frame<'a>,
        input: ValueId,
        some: ValueId,
        yes: &'static Body,
        no: &'static Body,
        merges: &[Merge],
    ) -> Result<Value<'a>> {
        let value = frame.value(input)?;
        let present = !matches!(value, Value::Absent);
        if present {
            frame.define(some, value)?;
        }
        self.taken(frame, present, yes, no, merges)
    }

    /// Runs the one branch that is known to be taken.
    fn taken(
        &mut self,
        frame: &mut Frame<'a>,
        first: bool,
        yes: &'static Body,
        no: &'static Body,
        merges: &[Merge],
    ) -> Result<Value<'a>> {
        let result = self.body(frame, if first { yes } else { no })?;
        for merge in merges {
            let value = frame.value(if first { merge.first } else { merge.second })?;
            frame.define(merge.out, value)?;
        }
        Ok(result)
    }

    pub(super) fn branch(
        &mut self,
        frame: &mut Frame<'a>,
        node: &Node,
        condition: ValueId,
        yes: &'static Body,
        no: &'static Body,
        merges: &[Merge],
    ) -> Result<Value<'a>> {
        let condition = frame.scalar(condition)?;
        if condition.dtype() != DType::Bool {
            return Err(frame.invalid_at(node, "a condition that is no bool"));
        }
        let scalar = match condition {
            ScalarRef::Known(value) => {
                return self.taken(frame, value.to_i64() != 0, yes, no, merges);
            }
            ScalarRef::Slot(scalar, _) => scalar,
        };
        // Both branches are listed. Their results meet in buffers and scalars
        // that either writes; what the second writes to is known only once the
        // first is done, and the other way round for nothing.
        self.graph.ops.push(GraphOp::If(scalar));
        let checked = self.checked.len();
        let result = self.body(frame, yes)?;
        let mut first = vec![result];
        for merge in merges {
            first.push(frame.value(merge.first)?);
        }
        let merged = first
            .into_iter()
            .map(|value| self.meeting_place(frame, node, value))
            .collect::<Result<Vec<_>>>()?;
        self.checked.truncate(checked);
        self.graph.ops.push(GraphOp::Else);
        let result = self.body(frame, no)?;
        self.meet(frame, node, result, &merged[0])?;
        for (merge, place) in merges.iter().zip(&merged[1..]) {
            let value = frame.value(merge.second)?;
            self.meet(frame, node, value, place)?;
        }
        self.checked.truncate(checked);
        self.graph.ops.push(GraphOp::EndIf);
        for (merge, place) in merges.iter().zip(&merged[1..]) {
            frame.define(merge.out, place.clone())?;
        }
        Ok(merged.into_iter().next().unwrap_or(Value::Unit))
    }

    /// A place for a value that the other branch can write to as well, with the value in it.
    fn meeting_place(
        &mut self,
        frame: &Frame<'a>,
        node: &Node,
        value: Value<'a>,
    ) -> Result<Value<'a>> {
        Ok(match value {
            Value::Tensor(view) => Value::Tensor(self.materialise(frame, node, &view)?),
            Value::Scalar(scalar) => {
                self.compute(frame, node, ScalarCompute::Move(scalar), scalar.dtype())
            }
            Value::Tuple(values) => Value::Tuple(
                values
                    .into_iter()
                    .map(|value| self.meeting_place(frame, node, value))
                    .collect::<Result<_>>()?,
            ),
            other => other,
        })
    }

    /// Writes a value to a place that the other branch has written to.
    fn meet(
        &mut self,
        frame: &Frame<'a>,
        node: &Node,
        value: Value<'a>,
        place: &Value<'a>,
    ) -> Result<()> {
        match (value, place) {
            (Value::Tensor(from), Value::Tensor(to))
                if from.value_dtype() == to.dtype && from.shape == to.shape =>
            {
                self.copy(frame, node, &from, to);
                Ok(())
            }
            (Value::Scalar(from), Value::Scalar(ScalarRef::Slot(out, dtype)))
                if from.dtype() == *dtype =>
            {
                let compute = ScalarCompute::Move(from);
                self.graph.ops.push(GraphOp::Scalar {
                    out: *out,
                    compute,
                    place: frame.line(node),
                });
                Ok(())
            }
            (Value::Tuple(values), Value::Tuple(places)) if values.len() == places.len() => values
                .into_iter()
                .zip(places)
                .try_for_each(|(value, place)| self.meet(frame, node, value, place)),
            (Value::Unit, Value::Unit) | (Value::Absent, Value::Absent) => Ok(()),
            (value, place) => Err(frame.invalid_at(
                node,
                &format!(
                    "the branches of an `if` on run-time data result in {value:?} and {place:?}"
                ),
            )),
        }
    }
}
