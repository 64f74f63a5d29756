//! Activation functions, element by element. All compute in `f32` and round
//! once to `T`.

use crate::kernel::activations::{GeluKernel, ReluKernel, SiluKernel};
use crate::prelude::*;

/// GELU in its tanh form, `gelu_new` in GPT-2's configuration:
/// `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))`
/// (Hendrycks and Gimpel, 2016, section 2).
#[op(kernel = GeluKernel)]
pub fn gelu<S: Shape, T: Float>(x: Tensor![*S; T]) -> Tensor![*S; T] {
    let wide = cast::<f32>(x);
    let cubic = wide + 0.044715 * wide * wide * wide;
    cast::<T>(wide * 0.5 * (tanh(0.7978845608028654 * cubic) + 1.0))
}

/// SiLU, also called swish: `x / (1 + exp(-x))`.
#[op(kernel = SiluKernel)]
pub fn silu<S: Shape, T: Float>(x: Tensor![*S; T]) -> Tensor![*S; T] {
    let wide = cast::<f32>(x);
    cast::<T>(wide / (exp(-wide) + 1.0))
}

/// The larger of `x` and zero.
#[op(kernel = ReluKernel)]
pub fn relu<S: Shape, T: Float>(x: Tensor![*S; T]) -> Tensor![*S; T] {
    max(x, 0.0)
}
