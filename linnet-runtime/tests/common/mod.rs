//! What the tests of calls share.
#![allow(dead_code, reason = "each test program uses a part of it")]

use linnet_runtime::instance::call_op_with;
use linnet_runtime::{Argument, Device, Element, ErasedTensor, Numerics, Op, Output, Result};

/// Calls an operation with its body and with its kernels, on one and on two
/// threads, checks that all agree bit for bit, and gives the result.
pub fn call<O: Op>(args: &[Arg]) -> Result<ErasedTensor> {
    let exact = run::<O>(Numerics::Exact, 1, args);
    for (numerics, threads) in [
        (Numerics::Exact, 2),
        (Numerics::Fast, 1),
        (Numerics::Fast, 2),
    ] {
        let other = run::<O>(numerics, threads, args);
        match (&exact, &other) {
            (Ok(exact), Ok(other)) => assert_eq!(other, exact, "{numerics} on {threads} threads"),
            (Err(exact), Err(other)) => assert_eq!(other.to_string(), exact.to_string()),
            _ => panic!("{numerics} on {threads} threads: {other:?}, exact {exact:?}"),
        }
    }
    exact
}

/// Calls an operation that results in one tensor.
pub fn run<O: Op>(numerics: Numerics, threads: usize, args: &[Arg]) -> Result<ErasedTensor> {
    raw::<O>(numerics, threads, args)?.into_typed()
}

pub fn raw<O: Op>(numerics: Numerics, threads: usize, args: &[Arg]) -> Result<Output> {
    let mut args: Vec<Argument<'_>> = args.iter().map(Arg::argument).collect();
    call_op_with(
        O::DESCRIPTOR,
        numerics,
        &Device::cpu_with_threads(threads)?,
        &mut args,
    )
}

/// An argument that can be passed again and again.
#[derive(Clone, Debug)]
pub enum Arg {
    Tensor(ErasedTensor),
    Scalar(linnet_runtime::ScalarValue),
    None,
}

impl Arg {
    fn argument(&self) -> Argument<'static> {
        match self {
            Arg::Tensor(tensor) => Argument::Tensor(tensor.clone()),
            Arg::Scalar(value) => Argument::Scalar(*value),
            Arg::None => Argument::None,
        }
    }
}

pub fn tensor<T: Element>(shape: &[usize], data: &[T]) -> Arg {
    Arg::Tensor(ErasedTensor::from_slice(shape, data).unwrap())
}

pub fn scalar<T: Element>(value: T) -> Arg {
    Arg::Scalar(value.to_scalar())
}

/// Numbers that look random, the same each time.
pub fn noise(n: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12345);
    (0..n)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect()
}

/// Panics with the worst difference if it is above `tolerance`.
pub fn assert_close(found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len());
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        let difference = (found - expected).abs();
        assert!(
            difference <= tolerance * expected.abs().max(1.0),
            "element {i}: {found}, expected {expected}"
        );
    }
}
