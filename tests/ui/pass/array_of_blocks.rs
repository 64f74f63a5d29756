use linnet_runtime::{nn::norm::RmsNorm, prelude::*};

#[block]
pub struct Outer<H: Dim, Layers: Dim, T: Float> {
    norms: [RmsNorm<H, T>; Layers],
}

#[block]
impl Outer {
    pub fn forward<B: Dim>(&self, x: Tensor![B, H; T]) -> Tensor![B, H; T] {
        let mut y = x;
        for norm in &self.norms {
            y = norm.forward(y);
        }
        y
    }
}

fn main() {}
