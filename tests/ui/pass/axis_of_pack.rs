use linnet_runtime::prelude::*;

#[op]
pub fn example<S: Shape, H: Dim, T: Float>(x: Tensor![*S, H; T]) -> Tensor![*S; T] {
    x.sum(-1)
}

fn main() {}
