//! Which blocks are affine maps of the last axis, whoever wrote them.
//!
//! A block qualifies by its declaration (two dimensions and a float dtype, a
//! weight and at most a bias, the one function `forward<*S>(x: [*S, In; T]) ->
//! [*S, Out; T]`) and by what it computes: the declaration of `gelu(linear(x))`
//! is the same. So it is run once, on whole numbers whose sums are exact in
//! `f32`, and must give exactly `x . weight^T + bias`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::call::Argument;
use crate::descriptor::{
    BlockDescriptor, DTypeExpr, DimExpr, DimItem, Function, GenericKind, MemberKind, Receiver, Type,
};
use crate::device::Device;
use crate::dtype::DType;
use crate::env::{Env, GenericValue};
use crate::error::Result;
use crate::instance::{Instance, Parameters};
use crate::numerics::Numerics;
use crate::tensor::ErasedTensor;

/// An affine map of the last axis. Names are those of its own declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Affine {
    /// The generic that is the number of features it takes.
    pub(crate) inputs: &'static str,
    /// The generic that is the number of features it gives.
    pub(crate) outputs: &'static str,
    /// The generic that is its float dtype.
    pub(crate) dtype: &'static str,
    /// The parameter that is its matrix.
    pub(crate) weight: &'static str,
    /// Whether the matrix is stored as `[In, Out]` and not as `[Out, In]`.
    pub(crate) transposed: bool,
    /// The parameter that is added.
    pub(crate) bias: Option<AffineBias>,
}

/// The bias of an [`Affine`] map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AffineBias {
    /// The parameter.
    pub(crate) name: &'static str,
    /// Whether it may be absent.
    pub(crate) optional: bool,
}

/// What is known of the blocks asked for so far, by their descriptors' addresses.
static KNOWN: Mutex<BTreeMap<usize, Option<Affine>>> = Mutex::new(BTreeMap::new());

/// Features of a trial. The first that a block's requirements admit are used.
const TRIALS: [(usize, usize); 8] = [
    (3, 5),
    (4, 6),
    (4, 4),
    (32, 64),
    (64, 32),
    (32, 32),
    (128, 256),
    (128, 128),
];

impl Affine {
    /// The affine map that a block is, if it is one.
    pub(crate) fn of(block: &'static BlockDescriptor) -> Option<Affine> {
        let key = std::ptr::from_ref(block).addr();
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(affine) = known().get(&key) {
            return *affine;
        }
        let affine = declared(block).and_then(|affine| {
            let square = affine.inputs == affine.outputs;
            let turned = Affine {
                transposed: true,
                ..affine
            };
            let mut readings = [Some(affine), square.then_some(turned)]
                .into_iter()
                .flatten();
            readings.find(|affine| affine.is_computed_by(block))
        });
        known().insert(key, affine);
        affine
    }

    /// Its generic that a quantised block calls `In`, `Out` or `T`.
    pub(crate) fn generic(&self, name: &str) -> Option<&'static str> {
        match name {
            "In" => Some(self.inputs),
            "Out" => Some(self.outputs),
            "T" => Some(self.dtype),
            _ => None,
        }
    }

    /// Whether the block computes this map where its requirements let it be tried.
    fn is_computed_by(&self, block: &'static BlockDescriptor) -> bool {
        let sizes = TRIALS
            .into_iter()
            .filter(|(inputs, outputs)| self.inputs != self.outputs || inputs == outputs);
        for (inputs, outputs) in sizes {
            let values = self.values(block, inputs, outputs);
            if Env::of_block(block, &values).is_err() {
                continue;
            }
            let without = self.bias.is_some_and(|bias| bias.optional);
            return self.trial(block, &values, inputs, outputs, self.bias.is_some())
                && (!without || self.trial(block, &values, inputs, outputs, false));
        }
        false
    }

    /// The block's generics in the order of its declaration, computing in `f32`.
    fn values(
        &self,
        block: &'static BlockDescriptor,
        inputs: usize,
        outputs: usize,
    ) -> Vec<GenericValue> {
        let value = |name: &str| match name {
            _ if name == self.inputs => GenericValue::Dim(inputs),
            _ if name == self.outputs => GenericValue::Dim(outputs),
            _ => GenericValue::DType(DType::F32),
        };
        block
            .generics
            .iter()
            .map(|generic| value(generic.name))
            .collect()
    }

    fn trial(
        &self,
        block: &'static BlockDescriptor,
        values: &[GenericValue],
        inputs: usize,
        outputs: usize,
        with_bias: bool,
    ) -> bool {
        let x: Vec<i32> = (0..ROWS * inputs)
            .map(|i| {
                if i < inputs {
                    noise(i)
                } else {
                    noise(i) * 1024
                }
            })
            .collect();
        let weight: Vec<i32> = (0..outputs * inputs).map(|i| noise(i + 5)).collect();
        let bias: Vec<i32> = (0..outputs).map(|i| noise(i + 9) * 3).collect();
        let at = |o: usize, i: usize| match self.transposed {
            true => weight[i * outputs + o],
            false => weight[o * inputs + i],
        };
        let expected = (0..ROWS * outputs).map(|n| {
            let (row, o) = (n / outputs, n % outputs);
            let sum: i32 = (0..inputs).map(|i| x[row * inputs + i] * at(o, i)).sum();
            (sum + if with_bias { bias[o] } else { 0 }) as f32
        });
        let run = || -> Result<Vec<f32>> {
            let shape = match self.transposed {
                true => [inputs, outputs],
                false => [outputs, inputs],
            };
            let mut parameters = Parameters::new();
            parameters.insert(self.weight.to_owned(), floats(&shape, &weight)?);
            if let (Some(added), true) = (self.bias, with_bias) {
                parameters.insert(added.name.to_owned(), floats(&[outputs], &bias)?);
            }
            let device = Device::cpu_with_threads(1)?;
            let mut instance = Instance::new(block, values, parameters, &device)?;
            instance.set_numerics(Numerics::Exact);
            let mut arguments = [Argument::Tensor(floats(&[ROWS, inputs], &x)?)];
            let result: ErasedTensor = instance.call(FORWARD, &mut arguments)?.into_typed()?;
            Ok(result.as_slice().unwrap_or_default().to_vec())
        };
        run().is_ok_and(|found| found.into_iter().eq(expected))
    }
}

/// The function that an affine map has.
const FORWARD: &str = "forward";

/// Rows of a trial. The second has large numbers, which no clamp leaves alone.
const ROWS: usize = 2;

/// Whole numbers from -7 to 7. Products of them, one of them times 1024, summed
/// over 128 features stay below 2^24, where `f32` is exact.
fn noise(i: usize) -> i32 {
    ((i * i * 31 + i * 17 + 4) % 15) as i32 - 7
}

fn floats(shape: &[usize], values: &[i32]) -> Result<ErasedTensor> {
    let values: Vec<f32> = values.iter().map(|&value| value as f32).collect();
    ErasedTensor::from_slice(shape, &values)
}

/// What a block's declaration says, if it is that of an affine map.
fn declared(block: &'static BlockDescriptor) -> Option<Affine> {
    let [function] = block.functions else {
        return None;
    };
    let (inputs, outputs, dtype) = signature(function)?;
    let generics_are_told = block.generics.iter().all(|generic| match generic.kind {
        GenericKind::Dim => generic.name == inputs || generic.name == outputs,
        GenericKind::Float => generic.name == dtype,
        _ => false,
    });
    if !generics_are_told {
        return None;
    }
    let (mut weight, mut bias) = (None, None);
    for member in block.members {
        let MemberKind::Param(ty) = member.kind else {
            return None;
        };
        let (ty, optional) = match ty {
            Type::Option(inner) => (*inner, true),
            ty => (ty, false),
        };
        let (dims, of) = tensor(&ty)?;
        match *dims {
            _ if of != dtype => return None,
            [
                DimItem::One(DimExpr::Generic(rows)),
                DimItem::One(DimExpr::Generic(columns)),
            ] if weight.is_none() && !optional => {
                let transposed = match (rows, columns) {
                    _ if (rows, columns) == (outputs, inputs) => false,
                    _ if (rows, columns) == (inputs, outputs) => true,
                    _ => return None,
                };
                weight = Some((member.name, transposed));
            }
            [DimItem::One(DimExpr::Generic(length))] if length == outputs && bias.is_none() => {
                bias = Some(AffineBias {
                    name: member.name,
                    optional,
                });
            }
            _ => return None,
        }
    }
    let (weight, transposed) = weight?;
    Some(Affine {
        inputs,
        outputs,
        dtype,
        weight,
        transposed,
        bias,
    })
}

/// The generics `In`, `Out` and `T` of `forward<*S>(x: [*S, In; T]) -> [*S, Out; T]`.
fn signature(function: &Function) -> Option<(&'static str, &'static str, &'static str)> {
    let ([generic], [param]) = (function.generics, function.params) else {
        return None;
    };
    let right = function.name == FORWARD
        && function.receiver == Receiver::Ref
        && generic.kind == GenericKind::Shape
        && !param.by_mut;
    if !right {
        return None;
    }
    let last = |ty: &Type| -> Option<(&'static str, &'static str)> {
        match tensor(ty)? {
            ([DimItem::Pack(pack), DimItem::One(DimExpr::Generic(last))], dtype)
                if *pack == generic.name =>
            {
                Some((*last, dtype))
            }
            _ => None,
        }
    };
    let (inputs, dtype) = last(&param.ty)?;
    let (outputs, of_result) = last(&function.ret)?;
    (dtype == of_result).then_some((inputs, outputs, dtype))
}

/// The shape and the dtype generic of a tensor type.
fn tensor(ty: &Type) -> Option<(&'static [DimItem], &'static str)> {
    match *ty {
        Type::Tensor {
            dims,
            dtype: DTypeExpr::Generic(dtype),
        } => Some((dims, dtype)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
