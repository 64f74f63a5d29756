use linnet_runtime::{nn::norm::RmsNorm, prelude::*};

#[block]
pub struct Outer<H: Dim, T: Float> {
    norm: Option<RmsNorm<H, T>>,
}

#[block]
impl Outer {
    pub fn forward<B: Dim>(&self, x: Tensor![B, H; T]) -> Tensor![B, H; T] {
        self.norm.forward(x)
    }
}

fn main() {}
