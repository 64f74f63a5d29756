//! Calls an operation by its body and by its kernel, and compares.
#![allow(dead_code, reason = "each test file uses its own part")]

use linnet_runtime::{
    Argument, DType, Device, ErasedTensor, Numerics, Op, OutputValue, ScalarValue,
    descriptor::OpDescriptor, instance::call_op_with,
};

use crate::gpt2_support::Random;

/// The float types.
pub const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

/// Half a unit in the last place of 1.
pub fn roundoff(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => 2f64.powi(-24),
        DType::F16 => 2f64.powi(-11),
        DType::BF16 => 2f64.powi(-8),
        other => panic!("{other} is no float type"),
    }
}

/// What a kernel may differ from a body that sums `n` terms of magnitude up to
/// 1 in `f32`, beside a result of magnitude `size`.
///
/// Body and kernel round their result once each, and a body may round once
/// more on the way (a product before its bias is added): four roundings of
/// values of magnitude `size + 1` cover them. The orders of summation differ
/// by at most two roundings of `f32` for each term, and an approximated
/// exponential by a few: hence the eight more.
pub fn tolerance(dtype: DType, n: usize, size: f64) -> f64 {
    4.0 * roundoff(dtype) * (size + 1.0) + 2.0 * (n as f64 + 8.0) * roundoff(DType::F32)
}

/// An operation and what it is called with.
pub struct Case {
    /// What is called.
    pub op: &'static OpDescriptor,
    /// Its name for messages.
    pub what: String,
    /// The dtype that results are rounded to.
    pub dtype: DType,
    /// Terms of the sums in it; 0 if the results must be equal.
    pub n_terms: usize,
}

/// A value to call with.
#[derive(Clone)]
pub enum Value {
    /// A tensor to read.
    Tensor(ErasedTensor),
    /// A tensor to update.
    Mut(ErasedTensor),
    /// A scalar.
    Scalar(ScalarValue),
    /// An absent optional.
    None,
}

/// Calls the operation and returns its result, or its updated tensor.
pub fn call(case: &Case, numerics: Numerics, threads: usize, values: &[Value]) -> ErasedTensor {
    let device = Device::cpu_with_threads(threads).unwrap();
    let mut values = values.to_vec();
    let mut args: Vec<Argument<'_>> = values
        .iter_mut()
        .map(|value| match value {
            Value::Tensor(tensor) => Argument::Tensor(tensor.clone()),
            Value::Mut(tensor) => Argument::Mut(tensor),
            Value::Scalar(scalar) => Argument::Scalar(*scalar),
            Value::None => Argument::None,
        })
        .collect();
    let mut output = call_op_with(case.op, numerics, &device, &mut args)
        .unwrap_or_else(|error| panic!("{} {numerics}: {error}", case.what));
    drop(args);
    if output.is_empty() {
        let updated = values.into_iter().find_map(|value| match value {
            Value::Mut(tensor) => Some(tensor),
            _ => None,
        });
        return updated.expect("an operation without a result updates a tensor");
    }
    match output.take().unwrap() {
        OutputValue::Tensor(tensor) => tensor,
        other => panic!("{}: expected a tensor, found {other:?}", case.what),
    }
}

/// Compares the kernel with the body, and one thread with two.
#[track_caller]
pub fn check(case: &Case, values: &[Value]) {
    let exact = call(case, Numerics::Exact, 1, values);
    let fast = call(case, Numerics::Fast, 1, values);
    let what = &case.what;
    assert_eq!(fast.shape(), exact.shape(), "{what}");
    assert_eq!(fast.dtype(), exact.dtype(), "{what}");
    for i in 0..exact.len() {
        let (found, expected) = (fast.element(i).to_f64(), exact.element(i).to_f64());
        let allowed = match case.n_terms {
            0 => 0.0,
            n => tolerance(case.dtype, n, expected.abs()),
        };
        let same = found == expected || (found.is_nan() && expected.is_nan());
        assert!(
            same || (found - expected).abs() <= allowed,
            "{what}: element {i} of {:?} is {found} by the kernel and {expected} by the body, allowed {allowed:e}",
            exact.shape(),
        );
    }
    let threaded = call(case, Numerics::Fast, 2, values);
    assert_eq!(
        threaded.bytes(),
        fast.bytes(),
        "{what}: two threads differ from one"
    );
}

/// A case named by its operation, dtype and sizes.
pub fn case<O: Op>(dtype: DType, n_terms: usize, sizes: &[usize]) -> Case {
    let op = O::DESCRIPTOR;
    Case {
        op,
        what: format!("{} {dtype} {sizes:?}", op.function.name),
        dtype,
        n_terms,
    }
}

/// A tensor of random values between -1 and 1.
pub fn floats(random: &mut Random, dtype: DType, shape: &[usize]) -> ErasedTensor {
    let values = random.units(shape.iter().product());
    ErasedTensor::from_slice(shape, &values)
        .unwrap()
        .cast(dtype)
        .unwrap()
}

/// A tensor of integers.
pub fn ints(shape: &[usize], values: &[i32]) -> Value {
    Value::Tensor(ErasedTensor::from_slice(shape, values).unwrap())
}
