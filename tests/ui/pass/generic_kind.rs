use linnet_runtime::prelude::*;

#[op]
pub fn example<S: Shape, T: Float>(x: Tensor![*S, 2; T]) -> Tensor![*S, 2; T] {
    x
}

fn main() {}
