//! Calls: of operations, by their kernel or their body, and of blocks' functions.

use std::sync::Arc;

use crate::descriptor::{
    Arg, Callee, Comparison, DTypeExpr, DimExpr, Function, GenericArg, Node, OpDescriptor, Param,
    Requirement, Type, ValueId,
};
use crate::dtype::DType;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::instance::{BlockNode, NodeMember};
use crate::kernel::{KernelCall, KernelPlan, MAX_OPERANDS, Operand, OutputSpec, TensorOperand};
use crate::numerics::Numerics;
use crate::shape::Dims;

use super::{Frame, MAX_DEPTH, Tracer, Value, is_half};
use crate::plan::graph::{Check, GraphOp, KernelOp, KernelOperand, RootKind, ScalarRef};
use crate::plan::requirement::RuntimeDim;
use crate::plan::view::View;

/// A requirement over data that holds from here on.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Checked {
    Compare(RuntimeDim, Comparison, RuntimeDim),
    Elements(View, Comparison, RuntimeDim),
    Distinct(View),
    Packed(Box<[View; 3]>),
}

impl<'a> Tracer<'a> {
    pub(super) fn call(
        &mut self,
        frame: &Frame<'a>,
        node: &Node,
        callee: &Callee,
        generics: &'static [GenericArg],
        args: &'static [Arg],
    ) -> Result<Value<'a>> {
        let (block, name) = match *callee {
            Callee::Op(op) => return self.call_op(frame, node, op, generics, args),
            Callee::Own(function) => (
                frame
                    .node
                    .ok_or_else(|| frame.invalid("an operation has no functions"))?,
                function,
            ),
            Callee::Member { member, function } => (self.sub_block(frame, member)?, function),
            Callee::Element { element, function } => (frame.block(element)?, function),
        };
        let function = block.block.functions.iter().find(|f| f.name == name);
        let function = function.ok_or_else(|| {
            frame.invalid(&format!("`{}` has no function `{name}`", block.block.name))
        })?;
        let place = format!("{}::{}::{name}", block.block.module, block.block.name).into();
        let mut inner = self.enter(
            frame,
            node,
            function,
            place,
            Some(block),
            &block.env.widened(),
            generics,
            args,
        )?;
        self.requirements(&inner)?;
        self.run(&mut inner)
    }

    fn sub_block(&self, frame: &Frame<'a>, member: &str) -> Result<&'a BlockNode> {
        let node = frame
            .node
            .ok_or_else(|| frame.invalid("an operation has no members"))?;
        match node.member(member)? {
            NodeMember::Sub(Some(sub)) => Ok(sub),
            NodeMember::Sub(None) => Err(Error::Descriptor(format!(
                "`{}` calls the optional block `{member}`, which is absent",
                frame.place
            ))),
            _ => Err(frame.invalid(&format!("`{member}` is no block"))),
        }
    }

    fn call_op(
        &mut self,
        frame: &Frame<'a>,
        node: &Node,
        op: &'static OpDescriptor,
        generics: &'static [GenericArg],
        args: &'static [Arg],
    ) -> Result<Value<'a>> {
        let place = format!("{}::{}", op.module, op.function.name).into();
        let mut inner = self.enter(
            frame,
            node,
            &op.function,
            place,
            None,
            &Env::default(),
            generics,
            args,
        )?;
        self.requirements(&inner)?;
        if self.numerics == Numerics::Fast
            && let Some(value) = self.kernel(&inner, op)?
        {
            return Ok(value);
        }
        self.run(&mut inner)
    }

    /// The kernel of an operation instead of its body. Called from outside.
    pub(crate) fn entry_op(
        mut self,
        op: &'static OpDescriptor,
        place: Arc<str>,
        env: Env,
        args: &[crate::plan::bind::ArgumentKind],
    ) -> Result<crate::plan::graph::Graph> {
        let mut frame = self.entry_frame(&op.function, place, None, env, args)?;
        self.requirements(&frame)?;
        let result = match self.numerics {
            Numerics::Fast => self.kernel(&frame, op)?,
            Numerics::Exact => None,
        };
        let result = match result {
            Some(value) => value,
            None => self.run(&mut frame)?,
        };
        self.results(&frame, result)?;
        Ok(self.graph)
    }

    fn run(&mut self, frame: &mut Frame<'a>) -> Result<Value<'a>> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(frame.invalid("calls nest too deeply"));
        }
        let result = self.body(frame, &frame.function.body)?;
        self.depth -= 1;
        frame.expect_type(&result, &frame.function.ret)?;
        Ok(result)
    }

    /// The frame of a call.
    #[allow(
        clippy::too_many_arguments,
        reason = "what a call consists of, at its two call sites"
    )]
    fn enter(
        &mut self,
        frame: &Frame<'a>,
        node: &Node,
        function: &'static Function,
        place: Arc<str>,
        block: Option<&'a BlockNode>,
        outer: &Env,
        generics: &'static [GenericArg],
        args: &'static [Arg],
    ) -> Result<Frame<'a>> {
        if args.len() != function.params.len() {
            return Err(frame.invalid_at(node, &format!("{} arguments for `{place}`", args.len())));
        }
        let values = generics
            .iter()
            .map(|generic| frame.env.argument(generic))
            .collect::<Result<Vec<_>>>()?;
        let mut inner = Frame {
            function,
            env: outer.bound(&place, function.generics, &values)?,
            place,
            node: block,
            values: vec![None; function.n_values as usize],
            mutable: vec![None; args.len()],
        };
        for (i, (arg, param)) in args.iter().zip(function.params).enumerate() {
            let location = match *arg {
                Arg::Value(id) => {
                    let value = frame.value(id)?;
                    if param.by_mut {
                        return Err(frame.invalid_at(
                            node,
                            &format!("`{}` must be given by `&mut`", param.name),
                        ));
                    }
                    inner.expect_type(&value, &param.ty)?;
                    inner.define(i as ValueId, value)?;
                    continue;
                }
                Arg::State(name) => frame.state(name, self.slots)?,
                Arg::MutParam(param) => frame.location(param)?,
            };
            let (dtype, shape, _) = self.location_type(location)?;
            let (due, due_shape) = inner.tensor_type(&param.ty)?;
            let fits = due == dtype || (due == DType::F32 && is_half(dtype));
            if !param.by_mut || !fits || due_shape != shape {
                return Err(frame.invalid_at(
                    node,
                    &format!("{dtype} {shape:?} given by `&mut` as `{}`", param.name),
                ));
            }
            if inner.mutable.contains(&Some(location)) {
                return Err(frame.invalid_at(node, "one tensor is given by `&mut` twice"));
            }
            inner.mutable[i] = Some(location);
            inner.define(i as ValueId, Value::Unit)?;
        }
        Ok(inner)
    }

    /// Checks a function's requirements: those over dimensions now, the others when it runs.
    pub(super) fn requirements(&mut self, frame: &Frame<'a>) -> Result<()> {
        for requirement in frame.function.requires {
            frame.env.check(&frame.place, requirement)?;
            let scalars = |name: &str| frame.scalar_param(name);
            let (checked, check) = match *requirement {
                Requirement::Compare {
                    left,
                    comparison,
                    right,
                    ..
                } => {
                    if !left.has_scalar() && !right.has_scalar() {
                        continue;
                    }
                    let mut names = Vec::new();
                    for dim in [&left, &right] {
                        dim.names(&mut names);
                    }
                    let names = names
                        .into_iter()
                        .map(|name| {
                            let dim = match frame.env.get(name) {
                                Some(_) => {
                                    RuntimeDim::new(&DimExpr::Generic(name), &frame.env, &scalars)
                                }
                                None => {
                                    RuntimeDim::new(&DimExpr::Scalar(name), &frame.env, &scalars)
                                }
                            };
                            Ok((name, dim?))
                        })
                        .collect::<Result<_>>()?;
                    let left = RuntimeDim::new(&left, &frame.env, &scalars)?;
                    let right = RuntimeDim::new(&right, &frame.env, &scalars)?;
                    let checked = Checked::Compare(left.clone(), comparison, right.clone());
                    (
                        checked,
                        Check::Compare {
                            left,
                            comparison,
                            right,
                            names,
                        },
                    )
                }
                Requirement::Elements {
                    param,
                    comparison,
                    bound,
                    ..
                } => {
                    let Some(view) = frame.tensor_param(param)? else {
                        continue;
                    };
                    let text = bound.to_string();
                    let bound = RuntimeDim::new(&bound, &frame.env, &scalars)?;
                    let bound_text = match bound {
                        RuntimeDim::Const(value) if value.to_string() != text => {
                            format!("{text} = {value}")
                        }
                        _ => text,
                    };
                    let checked = Checked::Elements(view.clone(), comparison, bound.clone());
                    (
                        checked,
                        Check::Elements {
                            view,
                            param,
                            comparison,
                            bound,
                            bound_text,
                        },
                    )
                }
                Requirement::Distinct { param, .. } => {
                    let Some(view) = frame.tensor_param(param)? else {
                        continue;
                    };
                    if self.checked.contains(&Checked::Distinct(view.clone())) {
                        continue;
                    }
                    let n = view.shape.elements()?;
                    let scratch = self.graph.root(RootKind::Temporary, DType::I64, n);
                    (
                        Checked::Distinct(view.clone()),
                        Check::Distinct {
                            view,
                            param,
                            scratch,
                        },
                    )
                }
                Requirement::Packed { params, .. } => {
                    let mut views = Vec::with_capacity(params.len());
                    for param in params {
                        views.extend(frame.tensor_param(param)?);
                    }
                    let Ok(views) = <[View; 3]>::try_from(views).map(Box::new) else {
                        continue;
                    };
                    (
                        Checked::Packed(views.clone()),
                        Check::Packed { views, params },
                    )
                }
            };
            if self.checked.contains(&checked) {
                continue;
            }
            self.checked.push(checked);
            self.graph.ops.push(GraphOp::Check {
                check,
                place: frame.place.clone(),
                clause: requirement.text(),
            });
        }
        Ok(())
    }

    /// Plans an operation's kernel; None if it has none or that declines.
    fn kernel(
        &mut self,
        frame: &Frame<'a>,
        op: &'static OpDescriptor,
    ) -> Result<Option<Value<'a>>> {
        let Some(kernel) = op.kernel else {
            return Ok(None);
        };
        let halves = self.halves(frame)?;
        let stored = |dtype: DTypeExpr| match dtype {
            DTypeExpr::Generic(name) => halves.iter().find(|(half, _)| *half == name),
            DTypeExpr::Concrete(_) => None,
        };
        let mut types = Vec::new();
        let mut widened = Vec::new();
        let returns = match op.function.ret {
            Type::Tuple(items) => items,
            Type::Unit => &[],
            ref single => std::slice::from_ref(single),
        };
        for ty in returns {
            match ty {
                Type::Tensor { dtype, .. } => {
                    let (due, shape) = frame.tensor_type(ty)?;
                    let half = stored(*dtype).map(|(_, half)| *half);
                    types.push((half.unwrap_or(due), shape));
                    widened.push(half.is_some());
                }
                _ => return Ok(None),
            }
        }
        let outputs: Vec<OutputSpec> = types
            .iter()
            .map(|&(dtype, shape)| OutputSpec { shape, dtype })
            .collect();
        // A kernel that does not take parameters as they are stored gets copies.
        let mut planned = None;
        for keep in [true, false] {
            if keep && !self.keeps_parameters(frame)? {
                continue;
            }
            let mut operands = Vec::new();
            let mut known = Vec::new();
            for (i, param) in op.function.params.iter().enumerate() {
                let half = match param.ty {
                    Type::Tensor { dtype, .. } | Type::Scalar(dtype) => {
                        stored(dtype).map(|(_, half)| *half)
                    }
                    Type::Option(Type::Tensor { dtype, .. }) => {
                        stored(*dtype).map(|(_, half)| *half)
                    }
                    _ => None,
                };
                let Some((operand, described)) = self.operand(frame, i, param, half, keep)? else {
                    return Ok(None);
                };
                operands.push(operand);
                known.push(described);
            }
            if operands.len() > MAX_OPERANDS || outputs.len() > MAX_OPERANDS {
                return Ok(None);
            }
            let call = KernelCall {
                operands: &known,
                outputs: &outputs,
                cpu: self.cpu,
            };
            if let Some(plan) = kernel.plan(&call) {
                planned = Some((plan, operands));
                break;
            }
        }
        let Some((plan, operands)) = planned else {
            return Ok(None);
        };
        let mut views = self.kernel_outputs(kernel.name(), &plan, &types)?;
        for (view, widened) in views.iter_mut().zip(widened) {
            view.widened = widened;
        }
        let scratch = match plan.scratch_bytes {
            0 => None,
            bytes => Some(self.graph.root(RootKind::Temporary, DType::U8, bytes)),
        };
        self.graph.ops.push(GraphOp::Kernel(KernelOp {
            name: kernel.name(),
            outputs: views.iter().map(|view| view.root).collect(),
            plan,
            operands,
            scratch,
        }));
        let mut values: Vec<Value<'a>> = views.into_iter().map(Value::Tensor).collect();
        Ok(Some(match op.function.ret {
            Type::Tuple(_) => Value::Tuple(values),
            _ => values.pop().unwrap_or(Value::Unit),
        }))
    }

    /// The dtype generics of an operation that its kernel gets in 16 bits: those
    /// of states, which are read and written as they are stored.
    fn halves(&self, frame: &Frame<'a>) -> Result<Vec<(&'static str, DType)>> {
        let mut halves = Vec::new();
        for (i, param) in frame.function.params.iter().enumerate() {
            let Type::Tensor {
                dtype: DTypeExpr::Generic(name),
                ..
            } = param.ty
            else {
                continue;
            };
            let location = match (param.by_mut, frame.values.get(i)) {
                (true, _) => Some(frame.location(i as u32)?),
                (false, Some(Some(Value::Tensor(view)))) if view.widened => {
                    match self.graph.roots[view.root].kind {
                        RootKind::Content(location) => Some(location),
                        _ => None,
                    }
                }
                _ => None,
            };
            let Some(location) = location else { continue };
            let (dtype, _, constant) = self.location_type(location)?;
            if !constant && frame.is_widened(dtype, DTypeExpr::Generic(name))? {
                halves.push((name, dtype));
            }
        }
        Ok(halves)
    }

    /// Whether an operation's kernel gets parameters of the model as they are
    /// stored: if one is more than a vector, and copying it as f32 would cost.
    fn keeps_parameters(&self, frame: &Frame<'a>) -> Result<bool> {
        for value in &frame.values[..frame.function.params.len()] {
            if let Some(Value::Tensor(view)) = value
                && view.widened
                && view.shape.len() > 1
                && self.is_parameter(view)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a view is of a parameter of the model, which never changes.
    fn is_parameter(&self, view: &View) -> Result<bool> {
        match self.graph.roots[view.root].kind {
            RootKind::Content(location) => Ok(self.location_type(location)?.2),
            _ => Ok(false),
        }
    }

    /// An argument as a kernel gets it, when planning and when running: in `half`
    /// if that is given; else f32 for what is f32 here, but for parameters if it
    /// is to `keep` them as they are stored.
    fn operand(
        &mut self,
        frame: &Frame<'a>,
        i: usize,
        param: &Param,
        half: Option<DType>,
        keep: bool,
    ) -> Result<Option<(KernelOperand, Operand)>> {
        if param.by_mut {
            let location = frame.location(i as u32)?;
            let (dtype, shape, _) = self.location_type(location)?;
            let strides = shape.row_major_strides();
            let described = TensorOperand {
                shape,
                strides,
                dtype,
                mutable: true,
                constant: false,
            };
            return Ok(Some((
                KernelOperand::Mutable(location, dtype, shape.elements()?),
                Operand::Tensor(described),
            )));
        }
        Ok(match frame.value(i as ValueId)? {
            Value::Tensor(view) => {
                let constant = self.is_parameter(&view)?;
                let view = match half {
                    Some(half) => self.narrowed(&view, half, frame.place.clone())?,
                    None if view.widened && constant && keep => view.as_stored(),
                    None if view.widened => self.widened_copy(&view, frame.place.clone())?,
                    None => view,
                };
                let described = TensorOperand {
                    shape: view.shape,
                    strides: view.strides,
                    dtype: view.dtype,
                    mutable: false,
                    constant,
                };
                Some((KernelOperand::Input(view), Operand::Tensor(described)))
            }
            Value::Scalar(scalar) => {
                let scalar = match half {
                    Some(half) => self.scalar_as(scalar, half, frame.place.clone()),
                    None => scalar,
                };
                let value = match scalar {
                    ScalarRef::Known(value) => Some(value),
                    ScalarRef::Slot(..) => None,
                };
                Some((
                    KernelOperand::Scalar(scalar),
                    Operand::Scalar {
                        dtype: scalar.dtype(),
                        value,
                    },
                ))
            }
            Value::Absent => Some((KernelOperand::Absent, Operand::Absent)),
            Value::Tuple(_) | Value::Unit | Value::Block(_) => None,
        })
    }

    /// Buffers for what a kernel results in, in the order in memory that it chose.
    fn kernel_outputs(
        &mut self,
        name: &'static str,
        plan: &KernelPlan,
        types: &[(DType, Dims)],
    ) -> Result<Vec<View>> {
        let fail = |reason: String| Error::Kernel {
            kernel: name,
            reason,
        };
        if plan.outputs.len() != types.len() {
            return Err(fail(format!(
                "planned {} outputs of {}",
                plan.outputs.len(),
                types.len()
            )));
        }
        let mut views = Vec::new();
        for (&strides, &(dtype, shape)) in plan.outputs.iter().zip(types) {
            let mut view = self.temporary(dtype, shape)?;
            if !is_dense(&shape, &strides) {
                return Err(fail(format!(
                    "strides {strides:?} leave gaps in, or repeat, elements of {shape:?}"
                )));
            }
            view.strides = strides;
            views.push(view);
        }
        Ok(views)
    }
}

/// Whether `strides` number the elements of `shape` from 0 without gaps, in some order of the axes.
fn is_dense(shape: &Dims, strides: &Dims) -> bool {
    if shape.len() != strides.len() || shape.contains(&0) {
        return shape.len() == strides.len();
    }
    let mut axes: Vec<(usize, usize)> = shape
        .iter()
        .zip(&**strides)
        .filter(|(size, _)| **size != 1)
        .map(|(&size, &stride)| (stride, size))
        .collect();
    axes.sort_unstable();
    let mut expected = 1;
    axes.into_iter().all(|(stride, size)| {
        let right = stride == expected;
        expected *= size;
        right
    })
}

impl Frame<'_> {
    /// The scalar that a parameter of this name holds.
    fn scalar_param(&self, name: &str) -> Option<ScalarRef> {
        let i = self
            .function
            .params
            .iter()
            .position(|param| param.name == name)?;
        match self.values.get(i) {
            Some(Some(Value::Scalar(scalar))) => Some(*scalar),
            _ => None,
        }
    }

    /// The tensor that a parameter of this name holds; None if it is an absent optional.
    fn tensor_param(&self, name: &str) -> Result<Option<View>> {
        let i = self
            .function
            .params
            .iter()
            .position(|param| param.name == name);
        match i.and_then(|i| self.values.get(i)) {
            Some(Some(Value::Tensor(view))) if !view.dtype.is_float() => Ok(Some(view.clone())),
            Some(Some(Value::Absent)) => Ok(None),
            _ => Err(self.invalid(&format!(
                "`{name}` in a requirement is no parameter of integers"
            ))),
        }
    }
}
