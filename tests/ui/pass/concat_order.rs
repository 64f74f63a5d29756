use linnet_runtime::prelude::*;

#[op]
pub fn example<M: Dim, N: Dim, H: Dim, T: Float>(
    a: Tensor![M, H; T],
    b: Tensor![N, H; T],
) -> Tensor![N + M, H; T] {
    concat([a, b], 0) + concat([b, a], 0)
}

fn main() {}
