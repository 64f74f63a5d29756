use linnet_runtime::prelude::*;

#[op]
pub fn sums<S: Shape, H: Dim, T: Float>(x: Tensor![*S, H; T]) -> Tensor![*S; T] {
    index!([*s] = sum[h, h] x[*s, h])
}

fn main() {}
