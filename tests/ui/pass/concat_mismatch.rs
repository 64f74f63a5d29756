use linnet_runtime::prelude::*;

#[op]
#[require(H == K)]
pub fn example<M: Dim, N: Dim, H: Dim, K: Dim, T: Float>(
    a: Tensor![M, H; T],
    b: Tensor![N, K; T],
) -> Tensor![M + N, H; T] {
    concat([a, b], 0)
}

fn main() {}
