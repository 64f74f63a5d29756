//! Two layers: one with a window, one without.

use linnet_runtime::prelude::*;

use crate::layer::DecoderLayer;

/// A layer whose queries see the last `Window` positions, then one whose
/// queries see all.
#[block]
#[require(KvHeads > 0, Heads % KvHeads == 0, HeadDim > 0, HeadDim % 2 == 0, MaxSeq > 0)]
#[require(H == 32 * Blocks, Inner == 32 * InnerBlocks, Inner > 0)]
#[require(TopK > 0, TopK <= Experts)]
#[require(Window > 0)]
pub struct LayerPair<
    H: Dim,
    Heads: Dim,
    KvHeads: Dim,
    HeadDim: Dim,
    Inner: Dim,
    Experts: Dim,
    TopK: Dim,
    Window: Dim,
    Blocks: Dim,
    InnerBlocks: Dim,
    Batch: Dim,
    MaxSeq: Dim,
    T: Float,
> {
    sliding: DecoderLayer<
        H,
        Heads,
        KvHeads,
        HeadDim,
        Inner,
        Experts,
        TopK,
        Blocks,
        InnerBlocks,
        Batch,
        MaxSeq,
        T,
    >,
    full: DecoderLayer<
        H,
        Heads,
        KvHeads,
        HeadDim,
        Inner,
        Experts,
        TopK,
        Blocks,
        InnerBlocks,
        Batch,
        MaxSeq,
        T,
    >,
}

#[block]
impl LayerPair {
    /// Whole sequences, without the cache.
    pub fn forward<B: Dim, S: Dim>(&self, x: Tensor![B, S, H; T]) -> Tensor![B, S, H; T] {
        let x = self.sliding.forward(x, cast::<i32>(Window));
        self.full.forward(x, cast::<i32>(S))
    }

    /// One more token in every row, at position `pos`.
    #[require(0 <= pos, pos < MaxSeq)]
    pub fn decode(&mut self, x: Tensor![Batch, 1, H; T], pos: i32) -> Tensor![Batch, 1, H; T] {
        let x = self.sliding.decode(x, pos, cast::<i32>(Window));
        self.full.decode(x, pos, cast::<i32>(MaxSeq))
    }

    /// `S` more tokens in every row, from position `pos`.
    #[require(0 <= pos, pos + S <= MaxSeq)]
    pub fn prefill<S: Dim>(
        &mut self,
        x: Tensor![Batch, S, H; T],
        pos: i32,
    ) -> Tensor![Batch, S, H; T] {
        let x = self.sliding.prefill(x, pos, cast::<i32>(Window));
        self.full.prefill(x, pos, cast::<i32>(MaxSeq))
    }

    /// One more token in every row, each at its own position; a row at -1 is idle.
    #[require(-1 <= positions, positions < MaxSeq)]
    pub fn decode_rows(
        &mut self,
        x: Tensor![Batch, 1, H; T],
        positions: Tensor![Batch; i32],
    ) -> Tensor![Batch, 1, H; T] {
        let x = self.sliding.decode_rows(x, positions, cast::<i32>(Window));
        self.full.decode_rows(x, positions, cast::<i32>(MaxSeq))
    }

    /// New sequences from position 0 in the rows that `slots` names.
    #[require(S <= MaxSeq, 0 <= slots, slots < Batch, distinct(slots))]
    pub fn prefill_slots<M: Dim, S: Dim>(
        &mut self,
        x: Tensor![M, S, H; T],
        slots: Tensor![M; i32],
    ) -> Tensor![M, S, H; T] {
        let x = self.sliding.prefill_slots(x, slots, cast::<i32>(Window));
        self.full.prefill_slots(x, slots, cast::<i32>(MaxSeq))
    }

    /// Tokens of several prompts side by side.
    #[require(0 <= rows, rows < Batch, 0 <= positions, positions < MaxSeq)]
    pub fn prefill_packed<P: Dim>(
        &mut self,
        x: Tensor![1, P, H; T],
        rows: Tensor![P; i32],
        positions: Tensor![P; i32],
        segments: Tensor![P; i32],
    ) -> Tensor![1, P, H; T] {
        let x = self
            .sliding
            .prefill_packed(x, rows, positions, segments, cast::<i32>(Window));
        self.full
            .prefill_packed(x, rows, positions, segments, cast::<i32>(MaxSeq))
    }

    /// One more token in every row, and tokens of prompts beside them.
    #[require(0 <= rows, rows < Batch, 0 <= positions, positions < MaxSeq, -1 <= step_positions, step_positions < MaxSeq)]
    pub fn step_packed<P: Dim>(
        &mut self,
        x: Tensor![1, Batch + P, H; T],
        rows: Tensor![P; i32],
        positions: Tensor![P; i32],
        segments: Tensor![P; i32],
        step_positions: Tensor![Batch; i32],
    ) -> Tensor![1, Batch + P, H; T] {
        let x = self.sliding.step_packed(
            x,
            rows,
            positions,
            segments,
            step_positions,
            cast::<i32>(Window),
        );
        self.full.step_packed(
            x,
            rows,
            positions,
            segments,
            step_positions,
            cast::<i32>(MaxSeq),
        )
    }
}
