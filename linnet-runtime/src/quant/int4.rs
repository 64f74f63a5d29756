//! An affine map with weights of 4 bits and a scale for each row.

use crate::kernel::quant_linear::Int4LinearKernel;
use crate::prelude::*;

/// `x . weight^T * scale + bias` over the last axis. A byte of `weight` holds
/// two columns, the even one in its low four bits, each in two's complement:
/// -8 to 7. The products of a row are summed first, then scaled, all in `f32`,
/// and rounded once to `T`.
#[op(kernel = Int4LinearKernel)]
#[require(In % 2 == 0)]
pub fn int4_linear<S: Shape, In: Dim, Out: Dim, T: Float>(
    x: Tensor![*S, In; T],
    weight: Tensor![Out, In / 2; i8],
    scale: Tensor![Out; f32],
    bias: Option<Tensor![Out; T]>,
) -> Tensor![*S, Out; T] {
    // Shifted to the top of the byte and back, the low bits get their sign.
    let sums = index!(
        [*s, o] = sum[j]
            cast::<f32>(x[*s, 2 * j]) * cast::<f32>((weight[o, j] << 4) >> 4)
                + cast::<f32>(x[*s, 2 * j + 1]) * cast::<f32>(weight[o, j] >> 4)
    );
    let y = sums * scale;
    match bias {
        Some(bias) => cast::<T>(y + cast::<f32>(bias)),
        None => cast::<T>(y),
    }
}

/// An affine map of the last axis whose weights are whole numbers of 4 bits
/// times a scale for each row.
#[block]
#[require(In % 2 == 0)]
pub struct Int4Linear<In: Dim, Out: Dim, T: Float = bf16> {
    #[param]
    weight: Tensor![Out, In / 2; i8],
    #[param]
    scale: Tensor![Out; f32],
    #[param]
    bias: Option<Tensor![Out; T]>,
}

#[block]
impl Int4Linear {
    /// `x . (weight * scale)^T + bias`.
    pub fn forward<S: Shape>(&self, x: Tensor![*S, In; T]) -> Tensor![*S, Out; T] {
        int4_linear(x, self.weight, self.scale, self.bias)
    }
}
