use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, H: Dim, K: Dim, T: Float>(x: Tensor![B, K; T]) -> Tensor![B, H; T] {
    x.slice(s![.., 0..H])
}

fn main() {}
