use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, T: Float>(x: Tensor![B; T]) -> Tensor![B; T] {
    x.reshape([B, 9223372036854775807 * B * 2]).sum(1)
}

fn main() {}
