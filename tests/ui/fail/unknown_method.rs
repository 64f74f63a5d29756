use linnet_runtime::prelude::*;

#[op]
pub fn example<M: Dim, N: Dim, T: Float>(x: Tensor![M, N; T]) -> Tensor![N, M; T] {
    x.permutes([1, 0])
}

fn main() {}
