use linnet_runtime::{nn::softmax::softmax, prelude::*};

#[op]
pub fn example<B: Dim, H: Dim, T: Float>(x: Tensor![B, H; T]) -> Tensor![B, H; T] {
    index!([b, h] = softmax(x[b, h]))
}

fn main() {}
