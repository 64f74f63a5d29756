use linnet_runtime::{nn::norm::RmsNorm, prelude::*};

#[block]
pub struct Outer<H: Dim, T: Float> {
    norm: Option<RmsNorm<H, T>>,
}

#[block]
impl Outer {
    pub fn forward<B: Dim>(&self, x: Tensor![B, H; T]) -> Tensor![B, H; T] {
        if let Some(norm) = &self.norm {
            norm.forward(x)
        } else {
            x
        }
    }
}

fn main() {}
