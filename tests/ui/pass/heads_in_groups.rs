use gpt_oss::attention::SinkAttention;
use linnet_runtime::prelude::*;

/// Each key head serves `Heads / KvHeads` query heads.
#[block]
#[require(KvHeads > 0, Heads % KvHeads == 0, HeadDim > 0, HeadDim % 2 == 0, MaxSeq > 0)]
pub struct Layer<H: Dim, Heads: Dim, KvHeads: Dim, HeadDim: Dim, Batch: Dim, MaxSeq: Dim, T: Float>
{
    attention: SinkAttention<H, Heads, KvHeads, HeadDim, Batch, MaxSeq, T>,
}

#[block]
impl Layer {
    #[require(window > 0)]
    pub fn forward<B: Dim, S: Dim>(
        &self,
        x: Tensor![B, S, H; T],
        window: i32,
    ) -> Tensor![B, S, H; T] {
        x + self.attention.forward(x, window)
    }
}

fn main() {}
