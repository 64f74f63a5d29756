use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, T: Float>(x: Tensor![B, 1; T]) -> Tensor![B, H; T] {
    x
}

fn main() {}
