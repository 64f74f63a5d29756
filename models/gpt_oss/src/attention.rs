//! Attention with sinks and a window, and its key and value cache.

use linnet_runtime::{
    nn::{attention::*, cache::*, linear::Linear, rope::yarn_rope, sink_attention::*},
    prelude::*,
};

/// Rotates by position, with the constants of the published configurations.
#[op]
#[require(D > 0, D % 2 == 0)]
pub fn rotate<B: Dim, Heads: Dim, S: Dim, D: Dim, T: Float>(
    x: Tensor![B, Heads, S, D; T],
    positions: Tensor![B, S; i32],
) -> Tensor![B, Heads, S, D; T] {
    yarn_rope(x, positions, 150000.0, 32.0, 32.0, 1.0, 4096.0)
}

/// The positions of a pack with -1 for padding.
#[op]
pub fn places_of<P: Dim>(positions: Tensor![P; i32], segments: Tensor![P; i32]) -> Tensor![P; i32] {
    index!([p] = if segments[p] < 0 { -1 } else { positions[p] })
}

/// The positions of the rows that step, with -1 for a row whose prompt is in
/// the pack.
#[op]
pub fn steps_beside<Batch: Dim, P: Dim>(
    step_positions: Tensor![Batch; i32],
    rows: Tensor![P; i32],
    segments: Tensor![P; i32],
) -> Tensor![Batch; i32] {
    let busy: Tensor![Batch; i32] =
        index!([b: Batch] = max[p] if rows[p] == b && segments[p] >= 0 { 1 } else { 0 });
    index!([b] = if busy[b] > 0 { -1 } else { step_positions[b] })
}

/// Self-attention with grouped heads, sinks and a window. Row `b` of the caches
/// holds the keys and values of the sequence in row `b` of the batch; keys are
/// kept rotated.
///
/// `window` is the number of positions that a query sees, its own included.
#[block]
#[require(KvHeads > 0, Heads % KvHeads == 0, HeadDim > 0, HeadDim % 2 == 0, MaxSeq > 0)]
pub struct SinkAttention<
    H: Dim,
    Heads: Dim,
    KvHeads: Dim,
    HeadDim: Dim,
    Batch: Dim,
    MaxSeq: Dim,
    T: Float,
> {
    q_proj: Linear<H, { Heads * HeadDim }, T>,
    k_proj: Linear<H, { KvHeads * HeadDim }, T>,
    v_proj: Linear<H, { KvHeads * HeadDim }, T>,
    o_proj: Linear<{ Heads * HeadDim }, H, T>,
    #[param]
    sinks: Tensor![Heads; T],
    #[state]
    cache_k: Tensor![Batch, KvHeads, MaxSeq, HeadDim; T],
    #[state]
    cache_v: Tensor![Batch, KvHeads, MaxSeq, HeadDim; T],
}

#[block]
impl SinkAttention {
    /// Attention within whole sequences, without the cache.
    #[require(window > 0)]
    pub fn forward<B: Dim, S: Dim>(
        &self,
        x: Tensor![B, S, H; T],
        window: i32,
    ) -> Tensor![B, S, H; T] {
        let positions: Tensor![B, S; i32] = index!([b: B, s: S] = cast::<i32>(s));
        let q = split_heads::<B, S, Heads, HeadDim, T>(self.q_proj.forward(x));
        let k = split_heads::<B, S, KvHeads, HeadDim, T>(self.k_proj.forward(x));
        let v = split_heads::<B, S, KvHeads, HeadDim, T>(self.v_proj.forward(x));
        let q = rotate(q, positions);
        let k = rotate(k, positions);
        self.o_proj
            .forward(merge_heads(sink_attention(q, k, v, self.sinks, window)))
    }

    /// One more token in every row, at position `pos`.
    #[require(0 <= pos, pos < MaxSeq, window > 0)]
    pub fn decode(
        &mut self,
        x: Tensor![Batch, 1, H; T],
        pos: i32,
        window: i32,
    ) -> Tensor![Batch, 1, H; T] {
        self.prefill(x, pos, window)
    }

    /// `S` more tokens in every row, from position `pos`.
    #[require(0 <= pos, pos + S <= MaxSeq, window > 0)]
    pub fn prefill<S: Dim>(
        &mut self,
        x: Tensor![Batch, S, H; T],
        pos: i32,
        window: i32,
    ) -> Tensor![Batch, S, H; T] {
        let positions: Tensor![Batch, S; i32] = index!([b: Batch, s: S] = cast::<i32>(s) + pos);
        let q = split_heads::<Batch, S, Heads, HeadDim, T>(self.q_proj.forward(x));
        let k = split_heads::<Batch, S, KvHeads, HeadDim, T>(self.k_proj.forward(x));
        let v = split_heads::<Batch, S, KvHeads, HeadDim, T>(self.v_proj.forward(x));
        write_at(&mut self.cache_k, rotate(k, positions), pos);
        write_at(&mut self.cache_v, v, pos);
        let mixed = cached_sink_attention(
            rotate(q, positions),
            self.cache_k,
            self.cache_v,
            self.sinks,
            pos,
            window,
        );
        self.o_proj.forward(merge_heads(mixed))
    }

    /// One more token in every row, each at its own position. A row at -1 is
    /// idle: it writes nothing, and its result means nothing.
    #[require(-1 <= positions, positions < MaxSeq, window > 0)]
    pub fn decode_rows(
        &mut self,
        x: Tensor![Batch, 1, H; T],
        positions: Tensor![Batch; i32],
        window: i32,
    ) -> Tensor![Batch, 1, H; T] {
        let rows = iota::<i32>(Batch);
        let x = x.reshape([1, Batch, H]);
        let q = split_heads::<1, Batch, Heads, HeadDim, T>(self.q_proj.forward(x));
        let k = split_heads::<1, Batch, KvHeads, HeadDim, T>(self.k_proj.forward(x));
        let v = split_heads::<1, Batch, KvHeads, HeadDim, T>(self.v_proj.forward(x));
        let places = positions.reshape([1, Batch]);
        write_packed(&mut self.cache_k, rotate(k, places), rows, positions);
        write_packed(&mut self.cache_v, v, rows, positions);
        let mixed = packed_sink_attention(
            rotate(q, places),
            self.cache_k,
            self.cache_v,
            self.sinks,
            rows,
            positions,
            window,
        );
        self.o_proj
            .forward(merge_heads(mixed))
            .reshape([Batch, 1, H])
    }

    /// New sequences from position 0 in the rows that `slots` names. The other
    /// rows keep what they hold.
    #[require(S <= MaxSeq, 0 <= slots, slots < Batch, distinct(slots), window > 0)]
    pub fn prefill_slots<M: Dim, S: Dim>(
        &mut self,
        x: Tensor![M, S, H; T],
        slots: Tensor![M; i32],
        window: i32,
    ) -> Tensor![M, S, H; T] {
        let positions: Tensor![M, S; i32] = index!([m: M, s: S] = cast::<i32>(s));
        let q = split_heads::<M, S, Heads, HeadDim, T>(self.q_proj.forward(x));
        let k = split_heads::<M, S, KvHeads, HeadDim, T>(self.k_proj.forward(x));
        let v = split_heads::<M, S, KvHeads, HeadDim, T>(self.v_proj.forward(x));
        let q = rotate(q, positions);
        let k = rotate(k, positions);
        write_slots(&mut self.cache_k, k, slots);
        write_slots(&mut self.cache_v, v, slots);
        self.o_proj
            .forward(merge_heads(sink_attention(q, k, v, self.sinks, window)))
    }

    /// Tokens of several prompts side by side, each with its row, position and
    /// segment. A token sees what its row holds up to its own position. Padding,
    /// a negative segment, writes nothing.
    #[require(0 <= rows, rows < Batch, 0 <= positions, positions < MaxSeq, window > 0)]
    pub fn prefill_packed<P: Dim>(
        &mut self,
        x: Tensor![1, P, H; T],
        rows: Tensor![P; i32],
        positions: Tensor![P; i32],
        segments: Tensor![P; i32],
        window: i32,
    ) -> Tensor![1, P, H; T] {
        let places = places_of(positions, segments);
        let q = split_heads::<1, P, Heads, HeadDim, T>(self.q_proj.forward(x));
        let k = split_heads::<1, P, KvHeads, HeadDim, T>(self.k_proj.forward(x));
        let v = split_heads::<1, P, KvHeads, HeadDim, T>(self.v_proj.forward(x));
        let turns = places.reshape([1, P]);
        write_packed(&mut self.cache_k, rotate(k, turns), rows, places);
        write_packed(&mut self.cache_v, v, rows, places);
        let mixed = packed_sink_attention(
            rotate(q, turns),
            self.cache_k,
            self.cache_v,
            self.sinks,
            rows,
            places,
            window,
        );
        self.o_proj.forward(merge_heads(mixed))
    }

    /// One more token in every row (the first `Batch` of `x`), and beside them
    /// tokens of prompts as [`prefill_packed`](Self::prefill_packed) takes them. A row whose
    /// prompt is in the pack does not step.
    #[require(0 <= rows, rows < Batch, 0 <= positions, positions < MaxSeq, window > 0)]
    #[require(-1 <= step_positions, step_positions < MaxSeq)]
    pub fn step_packed<P: Dim>(
        &mut self,
        x: Tensor![1, Batch + P, H; T],
        rows: Tensor![P; i32],
        positions: Tensor![P; i32],
        segments: Tensor![P; i32],
        step_positions: Tensor![Batch; i32],
        window: i32,
    ) -> Tensor![1, Batch + P, H; T] {
        let steps = steps_beside(step_positions, rows, segments);
        let places = concat([steps, places_of(positions, segments)], 0);
        let rows = concat([iota::<i32>(Batch), rows], 0);
        let q = split_heads::<1, { Batch + P }, Heads, HeadDim, T>(self.q_proj.forward(x));
        let k = split_heads::<1, { Batch + P }, KvHeads, HeadDim, T>(self.k_proj.forward(x));
        let v = split_heads::<1, { Batch + P }, KvHeads, HeadDim, T>(self.v_proj.forward(x));
        let turns = places.reshape([1, Batch + P]);
        write_packed(&mut self.cache_k, rotate(k, turns), rows, places);
        write_packed(&mut self.cache_v, v, rows, places);
        let mixed = packed_sink_attention(
            rotate(q, turns),
            self.cache_k,
            self.cache_v,
            self.sinks,
            rows,
            places,
            window,
        );
        self.o_proj.forward(merge_heads(mixed))
    }
}
