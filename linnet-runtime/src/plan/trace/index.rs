//! `index!`: which element each setting of the index variables reads.

use crate::descriptor::{
    BinaryOp, DimItem, ElementIndex, IndexExpr, Node, Scalar, ScalarOp, ValueId,
};
use crate::dtype::{DType, ScalarValue};
use crate::error::Result;
use crate::exec::primitive::{binary_defined, is_comparison, unary_defined};
use crate::shape::Dims;

use super::elementwise::{check_fold, scalar_operand};
use super::{Frame, Tracer, Value};
use crate::numerics::Numerics;
use crate::plan::expr::{Access, Computed, ExprId, ExprKind, Nest, NestBuilder};
use crate::plan::graph::{GraphOp, RootKind};
use crate::plan::product::Product;

/// The loop variables that each index variable of an `index!` stands for.
struct Variables {
    /// First loop variable and their number; a pack may have any number.
    ranges: Vec<(usize, usize)>,
    is_pack: Vec<bool>,
}

impl<'a> Tracer<'a> {
    pub(super) fn index(
        &mut self,
        frame: &Frame<'a>,
        node: &Node,
        expr: &'static IndexExpr,
    ) -> Result<Value<'a>> {
        let mut builder = NestBuilder::default();
        let mut variables = Variables {
            ranges: Vec::new(),
            is_pack: Vec::new(),
        };
        let mut shape = Dims::EMPTY;
        for (i, var) in expr.outputs.iter().chain(expr.reduced).enumerate() {
            let extents = frame.extents(&var.extent)?;
            variables
                .ranges
                .push((builder.extents.len(), extents.len()));
            variables
                .is_pack
                .push(matches!(var.extent, DimItem::Pack(_)));
            builder.extents.extend_from_slice(&extents);
            if i < expr.outputs.len() {
                for &size in extents.iter() {
                    shape.push(size)?;
                }
            }
        }
        let result = self.scalar_expr(frame, node, &mut builder, &variables, &expr.element)?;
        let dtype = builder.nodes[result].dtype;
        match expr.reduce {
            Some(op) => check_fold(frame, node, op, dtype)?,
            None if !expr.reduced.is_empty() => {
                return Err(frame.invalid_at(node, "folded indices without a fold"));
            }
            None => {}
        }
        self.finish(frame, node, builder, result, expr.reduce, dtype, shape)
    }

    /// Adds a nest, as a matrix product where it is one and numerics allow.
    pub(super) fn nest(&mut self, nest: Nest) {
        let product = match self.numerics {
            Numerics::Fast => Product::of(&nest),
            Numerics::Exact => None,
        };
        let op = match product {
            Some(mut product) if product.is_supported() => {
                let scratch = product.scratch_bytes(self.cpu);
                if scratch > 0 {
                    product.scratch =
                        Some(self.graph.root(RootKind::Temporary, DType::U8, scratch));
                }
                GraphOp::Product(product)
            }
            _ => GraphOp::Nest(nest),
        };
        self.graph.ops.push(op);
    }

    fn scalar_expr(
        &mut self,
        frame: &Frame<'a>,
        node: &Node,
        builder: &mut NestBuilder,
        variables: &Variables,
        scalar: &'static Scalar,
    ) -> Result<ExprId> {
        let dtype = frame.dtype(scalar.dtype)?;
        let id = match scalar.op {
            ScalarOp::Literal(literal) => {
                let value = frame.literal_of(literal, dtype)?;
                builder.constant(value)
            }
            ScalarOp::Dim(dim) => {
                let value = ScalarValue::I64(frame.env.eval(&dim)?);
                builder.constant(value.cast(dtype))
            }
            ScalarOp::Var(var) => {
                let Some(&(first, 1)) = variables.ranges.get(var as usize) else {
                    return Err(frame
                        .invalid_at(node, &format!("index variable {var} has no single value")));
                };
                if !dtype.is_int() {
                    return Err(frame.invalid_at(node, &format!("an index variable as {dtype}")));
                }
                builder.push(ExprKind::Var(first), dtype)
            }
            ScalarOp::Value(id) => {
                // A scalar, or a tensor of no axes.
                match frame.value(id)? {
                    Value::Scalar(scalar) => scalar_operand(builder, scalar),
                    Value::Tensor(view) if view.shape.is_empty() => builder.aligned(&view, 0),
                    other => return Err(frame.invalid_at(node, &format!("{other:?} is no scalar"))),
                }
            }
            ScalarOp::Element { tensor, at } => {
                self.element(frame, node, builder, variables, tensor, at)?
            }
            ScalarOp::Unary(op, input) => {
                let input = self.scalar_expr(frame, node, builder, variables, input)?;
                if !unary_defined(op, builder.nodes[input].dtype) {
                    return Err(frame
                        .invalid_at(node, &format!("{op:?} of {}", builder.nodes[input].dtype)));
                }
                builder.push(ExprKind::Unary(op, input), dtype)
            }
            ScalarOp::Binary(op, left, right) => {
                let left = self.scalar_expr(frame, node, builder, variables, left)?;
                let right = self.scalar_expr(frame, node, builder, variables, right)?;
                let of = builder.nodes[left].dtype;
                let out = if is_comparison(op) { DType::Bool } else { of };
                if of != builder.nodes[right].dtype || !binary_defined(op, of) || out != dtype {
                    return Err(frame.invalid_at(
                        node,
                        &format!("{op:?} of {of} and {}", builder.nodes[right].dtype),
                    ));
                }
                builder.push(ExprKind::Binary(op, left, right), dtype)
            }
            ScalarOp::If(condition, yes, no) => {
                let condition = self.scalar_expr(frame, node, builder, variables, condition)?;
                let yes = self.scalar_expr(frame, node, builder, variables, yes)?;
                let no = self.scalar_expr(frame, node, builder, variables, no)?;
                if builder.nodes[condition].dtype != DType::Bool
                    || builder.nodes[yes].dtype != builder.nodes[no].dtype
                {
                    return Err(frame.invalid_at(node, "an `if` whose parts have other dtypes"));
                }
                builder.push(ExprKind::If(condition, yes, no), dtype)
            }
            ScalarOp::Cast(input) => {
                let input = self.scalar_expr(frame, node, builder, variables, input)?;
                match builder.nodes[input].dtype == dtype {
                    true => input,
                    false => builder.push(ExprKind::Cast(input), dtype),
                }
            }
        };
        if builder.nodes[id].dtype != dtype {
            return Err(frame.invalid_at(
                node,
                &format!("{} where {dtype} is due", builder.nodes[id].dtype),
            ));
        }
        Ok(id)
    }

    /// An element of a tensor.
    fn element(
        &mut self,
        frame: &Frame<'a>,
        node: &Node,
        builder: &mut NestBuilder,
        variables: &Variables,
        tensor: ValueId,
        at: &'static [ElementIndex],
    ) -> Result<ExprId> {
        let view = frame.tensor(tensor)?;
        let mut access = Access {
            root: view.root,
            dtype: view.dtype,
            offset: view.offset as isize,
            coef: vec![0; builder.extents.len()],
            dynamic: view.dynamic.clone(),
            computed: Vec::new(),
        };
        let mut axis = 0;
        let mismatch = || {
            frame.invalid_at(
                node,
                &format!("an element of {:?} by other indices", view.shape),
            )
        };
        for index in at {
            let (first, n) = match *index {
                ElementIndex::Var(var) | ElementIndex::Pack(var) => {
                    let is_pack = matches!(index, ElementIndex::Pack(_));
                    let var = var as usize;
                    if variables.is_pack.get(var) != Some(&is_pack) {
                        return Err(mismatch());
                    }
                    variables.ranges[var]
                }
                ElementIndex::Computed(ref scalar) => {
                    let (Some(&length), Some(&stride)) =
                        (view.shape.get(axis), view.strides.get(axis))
                    else {
                        return Err(mismatch());
                    };
                    let index = self.scalar_expr(frame, node, builder, variables, scalar)?;
                    if !builder.nodes[index].dtype.is_int() {
                        return Err(frame.invalid_at(node, "an index that is no integer"));
                    }
                    // Reading the element may have made new loop variables impossible, never new ones.
                    match affine(builder, index)
                        .filter(|affine| affine.stays_within(length, &builder.extents))
                    {
                        Some(affine) => {
                            access.offset += affine.constant as isize * stride as isize;
                            for (coef, factor) in access.coef.iter_mut().zip(&affine.factors) {
                                *coef += *factor as isize * stride as isize;
                            }
                        }
                        None => access.computed.push(Computed {
                            index,
                            stride,
                            length,
                            axis,
                        }),
                    }
                    axis += 1;
                    continue;
                }
            };
            for d in first..first + n {
                match (view.shape.get(axis), view.strides.get(axis)) {
                    (Some(&length), Some(&stride)) if length == builder.extents[d] => {
                        access.coef[d] += stride as isize
                    }
                    _ => return Err(mismatch()),
                }
                axis += 1;
            }
        }
        if axis != view.shape.len() {
            return Err(mismatch());
        }
        let element = builder.access(access);
        Ok(builder.widened(&view, element))
    }
}

/// `constant + sum of factors[d] * variable d`.
struct Affine {
    constant: i64,
    factors: Vec<i64>,
}

impl Affine {
    /// Whether its value is in `0..length` for every setting of the variables.
    fn stays_within(&self, length: usize, extents: &[usize]) -> bool {
        if extents.contains(&0) {
            return true;
        }
        let (mut least, mut greatest) = (Some(self.constant), Some(self.constant));
        for (&factor, &extent) in self.factors.iter().zip(extents) {
            let reach = i64::try_from(extent - 1)
                .ok()
                .and_then(|last| last.checked_mul(factor));
            let end = if factor < 0 {
                &mut least
            } else {
                &mut greatest
            };
            *end = end.and_then(|end| end.checked_add(reach?));
        }
        least.is_some_and(|least| least >= 0)
            && greatest.is_some_and(|greatest| {
                usize::try_from(greatest).is_ok_and(|greatest| greatest < length)
            })
    }
}

/// An integer expression as an affine one of the loop variables, if it is one.
/// Wrapping to its dtype does not matter: sums and products wrap to the same
/// value at the end, and that is checked to be in range.
fn affine(builder: &NestBuilder, id: ExprId) -> Option<Affine> {
    let none = || vec![0; builder.extents.len()];
    Some(match builder.nodes[id].kind {
        ExprKind::Const(value) => Affine {
            constant: value.to_i64(),
            factors: none(),
        },
        ExprKind::Var(d) => {
            let mut factors = none();
            factors[d] = 1;
            Affine {
                constant: 0,
                factors,
            }
        }
        ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
            let (mut a, b) = (affine(builder, a)?, affine(builder, b)?);
            let sign = if op == BinaryOp::Add { 1 } else { -1 };
            a.constant = a.constant.checked_add(b.constant.checked_mul(sign)?)?;
            for (x, y) in a.factors.iter_mut().zip(b.factors) {
                *x = x.checked_add(y.checked_mul(sign)?)?;
            }
            a
        }
        ExprKind::Binary(BinaryOp::Mul, a, b) => {
            let (a, b) = (affine(builder, a)?, affine(builder, b)?);
            let is_constant = |affine: &Affine| affine.factors.iter().all(|&factor| factor == 0);
            let (factor, mut rest) = match (is_constant(&a), is_constant(&b)) {
                (true, _) => (a.constant, b),
                (_, true) => (b.constant, a),
                _ => return None,
            };
            rest.constant = rest.constant.checked_mul(factor)?;
            for x in &mut rest.factors {
                *x = x.checked_mul(factor)?;
            }
            rest
        }
        _ => return None,
    })
}
