use linnet_runtime::prelude::*;

#[op]
#[require(Heads > 0, H % Heads == 0)]
pub fn example<B: Dim, H: Dim, Heads: Dim, T: Float>(
    x: Tensor![B, H; T],
) -> Tensor![B, Heads, H / Heads; T] {
    x.reshape([B, Heads, H / Heads])
}

fn main() {}
