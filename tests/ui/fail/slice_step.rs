use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, I: Dim, T: Float>(x: Tensor![B, 2 * I; T]) -> Tensor![B, I; T] {
    x.slice(s![.., 0..2 * I;0])
}

fn main() {}
