use linnet_runtime::prelude::*;

#[op]
pub fn example<S: Shape, H: Dim, T: Float>(x: Tensor![*S, H; T]) -> Tensor![*S, H; T] {
    index!([*s, h] = x[*s, h] + x[*s, h])
}

fn main() {}
