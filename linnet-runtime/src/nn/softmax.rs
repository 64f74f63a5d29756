//! Softmax over the last axis.

use crate::kernel::softmax::SoftmaxKernel;
use crate::prelude::*;

/// `exp(x - max(x)) / sum(exp(x - max(x)))` over the last axis, in `f32`,
/// rounded once to `T`. A row of which every element is negative infinity, or
/// one is NaN, results in NaN.
#[op(kernel = SoftmaxKernel)]
pub fn softmax<S: Shape, N: Dim, T: Float>(x: Tensor![*S, N; T]) -> Tensor![*S, N; T] {
    let wide = cast::<f32>(x);
    let high = index!([*s] = max[i] wide[*s, i]);
    let power = index!([*s, i] = exp(wide[*s, i] - high[*s]));
    let total = index!([*s] = sum[i] power[*s, i]);
    index!([*s, i] = cast::<T>(power[*s, i] / total[*s]))
}
