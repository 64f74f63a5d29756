use linnet_runtime::prelude::*;

#[op]
pub fn example<S: Shape, H: Dim, T: Float>(x: Tensor![*S, H; T]) -> Tensor![*S, H; T] {
    x.permute([1, 0]).permute([1, 0])
}

fn main() {}
