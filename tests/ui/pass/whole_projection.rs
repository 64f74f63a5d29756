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
pub struct Attention<H: Dim, T: Float> {
    qkv: Conv1D<H, { 3 * H }, T>,
    out: Conv1D<H, H, T>,
}

#[block]
impl Attention {
    pub fn forward<B: Dim, S: Dim>(&self, x: Tensor![B, S, H; T]) -> Tensor![B, S, H; T] {
        let qkv = self.qkv.forward(x);
        self.out.forward(qkv.slice(s![.., .., 0..H]))
    }
}

fn main() {}
