use gpt_oss::experts::MixtureOfExperts;
use linnet_runtime::prelude::*;

/// MXFP4 stores a row of `H` weights in blocks of 32.
#[block]
#[require(Inner > 0, Inner % 32 == 0, TopK > 0, TopK <= Experts)]
pub struct Layer<H: Dim, Inner: Dim, Experts: Dim, TopK: Dim, T: Float> {
    mlp: MixtureOfExperts<H, Inner, Experts, TopK, { H / 32 }, { Inner / 32 }, T>,
}

#[block]
impl Layer {
    pub fn forward<B: Dim, S: Dim>(&self, x: Tensor![B, S, H; T]) -> Tensor![B, S, H; T] {
        x + self.mlp.forward(x)
    }
}

fn main() {}
