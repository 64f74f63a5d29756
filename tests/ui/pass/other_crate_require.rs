use gpt2::attention::Attention;
use linnet_runtime::prelude::*;

#[block]
#[require(Heads > 0, H % Heads == 0, MaxSeq > 0)]
pub struct Layer<H: Dim, Heads: Dim, Batch: Dim, MaxSeq: Dim, T: Float> {
    attn: Attention<H, Heads, Batch, MaxSeq, T>,
}

#[block]
impl Layer {
    pub fn forward<B: Dim, S: Dim>(&self, x: Tensor![B, S, H; T]) -> Tensor![B, S, H; T] {
        x + self.attn.forward(x)
    }
}

fn main() {}
