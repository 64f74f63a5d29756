//! The whole model: embeddings, layers, final normalisation, and a head that
//! shares the token embedding.

use linnet_runtime::{nn::embedding::embedding, prelude::*};

use crate::{block::Block, layer_norm::LayerNorm};

/// GPT-2 (Radford et al., 2019) with room for `Batch` sequences of `MaxSeq`
/// tokens in its caches.
#[block]
#[require(Heads > 0, H % Heads == 0, MaxSeq > 0, MaxSeq <= MaxPositions)]
pub struct Model<
    Vocab: Dim,
    MaxPositions: Dim,
    H: Dim,
    Heads: Dim,
    Layers: Dim,
    Batch: Dim,
    MaxSeq: Dim,
    T: Float = f32,
> {
    #[param]
    wte: Tensor![Vocab, H; T],
    #[param]
    wpe: Tensor![MaxPositions, H; T],
    blocks: [Block<H, Heads, Batch, MaxSeq, T>; Layers],
    ln_f: LayerNorm<H, T>,
}

#[block]
impl Model {
    /// The logits after every token of whole sequences, without the cache.
    #[entry]
    #[require(0 <= tokens, tokens < Vocab, S > 0, S <= MaxPositions)]
    pub fn forward<B: Dim, S: Dim>(&self, tokens: Tensor![B, S; i32]) -> Tensor![B, S, Vocab; T] {
        let mut x = embedding(tokens, self.wte) + self.wpe.slice(s![0..S, ..]);
        for block in &self.blocks {
            x = block.forward(x);
        }
        let h = self.ln_f.forward(x);
        index!([b, s, v] = sum[i] h[b, s, i] * self.wte[v, i])
    }

    /// One more token in every row, at position `pos`: the logits after it.
    #[entry]
    #[require(0 <= token, token < Vocab, 0 <= pos, pos < MaxSeq)]
    pub fn decode(&mut self, token: Tensor![Batch, 1; i32], pos: i32) -> Tensor![Batch, Vocab; T] {
        let mut x = embedding(token, self.wte) + self.wpe.slice(s![pos..pos + 1, ..]);
        for block in &mut self.blocks {
            x = block.decode(x, pos);
        }
        let h = self.ln_f.forward(x.slice(s![.., 0, ..]));
        index!([b, v] = sum[i] h[b, i] * self.wte[v, i])
    }

    /// `S` more tokens in every row, from position `pos`: the logits after the
    /// last of them.
    #[entry]
    #[require(0 <= tokens, tokens < Vocab, S > 0, 0 <= pos, pos + S <= MaxSeq)]
    pub fn prefill<S: Dim>(
        &mut self,
        tokens: Tensor![Batch, S; i32],
        pos: i32,
    ) -> Tensor![Batch, Vocab; T] {
        let mut x = embedding(tokens, self.wte) + self.wpe.slice(s![pos..pos + S, ..]);
        for block in &mut self.blocks {
            x = block.prefill(x, pos);
        }
        let h = self.ln_f.forward(x.slice(s![.., S - 1, ..]));
        index!([b, v] = sum[i] h[b, i] * self.wte[v, i])
    }

    /// One more token in every row, each at its own position: the logits after
    /// it. A row that holds no sequence may be given any token at position 0.
    #[entry]
    #[require(0 <= tokens, tokens < Vocab, 0 <= positions, positions < MaxSeq)]
    pub fn decode_rows(
        &mut self,
        tokens: Tensor![Batch, 1; i32],
        positions: Tensor![Batch; i32],
    ) -> Tensor![Batch, Vocab; T] {
        let places = embedding(positions.reshape([Batch, 1]), self.wpe);
        let mut x = embedding(tokens, self.wte) + places;
        for block in &mut self.blocks {
            x = block.decode_rows(x, positions);
        }
        let h = self.ln_f.forward(x.slice(s![.., 0, ..]));
        index!([b, v] = sum[i] h[b, i] * self.wte[v, i])
    }

    /// New sequences from position 0 in the rows that `slots` names, `lengths`
    /// tokens each: the logits after the last token of each. What follows a
    /// shorter sequence in `tokens` may be any token of the vocabulary. Rows
    /// that `slots` does not name keep what they hold.
    #[entry]
    #[require(0 <= tokens, tokens < Vocab, S > 0, S <= MaxSeq)]
    #[require(0 <= slots, slots < Batch, distinct(slots))]
    #[require(1 <= lengths, lengths <= S)]
    pub fn prefill_slots<M: Dim, S: Dim>(
        &mut self,
        tokens: Tensor![M, S; i32],
        slots: Tensor![M; i32],
        lengths: Tensor![M; i32],
    ) -> Tensor![M, Vocab; T] {
        let mut x = embedding(tokens, self.wte) + self.wpe.slice(s![0..S, ..]);
        for block in &mut self.blocks {
            x = block.prefill_slots(x, slots);
        }
        let last = index!([m, i] = x[m, lengths[m] - 1, i]);
        let h = self.ln_f.forward(last);
        index!([m, v] = sum[i] h[m, i] * self.wte[v, i])
    }
}
