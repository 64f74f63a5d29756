use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, S: Dim, H: Dim, T: Float>(x: Tensor![B, S, H; T]) -> Tensor![B, S, H; T] {
    x.slice(s![.., 0..S])
}

fn main() {}
