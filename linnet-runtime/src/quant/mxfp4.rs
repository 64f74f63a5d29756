//! MXFP4, the four-bit format of gpt-oss' experts (Open Compute Project,
//! Microscaling Formats, version 1.0): 32 values share a scale. A value is a
//! code of four bits (E2M1), two to a byte, the even element in the low half;
//! a scale is a byte (E8M0), `2^(scale - 127)`, NaN for 255.

use crate::kernel::mxfp4::{Mxfp4DequantizeKernel, Mxfp4ExpertsKernel, Mxfp4ExpertsSumKernel};
use crate::prelude::*;

/// The value of each code, `0 0.5 1 1.5 2 3 4 6` and their negatives.
#[op]
pub fn e2m1<S: Shape>(code: Tensor![*S; u8]) -> Tensor![*S; f32] {
    index!(
        [*s] = (if code[*s] & 7 < 4 {
            cast::<f32>(code[*s] & 7) * 0.5
        } else if code[*s] & 7 < 6 {
            cast::<f32>(code[*s] & 7) - 2.0
        } else {
            cast::<f32>(code[*s] & 7) * 2.0 - 8.0
        }) * (if code[*s] < 8 { 1.0 } else { -1.0 })
    )
}

/// The power of two of each scale.
#[op]
pub fn e8m0<S: Shape>(scale: Tensor![*S; u8]) -> Tensor![*S; f32] {
    index!(
        [*s] = if scale[*s] == 255 {
            f32::NAN
        } else {
            pow(2.0, cast::<f32>(scale[*s]) - 127.0)
        }
    )
}

/// The codes of blocks of 16 bytes, one to an element.
#[op]
pub fn mxfp4_codes<S: Shape>(blocks: Tensor![*S, 16; u8]) -> Tensor![*S, 32; u8] {
    let halves = index!(
        [*s, k, half: 2] = if half == 0 { blocks[*s, k] & 15 } else { blocks[*s, k] >> 4 }
    );
    halves.reshape([*S, 32])
}

/// The values of rows of `32 * Blocks` weights.
#[op(kernel = Mxfp4DequantizeKernel)]
pub fn mxfp4_dequantize<S: Shape, Blocks: Dim>(
    blocks: Tensor![*S, Blocks, 16; u8],
    scales: Tensor![*S, Blocks; u8],
) -> Tensor![*S, 32 * Blocks; f32] {
    let value = e2m1(mxfp4_codes(blocks));
    let factor = e8m0(scales);
    index!([*s, b, j] = value[*s, b, j] * factor[*s, b]).reshape([*S, 32 * Blocks])
}

/// Each row of `x` times the matrices of the experts that it chose:
/// `y[r, k] = x[r] . W[expert[r, k]]^T`. Each block of 32 products is summed
/// and then scaled.
#[op(kernel = Mxfp4ExpertsKernel)]
#[require(In == 32 * Blocks, 0 <= expert, expert < Experts)]
pub fn mxfp4_experts<R: Dim, TopK: Dim, Experts: Dim, Out: Dim, In: Dim, Blocks: Dim, T: Float>(
    x: Tensor![R, In; T],
    blocks: Tensor![Experts, Out, Blocks, 16; u8],
    scales: Tensor![Experts, Out, Blocks; u8],
    expert: Tensor![R, TopK; i64],
) -> Tensor![R, TopK, Out; T] {
    let wide = cast::<f32>(x).reshape([R, Blocks, 32]);
    let value = e2m1(mxfp4_codes(blocks));
    let factor = e8m0(scales);
    let part = index!([r, k, o, b] = sum[j] wide[r, b, j] * value[expert[r, k], o, b, j]);
    let whole = index!([r, k, o] = sum[b] part[r, k, o, b] * factor[expert[r, k], o, b]);
    cast::<T>(whole)
}

/// The same for rows that differ by expert, weighted and added up:
/// `y[r] = sum_k weight[r, k] * (x[r, k] . W[expert[r, k]]^T)`.
#[op(kernel = Mxfp4ExpertsSumKernel)]
#[require(In == 32 * Blocks, 0 <= expert, expert < Experts)]
pub fn mxfp4_experts_sum<
    R: Dim,
    TopK: Dim,
    Experts: Dim,
    Out: Dim,
    In: Dim,
    Blocks: Dim,
    T: Float,
>(
    x: Tensor![R, TopK, In; T],
    blocks: Tensor![Experts, Out, Blocks, 16; u8],
    scales: Tensor![Experts, Out, Blocks; u8],
    expert: Tensor![R, TopK; i64],
    weight: Tensor![R, TopK; T],
) -> Tensor![R, Out; T] {
    let wide = cast::<f32>(x).reshape([R, TopK, Blocks, 32]);
    let value = e2m1(mxfp4_codes(blocks));
    let factor = e8m0(scales);
    let part = index!([r, k, o, b] = sum[j] wide[r, k, b, j] * value[expert[r, k], o, b, j]);
    let whole = index!([r, k, o] = sum[b] part[r, k, o, b] * factor[expert[r, k], o, b]);
    cast::<T>(index!([r, o] = sum[k] cast::<f32>(weight[r, k]) * whole[r, k, o]))
}
