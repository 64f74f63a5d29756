//! One layer: attention, then the feed-forward half, each behind a
//! normalisation and beside a residual.

use linnet_runtime::prelude::*;

use crate::{attention::Attention, layer_norm::LayerNorm, mlp::Mlp};

/// One layer of the transformer.
#[block]
#[require(Heads > 0, H % Heads == 0, MaxSeq > 0)]
pub struct Block<H: Dim, Heads: Dim, Batch: Dim, MaxSeq: Dim, T: Float> {
    ln_1: LayerNorm<H, T>,
    attn: Attention<H, Heads, Batch, MaxSeq, T>,
    ln_2: LayerNorm<H, T>,
    mlp: Mlp<H, T>,
}

#[block]
impl Block {
    /// Whole sequences, without the cache.
    pub fn forward<B: Dim, S: Dim>(&self, x: Tensor![B, S, H; T]) -> Tensor![B, S, H; T] {
        let x = x + self.attn.forward(self.ln_1.forward(x));
        x + self.mlp.forward(self.ln_2.forward(x))
    }

    /// One more token in every row, at position `pos`.
    #[require(0 <= pos, pos < MaxSeq)]
    pub fn decode(&mut self, x: Tensor![Batch, 1, H; T], pos: i32) -> Tensor![Batch, 1, H; T] {
        let x = x + self.attn.decode(self.ln_1.forward(x), pos);
        x + self.mlp.forward(self.ln_2.forward(x))
    }

    /// `S` more tokens in every row, from position `pos`.
    #[require(0 <= pos, pos + S <= MaxSeq)]
    pub fn prefill<S: Dim>(
        &mut self,
        x: Tensor![Batch, S, H; T],
        pos: i32,
    ) -> Tensor![Batch, S, H; T] {
        let x = x + self.attn.prefill(self.ln_1.forward(x), pos);
        x + self.mlp.forward(self.ln_2.forward(x))
    }

    /// One more token in every row, each at its own position.
    #[require(0 <= positions, positions < MaxSeq)]
    pub fn decode_rows(
        &mut self,
        x: Tensor![Batch, 1, H; T],
        positions: Tensor![Batch; i32],
    ) -> Tensor![Batch, 1, H; T] {
        let x = x + self.attn.decode_rows(self.ln_1.forward(x), positions);
        x + self.mlp.forward(self.ln_2.forward(x))
    }

    /// New sequences from position 0 in the rows that `slots` names.
    #[require(S <= MaxSeq, 0 <= slots, slots < Batch, distinct(slots))]
    pub fn prefill_slots<M: Dim, S: Dim>(
        &mut self,
        x: Tensor![M, S, H; T],
        slots: Tensor![M; i32],
    ) -> Tensor![M, S, H; T] {
        let x = x + self.attn.prefill_slots(self.ln_1.forward(x), slots);
        x + self.mlp.forward(self.ln_2.forward(x))
    }
}
