//! The whole model: embedding, layers in pairs, final normalisation, head.

use linnet_runtime::{
    nn::{embedding::Embedding, linear::Linear, norm::RmsNorm},
    prelude::*,
};

use crate::pair::LayerPair;

/// gpt-oss (OpenAI, 2025) with room for `Batch` sequences of `MaxSeq` tokens in
/// its caches.
///
/// Packs: `prefill_packed` and `step_packed` take tokens of several requests
/// side by side. Token `p` goes to position `positions[p]` of cache row
/// `rows[p]`; the tokens of a segment (`segments[p]`, 0 or more) are one row's,
/// at consecutive positions, and a row takes one segment at a time. A segment
/// that starts past position 0 continues its row. A negative segment marks
/// padding, which touches no row; its token, row and position may be 0.
#[block]
#[require(Heads > 0, KvHeads > 0, Heads % KvHeads == 0, HeadDim > 0, HeadDim % 2 == 0)]
#[require(H % 32 == 0, Inner > 0, Inner % 32 == 0, TopK > 0, TopK <= Experts)]
#[require(Layers % 2 == 0, Window > 0, MaxSeq > 0)]
pub struct Model<
    Vocab: Dim,
    H: Dim,
    Heads: Dim,
    KvHeads: Dim,
    HeadDim: Dim,
    Inner: Dim,
    Experts: Dim,
    TopK: Dim,
    Layers: Dim,
    Window: Dim,
    Batch: Dim,
    MaxSeq: Dim,
    T: Float = bf16,
> {
    embed_tokens: Embedding<Vocab, H, T>,
    pairs: [LayerPair<
        H,
        Heads,
        KvHeads,
        HeadDim,
        Inner,
        Experts,
        TopK,
        Window,
        { H / 32 },
        { Inner / 32 },
        Batch,
        MaxSeq,
        T,
    >; { Layers / 2 }],
    norm: RmsNorm<H, T>,
    lm_head: Linear<H, Vocab, T>,
}

#[block]
impl Model {
    /// The logits after every token of whole sequences, without the cache.
    #[entry]
    #[require(0 <= tokens, tokens < Vocab, S > 0)]
    pub fn forward<B: Dim, S: Dim>(&self, tokens: Tensor![B, S; i32]) -> Tensor![B, S, Vocab; T] {
        self.lm_head.forward(self.hidden(tokens))
    }

    /// The logits after the last token of whole sequences, without the cache.
    #[entry]
    #[require(0 <= tokens, tokens < Vocab, S > 0)]
    pub fn next_token<B: Dim, S: Dim>(&self, tokens: Tensor![B, S; i32]) -> Tensor![B, Vocab; T] {
        self.lm_head
            .forward(self.hidden(tokens).slice(s![.., S - 1, ..]))
    }

    /// One more token in every row, at position `pos`: the logits after it.
    #[entry]
    #[require(0 <= token, token < Vocab, 0 <= pos, pos < MaxSeq)]
    pub fn decode(&mut self, token: Tensor![Batch, 1; i32], pos: i32) -> Tensor![Batch, Vocab; T] {
        let mut x = self.embed_tokens.forward(token);
        for pair in &mut self.pairs {
            x = pair.decode(x, pos);
        }
        self.lm_head
            .forward(self.norm.forward(x.slice(s![.., 0, ..])))
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
        let mut x = self.embed_tokens.forward(tokens);
        for pair in &mut self.pairs {
            x = pair.prefill(x, pos);
        }
        self.lm_head
            .forward(self.norm.forward(x.slice(s![.., S - 1, ..])))
    }

    /// One more token in every row, each at its own position: the logits after
    /// it. A row at position -1 is idle: it keeps what it holds, and its logits
    /// mean nothing.
    #[entry]
    #[require(0 <= tokens, tokens < Vocab, -1 <= positions, positions < MaxSeq)]
    pub fn decode_rows(
        &mut self,
        tokens: Tensor![Batch, 1; i32],
        positions: Tensor![Batch; i32],
    ) -> Tensor![Batch, Vocab; T] {
        let mut x = self.embed_tokens.forward(tokens);
        for pair in &mut self.pairs {
            x = pair.decode_rows(x, positions);
        }
        self.lm_head
            .forward(self.norm.forward(x.slice(s![.., 0, ..])))
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
        let mut x = self.embed_tokens.forward(tokens);
        for pair in &mut self.pairs {
            x = pair.prefill_slots(x, slots);
        }
        let last = index!([m, i] = x[m, lengths[m] - 1, i]);
        self.lm_head.forward(self.norm.forward(last))
    }

    /// Tokens of several prompts side by side: the logits after token `last[b]`
    /// of the pack for each row `b`. Those of a row without a prompt mean
    /// nothing; its `last` may be 0.
    #[entry]
    #[require(0 <= tokens, tokens < Vocab, P > 0, 0 <= last, last < P)]
    #[require(0 <= rows, rows < Batch, 0 <= positions, positions < MaxSeq)]
    #[require(packed(rows, positions, segments))]
    pub fn prefill_packed<P: Dim>(
        &mut self,
        tokens: Tensor![P; i32],
        rows: Tensor![P; i32],
        positions: Tensor![P; i32],
        segments: Tensor![P; i32],
        last: Tensor![Batch; i32],
    ) -> Tensor![Batch, Vocab; T] {
        let mut x = self.embed_tokens.forward(tokens.reshape([1, P]));
        for pair in &mut self.pairs {
            x = pair.prefill_packed(x, rows, positions, segments);
        }
        let ends = index!([b, i] = x[0, last[b], i]);
        self.lm_head.forward(self.norm.forward(ends))
    }

    /// Tokens of several prompts side by side, and one more token in every row:
    /// the logits after each row's `last` token of the pack in the first `Batch`
    /// rows, those after its step in the next. A row whose prompt is in the pack
    /// does not step, nor does one at position -1; their logits mean nothing.
    #[entry]
    #[require(0 <= tokens, tokens < Vocab, P > 0, 0 <= last, last < P)]
    #[require(0 <= rows, rows < Batch, 0 <= positions, positions < MaxSeq)]
    #[require(packed(rows, positions, segments))]
    #[require(0 <= step_tokens, step_tokens < Vocab)]
    #[require(-1 <= step_positions, step_positions < MaxSeq)]
    pub fn step_packed<P: Dim>(
        &mut self,
        tokens: Tensor![P; i32],
        rows: Tensor![P; i32],
        positions: Tensor![P; i32],
        segments: Tensor![P; i32],
        last: Tensor![Batch; i32],
        step_tokens: Tensor![Batch, 1; i32],
        step_positions: Tensor![Batch; i32],
    ) -> Tensor![2 * Batch, Vocab; T] {
        let prompts = self.embed_tokens.forward(tokens.reshape([1, P]));
        let steps = self.embed_tokens.forward(step_tokens.reshape([1, Batch]));
        let mut x = concat([steps, prompts], 1);
        for pair in &mut self.pairs {
            x = pair.step_packed(x, rows, positions, segments, step_positions);
        }
        let ends = index!([b, i] = x[0, Batch + last[b], i]);
        let stepped = x.slice(s![0, 0..Batch, ..]);
        self.lm_head
            .forward(self.norm.forward(concat([ends, stepped], 0)))
    }

    /// What the head reads: the normalised state after every token of whole
    /// sequences, without the cache.
    #[entry]
    #[require(0 <= tokens, tokens < Vocab, S > 0)]
    pub fn states<B: Dim, S: Dim>(&self, tokens: Tensor![B, S; i32]) -> Tensor![B, S, H; T] {
        self.hidden(tokens)
    }

    /// The normalised state after every token.
    #[require(0 <= tokens, tokens < Vocab, S > 0)]
    fn hidden<B: Dim, S: Dim>(&self, tokens: Tensor![B, S; i32]) -> Tensor![B, S, H; T] {
        let mut x = self.embed_tokens.forward(tokens);
        for pair in &self.pairs {
            x = pair.forward(x);
        }
        self.norm.forward(x)
    }
}
