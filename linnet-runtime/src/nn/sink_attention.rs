//! Attention with sinks and windows, as gpt-oss has it.
//!
//! As [`attention`](crate::nn::attention), and: each head has a learned logit,
//! its sink, that takes part in the denominator of the softmax only, so that a
//! head may attend to nothing (Xiao et al., 2023, in the form of gpt-oss); and
//! a query sees the last `window` positions, its own included.

use crate::kernel::sink_attention::{
    CachedSinkAttentionKernel, PackedSinkAttentionKernel, SinkAttentionKernel,
};
use crate::prelude::*;

/// Softmax over the last axis with one more logit in the denominator. A row
/// that sees nothing (all scores negative infinity) results in zeros.
#[op]
pub fn sink_softmax<B: Dim, KvHeads: Dim, G: Dim, S: Dim, M: Dim>(
    scores: Tensor![B, KvHeads, G, S, M; f32],
    sinks: Tensor![KvHeads, G; f32],
) -> Tensor![B, KvHeads, G, S, M; f32] {
    let seen = index!([b, h, g, s] = max[m] scores[b, h, g, s, m]);
    let high = index!([b, h, g, s] = max(seen[b, h, g, s], sinks[h, g]));
    let power = index!([b, h, g, s, m] = exp(scores[b, h, g, s, m] - high[b, h, g, s]));
    let total = index!([b, h, g, s] = sum[m] power[b, h, g, s, m]);
    let rest = index!([b, h, g, s] = exp(sinks[h, g] - high[b, h, g, s]));
    index!([b, h, g, s, m] = power[b, h, g, s, m] / (total[b, h, g, s] + rest[b, h, g, s]))
}

/// Attention within whole sequences: the query at position `s` sees the keys
/// at the last `window` positions up to and including `s`.
#[op(kernel = SinkAttentionKernel)]
#[require(KvHeads > 0, Heads % KvHeads == 0, window > 0)]
pub fn sink_attention<B: Dim, Heads: Dim, KvHeads: Dim, S: Dim, D: Dim, T: Float>(
    q: Tensor![B, Heads, S, D; T],
    k: Tensor![B, KvHeads, S, D; T],
    v: Tensor![B, KvHeads, S, D; T],
    sinks: Tensor![Heads; T],
    window: i32,
) -> Tensor![B, Heads, S, D; T] {
    let queries = cast::<f32>(q).reshape([B, KvHeads, Heads / KvHeads, S, D]);
    let keys = cast::<f32>(k);
    let values = cast::<f32>(v);
    let scores = index!([b, h, g, s, m] = sum[d] queries[b, h, g, s, d] * keys[b, h, m, d]);
    let scaled = scores * rsqrt(cast::<f32>(D));
    let seen = index!(
        [b, h, g, s, m] = if m <= s && m > s - window {
            scaled[b, h, g, s, m]
        } else {
            f32::NEG_INFINITY
        }
    );
    let weights = sink_softmax(seen, cast::<f32>(sinks).reshape([KvHeads, Heads / KvHeads]));
    let mixed = index!(
        [b, h, g, s, d] = sum[m] if m <= s && m > s - window {
            weights[b, h, g, s, m] * values[b, h, m, d]
        } else {
            0.0
        }
    );
    cast::<T>(mixed.reshape([B, Heads, S, D]))
}

/// Attention over a cache: the query at `s` stands at position `pos + s` and
/// sees the entries of its row at the last `window` positions up to and
/// including that position.
#[op(kernel = CachedSinkAttentionKernel)]
#[require(KvHeads > 0, Heads % KvHeads == 0, 0 <= pos, pos + S <= M, window > 0)]
pub fn cached_sink_attention<B: Dim, Heads: Dim, KvHeads: Dim, S: Dim, M: Dim, D: Dim, T: Float>(
    q: Tensor![B, Heads, S, D; T],
    cache_k: Tensor![B, KvHeads, M, D; T],
    cache_v: Tensor![B, KvHeads, M, D; T],
    sinks: Tensor![Heads; T],
    pos: i32,
    window: i32,
) -> Tensor![B, Heads, S, D; T] {
    let queries = cast::<f32>(q).reshape([B, KvHeads, Heads / KvHeads, S, D]);
    let keys = cast::<f32>(cache_k);
    let values = cast::<f32>(cache_v);
    let scores = index!([b, h, g, s, m] = sum[d] queries[b, h, g, s, d] * keys[b, h, m, d]);
    let scaled = scores * rsqrt(cast::<f32>(D));
    let seen = index!(
        [b, h, g, s, m] = if m <= pos + s && m > pos + s - window {
            scaled[b, h, g, s, m]
        } else {
            f32::NEG_INFINITY
        }
    );
    let weights = sink_softmax(seen, cast::<f32>(sinks).reshape([KvHeads, Heads / KvHeads]));
    let mixed = index!(
        [b, h, g, s, d] = sum[m] if m <= pos + s && m > pos + s - window {
            weights[b, h, g, s, m] * values[b, h, m, d]
        } else {
            0.0
        }
    );
    cast::<T>(mixed.reshape([B, Heads, S, D]))
}

/// Attention of tokens side by side over a cache: token `p` stands at
/// `positions[p]` of row `rows[p]` and sees that row's entries at the last
/// `window` positions up to and including its own. A token at position -1 sees
/// none and results in zeros.
#[op(kernel = PackedSinkAttentionKernel)]
#[require(KvHeads > 0, Heads % KvHeads == 0, window > 0)]
#[require(0 <= rows, rows < B, -1 <= positions, positions < M)]
pub fn packed_sink_attention<B: Dim, Heads: Dim, KvHeads: Dim, P: Dim, M: Dim, D: Dim, T: Float>(
    q: Tensor![1, Heads, P, D; T],
    cache_k: Tensor![B, KvHeads, M, D; T],
    cache_v: Tensor![B, KvHeads, M, D; T],
    sinks: Tensor![Heads; T],
    rows: Tensor![P; i32],
    positions: Tensor![P; i32],
    window: i32,
) -> Tensor![1, Heads, P, D; T] {
    let queries = cast::<f32>(q).reshape([1, KvHeads, Heads / KvHeads, P, D]);
    let keys = cast::<f32>(cache_k);
    let values = cast::<f32>(cache_v);
    let scores = index!([o, h, g, p, m] = sum[d] queries[o, h, g, p, d] * keys[rows[p], h, m, d]);
    let scaled = scores * rsqrt(cast::<f32>(D));
    let seen = index!(
        [o, h, g, p, m] = if m <= positions[p] && m > positions[p] - window {
            scaled[o, h, g, p, m]
        } else {
            f32::NEG_INFINITY
        }
    );
    let weights = sink_softmax(seen, cast::<f32>(sinks).reshape([KvHeads, Heads / KvHeads]));
    let mixed = index!(
        [o, h, g, p, d] = sum[m] if m <= positions[p] && m > positions[p] - window {
            weights[o, h, g, p, m] * values[rows[p], h, m, d]
        } else {
            0.0
        }
    );
    cast::<T>(mixed.reshape([1, Heads, P, D]))
}
