use linnet_runtime::prelude::*;

#[op]
fn double<S: Shape, T: Float>(x: Tensor![*S; T]) -> Tensor![*S; T] {
    x + x
}

#[op]
pub fn example<B: Dim, H: Dim, T: Float>(x: Tensor![B, H; T]) -> Tensor![B, H; T] {
    index!([b, h] = double(x[b, h]))
}

fn main() {}
