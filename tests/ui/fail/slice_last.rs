use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, S: Dim, T: Float>(x: Tensor![B, S; T]) -> Tensor![B; T] {
    x.slice(s![.., S - 1])
}

fn main() {}
