//! Running a descriptor on sizes: calls are inlined, loops unrolled, optionals
//! resolved and views turned into strides. What is left to compute is listed in
//! a [`Graph`].
//!
//! The macros have proved what they emit; here everything is checked again as
//! it is traced, so that a wrong descriptor ends in an error and not in a read
//! outside a buffer.

mod calls;
mod control;
mod elementwise;
mod index;
mod views;

pub(crate) use views::out_of_range;

use std::collections::HashMap;
use std::sync::Arc;

use linnet_kernels::Cpu;

use crate::descriptor::{
    Axis, Body, DTypeExpr, DimItem, Function, Literal, Node, NodeOp, Type, ValueId,
};
use crate::dtype::{DType, ScalarValue};
use crate::env::Env;
use crate::error::{Error, Result};
use crate::instance::{BlockNode, NodeMember, Slot, SlotContent, SlotId};
use crate::numerics::Numerics;
use crate::shape::Dims;

use super::RootId;
use super::bind::ArgumentKind;
use super::expr::{ExprKind, NestBuilder};
use super::graph::{Graph, GraphOp, Location, ResultRef, RootKind, ScalarCompute, ScalarRef};
use super::view::View;

/// The value of an expression while it is traced.
#[derive(Debug, Clone)]
pub(crate) enum Value<'a> {
    Tensor(View),
    Scalar(ScalarRef),
    /// An absent optional; a present one is its content.
    Absent,
    Tuple(Vec<Value<'a>>),
    Unit,
    /// The element of a loop over a block array.
    Block(&'a BlockNode),
}

/// One call of a function.
pub(crate) struct Frame<'a> {
    pub(crate) function: &'static Function,
    /// Module, block and function, for errors.
    pub(crate) place: Arc<str>,
    pub(crate) env: Env,
    pub(crate) node: Option<&'a BlockNode>,
    /// By value id.
    pub(crate) values: Vec<Option<Value<'a>>>,
    /// For each parameter the place that a `&mut` one stands for.
    pub(crate) mutable: Vec<Option<Location>>,
}

/// What is traced and with what.
pub(crate) struct Tracer<'a> {
    pub(crate) graph: Graph,
    pub(crate) slots: &'a [Slot],
    pub(crate) cpu: &'a Cpu,
    pub(crate) numerics: Numerics,
    /// The roots of the parameters read so far, which never change.
    constants: HashMap<SlotId, RootId>,
    /// Requirements over data that have been checked at this point.
    checked: Vec<calls::Checked>,
    /// The dtypes and shapes of arguments that the call updates.
    mutable_arguments: Vec<Option<(DType, Dims)>>,
    /// Calls within calls; descriptors are finite, but a wrong one may be recursive.
    depth: usize,
    /// Turns of loops so far.
    turns: usize,
}

/// Whether a dtype is a float of 16 bits.
pub(crate) fn is_half(dtype: DType) -> bool {
    matches!(dtype, DType::BF16 | DType::F16)
}

/// The deepest nesting of calls.
const MAX_DEPTH: usize = 200;

impl<'a> Tracer<'a> {
    pub(crate) fn new(slots: &'a [Slot], cpu: &'a Cpu, numerics: Numerics) -> Tracer<'a> {
        Tracer {
            graph: Graph::default(),
            slots,
            cpu,
            numerics,
            constants: HashMap::new(),
            checked: Vec::new(),
            mutable_arguments: Vec::new(),
            depth: 0,
            turns: 0,
        }
    }

    /// Traces a call from outside. `env` holds the generics of the block and of the function.
    pub(crate) fn entry(
        mut self,
        function: &'static Function,
        place: Arc<str>,
        node: Option<&'a BlockNode>,
        env: Env,
        args: &[ArgumentKind],
    ) -> Result<Graph> {
        let stored = env.clone();
        let mut frame = self.entry_frame(function, place, node, env.widened(), args)?;
        self.requirements(&frame)?;
        let result = self.body(&mut frame, &function.body)?;
        frame.expect_type(&result, &function.ret)?;
        let result = self.as_stored(&stored, result, &function.ret)?;
        self.results(&frame, result)?;
        Ok(self.graph)
    }

    /// A result as its declared type stores it.
    fn as_stored(&mut self, stored: &Env, value: Value<'a>, ty: &Type) -> Result<Value<'a>> {
        Ok(match (value, ty) {
            (value, Type::Option(inner)) => self.as_stored(stored, value, inner)?,
            (Value::Tensor(view), Type::Tensor { dtype, .. }) => {
                Value::Tensor(self.narrowed(&view, stored.dtype(*dtype)?, "the result".into())?)
            }
            (Value::Scalar(scalar), Type::Scalar(dtype)) => {
                Value::Scalar(self.scalar_as(scalar, stored.dtype(*dtype)?, "the result".into()))
            }
            (Value::Tuple(values), Type::Tuple(types)) => Value::Tuple(
                values
                    .into_iter()
                    .zip(*types)
                    .map(|(value, ty)| self.as_stored(stored, value, ty))
                    .collect::<Result<_>>()?,
            ),
            (value, _) => value,
        })
    }

    /// A scalar as another dtype.
    pub(crate) fn scalar_as(
        &mut self,
        scalar: ScalarRef,
        dtype: DType,
        place: Arc<str>,
    ) -> ScalarRef {
        match scalar {
            _ if scalar.dtype() == dtype => scalar,
            ScalarRef::Known(value) => ScalarRef::Known(value.cast(dtype)),
            ScalarRef::Slot(..) => {
                let out = self.graph.scalar();
                self.graph.ops.push(GraphOp::Scalar {
                    out,
                    compute: ScalarCompute::Cast(scalar, dtype),
                    place,
                });
                ScalarRef::Slot(out, dtype)
            }
        }
    }

    /// The frame of a call from outside.
    fn entry_frame(
        &mut self,
        function: &'static Function,
        place: Arc<str>,
        node: Option<&'a BlockNode>,
        env: Env,
        args: &[ArgumentKind],
    ) -> Result<Frame<'a>> {
        let mut frame = Frame {
            function,
            place,
            env,
            node,
            values: vec![None; function.n_values as usize],
            mutable: vec![None; args.len()],
        };
        for (i, arg) in args.iter().enumerate() {
            let value = match *arg {
                ArgumentKind::Tensor { dtype, shape } => {
                    let root = self
                        .graph
                        .root(RootKind::Argument(i), dtype, shape.elements()?);
                    Value::Tensor(View::whole(root, dtype, shape))
                }
                ArgumentKind::Mutable { dtype, shape } => {
                    frame.mutable[i] = Some(Location::Argument(i));
                    self.mutable_arguments.resize(i + 1, None);
                    self.mutable_arguments[i] = Some((dtype, shape));
                    Value::Unit
                }
                ArgumentKind::Scalar(dtype) => {
                    let scalar = self.graph.scalar();
                    self.graph.scalar_arguments.push((i, scalar));
                    Value::Scalar(ScalarRef::Slot(scalar, dtype))
                }
                ArgumentKind::Absent => Value::Absent,
            };
            let ty = function.params.get(i).map(|param| &param.ty);
            let value = match (value, ty) {
                (Value::Scalar(scalar), Some(Type::Scalar(due))) => {
                    let due = frame.env.dtype(*due)?;
                    Value::Scalar(self.scalar_as(scalar, due, frame.place.clone()))
                }
                (value, Some(ty)) => frame.widened(value, ty)?,
                (value, None) => value,
            };
            frame.define(i as ValueId, value)?;
        }
        Ok(frame)
    }

    /// Lists the results, tuples flattened.
    fn results(&mut self, frame: &Frame<'a>, value: Value<'a>) -> Result<()> {
        match value {
            Value::Tensor(view) => self.graph.results.push(ResultRef::Tensor(view)),
            Value::Scalar(scalar) => self.graph.results.push(ResultRef::Scalar(scalar)),
            Value::Absent => self.graph.results.push(ResultRef::Absent),
            Value::Tuple(values) => {
                for value in values {
                    self.results(frame, value)?;
                }
            }
            Value::Unit => {}
            Value::Block(_) => return Err(frame.invalid("a block cannot be returned")),
        }
        Ok(())
    }

    /// Runs a body and gives its result.
    fn body(&mut self, frame: &mut Frame<'a>, body: &'static Body) -> Result<Value<'a>> {
        for node in body.nodes {
            let value = self.node(frame, node)?;
            frame.define(node.out, value)?;
        }
        match body.result {
            Some(id) => frame.value(id),
            None => Ok(Value::Unit),
        }
    }

    fn node(&mut self, frame: &mut Frame<'a>, node: &'static Node) -> Result<Value<'a>> {
        let value = match &node.op {
            NodeOp::Literal(literal) => {
                Value::Scalar(ScalarRef::Known(frame.literal(*literal, &node.ty)?))
            }
            NodeOp::Dim(dim) => {
                let value = ScalarValue::I64(frame.env.eval(dim)?);
                Value::Scalar(ScalarRef::Known(value.cast(frame.scalar_dtype(&node.ty)?)))
            }
            NodeOp::Member(path) => {
                let block = frame
                    .node
                    .ok_or_else(|| frame.invalid("an operation has no members"))?;
                self.member(frame, block, path)?
            }
            NodeOp::ElementMember { element, path } => {
                let block = frame.block(*element)?;
                self.member(frame, block, path)?
            }
            NodeOp::ReadMut(param) => {
                let location = frame.location(*param)?;
                self.read(location)?
            }
            NodeOp::Unary(op, input) => self.unary(frame, node, *op, *input)?,
            NodeOp::Binary(op, left, right) => self.binary(frame, node, *op, *left, *right)?,
            NodeOp::Select(condition, yes, no) => {
                self.select(frame, node, *condition, *yes, *no)?
            }
            NodeOp::Cast(input) => self.cast(frame, node, *input)?,
            NodeOp::Reshape(input) => self.reshape(frame, node, *input)?,
            NodeOp::Permute(input, order) => self.permute(frame, *input, order)?,
            NodeOp::BroadcastTo(input) => self.broadcast_to(frame, node, *input)?,
            NodeOp::Slice(input, items) => self.slice(frame, node, *input, items)?,
            NodeOp::Concat(parts, axis) => self.concat(frame, node, parts, *axis)?,
            NodeOp::Iota => self.iota(frame, node)?,
            NodeOp::Fill(input) => self.fill(frame, node, *input)?,
            NodeOp::Reduce {
                op,
                input,
                axes,
                keep,
            } => self.reduce(frame, node, *op, *input, axes, *keep)?,
            NodeOp::Index(expr) => self.index(frame, node, expr)?,
            NodeOp::Call {
                callee,
                generics,
                args,
            } => self.call(frame, node, callee, generics, args)?,
            NodeOp::Some(input) => frame.value(*input)?,
            NodeOp::None => Value::Absent,
            NodeOp::Tuple(ids) => Value::Tuple(
                ids.iter()
                    .map(|&id| frame.value(id))
                    .collect::<Result<_>>()?,
            ),
            NodeOp::Field(input, i) => match frame.value(*input)? {
                Value::Tuple(mut values) if (*i as usize) < values.len() => {
                    values.swap_remove(*i as usize)
                }
                _ => return Err(frame.invalid("a field of what is no tuple that long")),
            },
            NodeOp::SetState(member, input) => {
                let location = frame.state(member, self.slots)?;
                let value = frame.value(*input)?;
                self.write(frame, node, location, value)?
            }
            NodeOp::SetMut(param, input) => {
                let location = frame.location(*param)?;
                let value = frame.value(*input)?;
                self.write(frame, node, location, value)?
            }
            NodeOp::ForBlocks {
                member,
                element,
                carried,
                body,
            } => self.for_blocks(frame, member, *element, carried, body)?,
            NodeOp::ForRange {
                start,
                end,
                index,
                carried,
                body,
            } => self.for_range(frame, start, end, *index, carried, body)?,
            NodeOp::If {
                condition,
                yes,
                no,
                merges,
            } => self.branch(frame, node, *condition, yes, no, merges)?,
            NodeOp::MatchOption {
                input,
                some,
                yes,
                no,
                merges,
            } => self.match_option(frame, *input, *some, yes, no, merges)?,
        };
        let value = self.as_declared(frame, node, value)?;
        frame
            .expect_type(&value, &node.ty)
            .map_err(|error| frame.at_line(node, error))?;
        Ok(value)
    }

    /// A tensor of one element where a scalar is due.
    fn as_declared(
        &mut self,
        frame: &Frame<'a>,
        node: &Node,
        value: Value<'a>,
    ) -> Result<Value<'a>> {
        let value = frame.widened(value, &node.ty)?;
        if let (Value::Tensor(view), Type::Scalar(due)) = (&value, &node.ty) {
            if !view.shape.is_empty() {
                return Err(frame.invalid_at(node, "a tensor where a scalar is due"));
            }
            let widened = view.widened || frame.is_widened(view.dtype, *due)?;
            let view = View {
                widened,
                ..view.clone()
            };
            let view = match widened {
                true => self.materialise(frame, node, &view)?,
                false => view,
            };
            let out = self.graph.scalar();
            let dtype = view.dtype;
            self.graph.ops.push(GraphOp::ReadElement { out, view });
            return Ok(Value::Scalar(ScalarRef::Slot(out, dtype)));
        }
        Ok(value)
    }

    /// The member at a path below a block.
    fn member(
        &mut self,
        frame: &Frame<'a>,
        block: &'a BlockNode,
        path: &[&str],
    ) -> Result<Value<'a>> {
        let Some((name, rest)) = path.split_first() else {
            return Ok(Value::Block(block));
        };
        match block.member(name)? {
            NodeMember::Tensor(Some(slot)) if rest.is_empty() => self.read(Location::Slot(*slot)),
            NodeMember::Tensor(None) if rest.is_empty() => Ok(Value::Absent),
            NodeMember::Sub(Some(sub)) => self.member(frame, sub, rest),
            NodeMember::Sub(None) if rest.is_empty() => Ok(Value::Absent),
            NodeMember::Sub(None) => Err(Error::Descriptor(format!(
                "`{}`: the optional `{name}` is absent, and its `{}` is needed",
                frame.place,
                rest.join(".")
            ))),
            _ => Err(frame.invalid(&format!("`{}` is no member", path.join(".")))),
        }
    }

    /// The content of a location as it is now.
    fn read(&mut self, location: Location) -> Result<Value<'a>> {
        let (dtype, shape, constant) = self.location_type(location)?;
        if let (Location::Slot(slot), true) = (location, constant)
            && let Some(&root) = self.constants.get(&slot)
        {
            return Ok(Value::Tensor(View::whole(root, dtype, shape)));
        }
        let root = self
            .graph
            .root(RootKind::Content(location), dtype, shape.elements()?);
        self.graph.ops.push(GraphOp::Read(root));
        if let (Location::Slot(slot), true) = (location, constant) {
            self.constants.insert(slot, root);
        }
        Ok(Value::Tensor(View::whole(root, dtype, shape)))
    }

    /// The type of what a location holds, and whether it never changes.
    pub(crate) fn location_type(&self, location: Location) -> Result<(DType, Dims, bool)> {
        match location {
            Location::Slot(slot) => {
                let slot = &self.slots[slot];
                Ok((
                    slot.dtype,
                    slot.shape,
                    matches!(slot.content, SlotContent::Parameter(_)),
                ))
            }
            Location::Argument(i) => match self.mutable_arguments.get(i) {
                Some(Some((dtype, shape))) => Ok((*dtype, *shape, false)),
                _ => Err(Error::Descriptor(format!("argument {i} is not `&mut`"))),
            },
        }
    }

    /// Overwrites a location.
    fn write(
        &mut self,
        frame: &Frame<'a>,
        node: &Node,
        location: Location,
        value: Value<'a>,
    ) -> Result<Value<'a>> {
        let (dtype, shape, constant) = self.location_type(location)?;
        let Value::Tensor(view) = value else {
            return Err(frame.invalid_at(node, "only a tensor can be stored"));
        };
        let view = self.narrowed(&view, dtype, frame.line(node))?;
        if constant || view.dtype != dtype || view.shape != shape {
            return Err(frame.invalid_at(
                node,
                &format!(
                    "{} {:?} is stored where {dtype} {shape:?} is due",
                    view.dtype, view.shape
                ),
            ));
        }
        self.graph.ops.push(GraphOp::Write {
            location,
            value: view,
            place: frame.line(node),
        });
        Ok(Value::Unit)
    }

    /// A view of f32 values in the 16 bits of `dtype`, where that is how they are
    /// stored; any other view as it is.
    pub(crate) fn narrowed(&mut self, view: &View, dtype: DType, place: Arc<str>) -> Result<View> {
        if view.widened && view.dtype == dtype {
            return Ok(view.as_stored());
        }
        if view.value_dtype() != DType::F32 || !is_half(dtype) {
            return Ok(view.clone());
        }
        let out = self.temporary(dtype, view.shape)?;
        let mut builder = NestBuilder::over(&view.shape);
        let element = builder.aligned(view, view.shape.len());
        let result = builder.push(ExprKind::Cast(element), dtype);
        self.nest(builder.finish(result, None, &out, place));
        Ok(out)
    }

    /// A copy of a widened view as f32.
    pub(crate) fn widened_copy(&mut self, view: &View, place: Arc<str>) -> Result<View> {
        let out = self.temporary(DType::F32, view.shape)?;
        let mut builder = NestBuilder::over(&view.shape);
        let result = builder.aligned(view, view.shape.len());
        self.nest(builder.finish(result, None, &out, place));
        Ok(out)
    }

    /// A new buffer for a tensor, in row-major order.
    pub(crate) fn temporary(&mut self, dtype: DType, shape: Dims) -> Result<View> {
        let root = self
            .graph
            .root(RootKind::Temporary, dtype, shape.elements()?);
        Ok(View::whole(root, dtype, shape))
    }
}

impl<'a> Frame<'a> {
    pub(crate) fn define(&mut self, id: ValueId, value: Value<'a>) -> Result<()> {
        match self.values.get_mut(id as usize) {
            Some(slot) => {
                *slot = Some(value);
                Ok(())
            }
            None => Err(self.invalid(&format!(
                "value {id} is beyond the {} declared",
                self.values.len()
            ))),
        }
    }

    pub(crate) fn value(&self, id: ValueId) -> Result<Value<'a>> {
        match self.values.get(id as usize) {
            Some(Some(value)) => Ok(value.clone()),
            _ => Err(self.invalid(&format!("value {id} is used before it is defined"))),
        }
    }

    pub(crate) fn tensor(&self, id: ValueId) -> Result<View> {
        match self.value(id)? {
            Value::Tensor(view) => Ok(view),
            other => Err(self.invalid(&format!("value {id} must be a tensor, found {other:?}"))),
        }
    }

    pub(crate) fn scalar(&self, id: ValueId) -> Result<ScalarRef> {
        match self.value(id)? {
            Value::Scalar(scalar) => Ok(scalar),
            other => Err(self.invalid(&format!("value {id} must be a scalar, found {other:?}"))),
        }
    }

    pub(crate) fn block(&self, id: ValueId) -> Result<&'a BlockNode> {
        match self.value(id)? {
            Value::Block(block) => Ok(block),
            other => Err(self.invalid(&format!("value {id} must be a block, found {other:?}"))),
        }
    }

    /// The place that a `&mut` parameter stands for.
    pub(crate) fn location(&self, param: u32) -> Result<Location> {
        match self.mutable.get(param as usize) {
            Some(Some(location)) => Ok(*location),
            _ => Err(self.invalid(&format!("parameter {param} is not `&mut`"))),
        }
    }

    /// The place of a state of `self`.
    pub(crate) fn state(&self, name: &str, slots: &[Slot]) -> Result<Location> {
        let block = self
            .node
            .ok_or_else(|| self.invalid("an operation has no states"))?;
        match block.member(name)? {
            NodeMember::Tensor(Some(slot))
                if matches!(slots[*slot].content, SlotContent::State(_)) =>
            {
                Ok(Location::Slot(*slot))
            }
            _ => Err(self.invalid(&format!("`{name}` is no state"))),
        }
    }

    /// The sizes of a tensor type.
    pub(crate) fn dims(&self, ty: &Type) -> Result<Dims> {
        match ty {
            Type::Tensor { dims, .. } => self.env.dims(dims),
            other => Err(self.invalid(&format!("{other} is no tensor type"))),
        }
    }

    pub(crate) fn tensor_type(&self, ty: &Type) -> Result<(DType, Dims)> {
        match ty {
            Type::Tensor { dims, dtype } => Ok((self.env.dtype(*dtype)?, self.env.dims(dims)?)),
            other => Err(self.invalid(&format!("{other} is no tensor type"))),
        }
    }

    /// The dtype of a scalar, or of a tensor's elements.
    pub(crate) fn scalar_dtype(&self, ty: &Type) -> Result<DType> {
        match ty {
            Type::Scalar(dtype) | Type::Tensor { dtype, .. } => self.env.dtype(*dtype),
            other => Err(self.invalid(&format!("{other} has no dtype"))),
        }
    }

    fn literal(&self, literal: Literal, ty: &Type) -> Result<ScalarValue> {
        let dtype = self.scalar_dtype(ty)?;
        self.literal_of(literal, dtype)
    }

    /// A constant of the source as a value of `dtype`.
    pub(crate) fn literal_of(&self, literal: Literal, dtype: DType) -> Result<ScalarValue> {
        Ok(match (literal, dtype) {
            (Literal::Float(x), DType::F32) => ScalarValue::F32(x as f32),
            (Literal::Float(x), DType::F16) => ScalarValue::F16(half::f16::from_f64(x)),
            (Literal::Float(x), DType::BF16) => ScalarValue::BF16(half::bf16::from_f64(x)),
            (Literal::Int(n), dtype) if dtype != DType::Bool => ScalarValue::I64(n).cast(dtype),
            (Literal::Bool(b), DType::Bool) => ScalarValue::Bool(b),
            _ => return Err(self.invalid(&format!("{literal:?} is no {dtype}"))),
        })
    }

    /// Whether values of `due` are stored as `stored`: in 16 bits and read as f32.
    pub(crate) fn is_widened(&self, stored: DType, due: DTypeExpr) -> Result<bool> {
        Ok(is_half(stored) && self.env.dtype(due)? == DType::F32)
    }

    /// A tensor that is stored in 16 bits as the f32 that its type says here.
    fn widened(&self, value: Value<'a>, ty: &Type) -> Result<Value<'a>> {
        Ok(match (value, ty) {
            (value, Type::Option(inner)) => self.widened(value, inner)?,
            (Value::Tensor(view), Type::Tensor { dtype, .. })
                if !view.widened && self.is_widened(view.dtype, *dtype)? =>
            {
                Value::Tensor(View {
                    widened: true,
                    ..view
                })
            }
            (value, _) => value,
        })
    }

    /// Checks that a value is of its inferred type.
    pub(crate) fn expect_type(&self, value: &Value<'a>, ty: &Type) -> Result<()> {
        let right = match (value, ty) {
            (Value::Absent, Type::Option(_)) => true,
            (Value::Block(_), _) => true,
            (value, Type::Option(inner)) => return self.expect_type(value, inner),
            (Value::Tensor(view), Type::Tensor { dims, dtype }) => {
                view.value_dtype() == self.env.dtype(*dtype)?
                    && view.shape == self.env.dims(dims)?
            }
            (Value::Scalar(scalar), Type::Scalar(dtype)) => {
                scalar.dtype() == self.env.dtype(*dtype)?
            }
            (Value::Tuple(values), Type::Tuple(types)) => {
                if values.len() != types.len() {
                    return Err(self.invalid(&format!("{} values where {ty} is due", values.len())));
                }
                return values
                    .iter()
                    .zip(*types)
                    .try_for_each(|(value, ty)| self.expect_type(value, ty));
            }
            (Value::Unit, Type::Unit) => true,
            _ => false,
        };
        if right {
            return Ok(());
        }
        let found = match value {
            Value::Tensor(view) => format!("{} {:?}", view.dtype, view.shape),
            other => format!("{other:?}"),
        };
        Err(self.invalid(&format!("{found} where {ty} is due")))
    }

    /// Function and line, for errors when it runs.
    pub(crate) fn line(&self, node: &Node) -> Arc<str> {
        format!("`{}`, line {}", self.place, node.line).into()
    }

    pub(crate) fn invalid(&self, reason: &str) -> Error {
        Error::InvalidDescriptor {
            place: self.place.to_string(),
            reason: reason.to_owned(),
        }
    }

    pub(crate) fn invalid_at(&self, node: &Node, reason: &str) -> Error {
        Error::InvalidDescriptor {
            place: format!("{}, line {}", self.place, node.line),
            reason: reason.to_owned(),
        }
    }

    fn at_line(&self, node: &Node, error: Error) -> Error {
        match error {
            Error::InvalidDescriptor { reason, .. } => self.invalid_at(node, &reason),
            other => other,
        }
    }

    /// The number of an axis of a tensor of `rank` axes.
    pub(crate) fn axis(&self, axis: Axis, rank: usize) -> Result<usize> {
        let number = match axis {
            Axis::Front(i) => Some(i as usize),
            Axis::Back(i) => rank.checked_sub(1 + i as usize),
        };
        number
            .filter(|&number| number < rank)
            .ok_or_else(|| self.invalid(&format!("a tensor of rank {rank} has no axis {axis:?}")))
    }

    /// The sizes that an index variable runs over.
    pub(crate) fn extents(&self, item: &DimItem) -> Result<Dims> {
        self.env.dims(std::slice::from_ref(item))
    }

    pub(crate) fn dtype(&self, dtype: DTypeExpr) -> Result<DType> {
        self.env.dtype(dtype)
    }
}
