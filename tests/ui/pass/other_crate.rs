use gpt2::conv1d::Conv1D;
use linnet_runtime::prelude::*;

#[block]
pub struct Mlp<H: Dim, T: Float> {
    up: Conv1D<H, { 4 * H }, T>,
    down: Conv1D<{ 4 * H }, H, T>,
}

#[block]
impl Mlp {
    pub fn forward<S: Shape>(&self, x: Tensor![*S, H; T]) -> Tensor![*S, H; T] {
        self.down.forward(self.up.forward(x))
    }
}

fn main() {}
