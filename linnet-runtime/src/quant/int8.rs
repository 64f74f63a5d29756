//! An affine map with weights of 8 bits and a scale for each row.

use crate::kernel::quant_linear::Int8LinearKernel;
use crate::prelude::*;

/// `x . weight^T * scale + bias` over the last axis: the products of a row are
/// summed first, then scaled, all in `f32`, and rounded once to `T`.
#[op(kernel = Int8LinearKernel)]
pub fn int8_linear<S: Shape, In: Dim, Out: Dim, T: Float>(
    x: Tensor![*S, In; T],
    weight: Tensor![Out, In; i8],
    scale: Tensor![Out; f32],
    bias: Option<Tensor![Out; T]>,
) -> Tensor![*S, Out; T] {
    let sums = index!([*s, o] = sum[i] cast::<f32>(x[*s, i]) * cast::<f32>(weight[o, i]));
    let y = sums * scale;
    match bias {
        Some(bias) => cast::<T>(y + cast::<f32>(bias)),
        None => cast::<T>(y),
    }
}

/// An affine map of the last axis whose weights are whole numbers of 8 bits
/// times a scale for each row.
#[block]
pub struct Int8Linear<In: Dim, Out: Dim, T: Float = bf16> {
    #[param]
    weight: Tensor![Out, In; i8],
    #[param]
    scale: Tensor![Out; f32],
    #[param]
    bias: Option<Tensor![Out; T]>,
}

#[block]
impl Int8Linear {
    /// `x . (weight * scale)^T + bias`.
    pub fn forward<S: Shape>(&self, x: Tensor![*S, In; T]) -> Tensor![*S, Out; T] {
        int8_linear(x, self.weight, self.scale, self.bias)
    }
}
