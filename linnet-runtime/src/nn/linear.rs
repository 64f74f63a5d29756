//! The affine map.

use crate::kernel::linear::LinearKernel;
use crate::prelude::*;

/// `x . weight^T + bias` over the last axis. Products accumulate in `f32`.
///
/// A weight that is stored as `[In, Out]` is passed as
/// `weight.permute([1, 0])`; no data moves.
#[op(kernel = LinearKernel)]
pub fn linear<S: Shape, In: Dim, Out: Dim, T: Float>(
    x: Tensor![*S, In; T],
    weight: Tensor![Out, In; T],
    bias: Option<Tensor![Out; T]>,
) -> Tensor![*S, Out; T] {
    let y = index!([*s, o] = sum[i] x[*s, i] * weight[o, i]);
    match bias {
        Some(bias) => y + bias,
        None => y,
    }
}

/// An affine map of the last axis, with its weight stored as `[Out, In]`.
#[block]
pub struct Linear<In: Dim, Out: Dim, T: Float = bf16> {
    #[param]
    weight: Tensor![Out, In; T],
    #[param]
    bias: Option<Tensor![Out; T]>,
}

#[block]
impl Linear {
    /// `x . weight^T + bias`.
    pub fn forward<S: Shape>(&self, x: Tensor![*S, In; T]) -> Tensor![*S, Out; T] {
        linear(x, self.weight, self.bias)
    }
}
