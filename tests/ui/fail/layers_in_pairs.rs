use gpt_oss::model::Model;
use linnet_runtime::prelude::*;

/// Layers come in pairs: one with a window, one without.
#[block]
#[require(MaxSeq > 0)]
pub struct Small<Batch: Dim, MaxSeq: Dim> {
    model: Model<320, 64, 8, 2, 16, 96, 8, 2, 5, 8, Batch, MaxSeq, bf16>,
}

#[block]
impl Small {
    #[require(0 <= tokens, tokens < 320, S > 0)]
    pub fn forward<B: Dim, S: Dim>(&self, tokens: Tensor![B, S; i32]) -> Tensor![B, S, 320; bf16] {
        self.model.forward(tokens)
    }
}

fn main() {}
