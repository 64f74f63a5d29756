//! Causal self-attention with its key and value cache.

use linnet_runtime::{
    nn::{attention::*, cache::*},
    prelude::*,
};

use crate::conv1d::Conv1D;

/// The queries, keys and values of the joint projection, each with its heads
/// apart.
#[op]
#[require(Heads > 0, H % Heads == 0)]
pub fn split_qkv<B: Dim, S: Dim, H: Dim, Heads: Dim, T: Float>(
    qkv: Tensor![B, S, 3 * H; T],
) -> (
    Tensor![B, Heads, S, H / Heads; T],
    Tensor![B, Heads, S, H / Heads; T],
    Tensor![B, Heads, S, H / Heads; T],
) {
    let q = split_heads::<B, S, Heads, { H / Heads }, T>(qkv.slice(s![.., .., 0..H]));
    let k = split_heads::<B, S, Heads, { H / Heads }, T>(qkv.slice(s![.., .., H..2 * H]));
    let v = split_heads::<B, S, Heads, { H / Heads }, T>(qkv.slice(s![.., .., 2 * H..3 * H]));
    (q, k, v)
}

/// Self-attention. Row `b` of the caches holds the keys and values of the
/// sequence in row `b` of the batch.
#[block]
#[require(Heads > 0, H % Heads == 0, MaxSeq > 0)]
pub struct Attention<H: Dim, Heads: Dim, Batch: Dim, MaxSeq: Dim, T: Float> {
    qkv: Conv1D<H, { 3 * H }, T>,
    out: Conv1D<H, H, T>,
    #[state]
    cache_k: Tensor![Batch, Heads, MaxSeq, H / Heads; T],
    #[state]
    cache_v: Tensor![Batch, Heads, MaxSeq, H / Heads; T],
}

#[block]
impl Attention {
    /// Attention within whole sequences, without the cache.
    pub fn forward<B: Dim, S: Dim>(&self, x: Tensor![B, S, H; T]) -> Tensor![B, S, H; T] {
        let (q, k, v) = split_qkv::<B, S, H, Heads, T>(self.qkv.forward(x));
        self.out.forward(merge_heads(attention(q, k, v)))
    }

    /// One more token in every row, at position `pos`.
    #[require(0 <= pos, pos < MaxSeq)]
    pub fn decode(&mut self, x: Tensor![Batch, 1, H; T], pos: i32) -> Tensor![Batch, 1, H; T] {
        let (q, k, v) = split_qkv::<Batch, 1, H, Heads, T>(self.qkv.forward(x));
        write_at(&mut self.cache_k, k, pos);
        write_at(&mut self.cache_v, v, pos);
        let mixed = cached_attention(q, self.cache_k, self.cache_v, pos);
        self.out.forward(merge_heads(mixed))
    }

    /// `S` more tokens in every row, from position `pos`.
    #[require(0 <= pos, pos + S <= MaxSeq)]
    pub fn prefill<S: Dim>(
        &mut self,
        x: Tensor![Batch, S, H; T],
        pos: i32,
    ) -> Tensor![Batch, S, H; T] {
        let (q, k, v) = split_qkv::<Batch, S, H, Heads, T>(self.qkv.forward(x));
        write_at(&mut self.cache_k, k, pos);
        write_at(&mut self.cache_v, v, pos);
        let mixed = cached_attention(q, self.cache_k, self.cache_v, pos);
        self.out.forward(merge_heads(mixed))
    }

    /// One more token in every row, each at its own position.
    #[require(0 <= positions, positions < MaxSeq)]
    pub fn decode_rows(
        &mut self,
        x: Tensor![Batch, 1, H; T],
        positions: Tensor![Batch; i32],
    ) -> Tensor![Batch, 1, H; T] {
        let (q, k, v) = split_qkv::<Batch, 1, H, Heads, T>(self.qkv.forward(x));
        write_rows(&mut self.cache_k, k, positions);
        write_rows(&mut self.cache_v, v, positions);
        let mixed = cached_attention_rows(q, self.cache_k, self.cache_v, positions);
        self.out.forward(merge_heads(mixed))
    }

    /// New sequences from position 0 in the rows that `slots` names. The other
    /// rows keep what they hold.
    #[require(S <= MaxSeq, 0 <= slots, slots < Batch, distinct(slots))]
    pub fn prefill_slots<M: Dim, S: Dim>(
        &mut self,
        x: Tensor![M, S, H; T],
        slots: Tensor![M; i32],
    ) -> Tensor![M, S, H; T] {
        let (q, k, v) = split_qkv::<M, S, H, Heads, T>(self.qkv.forward(x));
        write_slots(&mut self.cache_k, k, slots);
        write_slots(&mut self.cache_v, v, slots);
        self.out.forward(merge_heads(attention(q, k, v)))
    }
}
