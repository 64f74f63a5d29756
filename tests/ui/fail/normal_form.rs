use linnet_runtime::prelude::*;

#[op]
pub fn example<M: Dim, N: Dim, T: Float>(
    x: Tensor![M + N, 4 * M; T],
) -> Tensor![N + M, 2 * (M + M); T] {
    x.permute([1, 0])
}

fn main() {}
