//! Normalisation over the last axis. Both forms compute in `f32` and round
//! once to `T`.

use crate::kernel::norm::{LayerNormKernel, RmsNormKernel};
use crate::prelude::*;

/// `(x - mean(x)) / sqrt(variance(x) + eps) * weight + bias` over the last
/// axis, with the variance that divides by `H` (Ba, Kiros and Hinton, 2016).
#[op(kernel = LayerNormKernel)]
pub fn layer_norm<S: Shape, H: Dim, T: Float>(
    x: Tensor![*S, H; T],
    weight: Tensor![H; T],
    bias: Tensor![H; T],
    eps: f32,
) -> Tensor![*S, H; T] {
    let wide = cast::<f32>(x);
    let n = cast::<f32>(H);
    let mean = index!([*s] = sum[i] wide[*s, i]) / n;
    let centred = index!([*s, i] = wide[*s, i] - mean[*s]);
    let variance = index!([*s] = sum[i] centred[*s, i] * centred[*s, i]) / n;
    let scale = rsqrt(variance + eps);
    let unit = index!([*s, i] = centred[*s, i] * scale[*s]);
    cast::<T>(unit * cast::<f32>(weight) + cast::<f32>(bias))
}

/// `x / sqrt(mean(x^2) + eps) * weight` over the last axis (Zhang and
/// Sennrich, 2019).
#[op(kernel = RmsNormKernel)]
pub fn rms_norm<S: Shape, H: Dim, T: Float>(
    x: Tensor![*S, H; T],
    weight: Tensor![H; T],
    eps: f32,
) -> Tensor![*S, H; T] {
    let wide = cast::<f32>(x);
    let mean = index!([*s] = sum[i] wide[*s, i] * wide[*s, i]) / cast::<f32>(H);
    let scale = rsqrt(mean + eps);
    let unit = index!([*s, i] = wide[*s, i] * scale[*s]);
    cast::<T>(unit * cast::<f32>(weight))
}

/// Root mean square normalisation with a learned weight and `eps` of 1e-5.
#[block]
pub struct RmsNorm<H: Dim, T: Float = bf16> {
    #[param]
    weight: Tensor![H; T],
}

#[block]
impl RmsNorm {
    /// Normalises the last axis.
    pub fn forward<S: Shape>(&self, x: Tensor![*S, H; T]) -> Tensor![*S, H; T] {
        rms_norm(x, self.weight, 1e-5)
    }
}
