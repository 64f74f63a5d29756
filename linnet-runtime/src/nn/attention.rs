//! Scaled dot-product attention, `softmax(q . k^T / sqrt(D)) . v`, causal
//! (Vaswani et al., 2017, section 3.2.1).
//!
//! Heads may be grouped: query head `h` reads key and value head
//! `h / (Heads / KvHeads)`. Scores and weights are `f32`; the result is rounded
//! once to `T`. What a query does not see has no influence on its result, not
//! even if it is NaN.

use crate::kernel::attention::{AttentionKernel, CachedAttentionKernel, CachedAttentionRowsKernel};
use crate::nn::softmax::softmax;
use crate::prelude::*;

/// Takes the heads apart: `[B, S, Heads * D]` to `[B, Heads, S, D]`. A view.
#[op]
pub fn split_heads<B: Dim, S: Dim, Heads: Dim, D: Dim, T: Float>(
    x: Tensor![B, S, Heads * D; T],
) -> Tensor![B, Heads, S, D; T] {
    x.reshape([B, S, Heads, D]).permute([0, 2, 1, 3])
}

/// Puts the heads side by side: `[B, Heads, S, D]` to `[B, S, Heads * D]`.
#[op]
pub fn merge_heads<B: Dim, Heads: Dim, S: Dim, D: Dim, T: Float>(
    x: Tensor![B, Heads, S, D; T],
) -> Tensor![B, S, Heads * D; T] {
    x.permute([0, 2, 1, 3]).reshape([B, S, Heads * D])
}

/// Attention within whole sequences: the query at position `s` sees the keys
/// at positions up to and including `s`.
#[op(kernel = AttentionKernel)]
#[require(KvHeads > 0, Heads % KvHeads == 0)]
pub fn attention<B: Dim, Heads: Dim, KvHeads: Dim, S: Dim, D: Dim, T: Float>(
    q: Tensor![B, Heads, S, D; T],
    k: Tensor![B, KvHeads, S, D; T],
    v: Tensor![B, KvHeads, S, D; T],
) -> Tensor![B, Heads, S, D; T] {
    let queries = cast::<f32>(q).reshape([B, KvHeads, Heads / KvHeads, S, D]);
    let keys = cast::<f32>(k);
    let values = cast::<f32>(v);
    let scores = index!([b, h, g, s, m] = sum[d] queries[b, h, g, s, d] * keys[b, h, m, d]);
    let scaled = scores * rsqrt(cast::<f32>(D));
    let causal = index!(
        [b, h, g, s, m] = if m <= s { scaled[b, h, g, s, m] } else { f32::NEG_INFINITY }
    );
    let weights = softmax(causal);
    let mixed = index!(
        [b, h, g, s, d] = sum[m]
            if m <= s { weights[b, h, g, s, m] * values[b, h, m, d] } else { 0.0 }
    );
    cast::<T>(mixed.reshape([B, Heads, S, D]))
}

/// Attention over a cache: the query at `s` stands at position `pos + s` and
/// sees the entries of its row up to and including that position.
#[op(kernel = CachedAttentionKernel)]
#[require(KvHeads > 0, Heads % KvHeads == 0, 0 <= pos, pos + S <= M)]
pub fn cached_attention<B: Dim, Heads: Dim, KvHeads: Dim, S: Dim, M: Dim, D: Dim, T: Float>(
    q: Tensor![B, Heads, S, D; T],
    cache_k: Tensor![B, KvHeads, M, D; T],
    cache_v: Tensor![B, KvHeads, M, D; T],
    pos: i32,
) -> Tensor![B, Heads, S, D; T] {
    let queries = cast::<f32>(q).reshape([B, KvHeads, Heads / KvHeads, S, D]);
    let keys = cast::<f32>(cache_k);
    let values = cast::<f32>(cache_v);
    let scores = index!([b, h, g, s, m] = sum[d] queries[b, h, g, s, d] * keys[b, h, m, d]);
    let scaled = scores * rsqrt(cast::<f32>(D));
    let causal = index!(
        [b, h, g, s, m] = if m <= pos + s { scaled[b, h, g, s, m] } else { f32::NEG_INFINITY }
    );
    let weights = softmax(causal);
    let mixed = index!(
        [b, h, g, s, d] = sum[m]
            if m <= pos + s { weights[b, h, g, s, m] * values[b, h, m, d] } else { 0.0 }
    );
    cast::<T>(mixed.reshape([B, Heads, S, D]))
}

/// Attention of one query a row over a cache: the query of row `b` stands at
/// `positions[b]` and sees the entries of its row up to and including that
/// position.
#[op(kernel = CachedAttentionRowsKernel)]
#[require(KvHeads > 0, Heads % KvHeads == 0, 0 <= positions, positions < M)]
pub fn cached_attention_rows<B: Dim, Heads: Dim, KvHeads: Dim, M: Dim, D: Dim, T: Float>(
    q: Tensor![B, Heads, 1, D; T],
    cache_k: Tensor![B, KvHeads, M, D; T],
    cache_v: Tensor![B, KvHeads, M, D; T],
    positions: Tensor![B; i32],
) -> Tensor![B, Heads, 1, D; T] {
    let queries = cast::<f32>(q).reshape([B, KvHeads, Heads / KvHeads, D]);
    let keys = cast::<f32>(cache_k);
    let values = cast::<f32>(cache_v);
    let scores = index!([b, h, g, m] = sum[d] queries[b, h, g, d] * keys[b, h, m, d]);
    let scaled = scores * rsqrt(cast::<f32>(D));
    let causal = index!(
        [b, h, g, m] = if m <= positions[b] { scaled[b, h, g, m] } else { f32::NEG_INFINITY }
    );
    let weights = softmax(causal);
    let mixed = index!(
        [b, h, g, d] = sum[m]
            if m <= positions[b] { weights[b, h, g, m] * values[b, h, m, d] } else { 0.0 }
    );
    cast::<T>(mixed.reshape([B, Heads, 1, D]))
}
