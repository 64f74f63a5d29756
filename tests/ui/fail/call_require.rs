use linnet_runtime::{nn::attention::split_heads, prelude::*};

#[op]
#[require(Heads > 0)]
pub fn example<B: Dim, H: Dim, Heads: Dim, T: Float>(
    x: Tensor![B, 1, H; T],
) -> Tensor![B, Heads, 1, H / Heads; T] {
    split_heads(x)
}

fn main() {}
