use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, H: Dim, V: Dim, T: Float>(
    x: Tensor![B, H; T],
    w: Tensor![V, H; T],
) -> Tensor![B, V; T] {
    index!([b, v] = x[b, i] * w[v, i])
}

fn main() {}
