use linnet_runtime::{nn::linear::linear, prelude::*};

#[block]
pub struct Conv1D<In: Dim, Out: Dim, T: Float> {
    #[param]
    weight: Tensor![In, Out; T],
}

#[block]
impl Conv1D {
    pub fn forward<S: Shape>(&self, x: Tensor![*S, In; T]) -> Tensor![*S, Out; T] {
        linear(x, self.weight.permute([1, 0]), None)
    }
}

#[block]
pub struct Mlp<H: Dim, T: Float> {
    up: Conv2D<H, { 4 * H }, T>,
}

#[block]
impl Mlp {
    pub fn forward<S: Shape>(&self, x: Tensor![*S, H; T]) -> Tensor![*S, 4 * H; T] {
        self.up.forward(x)
    }
}

fn main() {}
