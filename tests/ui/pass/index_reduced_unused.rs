use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, H: Dim, T: Float>(x: Tensor![B, H; T]) -> Tensor![B; T] {
    index!([b] = sum[i] x[b, i])
}

fn main() {}
