//! Activation functions, element by element. All compute in `f32` and round
//! once to `T`.

use crate::kernel::activations::{GeluKernel, ReluKernel, SiluKernel};
use crate::kernel::swiglu::ClampedSwigluKernel;
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

/// The clamped SwiGLU of gpt-oss: gates at even places and values at odd ones,
/// `(up + 1) * gate * sigmoid(alpha * gate)` with `gate` at most `limit` and
/// `up` between `-limit` and `limit`.
#[op(kernel = ClampedSwigluKernel)]
#[require(I > 0)]
pub fn clamped_swiglu<S: Shape, I: Dim, T: Float>(
    x: Tensor![*S, 2 * I; T],
    alpha: f32,
    limit: f32,
) -> Tensor![*S, I; T] {
    let wide = cast::<f32>(x);
    let gate = min(wide.slice(s![..., 0..2 * I;2]), limit);
    let up = max(min(wide.slice(s![..., 1..2 * I;2]), limit), -limit);
    cast::<T>((up + 1.0) * gate / (exp(-alpha * gate) + 1.0))
}
