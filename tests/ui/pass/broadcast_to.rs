use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, H: Dim, T: Float>(x: Tensor![B; T]) -> Tensor![B, H; T] {
    x.reshape([B, 1]).broadcast_to([B, H])
}

fn main() {}
