use linnet_runtime::{nn::softmax::softmax, prelude::*};

#[op]
pub fn example<B: Dim, H: Dim, T: Float>(x: Tensor![B, H; T]) -> Tensor![B, H; T] {
    let p = softmax(x);
    index!([b, h] = p[b, h])
}

fn main() {}
