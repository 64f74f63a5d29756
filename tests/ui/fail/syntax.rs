use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, H: Dim, T: Float>(x: Tensor![B, H]) -> Tensor![B, H; T] {
    x
}

fn main() {}
