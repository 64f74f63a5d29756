use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, M: Dim, T: Float>(x: Tensor![B; T]) -> Tensor![B, M; T] {
    index!([b, m: M] = x[b])
}

fn main() {}
