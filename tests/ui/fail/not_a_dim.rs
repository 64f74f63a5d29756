use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, T: Float>(x: Tensor![B; T], n: i32) -> Tensor![B, 1; T] {
    x.reshape([B, n])
}

fn main() {}
