//! One layer: attention, then the experts, each behind a normalisation and
//! beside a residual.

use linnet_runtime::{nn::norm::RmsNorm, prelude::*};

use crate::{attention::SinkAttention, experts::MixtureOfExperts};

/// One layer of the transformer. `window` is the number of positions that a
/// query sees, its own included.
#[block]
#[require(KvHeads > 0, Heads % KvHeads == 0, HeadDim > 0, HeadDim % 2 == 0, MaxSeq > 0)]
#[require(H == 32 * Blocks, Inner == 32 * InnerBlocks, Inner > 0)]
#[require(TopK > 0, TopK <= Experts)]
pub struct DecoderLayer<
    H: Dim,
    Heads: Dim,
    KvHeads: Dim,
    HeadDim: Dim,
    Inner: Dim,
    Experts: Dim,
    TopK: Dim,
    Blocks: Dim,
    InnerBlocks: Dim,
    Batch: Dim,
    MaxSeq: Dim,
    T: Float,
> {
    input_layernorm: RmsNorm<H, T>,
    self_attn: SinkAttention<H, Heads, KvHeads, HeadDim, Batch, MaxSeq, T>,
    post_attention_layernorm: RmsNorm<H, T>,
    mlp: MixtureOfExperts<H, Inner, Experts, TopK, Blocks, InnerBlocks, T>,
}

#[block]
impl DecoderLayer {
    /// Whole sequences, without the cache.
    #[require(window > 0)]
    pub fn forward<B: Dim, S: Dim>(
        &self,
        x: Tensor![B, S, H; T],
        window: i32,
    ) -> Tensor![B, S, H; T] {
        let x = x + self
            .self_attn
            .forward(self.input_layernorm.forward(x), window);
        x + self.mlp.forward(self.post_attention_layernorm.forward(x))
    }

    /// One more token in every row, at position `pos`.
    #[require(0 <= pos, pos < MaxSeq, window > 0)]
    pub fn decode(
        &mut self,
        x: Tensor![Batch, 1, H; T],
        pos: i32,
        window: i32,
    ) -> Tensor![Batch, 1, H; T] {
        let x = x + self
            .self_attn
            .decode(self.input_layernorm.forward(x), pos, window);
        x + self
            .mlp
            .forward_topk(self.post_attention_layernorm.forward(x))
    }

    /// `S` more tokens in every row, from position `pos`.
    #[require(0 <= pos, pos + S <= MaxSeq, window > 0)]
    pub fn prefill<S: Dim>(
        &mut self,
        x: Tensor![Batch, S, H; T],
        pos: i32,
        window: i32,
    ) -> Tensor![Batch, S, H; T] {
        let x = x + self
            .self_attn
            .prefill(self.input_layernorm.forward(x), pos, window);
        x + self
            .mlp
            .forward_routed(self.post_attention_layernorm.forward(x))
    }

    /// One more token in every row, each at its own position; a row at -1 is idle.
    #[require(-1 <= positions, positions < MaxSeq, window > 0)]
    pub fn decode_rows(
        &mut self,
        x: Tensor![Batch, 1, H; T],
        positions: Tensor![Batch; i32],
        window: i32,
    ) -> Tensor![Batch, 1, H; T] {
        let x = x + self
            .self_attn
            .decode_rows(self.input_layernorm.forward(x), positions, window);
        x + self
            .mlp
            .forward_topk(self.post_attention_layernorm.forward(x))
    }

    /// New sequences from position 0 in the rows that `slots` names.
    #[require(S <= MaxSeq, 0 <= slots, slots < Batch, distinct(slots), window > 0)]
    pub fn prefill_slots<M: Dim, S: Dim>(
        &mut self,
        x: Tensor![M, S, H; T],
        slots: Tensor![M; i32],
        window: i32,
    ) -> Tensor![M, S, H; T] {
        let x = x + self
            .self_attn
            .prefill_slots(self.input_layernorm.forward(x), slots, window);
        x + self
            .mlp
            .forward_routed(self.post_attention_layernorm.forward(x))
    }

    /// Tokens of several prompts side by side.
    #[require(0 <= rows, rows < Batch, 0 <= positions, positions < MaxSeq, window > 0)]
    pub fn prefill_packed<P: Dim>(
        &mut self,
        x: Tensor![1, P, H; T],
        rows: Tensor![P; i32],
        positions: Tensor![P; i32],
        segments: Tensor![P; i32],
        window: i32,
    ) -> Tensor![1, P, H; T] {
        let x = x + self.self_attn.prefill_packed(
            self.input_layernorm.forward(x),
            rows,
            positions,
            segments,
            window,
        );
        x + self
            .mlp
            .forward_routed(self.post_attention_layernorm.forward(x))
    }

    /// One more token in every row, and tokens of prompts beside them.
    #[require(0 <= rows, rows < Batch, 0 <= positions, positions < MaxSeq, -1 <= step_positions, step_positions < MaxSeq, window > 0)]
    pub fn step_packed<P: Dim>(
        &mut self,
        x: Tensor![1, Batch + P, H; T],
        rows: Tensor![P; i32],
        positions: Tensor![P; i32],
        segments: Tensor![P; i32],
        step_positions: Tensor![Batch; i32],
        window: i32,
    ) -> Tensor![1, Batch + P, H; T] {
        let x = x + self.self_attn.step_packed(
            self.input_layernorm.forward(x),
            rows,
            positions,
            segments,
            step_positions,
            window,
        );
        x + self
            .mlp
            .forward_routed(self.post_attention_layernorm.forward(x))
    }
}
