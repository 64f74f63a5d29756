use linnet_runtime::{nn::linear::linear, prelude::*};

#[block]
pub struct Head<H: Dim, Vocab: Dim, T: Float> {
    #[param]
    weight: Tensor![H, Vocab; T],
}

#[block]
impl Head {
    pub fn forward<S: Shape>(&self, x: Tensor![*S, H; T]) -> Tensor![*S, Vocab; T] {
        linear(x, self.weight.permute([1, 0]))
    }
}

fn main() {}
