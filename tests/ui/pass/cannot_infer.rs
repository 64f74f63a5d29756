use linnet_runtime::{nn::attention::split_heads, prelude::*};

#[op]
#[require(H == 32)]
pub fn example<B: Dim, S: Dim, H: Dim, T: Float>(x: Tensor![B, S, H; T]) -> Tensor![B, 4, S, 8; T] {
    split_heads::<B, S, 4, 8, T>(x)
}

fn main() {}
