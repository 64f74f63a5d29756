use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, H: Dim, K: Dim, T: Float>(
    x: Tensor![B, H; T],
    w: Tensor![K; T],
) -> Tensor![B; T] {
    index!([b] = sum[i] x[b, i] * w[i])
}

fn main() {}
