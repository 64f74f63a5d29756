use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, T: Float>(x: Tensor![B, B; T]) -> Tensor![B, B; T] {
    index!([b, c] = x[c, b])
}

fn main() {}
