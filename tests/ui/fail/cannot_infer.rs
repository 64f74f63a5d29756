use linnet_runtime::{nn::attention::split_heads, prelude::*};

#[op]
#[require(H == 32)]
pub fn example<B: Dim, S: Dim, H: Dim, T: Float>(x: Tensor![B, S, H; T]) -> Tensor![B, 4, S, 8; T] {
    let q = split_heads(x);
    q.reshape([B, 4, S, 8])
}

fn main() {}
