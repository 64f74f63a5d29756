//! The blocks of GPT-2 and the standard blocks have the members, functions and
//! entries that their specification lists, each with its exact signature.

mod seed;

use gpt2::{
    attention::Attention, block::Block as Layer, conv1d::Conv1D, layer_norm::LayerNorm, mlp::Mlp,
    model::Model,
};
use linnet_runtime::{
    Block, Dyn,
    nn::{embedding::Embedding, linear::Linear, norm::RmsNorm},
};
use seed::listing;

#[track_caller]
fn check<B: Block>(expected: &str) {
    let found = listing(B::DESCRIPTOR);
    let expected = expected.trim_start();
    for (found, expected) in found.lines().zip(expected.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.lines().count(), expected.lines().count(), "{found}");
}

#[test]
fn attention() {
    check::<Attention<Dyn, Dyn, Dyn, Dyn, f32>>(
        "
Attention<H: Dim, Heads: Dim, Batch: Dim, MaxSeq: Dim, T: Float>
  sub qkv: Conv1D<H, 3 * H, T>
  sub out: Conv1D<H, H, T>
  state cache_k: Tensor[Batch, Heads, MaxSeq, H / Heads; T]
  state cache_v: Tensor[Batch, Heads, MaxSeq, H / Heads; T]
  pub fn forward<B: Dim, S: Dim>(x: Tensor[B, S, H; T]) -> Tensor[B, S, H; T]
  pub fn decode(x: Tensor[Batch, 1, H; T], pos: i32) -> Tensor[Batch, 1, H; T]
  pub fn prefill<S: Dim>(x: Tensor[Batch, S, H; T], pos: i32) -> Tensor[Batch, S, H; T]
  pub fn decode_rows(x: Tensor[Batch, 1, H; T], positions: Tensor[Batch; i32]) -> Tensor[Batch, 1, H; T]
  pub fn prefill_slots<M: Dim, S: Dim>(x: Tensor[M, S, H; T], slots: Tensor[M; i32]) -> Tensor[M, S, H; T]
",
    );
}

#[test]
fn block() {
    check::<Layer<Dyn, Dyn, Dyn, Dyn, f32>>(
        "
Block<H: Dim, Heads: Dim, Batch: Dim, MaxSeq: Dim, T: Float>
  sub ln_1: LayerNorm<H, T>
  sub attn: Attention<H, Heads, Batch, MaxSeq, T>
  sub ln_2: LayerNorm<H, T>
  sub mlp: Mlp<H, T>
  pub fn forward<B: Dim, S: Dim>(x: Tensor[B, S, H; T]) -> Tensor[B, S, H; T]
  pub fn decode(x: Tensor[Batch, 1, H; T], pos: i32) -> Tensor[Batch, 1, H; T]
  pub fn prefill<S: Dim>(x: Tensor[Batch, S, H; T], pos: i32) -> Tensor[Batch, S, H; T]
  pub fn decode_rows(x: Tensor[Batch, 1, H; T], positions: Tensor[Batch; i32]) -> Tensor[Batch, 1, H; T]
  pub fn prefill_slots<M: Dim, S: Dim>(x: Tensor[M, S, H; T], slots: Tensor[M; i32]) -> Tensor[M, S, H; T]
",
    );
}

#[test]
fn conv1d() {
    check::<Conv1D<Dyn, Dyn, f32>>(
        "
Conv1D<In: Dim, Out: Dim, T: Float>
  param weight: Tensor[In, Out; T]
  param bias: Tensor[Out; T]
  pub fn forward<*S: Shape>(x: Tensor[*S, In; T]) -> Tensor[*S, Out; T]
",
    );
}

#[test]
fn embedding() {
    check::<Embedding<Dyn, Dyn>>(
        "
Embedding<Vocab: Dim, H: Dim, T: Float = bf16>
  param weight: Tensor[Vocab, H; T]
  pub fn forward<*S: Shape>(ids: Tensor[*S; i32]) -> Tensor[*S, H; T]
",
    );
}

#[test]
fn layer_norm() {
    check::<LayerNorm<Dyn, f32>>(
        "
LayerNorm<H: Dim, T: Float>
  param weight: Tensor[H; T]
  param bias: Tensor[H; T]
  pub fn forward<*S: Shape>(x: Tensor[*S, H; T]) -> Tensor[*S, H; T]
",
    );
}

#[test]
fn linear() {
    check::<Linear<Dyn, Dyn>>(
        "
Linear<In: Dim, Out: Dim, T: Float = bf16>
  param weight: Tensor[Out, In; T]
  param bias: Tensor[Out; T]?
  pub fn forward<*S: Shape>(x: Tensor[*S, In; T]) -> Tensor[*S, Out; T]
",
    );
}

#[test]
fn mlp() {
    check::<Mlp<Dyn, f32>>(
        "
Mlp<H: Dim, T: Float>
  sub up: Conv1D<H, 4 * H, T>
  sub down: Conv1D<4 * H, H, T>
  pub fn forward<*S: Shape>(x: Tensor[*S, H; T]) -> Tensor[*S, H; T]
",
    );
}

#[test]
fn model() {
    check::<Model<Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn>>(
        "
Model<Vocab: Dim, MaxPositions: Dim, H: Dim, Heads: Dim, Layers: Dim, Batch: Dim, MaxSeq: Dim, T: Float = f32>
  param wte: Tensor[Vocab, H; T]
  param wpe: Tensor[MaxPositions, H; T]
  sub blocks: [Block<H, Heads, Batch, MaxSeq, T>; Layers]
  sub ln_f: LayerNorm<H, T>
  pub entry forward<B: Dim, S: Dim>(tokens: Tensor[B, S; i32]) -> Tensor[B, S, Vocab; T]
  pub entry decode(token: Tensor[Batch, 1; i32], pos: i32) -> Tensor[Batch, Vocab; T]
  pub entry prefill<S: Dim>(tokens: Tensor[Batch, S; i32], pos: i32) -> Tensor[Batch, Vocab; T]
  pub entry decode_rows(tokens: Tensor[Batch, 1; i32], positions: Tensor[Batch; i32]) -> Tensor[Batch, Vocab; T]
  pub entry prefill_slots<M: Dim, S: Dim>(tokens: Tensor[M, S; i32], slots: Tensor[M; i32], lengths: Tensor[M; i32]) -> Tensor[M, Vocab; T]
",
    );
}

#[test]
fn rms_norm() {
    check::<RmsNorm<Dyn>>(
        "
RmsNorm<H: Dim, T: Float = bf16>
  param weight: Tensor[H; T]
  pub fn forward<*S: Shape>(x: Tensor[*S, H; T]) -> Tensor[*S, H; T]
",
    );
}
