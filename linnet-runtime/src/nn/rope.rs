//! Rotary position embedding.

use crate::kernel::rope::YarnRopeKernel;
use crate::prelude::*;

/// Rotates pairs of elements by angles that grow with the position (RoPE; Su
/// et al., 2021), with the frequencies of YaRN (Peng et al., 2023, section
/// 3.4): element `i` pairs with element `i + D / 2`, as in the Llama models.
///
/// `positions[b, s]` is the position of `x[b, .., s, ..]`. `theta` is the base
/// of the frequencies; `factor` is how many times longer than `original`
/// positions the context is. Frequencies that turn more than `beta_fast` times
/// within `original` positions stay, those that turn less than `beta_slow`
/// times are divided by `factor`, those between are mixed, without rounding
/// the bounds to whole dimensions (`truncate: false`). The result is scaled by
/// `0.1 * ln(factor) + 1`. Computes in `f32` and rounds once to `T`.
#[op(kernel = YarnRopeKernel)]
#[require(D > 0, D % 2 == 0)]
pub fn yarn_rope<B: Dim, Heads: Dim, S: Dim, D: Dim, T: Float>(
    x: Tensor![B, Heads, S, D; T],
    positions: Tensor![B, S; i32],
    theta: f32,
    factor: f32,
    beta_fast: f32,
    beta_slow: f32,
    original: f32,
) -> Tensor![B, Heads, S, D; T] {
    let n = cast::<f32>(D);
    // The dimension at which a frequency turns `beta` times in `original` positions.
    let turn = n / (2.0 * log(theta));
    let low = max(turn * log(original / (beta_fast * 6.283185307179586)), 0.0);
    let high = min(
        turn * log(original / (beta_slow * 6.283185307179586)),
        n - 1.0,
    );
    let width = if high == low { 0.001 } else { high - low };
    let frequencies = index!(
        [i: D / 2] = pow(theta, cast::<f32>(i) * -2.0 / n)
            * (1.0 + (1.0 / factor - 1.0) * min(max((cast::<f32>(i) - low) / width, 0.0), 1.0))
    );
    let angles = index!([b, s, i] = cast::<f32>(positions[b, s]) * frequencies[i]);
    let scale = 0.1 * log(factor) + 1.0;
    let cosines = index!([b, s, i] = cos(angles[b, s, i]) * scale);
    let sines = index!([b, s, i] = sin(angles[b, s, i]) * scale);
    let first = cast::<f32>(x.slice(s![.., .., .., 0..D / 2]));
    let second = cast::<f32>(x.slice(s![.., .., .., D / 2..D]));
    let turned_first = index!(
        [b, h, s, i] = first[b, h, s, i] * cosines[b, s, i] - second[b, h, s, i] * sines[b, s, i]
    );
    let turned_second = index!(
        [b, h, s, i] = second[b, h, s, i] * cosines[b, s, i] + first[b, h, s, i] * sines[b, s, i]
    );
    cast::<T>(concat([turned_first, turned_second], 3))
}
